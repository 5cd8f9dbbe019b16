/* supervisor.c: the main process owns the listening sockets for life; who serves may die.
 *
 * Called by workers/thread.c and workers/loops.c. State: the supervisor's book; shared are the
 * counts and whether who serves has come to its end. Must not know how clients are served. */
#include "supervisor.h"
#include "../platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SUPERVISOR_BACKOFF_MS = 100,
    SUPERVISOR_BACKOFF_MOST_MS = 5000,
    SUPERVISOR_WELL_MS = 10 * 1000, /* who lived as long did not die at once */
    SUPERVISOR_GRACE_MS = 4000,     /* after a cut: who serves ends by itself before */
};

struct supervisor_shared {
    struct nest__counts counts;
    _Atomic uint32_t over;      /* `serve` has returned */
    _Atomic uint32_t passed[2]; /* how many stops, reloads were passed on: counted before they are
                                   sent, for a signal may find one of another sender pending */
};

struct nest__counts *nest__counts;

static struct {
    struct supervisor_shared *shared;
    pid_t pid; /* 0: nobody supervises */
    pid_t child;
    uint32_t lives, failures;
    _Atomic uint32_t heard[2];   /* of them, by who serves */
    int signals, relay[2];       /* signalfd; a pair of sockets: ours, and of who serves */
    uint64_t stopped_at, cut_at; /* ms; the first and the last stop, 0: not yet */
    bool stopping, killed;
    bool reloaded; /* the configuration, in who serves; another one starts with the old values */
} supervisor;

int nest__supervisor_prepare(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t mine;
    sigemptyset(&mine);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&mine, numbers[i]);
    }
    supervisor.shared = mmap(NULL, sizeof *supervisor.shared, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    supervisor.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    if ((void *)supervisor.shared == MAP_FAILED || supervisor.signals == -1 ||
        socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, supervisor.relay) == -1 ||
        sigprocmask(SIG_BLOCK, &mine, NULL) == -1) {
        int error = -errno;
        nest__say("cannot start: %s", strerror(-error));
        return error;
    }
    sigaction(SIGCHLD, &normal, NULL); /* ignored, it would take the child's status along */
    nest__counts = &supervisor.shared->counts;
    atomic_store(&nest__counts->drain_ms, nest__config.drain_timeout);
    return 0;
}

bool nest__supervises(void) {
    return supervisor.pid != 0 && supervisor.pid == getpid();
}

/* Stops are told apart from reloads, not from each other. */
static unsigned supervisor_kind(int signal) {
    return signal == SIGHUP;
}

bool nest__heeds(int signal) {
    unsigned kind = supervisor_kind(signal);
    if (supervisor.pid == 0 || getppid() != supervisor.pid) {
        return true;
    }
    if (atomic_load(&supervisor.heard[kind]) == atomic_load(&supervisor.shared->passed[kind])) {
        return false;
    }
    atomic_fetch_add(&supervisor.heard[kind], 1);
    return true;
}

uint32_t nest__lives(void) {
    return supervisor.lives;
}

const char *nest__crash_consequence(void) {
    return supervisor.pid == 0 ? "the server ends"
                               : "the server goes on, without its other clients";
}

/* -- who serves ---------------------------------------------------------------------------------
 */

static _Noreturn void supervisor_child(int (*serve)(void)) {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    close(supervisor.signals);
    close(supervisor.relay[0]);
    nest__notify_relay = supervisor.relay[1];
    if (nest__parent_watch(SIGTERM, supervisor.pid) != 0) {
        _exit(EXIT_FAILURE);
    }
    int status = serve();
    atomic_store(&supervisor.shared->over, 1);
    if (status == NEST__ABANDONED) {
        _exit(EXIT_FAILURE);
    }
    exit(status); /* what start-up code registered sees what actions left */
}

static pid_t supervisor_fork(int (*serve)(void)) {
    for (unsigned kind = 0; kind < 2; kind++) { /* those before were for others */
        atomic_store(&supervisor.heard[kind], atomic_load(&supervisor.shared->passed[kind]));
    }
    pid_t pid = fork();
    if (pid == 0) {
        supervisor_child(serve);
    }
    return pid;
}

/* -- the supervisor ------------------------------------------------------------------------------
 */

static void supervisor_send(int signal) {
    atomic_fetch_add(&supervisor.shared->passed[supervisor_kind(signal)], 1);
    kill(supervisor.child, signal);
}

/* A signal: passed on, for it was meant for who serves; a child of a terminal had its own. The
 * second stop is another signal than the first, for two of one number may arrive as one. */
static void supervisor_pass(const struct signalfd_siginfo *info) {
    int pass = SIGINT;
    if (info->ssi_signo == SIGCHLD) {
        return;
    }
    if (info->ssi_signo == SIGHUP && !nest__hung_up(info->ssi_code)) {
        supervisor.reloaded = true;
        pass = SIGHUP;
    } else if (!supervisor.stopping) {
        supervisor.stopping = true;
        supervisor.stopped_at = nest__clock_ms();
        pass = SIGTERM;
    } else {
        supervisor.cut_at = nest__clock_ms();
    }
    if (supervisor.child > 0) {
        supervisor_send(pass);
    }
}

