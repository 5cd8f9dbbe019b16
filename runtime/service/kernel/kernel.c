/* kernel.c: starts `nest accelerate` for each TCP port of the server, starts it again when it dies,
 * and ends it.
 *
 * Called at join points and by the supervisor. State: the supervisor's children, and the memory in
 * which each counts. Must not know how the kernel answers.
 *
 * nest accelerate takes over a server that listens already (--attach). It asks the server for each
 * file, compares the answer with the file, and gives it to the kernel. The kernel answers only
 * while nest accelerate says so twice a second, so its death leaves no old answers. If this process
 * dies, the system ends it (PR_SET_PDEATHSIG). In a stop it is the first to end: then the kernel
 * owes no answer on a connection that a worker closes. */
#include "kernel.h"
#include "../../listener/listener.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"
#include "../kernel_log/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KERNEL_LEAST = 64 * 1024, /* bytes, as nest accelerate --size */
    /* The server gets a request of each connection in use every two seconds (kernel/bpf). */
    KERNEL_IDLE_MS = 4000,
    KERNEL_WELL_MS = 10 * 1000, /* one that ran as long did not die at once */
    KERNEL_END_MS = 1000,       /* for the end of nest accelerate, in a stop */
    KERNEL_UNFIT = 69           /* its exit status when it has said why the kernel cannot answer */
};

struct kernel_port {
    uint16_t number;
    bool over, told; /* it is not started again; it was told to end */
    pid_t pid;       /* 0: it does not run */
    int fd;          /* of its counts; -1: there is no memory for them */
    const struct nest__kernel_counts *counts;
    uint64_t begun;
    struct nest__backoff backoff;
};

/* scope: the supervisor; the service process has the counts */
static struct {
    bool listed, paused; /* paused: idleTimeout is too short */
    unsigned n;
    struct kernel_port ports[NEST__LISTEN_MAX];
} kernel;

static bool kernel_short(void) {
    uint32_t idle = atomic_load(&nest__config.idle_timeout);
    return idle != 0 && idle < KERNEL_IDLE_MS;
}

int nest__kernel_check(void) {
    uint32_t size = nest__config.kernel_cache;
    const char *why = size == 0             ? NULL
                      : size < KERNEL_LEAST ? "must be at least 64K, or 0 for none"
                      : kernel_short()      ? "needs an idleTimeout of at least 4s"
                                            : NULL;
    if (why != NULL) {
        nest__say("cannot start: kernelCache %s", why);
        return -EINVAL;
    }
    return 0;
}

/* -- counts */

static void kernel_count(struct kernel_port *port) {
    size_t size = sizeof *port->counts;
    port->fd = memfd_create("kernelCache", MFD_CLOEXEC);
    void *memory = port->fd == -1 || ftruncate(port->fd, (off_t)size) == -1
                       ? MAP_FAILED
                       : mmap(NULL, size, PROT_READ, MAP_SHARED, port->fd, 0);
    port->counts = memory == MAP_FAILED ? NULL : memory;
}

static uint64_t kernel_get(const uint64_t *count) {
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

struct nest__kernel_counts nest__kernel_counts(void) {
    struct nest__kernel_counts sum = {0};
    for (unsigned i = 0; i < kernel.n; i++) {
        const struct nest__kernel_counts *counts = kernel.ports[i].counts;
        if (counts != NULL) {
            sum.on += kernel_get(&counts->on);
            sum.answers += kernel_get(&counts->answers);
            sum.bytes += kernel_get(&counts->bytes);
            sum.unchanged += kernel_get(&counts->unchanged);
            sum.kept += kernel_get(&counts->kept);
            sum.size += kernel_get(&counts->size);
        }
    }
    return sum;
}

/* -- the process of a port */

/* In a child. It has no descriptor of the server but standard input, output and error, which lead
 * where those of the server do, the file for counts, and the pipe for what is logged. Its own
 * session keeps the signals of a terminal away. */
static _Noreturn void kernel_main(const struct kernel_port *port) {
    char number[16], size[16], counts[32], told[32];
    int pipe = nest__kernel_log_pipe();
    sigset_t none;
    nest__child_release();
    setsid();
    signal(SIGHUP, SIG_IGN); /* until it has a handler, and something to forget */
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    snprintf(number, sizeof number, "%u", (unsigned)port->number);
    snprintf(size, sizeof size, "%u", (unsigned)(nest__config.kernel_cache / 1024));
    snprintf(counts, sizeof counts, "/proc/self/fd/%d", port->fd);
    snprintf(told, sizeof told, "/proc/self/fd/%d", pipe);
    if (nest__parent_watch(SIGTERM, nest__supervisor()) != 0 ||
        fcntl(port->fd, F_SETFD, 0) == -1 || /* both stay open */
        (pipe != -1 && fcntl(pipe, F_SETFD, 0) == -1)) {
        _exit(EXIT_FAILURE);
    }
    const char *words[16] = {"nest",   "accelerate",     "--attach", "--port", number,
                             "--root", nest_file_root(), "--size",   size,     "--counts",
                             counts};
    unsigned n = 0;
    while (words[n] != NULL) {
        n++;
    }
    if (pipe != -1) {
        words[n++] = "--tell";
        words[n++] = told;
    }
    if (NEST__POLLED) {
        words[n++] = "--polls";
    }
    execvp("nest", (char **)(uintptr_t)words);
    nest__say("the server answers everything itself: cannot run nest: %s; install it where PATH "
              "finds it, or set kernelCache=0",
              strerror(errno));
    _exit(KERNEL_UNFIT);
}

static void kernel_start(struct kernel_port *port) {
    fflush(NULL); /* or the child writes it as well */
    port->told = false;
    port->begun = nest__clock_ms();
    pid_t pid = fork();
    if (pid == 0) {
        kernel_main(port);
    }
    port->pid = pid == -1 ? 0 : pid;
    if (pid == -1) {
        (void)nest__backoff_more(&port->backoff);
    }
}

static void kernel_tell(struct kernel_port *port) {
    if (port->pid != 0) {
        port->told = true;
        kill(port->pid, SIGTERM);
    }
}

/* It has ended. */
static void kernel_lost(struct kernel_port *port, int status) {
    char end[64];
    uint64_t off = 0;
    long pid = (long)port->pid;
    port->pid = 0;
    (void)!pwrite(port->fd, &off, sizeof off, offsetof(struct nest__kernel_counts, on));
    if (port->told) {
        return;
    }
    nest__exit_text(status, end);
    if (WIFEXITED(status)) {
        port->over = true;
        if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != KERNEL_UNFIT) {
            nest__say("the server answers everything itself: nest accelerate %s", end);
        }
        return;
    }
    if (nest__clock_ms() - port->begun >= KERNEL_WELL_MS) {
        port->backoff.failures = 0;
    }
    uint32_t delay = nest__backoff_more(&port->backoff);
    nest__say("nest accelerate %ld %s; it is replaced in %u ms", pid, end, (unsigned)delay);
}

