/* epoll_stop.c: signals, and how the loop comes to its end.
 *
 * Called by the other files of the epoll io. State: how many were cut. Must not know the language.
 * TERM, INT: nobody new; every session is told, one a step; one at rest after a last look at what
 * it has been sent. When drainTimeout is over, or at a second signal, those that are left are cut.
 * HUP: the configuration is read again, between steps. */
#include "../workers/supervisor.h"
#include "../platform/platform.h"
#include "epoll.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STOP_GRACE_MS = 1000 }; /* after the cut, for helpers to finish */

/* The counter of the eventfd: stops in the lower half, reloads in the upper one. */
#define STOP_RELOAD (UINT64_C(1) << 32)

uint64_t nest__cut(void) {
    return atomic_load(&nest__counts->cut);
}

/* A handler, not a blocked signal: what actions start would inherit the block. */
static void stop_signal(int number) {
    uint64_t one = number == SIGHUP ? STOP_RELOAD : 1;
    int saved = errno;
    if (getpid() != nest__epoll.self) { /* a child that an action forked: none of our business */
        signal(number, SIG_DFL);
        raise(number);
    } else if (nest__heeds(number) && write(nest__epoll.signals, &one, sizeof one) == -1) {
        _exit(1); /* cannot happen: the counter never fills */
    }
    errno = saved;
}

/* Unblocks the signals, which the program that started the server may have left blocked. */
int nest__epoll_hear(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction heard = {.sa_handler = stop_signal, .sa_flags = (int)SA_RESTART};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = NEST__EPOLL_SIGNALS};
    sigset_t mine;
    nest__epoll.self = getpid();
    sigemptyset(&heard.sa_mask);
    sigemptyset(&mine);
    if ((nest__epoll.fd = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
        (nest__epoll.signals = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1 ||
        epoll_ctl(nest__epoll.fd, EPOLL_CTL_ADD, nest__epoll.signals, &event) == -1) {
        return -errno;
    }
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&mine, numbers[i]);
        if (sigaction(numbers[i], &heard, NULL) == -1) {
            return -errno;
        }
    }
    return sigprocmask(SIG_UNBLOCK, &mine, NULL) == -1 ? -errno : 0;
}

bool nest__stopping(void) {
    return nest__epoll.stopping;
}

void nest__epoll_over(void) {
    struct nest__epoll *io = &nest__epoll;
    if (!io->cut) {
        nest__accept_open(false);
        nest__accept.done = true;
        io->due[NEST__EPOLL_CUT] = 0;
        io->cut = true;
        io->cutting = 0;
        nest__epoll_wake_after(NEST__EPOLL_GRACE, STOP_GRACE_MS);
    }
}

/* Blocks and file calls are not cut, and may go on for ever. */
void nest__epoll_abandon(void) {
    uint32_t left = nest__slots_taken();
    nest__epoll.abandoned = true;
    nest__say("%u %s did not end in time; the server ends without", (unsigned)left,
              left == 1 ? "action" : "actions");
}

void nest__epoll_stop(void) {
    struct nest__epoll *io = &nest__epoll;
    if (io->stopping && io->drain < nest__slots_ever()) {
        io->again = true; /* who is at rest is not cut, and who is cut is counted */
        return;
    }
    if (io->stopping) {
        nest__epoll_over();
        return;
    }
    nest__notify("STOPPING=1");
    io->stopping = true;
    io->drain = 0;
    io->due[NEST__EPOLL_IDLE_EXIT] = 0;
    nest__epoll_wake_after(NEST__EPOLL_CUT, nest__config.drain_timeout);
    if (nest__listen_stop()) {
        nest__accept_open(false);
        nest__accept.done = true;
    }
}

void nest__epoll_signal(void) {
    uint64_t count;
    if (read(nest__epoll.signals, &count, sizeof count) != sizeof count) {
        return;
    }
    if (count >= STOP_RELOAD) {
        nest__config_reload();
        atomic_store(&nest__counts->drain_ms, nest__config.drain_timeout);
    }
    for (uint32_t stops = (uint32_t)count; stops > 0; stops--) {
        nest__epoll_stop();
    }
}

static void stop_drain(nest_session *s) {
    if (s->phase == NEST__ACTING) {
        nest__event(s, NEST__EVENT_DRAIN);
    } else if (s->phase != NEST__READING) {
        return;
    } else if ((s->flags & NEST__READY) != 0) {
        s->flags |= NEST__STOPPING; /* seen at its turn */
    } else if (s->work == NULL && s->c0.io == EPOLLIN) {
        nest__epoll_receive(s); /* a message that is there was in time; told when it would wait */
    } else {
        nest__epoll_tell(s, NEST__EVENT_DRAIN);
    }
}

static nest_session *stop_cut(nest_session *s) {
    if (s->phase == NEST__FREE) {
        return NULL;
    }
    if ((s->flags & NEST__LINGERING) != 0) {
        nest__epoll_release(s);
        return NULL;
    }
    atomic_fetch_add(&nest__counts->cut, 1);
    if ((s->flags & NEST__READY) != 0) {
        return NULL; /* seen at its turn */
    }
    if ((s->flags & NEST__WAITING) != 0) {
        return nest__epoll_again(s);
    }
    nest__epoll_tell(s, NEST__EVENT_CUT);
    return NULL;
}

bool nest__epoll_sweep(nest_session **resumed) {
    struct nest__epoll *io = &nest__epoll;
    if (io->drain < nest__slots_ever()) {
        stop_drain(nest__slot_at(io->drain++));
        return true;
    }
    if (io->again) {
        io->again = false;
        nest__epoll_over();
    }
    if (io->cut && io->cutting < nest__slots_ever()) {
        *resumed = stop_cut(nest__slot_at(io->cutting++));
        return true;
    }
    return false;
}