/* What who serves has to say to systemd: it listens to the main process alone. */
static void supervisor_relay(void) {
    char state[256];
    ssize_t n;
    while ((n = recv(supervisor.relay[0], state, sizeof state - 1, MSG_DONTWAIT)) > 0) {
        state[n] = '\0';
        nest__notify(state);
    }
}

/* When who serves has had its time to end by itself; 0: not yet known, or never. */
static uint64_t supervisor_kill_at(void) {
    uint32_t drain = atomic_load(&nest__counts->drain_ms);
    if (supervisor.child == 0 || supervisor.killed) {
        return 0;
    }
    if (supervisor.cut_at != 0) {
        return supervisor.cut_at + SUPERVISOR_GRACE_MS;
    }
    return supervisor.stopping && drain != 0 ? supervisor.stopped_at + drain + SUPERVISOR_GRACE_MS
                                             : 0;
}

/* Passes on what comes, until the child has ended or `until` (0: never). True: it has ended,
 * *status says how. Who does not end though the stop has cut everybody is ended. */
static bool supervisor_await(uint64_t until, int *status) {
    struct pollfd ready[2] = {{.fd = supervisor.signals, .events = POLLIN},
                              {.fd = supervisor.relay[0], .events = POLLIN}};
    struct signalfd_siginfo info;
    for (;;) {
        if (supervisor.child > 0 && waitpid(supervisor.child, status, WNOHANG) > 0) {
            supervisor.child = 0;
            return true;
        }
        uint64_t now = nest__clock_ms(), kill_at = supervisor_kill_at();
        uint64_t next = kill_at != 0 ? kill_at : until;
        if (kill_at != 0 && now >= kill_at) {
            kill(supervisor.child, SIGKILL);
            supervisor.killed = true;
            continue;
        }
        if (next != 0 && now >= next) {
            return false;
        }
        if (supervisor.child == 0 && supervisor.stopping) {
            return false;
        }
        int timeout = next == 0 ? -1 : (int)(next - now);
        (void)poll(ready, 2, supervisor.child == 0 ? nest__beat(timeout) : timeout);
        while (read(supervisor.signals, &info, sizeof info) == (ssize_t)sizeof info) {
            supervisor_pass(&info);
        }
        supervisor_relay();
    }
}

static void supervisor_report_exit(pid_t pid, int status, uint64_t lost, uint32_t delay) {
    char end[64], next[64] = "the server ends";
    if (supervisor.killed) {
        snprintf(end, sizeof end, "did not end in time, and was killed");
    } else if (WIFSIGNALED(status)) {
        snprintf(end, sizeof end, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(end, sizeof end, "exited with status %d", WEXITSTATUS(status));
    }
    if (!supervisor.stopping) {
        snprintf(next, sizeof next, "another takes its place in %u ms", (unsigned)delay);
    }
    nest__say("process %ld, which serves, %s, and %llu %s with it; %s", (long)pid, end,
              (unsigned long long)lost, lost == 1 ? "client" : "clients", next);
}

/* Of those that are open, the dead one's are lost: they stay counted where they are. */
static uint64_t supervisor_lost(void) {
    static uint64_t before;
    uint64_t now = atomic_load(&nest__counts->ended[NEST_OPEN]), lost = now - before;
    before = now;
    return lost;
}

int nest__supervise(int (*serve)(void)) {
    if (nest__listener_count == 0) {
        return serve();
    }
    supervisor.pid = getpid();
    for (;;) {
        int status = 0;
        uint64_t begin = nest__clock_ms();
        uint32_t delay = SUPERVISOR_BACKOFF_MS;
        pid_t pid = supervisor.child = supervisor_fork(serve);
        if (pid == -1) {
            nest__say("cannot fork: %s", strerror(errno));
            supervisor.child = 0;
        } else {
            if (supervisor.reloaded) {
                supervisor_send(SIGHUP);
            }
            if (supervisor.stopping) { /* while nobody served: for those who wait in queues */
                supervisor_send(SIGTERM);
            }
            (void)supervisor_await(0, &status);
        }
        if (atomic_load(&supervisor.shared->over) != 0) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
        }
        if (nest__clock_ms() - begin >= SUPERVISOR_WELL_MS) {
            supervisor.failures = 0;
        }
        for (uint32_t i = 0; i < supervisor.failures && delay < SUPERVISOR_BACKOFF_MOST_MS; i++) {
            delay *= 2;
        }
        delay = delay < SUPERVISOR_BACKOFF_MOST_MS ? delay : SUPERVISOR_BACKOFF_MOST_MS;
        supervisor.failures++;
        supervisor.lives++;
        uint64_t lost = supervisor_lost();
        if (supervisor.stopping) { /* whom it took along was cut */
            atomic_fetch_add(&nest__counts->cut, lost);
        }
        if (pid != -1) {
            supervisor_report_exit(pid, status, lost, delay);
        }
        if (supervisor.stopping) {
            return EXIT_FAILURE;
        }
        (void)supervisor_await(nest__clock_ms() + delay, &status);
    }
}