bool nest__kernel_reaped(pid_t pid, int status) {
    for (unsigned i = 0; i < kernel.n; i++) {
        if (kernel.ports[i].pid == pid) {
            kernel_lost(&kernel.ports[i], status);
            return true;
        }
    }
    return false;
}

/* -- the life of the server */

/* Port of a TCP listener; 0: it is another one. */
static uint16_t kernel_port_of(const struct nest__listener *listener) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t n = sizeof address;
    if (getsockname(listener->fd, &address.any, &n) == -1) {
        return 0;
    }
    return address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
           : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                               : 0;
}

/* All ports, each once: nest accelerate has those of all addresses. */
static void kernel_list(void) {
    kernel.listed = true;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        uint16_t number = kernel_port_of(&nest__listeners[i]);
        unsigned known = 0;
        while (known < kernel.n && kernel.ports[known].number != number) {
            known++;
        }
        if (number != 0 && known == kernel.n) {
            struct kernel_port *port = &kernel.ports[kernel.n++];
            port->number = number;
            kernel_count(port);
            port->over = port->counts == NULL;
            if (port->over) {
                nest__say("the server answers everything itself: no memory for the counts of "
                          "kernelCache");
            }
        }
    }
    if (kernel.n == 0) {
        nest__say("the server answers everything itself: kernelCache needs a TCP port");
    }
}

unsigned nest__kernel_mind(void) {
    unsigned next = 0;
    if (nest__config.kernel_cache == 0 || nest__phase() != NEST__SERVING) {
        return 0;
    }
    if (!kernel.listed) {
        kernel_list();
    }
    for (unsigned i = 0; i < kernel.n && !kernel.paused; i++) {
        struct kernel_port *port = &kernel.ports[i];
        if (port->pid != 0 || port->over) {
            continue;
        }
        if (nest__backoff_left(&port->backoff) == 0) {
            kernel_start(port);
        }
        unsigned left = port->pid != 0 ? 0 : (unsigned)nest__backoff_left(&port->backoff);
        next = left > 0 && (next == 0 || left < next) ? left : next;
    }
    return next;
}

/* What the kernel answers may be another answer now. */
void nest__kernel_reloaded(void) {
    bool paused = kernel_short();
    if (!nest__supervises() || nest__phase() != NEST__SERVING || kernel.n == 0) {
        return;
    }
    if (paused && !kernel.paused) {
        nest__say("the server answers everything itself: kernelCache needs an idleTimeout of at "
                  "least 4s");
    }
    kernel.paused = paused;
    for (unsigned i = 0; i < kernel.n; i++) {
        if (paused) {
            kernel_tell(&kernel.ports[i]);
        } else if (kernel.ports[i].pid != 0) {
            kill(kernel.ports[i].pid, SIGHUP);
        }
    }
}

/* Waits until all have ended, for `limit` ms. */
static void kernel_wait(uint64_t limit) {
    uint64_t end = nest__clock_ms() + limit;
    for (unsigned i = 0; i < kernel.n; i++) {
        struct kernel_port *port = &kernel.ports[i];
        pid_t ended = 0;
        int status = 0;
        while (port->pid != 0 && (ended = waitpid(port->pid, &status, WNOHANG)) == 0 &&
               nest__clock_ms() < end) {
            (void)poll(NULL, 0, 1);
        }
        if (ended != 0) {
            kernel_lost(port, status);
        }
    }
}

/* Before workers close connections. */
void nest__kernel_halt(void) {
    for (unsigned i = 0; i < kernel.n; i++) {
        kernel_tell(&kernel.ports[i]);
    }
    kernel_wait(KERNEL_END_MS);
}

void nest__kernel_close(void) {
    for (unsigned i = 0; i < kernel.n && nest__supervises(); i++) {
        struct kernel_port *port = &kernel.ports[i];
        if (port->pid != 0) {
            kill(port->pid, SIGKILL);
            (void)waitpid(port->pid, NULL, 0);
            port->pid = 0;
        }
    }
}

/* A process that is no supervisor has the counts alone. */
int nest__kernel_serve(void) {
    for (unsigned i = 0; i < kernel.n; i++) {
        close(kernel.ports[i].fd);
    }
    return 0;
}
