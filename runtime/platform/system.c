/* system.c: clock, descriptors, parent processes: system calls that differ between systems.
 *
 * Called by main, the worker models and the loops. State: whether SIGHUP was ignored at the start.
 * Must not know sessions. Only files in platform/ may use #if to test for a system. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/sendfile.h>
#endif

int nest__try_in_child(int (*what)(void), bool *began) {
    int status;
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status along */
    pid_t pid = fork();
    if (pid == 0) {
        _exit(-what()); /* all numbers of errors are below 256 */
    }
    *began = pid != -1 && waitpid(pid, &status, 0) == pid;
    if (!*began) {
        return -errno;
    }
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

short nest__poll_until(int fd, short events, uint64_t end) {
    struct pollfd one = {.fd = fd, .events = events};
    int found, saved = errno;
    do {
        uint64_t now = end == 0 ? 0 : nest__clock_ms();
        found = poll(&one, 1, now < end ? (int)(end - now) : 0);
    } while (found == -1 && errno == EINTR);
    errno = saved;
    return found == -1 ? POLLERR : one.revents;
}

short nest__poll_now(int fd, short events) {
    return nest__poll_until(fd, events, 0);
}

uint64_t nest__clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t nest__clock_us(void) {
    return nest__clock_ns() / 1000;
}

uint64_t nest__clock_ms(void) {
    return nest__clock_ns() / 1000000;
}

uint64_t nest__clock_coarse_ms(void) {
    struct timespec now;
#if defined(__linux__)
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#if defined(__linux__)
int64_t nest__sendfile(int socket, int fd, uint64_t at, uint64_t n) {
    off_t from = (off_t)at;
    ssize_t sent;
    do {
        sent = sendfile(socket, fd, &from, (size_t)n);
    } while (sent == -1 && errno == EINTR);
    if (sent >= 0) {
        return sent;
    }
    switch (errno) {
    case EPIPE:
    case ECONNRESET:
    case ETIMEDOUT:
    case ENOTCONN:
        return -ECONNRESET;
    case EINVAL: /* sendfile does not support this file */
    case ENOSYS:
    case ENOMEM:
        return -EAGAIN;
    default:
        return -errno;
    }
}
#else
int64_t nest__sendfile(int socket, int fd, uint64_t at, uint64_t n) {
    (void)socket;
    (void)fd;
    (void)at;
    (void)n;
    return -EAGAIN;
}
#endif

static bool system_nohup; /* SIGHUP was ignored when the server was started */

bool nest__hung_up(int code) {
#if defined(SI_KERNEL)
    return code == SI_KERNEL && !system_nohup;
#else
    (void)code;
    return false;
#endif
}

int nest__stdio_secure(void) {
    struct sigaction before;
    system_nohup = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) == -1) {
            return -errno; /* open returns the lowest free number, fd */
        }
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGXFSZ, &ignore,
                    NULL); /* a file or log that grows too large: write fails with EFBIG */
    return sigaction(SIGPIPE, &ignore, NULL) == -1 ? -errno : 0;
}

int nest__descriptors_budget(uint64_t need, uint64_t most) {
    struct rlimit have;
    if (getrlimit(RLIMIT_NOFILE, &have) == -1) {
        return -errno;
    }
    if (need > have.rlim_max) {
        nest__say("%u clients need %llu descriptors, but the limit is %llu; lower maxClients, "
                  "or raise the limit (ulimit -Hn)",
                  (unsigned)nest__config.max_clients, (unsigned long long)need,
                  (unsigned long long)have.rlim_max);
        return -EMFILE;
    }
    if (most > have.rlim_cur && have.rlim_cur < have.rlim_max) {
        have.rlim_cur = have.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &have) == -1) {
            return -errno;
        }
    }
    return 0;
}

uint64_t nest__descriptors_beyond(uint64_t need) {
    struct rlimit have;
    return getrlimit(RLIMIT_NOFILE, &have) == -1 || have.rlim_max < need ? 0 : have.rlim_max - need;
}

int nest__parent_watch(int signal, pid_t parent) {
#if defined(__linux__)
    if (prctl(PR_SET_PDEATHSIG, signal) == -1) {
        return -errno;
    }
#else
    (void)signal;
#endif
    return getppid() == parent ? 0 : -ESRCH;
}

void nest__connections_refuse(int fd) {
#if defined(__linux__)
    /* Classic BPF in the kernel's format; musl does not have linux/filter.h. */
    struct {
        uint16_t code;
        uint8_t jump_true, jump_false;
        uint32_t k;
    } drop_syn[] = {
        {0x30, 0, 0, 13},        /* load a byte: the TCP flags */
        {0x45, 0, 1, 0x02},      /* SYN: a new connection */
        {0x06, 0, 0, 0},         /* return 0: drop */
        {0x06, 0, 0, UINT32_MAX} /* return: accept */
    };
    struct {
        unsigned short count;
        void *code;
    } program = {sizeof drop_syn / sizeof drop_syn[0], drop_syn};
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
#else
    (void)fd;
#endif
}

void nest__reset_at_close(int fd) {
    struct linger none = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}
