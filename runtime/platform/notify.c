/* notify.c: reports the state of the server to systemd, or another program that uses sd_notify(3).
 *
 * Called by main, reload.c and the worker models. Sends a datagram, or nothing without
 * NOTIFY_SOCKET. State: the time of the last watchdog message; otherwise the environment, which
 * start-up code and supervised processes share. Needs no library. */
#include "platform.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int nest__notify_relay = -1;

void nest__notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int saved = errno;
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path) {
        return; /* vsock: and formats of other systems */
    }
    if (nest__notify_relay != -1) {
        (void)send(nest__notify_relay, state, strlen(state), MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    size_t n = strlen(path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') {
        to.sun_path[0] = '\0'; /* an abstract name: its length counts */
    }
    struct timeval most = {.tv_sec = 1}; /* do not hang if the other program does not read */
    int beat = strncmp(state, "WATCHDOG=", 9) == 0 ? MSG_DONTWAIT : 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd != -1) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        while (sendto(fd, state, strlen(state), MSG_NOSIGNAL | beat,
                      (const struct sockaddr *)(const void *)&to, size) == -1 &&
               errno == EINTR) {
        }
        close(fd);
    }
    errno = saved;
}

/* Parses a decimal number from 1 to most. Returns 0 if it is invalid. */
static unsigned long long notify_number(const char *text, unsigned long long most) {
    char *end;
    if (text == NULL || text[0] < '1' || text[0] > '9') {
        return 0;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end != '\0' || errno != 0 || number > most ? 0 : number;
}

/* Whether WATCHDOG_PID is this process or its supervisor, which depends on this process's health.
 */
static bool notify_ours(const char *pid) {
    unsigned long long number = notify_number(pid, INT32_MAX);
    return pid == NULL || number == (unsigned long long)getpid() ||
           number == (unsigned long long)getppid();
}

uint32_t nest__watchdog(void) {
    unsigned long long us = notify_number(getenv("WATCHDOG_USEC"), UINT64_MAX / 2);
    unsigned long long ms = us / 2000;
    if (us == 0 || !notify_ours(getenv("WATCHDOG_PID"))) {
        return 0;
    }
    return ms == 0 ? 1 : ms > NEST__LONGEST ? NEST__LONGEST : (uint32_t)ms;
}

int nest__beat(int timeout) {
    static uint64_t next;
    uint32_t every = nest__watchdog();
    if (every == 0) {
        return timeout;
    }
    uint64_t now = nest__clock_ms();
    if (now >= next) {
        nest__notify("WATCHDOG=1");
        next = now + every;
    }
    int left = (int)(next - now);
    return timeout == -1 || timeout > left ? left : timeout;
}
