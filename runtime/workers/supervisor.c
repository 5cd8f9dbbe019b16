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
        (nest__policy_many &&
         socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, supervisor.relay) == -1)) {
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
    return supervisor.pid == 0 ? "the server ends"
                               : "the server goes on, without its other clients";
}

/* -- in a worker ---------------------------------------------------------------------------------
 */

static _Atomic uint32_t *supervisor_passed(bool reload) {
    struct nest__orders *orders = nest__orders_page;
    return reload ? &orders->reloads : &orders->stops;
}

bool nest__heeds(int signal) {
    bool reload = signal == SIGHUP;
    if (supervisor.pid == 0 || getppid() != supervisor.pid) {
        return true;
    }
    if (atomic_load(&supervisor.heard[reload]) == atomic_load(supervisor_passed(reload))) {
        return false;
    }
    atomic_fetch_add(&supervisor.heard[reload], 1);
    return true;
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
        atomic_store(&supervisor.heard[true], nest__reloads_told());
    }
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    if (nest__parent_watch(SIGTERM, supervisor.pid) != 0) {
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
    bool told = nest__policy_many && nest__children_live() > 0;
    if (told) {
        nest__config_follow(); /* for workers to come; the one that serves says it */
        nest__reload_tell();
    } else {
        nest__config_reload();
    }
    nest__policy_reload();
}

static void supervisor_signal(const struct signalfd_siginfo *info) {
    if (info->ssi_signo == SIGTERM || info->ssi_signo == SIGINT ||
        (info->ssi_signo == SIGHUP && nest__hung_up(info->ssi_code))) {
        nest__stop_asked();
    } else if (info->ssi_signo == SIGHUP) {
        supervisor_reload();
    }
}

/* What workers have to say to systemd: it listens to the main process alone. */
static void supervisor_relay(void) {
    char state[256];
    ssize_t n;
    while ((n = recv(supervisor.relay[0], state, sizeof state - 1, MSG_DONTWAIT)) > 0) {
        state[n] = '\0';
        nest__notify(state);
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
    int timeout = nest__children_replenish();
    if (nest__children_live() > before) {
        nest__stop_greet();
    }
    return timeout;
}

static bool supervisor_done(void) {
    if (nest__children_live() > 0) {
        return false;
    }
    return (nest__children_over() != -1 || nest__phase() != NEST__GO_ON) &&
           nest__policy_wanted() == 0;
}

int nest__supervise(void) {
    if (nest__listener_count == 0) {
        return nest__serve_alone();
    }
    supervisor.pid = getpid();
    for (;;) {
        nest__children_reap();
        bool woken = supervisor.woken;
        supervisor.woken = false;
        nest__orders_publish();
        int timeout = nest__policy_mind(woken);
        timeout = nest__sooner(timeout, nest__stop_advance());
        timeout = nest__sooner(timeout, supervisor_replenish());
        timeout = nest__sooner(timeout, nest__service_process_mind());
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
