/* supervisor.c: the main process: it sees to it that there are workers, and hears signals.
 *
 * Called by worker models, which run in its children. State: its descriptors. Must not know how
 * clients are served, nor how many workers are wanted. */
#include "supervisor.h"
#include "../platform/platform.h"
#include "children.h"
#include "service_process.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    pid_t pid; /* 0: nobody supervises */
    sigset_t before;
    int signals, wake, relay[2]; /* signalfd; eventfd; a pair of sockets: ours, and of workers */
    bool woken;
    _Atomic uint32_t heard[2]; /* in a worker: of the supervisor's stops and reloads */
} supervisor = {.signals = -1, .wake = -1, .relay = {-1, -1}};

static int supervisor_relay_open(void) {
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, supervisor.relay) == -1) {
        return -1;
    }
    return setsockopt(supervisor.relay[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

/* Before anybody can know that the server is there, so that no TERM meets the default action. */
int nest__supervisor_prepare(uint32_t workers) {
    static const int mine_all[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    static const int workers_all[] = {SIGCHLD, SIGTERM, SIGHUP, SIGALRM, SIGURG};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t mine;
    sigemptyset(&mine);
    for (size_t i = 0; i < sizeof mine_all / sizeof mine_all[0]; i++) {
        sigaddset(&mine, mine_all[i]);
    }
    sigaction(SIGCHLD, &normal, NULL); /* ignored, it would take the children's statuses along */
    if (sigprocmask(SIG_BLOCK, &mine, &supervisor.before) == -1 ||
        (supervisor.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC)) == -1 ||
        (supervisor.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) == -1 ||
        (nest__policy_many && supervisor_relay_open() == -1)) {
        int error = -errno;
        nest__say("cannot start: %s", strerror(-error));
        return error;
    }
    for (size_t i = 0; i < sizeof workers_all / sizeof workers_all[0]; i++) {
        sigdelset(&supervisor.before, workers_all[i]);
    }
    if (nest__shared_prepare(workers) != 0 || nest__children_prepare(workers) != 0) {
        nest__say("no memory for %u clients; lower maxClients", (unsigned)nest__config.max_clients);
        return -ENOMEM;
    }
    return 0;
}

bool nest__supervises(void) {
    return supervisor.pid != 0 && supervisor.pid == getpid();
}

pid_t nest__supervisor(void) {
    return supervisor.pid;
}

void nest__supervisor_wake(void) {
    uint64_t one = 1;
    nest__write(supervisor.wake, &one, sizeof one);
}

const char *nest__crash_consequence(void) {
    return supervisor.pid == 0
               ? "the server ends"
               : "the server continues, but the other clients of this process are disconnected";
}

/* -- in a worker ---------------------------------------------------------------------------------
 */

static _Atomic uint32_t *supervisor_passed(bool reload) {
    struct nest__orders *orders = nest__orders_page;
    return reload ? &orders->reloads : &orders->stops;
}

/* Several HUPs may arrive as one, which then stands for all that were passed on: the configuration
 * is read after the last of them. */
bool nest__heeds(int signal) {
    bool reload = signal == SIGHUP;
    if (supervisor.pid == 0 || getppid() != supervisor.pid) {
        return true;
    }
    uint32_t passed = atomic_load(supervisor_passed(reload));
    uint32_t heard = atomic_load(&supervisor.heard[reload]);
    do {
        if (heard == passed) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&supervisor.heard[reload], &heard,
                                           reload ? passed : heard + 1));
    return true;
}

void nest__reload_follow(void) {
    if (supervisor.pid == 0) {
        nest__config_reload();
        return;
    }
    struct nest__report *report = nest__report_page(nest__serial % nest__children_most());
    uint32_t heard = atomic_load(&supervisor.heard[true]);
    nest__config_follow();
    atomic_store(&report->reloads, heard);
    nest__supervisor_wake();
}

void nest__child_release(void) {
    close(supervisor.signals);
    if (nest__policy_many) {
        close(supervisor.relay[0]);
        nest__notify_relay = supervisor.relay[1];
    }
    nest__shared_seal();
}

_Noreturn void nest__child_main(uint32_t worker, uint32_t life) {
    sigset_t children;
    nest__child_release();
    nest__report_open(worker);
    if (nest__policy_many) { /* stops from before the fork are still told */
        nest__serial = (uint16_t)(life * nest__children_most() + worker);
        uint32_t reloads = nest__reloads_told();
        struct nest__report *report = nest__report_page(worker);
        atomic_store(&supervisor.heard[true], reloads);
        atomic_store(&report->reloads, reloads);
    }
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    /* In this order: the system forgets the signal for a parent's death when the user changes. */
    if (nest__on_serve() != 0 || nest__parent_watch(SIGTERM, supervisor.pid) != 0) {
        _exit(EXIT_FAILURE);
    }
    int status = nest__serve_worker(worker, life, &supervisor.before);
    nest__report_close(status != NEST__ABANDONED);
    if (status == NEST__ABANDONED) {
        _exit(EXIT_FAILURE);
    }
    if (!nest__policy_many) {
        _exit(status); /* what start-up code registered is the supervisor's to run */
    }
    exit(status); /* what start-up code registered sees what actions left */
}

/* -- the life of the server ----------------------------------------------------------------------
 */

static void supervisor_reload(void) {
    nest__config_apply();
    nest__policy_reload();
    nest__on_reloaded();
    if (nest__policy_many && nest__children_live() > 0) {
        nest__reload_tell(); /* what has changed is reported when workers have followed */
    } else {
        nest__config_applied(true);
    }
}

static void supervisor_signal(const struct signalfd_siginfo *info) {
    if (info->ssi_signo == SIGTERM || info->ssi_signo == SIGINT ||
        (info->ssi_signo == SIGHUP && nest__hung_up(info->ssi_code))) {
        nest__stop_asked();
    } else if (info->ssi_signo == SIGHUP) {
        supervisor_reload();
    }
}

/* Receives a message of a worker. Returns the worker's process, as the system says; 0: none. */
static pid_t supervisor_hear(char *state, size_t size) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec into = {state, size - 1};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct ucred from = {0};
    ssize_t n = recvmsg(supervisor.relay[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *credentials = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (credentials != NULL && credentials->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&from, CMSG_DATA(credentials), sizeof from);
    }
    state[n > 0 ? n : 0] = '\0';
    return from.pid;
}

/* Passes on what workers report to systemd, which listens to the main process alone. */
static void supervisor_relay(void) {
    char state[256];
    pid_t pid;
    while ((pid = supervisor_hear(state, sizeof state)) != 0) {
        if (strncmp(state, "WATCHDOG=", 9) != 0 || nest__policy_beat(pid)) {
            nest__notify(state);
        }
    }
}

/* Sleeps until something is to be done, at most `timeout` ms (-1: for ever). Signals are read from
 * a descriptor, so none can come between a look and the sleep. Where one worker serves all, it
 * tells systemd that the server lives. */
static void supervisor_sleep(int timeout) {
    struct pollfd ready[3] = {{.fd = supervisor.signals, .events = POLLIN},
                              {.fd = supervisor.wake, .events = POLLIN},
                              {.fd = supervisor.relay[0], .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t count;
    bool beats = !nest__policy_many || nest__children_live() == 0;
    if (poll(ready, 3, beats ? nest__beat(timeout) : timeout) <= 0) {
        return;
    }
    while (ready[0].revents != 0 &&
           read(supervisor.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        supervisor_signal(&info);
    }
    if (ready[1].revents != 0) {
        (void)!read(supervisor.wake, &count, sizeof count);
        supervisor.woken = true;
    }
    if (ready[2].revents != 0) {
        supervisor_relay();
    }
}

/* A worker that serves many and was forked during the stop has not been told of it. */
static int supervisor_replenish(void) {
    uint32_t before = nest__children_live();
    if (nest__on_pause()) {
        return -1;
    }
    int timeout = nest__children_replenish();
    if (nest__children_live() > before) {
        nest__stop_greet();
    }
    return timeout;
}

bool nest__supervises_none(void) {
    return nest__children_live() == 0 && !nest__service_process_runs();
}

static bool supervisor_done(void) {
    if (nest__children_live() > 0) {
        return false;
    }
    return (nest__children_over() != -1 || nest__phase() != NEST__SERVING) &&
           nest__policy_wanted() == 0;
}

int nest__supervise(void) {
    if (nest__listener_count == 0) {
        return nest__on_serve() != 0 ? EXIT_FAILURE : nest__serve_alone();
    }
    supervisor.pid = getpid();
    for (;;) {
        nest__children_reap();
        bool woken = supervisor.woken;
        supervisor.woken = false;
        nest__orders_publish();
        int timeout = nest__policy_mind(woken);
        timeout = nest__sooner(timeout, nest__stop_advance());
        timeout = nest__sooner(timeout, nest__reload_advance());
        timeout = nest__sooner(timeout, supervisor_replenish());
        unsigned services = nest__on_mind(); /* before the service process, which reads them */
        timeout = nest__sooner(timeout, nest__service_process_mind());
        timeout = nest__sooner(timeout, services == 0 ? -1 : (int)services);
        if (supervisor_done()) {
            break;
        }
        supervisor_sleep(timeout);
    }
    if (nest__policy_many) {
        supervisor_relay(); /* what workers sent before they ended */
    }
    nest__service_process_end();
    close(supervisor.signals);
    close(supervisor.wake);
    int over = nest__children_over();
    return nest__cut() > 0 || over > 0 || nest__children_failed() ? EXIT_FAILURE : EXIT_SUCCESS;
}
