/* system.c: a process whose loop has real descriptors: how many it may have, signals, forked
 * children.
 *
 * Called by pollers. State: of the process: the eventfd that signals write. Must not know what is
 * done with a signal, nor how bytes move. */
#include "system.h"
#include "../channel/channel.h"
#include "../loop/share.h"
#include "../loop/slots.h"
#include "../platform/platform.h"
#include "../workers/dispatchers.h"
#include "../workers/supervisor.h"
#include "direct.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SYSTEM_DESCRIPTORS = 64 }; /* beside the clients': listeners, libraries, the user's files */

static struct {
    int signals; /* its counter holds requests: stops in the lower half, reloads above */
    pid_t self;
} own;

int nest__system_prepare(uint32_t *most_clients) {
    uint64_t files = 4 * (uint64_t)nest__config.helpers; /* that they have open in passing */
    uint64_t fixed = SYSTEM_DESCRIPTORS + nest__dispatchers_most() + files,
             clients = nest__config.max_clients;
    uint64_t need = clients * nest__session_descriptors(false) + fixed;
    uint64_t most = clients * nest__session_descriptors(true) + fixed;
    if (nest__descriptors_budget(need, most + nest__on_spare(nest__descriptors_beyond(need))) < 0) {
        return -EMFILE;
    }
    *most_clients = nest__config.max_clients;
    return 0;
}

/* A handler, not a blocked signal: programs that actions start would inherit the block. */
static void system_signal(int number) {
    uint64_t one = number == SIGHUP ? (uint64_t)NEST__RELOAD : 1;
    int saved = errno;
    if (getpid() != own.self) { /* a child that an action forked: not meant for the server */
        signal(number, SIG_DFL);
        raise(number);
    } else if (nest__heeds(number) && write(own.signals, &one, sizeof one) == -1) {
        _exit(1); /* cannot happen: the counter never fills */
    }
    errno = saved;
}

/* A block that the program which started the server left behind would make it deaf. */
static int system_hear(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction heard = {.sa_handler = system_signal, .sa_flags = (int)SA_RESTART};
    sigset_t mine;
    own.self = getpid();
    own.signals = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (own.signals == -1) {
        return -errno;
    }
    sigemptyset(&heard.sa_mask);
    sigemptyset(&mine);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&mine, numbers[i]);
        if (sigaction(numbers[i], &heard, NULL) == -1) {
            return -errno;
        }
    }
    return sigprocmask(SIG_UNBLOCK, &mine, NULL) == -1 ? -errno : 0;
}

int64_t nest__source_result(enum nest__operation operation) {
    uint64_t count;
    if (operation != NEST__OP_SIGNAL) {
        return 0;
    }
    return read(own.signals, &count, sizeof count) == sizeof count ? (int64_t)count : 0;
}

/* In a child that an action forked, and that may run no program of its own: it would hold all
 * connections open, so that clients saw no end, and the poller heard of them for ever. */
static void system_forked(void) {
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        const nest_session *s = nest__slot_at(slot);
        if (s->phase != NEST__FREE && !nest__chan_shared(&s->c0)) {
            close(s->c0.fd);
        }
    }
}

int nest__system_start(struct nest__source sources[NEST__SOURCES], unsigned *n) {
    int timer = -1, error = nest__clock_start(&timer);
    if (error == 0) {
        error = system_hear();
    }
    if (error == 0) {
        error = nest__helpers_prepare();
    }
    if (error == 0) {
        error = nest__listen_nonblocking();
    }
    if (error == 0) {
        error = -pthread_atfork(NULL, NULL, system_forked);
    }
    if (error < 0) {
        return error;
    }
    int mailbox = nest__on_mailbox(); /* 0: there is none */
    const struct nest__source all[NEST__SOURCES] = {
        {own.signals, NEST__OP_SIGNAL},
        {timer, NEST__OP_ALARM},
        {nest__share_fd(), NEST__OP_SHARE},
        {nest__helpers_fd(), NEST__OP_WAKE},
        {mailbox == 0 ? -1 : mailbox, NEST__OP_MAIL},
    };
    *n = 0;
    for (unsigned i = 0; i < NEST__SOURCES; i++) {
        if (all[i].fd != -1) {
            sources[(*n)++] = all[i];
        }
    }
    return 0;
}

/* -- the same for every poller of real descriptors */

uint32_t nest__lease(void) {
    return sizeof nest__direct_buffer;
}

bool nest__poller_listens(void) {
    return nest__listener_count > 0;
}

bool nest__poller_over(bool idle) {
    return idle;
}

int nest__poller_status(void) {
    return 0;
}
