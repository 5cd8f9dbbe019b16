/* systemd.c: listening sockets opened and passed on by systemd (sd_listen_fds(3)).
 *
 * Called at join points and by listener.c. State: which descriptors they are, until they are
 * listeners. The sockets stay systemd's: they are never shut down, and the next server takes the
 * clients that wait on them when this one stops. Must not know who serves them. */
#include "systemd.h"
#include "../../listener/listener.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SYSTEMD_FIRST = 3, SYSTEMD_NAME = 64 };

/* scope: process, set before workers are made */
static unsigned systemd_count;
/* scope: process, set before workers are made */
static char systemd_names[NEST__LISTEN_MAX][SYSTEMD_NAME];

/* Parses a decimal number. Returns -1 if it is invalid or too large. */
static long systemd_number(const char *text) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    return text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ? -1 : number;
}

/* The names that the unit files give the sockets, for messages: "web:admin". */
static void systemd_name(const char *names) {
    for (unsigned i = 0; i < systemd_count; i++) {
        size_t n = names == NULL ? 0 : strcspn(names, ":");
        if (n > 0) {
            nest_strlcpy(systemd_names[i], names, n < SYSTEMD_NAME ? n + 1 : SYSTEMD_NAME);
        }
        names = names == NULL || names[n] == '\0' ? NULL : names + n + 1;
    }
}

int nest__systemd_prepare(void) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || systemd_number(pid) != (long)getpid()) {
        return 0; /* none, or they are for the parent process */
    }
    long n = systemd_number(count);
    if (n < 1 || n > NEST__LISTEN_MAX) {
        nest__say("cannot listen: LISTEN_FDS is '%.20s'; it must be a number from 1 to 16", count);
        return -EINVAL;
    }
    systemd_count = (unsigned)n;
    systemd_name(getenv("LISTEN_FDNAMES"));
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    for (unsigned i = 0; i < systemd_count; i++) {
        if (fcntl(SYSTEMD_FIRST + (int)i, F_SETFD, FD_CLOEXEC) == -1) {
            nest__say(
                "cannot listen: systemd has announced %u sockets, but descriptor %u is closed",
                systemd_count, SYSTEMD_FIRST + i);
            return -EBADF;
        }
    }
    return 0;
}

static int systemd_refuse(unsigned index, const char *why) {
    const char *name = systemd_names[index];
    nest__say("cannot listen on systemd's socket %s (descriptor %u): %s",
              name[0] != '\0' ? name : "without a name", SYSTEMD_FIRST + index, why);
    return -EINVAL;
}

static int systemd_adopt(unsigned index) {
    int fd = SYSTEMD_FIRST + (int)index, type = 0, listening = 0, on = 1;
    socklen_t length = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == -1) {
        return systemd_refuse(index, "it is not a socket");
    }
    if (type != SOCK_STREAM) {
        return systemd_refuse(index, "it is not a stream socket; write ListenStream= in its unit");
    }
    length = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == -1 || listening == 0) {
        return systemd_refuse(index, "it does not listen; write Accept=no in its unit");
    }
    if (nest__listener_count == NEST__LISTEN_MAX) {
        return systemd_refuse(index, "it is one address too many: the maximum is 16");
    }
    struct nest__listener *l = &nest__listeners[nest__listener_count];
    l->kind = nest__socket_kind(fd, l->name, sizeof l->name);
    if (l->kind == NEST__PIPE) {
        return systemd_refuse(index, "it is neither a TCP nor a Unix socket");
    }
    l->fd = fd;
    l->given = true;
    if (l->kind != NEST__UNIX) { /* accepted sockets inherit it */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    nest__listener_count++;
    return 0;
}

int nest__systemd_listen(void) {
    if (systemd_count == 0) {
        nest__say("cannot listen on systemd: it has passed no socket to this process; start the "
                  "server by its unit, or write an address in place of 'systemd'");
        return -EINVAL;
    }
    for (unsigned i = 0; i < systemd_count; i++) {
        int error = systemd_adopt(i);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
