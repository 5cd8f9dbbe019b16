/* epoll.c: steps of a loop that learns from epoll what it can do next, and what time it is.
 *
 * Called by workers/loops.c. State: this process's loop (epoll.h). Must not know the language. A
 * step does one thing; who must be told of a stop goes first, then events, then turns of the ready
 * list, then deadlines: bytes that have come win against the time. The clock is read once a step in
 * which somebody asks for the time, and again for a pause that begins. */
#include "epoll.h"
#include "../loop/helpers.h"
#include "../platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EPOLL_DESCRIPTORS = 64 }; /* beside the clients': listeners, libraries, the user's files */

struct nest__epoll nest__epoll;

/* -- time */

uint32_t nest__clock(void) {
    nest__epoll.now = (uint32_t)nest__clock_ms();
    nest__epoll.timed = true;
    return nest__epoll.now;
}

uint32_t nest__now(void) {
    return nest__epoll.timed ? nest__epoll.now : nest__clock();
}

/* The timer rings for the first deadline that is known, once. As deadlines mostly move on, that is
 * no call a request, and epoll_wait needs no timer of its own. */
static void epoll_plan(uint32_t due) {
    struct nest__epoll *io = &nest__epoll;
    if (due == 0 || (io->planned != 0 && (int32_t)(due - io->planned) >= 0)) {
        return;
    }
    int32_t left = (int32_t)(due - nest__now());
    struct itimerspec at = {.it_value = {.tv_nsec = 1}}; /* 0 would be never */
    if (left > 0) {
        at.it_value = (struct timespec){left / 1000, left % 1000 * 1000000L};
    }
    io->planned = due;
    (void)timerfd_settime(io->timer, 0, &at, NULL); /* cannot fail: the values are in range */
}

void nest__epoll_wake_after(enum nest__epoll_due what, uint32_t ms) {
    nest__epoll.due[what] = ms == 0 ? 0 : nest__after(nest__now(), ms);
    epoll_plan(nest__epoll.due[what]);
}

void nest__epoll_until(nest_session *s, uint32_t deadline) {
    nest__wheel_set(s, deadline, deadline == 0 ? 0 : nest__now());
    epoll_plan(deadline);
}

/* The next deadline of all; 0: there is none. */
static uint32_t epoll_next(void) {
    uint32_t next = nest__wheel_next();
    for (int what = 0; what < NEST__EPOLL_DUES; what++) {
        uint32_t due = nest__epoll.due[what];
        if (due != 0 && (next == 0 || (int32_t)(due - next) < 0)) {
            next = due;
        }
    }
    return next;
}

/* Files that were kept open are closed where that may take its time. */
static void epoll_files(void) {
    static struct nest__job job = {.work = nest__cache_close};
    if (!nest__cache_expire()) {
        return;
    }
    nest__epoll.closing = nest__help(&job) == 0;
    if (!nest__epoll.closing) {
        (void)nest__cache_close(NULL);
    }
}

/* Does one thing that the loop itself has a time for; false: nothing is due. */
static bool epoll_due(uint32_t now) {
    enum nest__epoll_due what = 0;
    while (what < NEST__EPOLL_DUES &&
           (nest__epoll.due[what] == 0 || !nest__reached(nest__epoll.due[what], now))) {
        what++;
    }
    if (what < NEST__EPOLL_DUES) {
        nest__epoll.due[what] = 0;
    }
    switch (what) {
    case NEST__EPOLL_RETRY:
        nest__accept_resume();
        return true;
    case NEST__EPOLL_CUT:
        nest__epoll_over();
        return true;
    case NEST__EPOLL_GRACE:
        nest__epoll_abandon();
        return true;
    case NEST__EPOLL_WATCHDOG:
        nest__notify("WATCHDOG=1");
        nest__epoll_wake_after(NEST__EPOLL_WATCHDOG, nest__watchdog());
        return true;
    case NEST__EPOLL_IDLE_EXIT:
        nest__epoll_stop();
        return true;
    case NEST__EPOLL_FILES:
        epoll_files();
        return true;
    case NEST__EPOLL_ONLY:
        nest__epoll_only();
        return true;
    case NEST__EPOLL_DUES:
        break;
    }
    return false;
}

/* Goes on with one that is neither in a wait nor lingers: it can send, or receive. */
static void epoll_move(nest_session *s) {
    if (nest__out_queued(s, &s->c0) == 0) {
        nest__epoll_receive(s);
    } else if (nest__push(s, &s->c0) < 0) {
        nest__epoll_tell(s, NEST__EVENT_RESET);
    } else if (nest__out_queued(s, &s->c0) == 0) {
        nest__epoll_go_on(s);
    } else {
        nest__epoll_until(s, nest__deadline(s)); /* some has left */
    }
}

/* What this one waits for is there: after a while in which the loop was held up there are more
 * events than it was told of at once. */
static bool epoll_moves(const nest_session *s) {
    struct pollfd ready = {.fd = s->c0.fd, .events = POLLIN};
    if (nest__out_queued(s, &s->c0) > 0) {
        ready = (struct pollfd){.fd = nest__chan_out(&s->c0), .events = POLLOUT};
    }
    return poll(&ready, 1, 0) == 1;
}

/* One session whose deadline has come. */
static nest_session *epoll_expire(void) {
    uint32_t now = nest__now();
    if (epoll_due(now)) {
        return NULL;
    }
    nest_session *s = nest__wheel_take(now);
    if (s == NULL) {
        nest__epoll.expired = false;
        epoll_plan(epoll_next());
    } else if ((s->flags & NEST__READY) != 0) {
        return NULL; /* its turn comes */
    } else if ((s->flags & NEST__LINGERING) != 0) {
        nest__epoll_release(s);
    } else if ((s->flags & NEST__WAITING) != 0) {
        return nest__epoll_again(s);
    } else if (epoll_moves(s)) {
        epoll_move(s);
    } else {
        nest__epoll_tell(s, NEST__EVENT_EXPIRED);
    }
    return NULL;
}

/* -- events */

static nest_session *epoll_event(const struct epoll_event *event) {
    uint32_t name = (uint32_t)event->data.u64;
    if (name > NEST__EPOLL_LISTENERS - NEST__LISTEN_MAX) {
        if (name == NEST__EPOLL_SIGNALS) {
            nest__epoll_signal();
        } else if (name == NEST__EPOLL_HELPERS) {
            nest__epoll.helped = true;
        } else if (name == NEST__EPOLL_TIMER) {
            nest__epoll.planned = 0;
            nest__epoll.expired = true;
        } else {
            nest__epoll_accept(NEST__EPOLL_LISTENERS - name);
        }
        return NULL;
    }
    nest_session *s = nest__slot_at(name);
    if (s->self.gen != event->data.u64 >> 32 || s->phase == NEST__FREE) {
        return NULL; /* of one that is gone */
    }
    if ((s->flags & NEST__READY) != 0) {
        return NULL; /* its turn comes */
    }
    if ((s->flags & NEST__LINGERING) != 0) {
        nest__epoll_discard(s);
    } else if ((s->flags & NEST__WAITING) != 0) {
        return nest__epoll_waiting(s, event->events);
    } else {
        epoll_move(s);
    }
    return NULL;
}

/* A turn of the ready list. */
static nest_session *epoll_turn(void) {
    nest_session *s = nest__ready_take();
    nest__epoll.turns--;
    if (s == NULL) {
        return NULL;
    }
    if ((s->flags & NEST__WAITING) != 0) {
        return nest__epoll_again(s);
    }
    if (s->c0.io == (NEST__EPOLL_ALWAYS | EPOLLIN)) {
        nest__epoll_receive(s);
    } else {
        nest__epoll_go_on(s);
    }
    return NULL;
}

/* The next job that is done; what it gave is its action's. */
static nest_session *epoll_helped(void) {
    struct nest__job *job = nest__helped();
    if (job == NULL) {
        nest__epoll.helped = false;
        return NULL;
    }
    if (job->session == NULL) { /* of epoll_files */
        nest__epoll.closing = false;
        return NULL;
    }
    return nest__epoll_waited(job->session, job->result);
}

/* -- steps */

static void epoll_sleep(void) {
    struct nest__epoll *io = &nest__epoll;
    io->next = 0;
    if (nest__cache_used() && io->due[NEST__EPOLL_FILES] == 0 && !io->closing) {
        nest__epoll_wake_after(NEST__EPOLL_FILES, NEST__CACHE_LIFE);
    }
    io->count =
        epoll_wait(io->fd, io->events, NEST__EPOLL_EVENTS, nest__ready_count() > 0 ? 0 : -1);
    if (io->count == -1) {
        io->count = 0; /* EINTR */
    }
    io->turns = nest__ready_count();
}

nest_session *nest__io_step(void) {
    struct nest__epoll *io = &nest__epoll;
    nest_session *resumed = NULL;
    io->spent = 0;
    if (io->leaving != NULL) {
        return nest__epoll_send_off();
    }
    io->timed = false;
    if (io->stopping && nest__epoll_sweep(&resumed)) {
        return resumed;
    }
    if (io->next < io->count) {
        return epoll_event(&io->events[io->next++]);
    }
    if (io->helped) {
        return epoll_helped();
    }
    if (io->turns > 0) {
        return epoll_turn();
    }
    if (io->expired) {
        return epoll_expire();
    }
    epoll_sleep();
    return NULL;
}

bool nest__io_done(void) {
    return nest__epoll.abandoned || (nest__slots_taken() == 0 && nest__accept.done);
}

int nest__io_status(void) {
    return nest__epoll.abandoned ? NEST__ABANDONED : nest__cut() > 0;
}

/* -- the beginning */

uint32_t nest__io_prepare(void) {
    uint64_t files = 4 * (uint64_t)nest__config.helpers; /* that they have open in passing */
    uint64_t fixed = EPOLL_DESCRIPTORS + files, clients = nest__config.max_clients;
    uint64_t need = clients * nest__session_descriptors(false) + fixed;
    uint64_t most = clients * nest__session_descriptors(true) + fixed;
    if (nest__descriptors_budget(need, most + nest__cache_limit(nest__descriptors_beyond(need))) <
        0) {
        return 0;
    }
    return nest__config.max_clients;
}

static int epoll_start(void) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = NEST__EPOLL_HELPERS};
    struct epoll_event rings = {.events = EPOLLIN | EPOLLET, .data.u64 = NEST__EPOLL_TIMER};
    int error = nest__epoll_hear(), fd = -1;
    if (error == 0 && (error = nest__helpers_prepare()) == 0) {
        fd = nest__helpers_fd();
    }
    nest__epoll.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (error == 0 && (nest__epoll.timer == -1 ||
                       epoll_ctl(nest__epoll.fd, EPOLL_CTL_ADD, nest__epoll.timer, &rings) == -1)) {
        error = -errno;
    }
    if (error == 0 && fd != -1 && epoll_ctl(nest__epoll.fd, EPOLL_CTL_ADD, fd, &event) == -1) {
        error = -errno;
    }
    return error == 0 ? nest__listen_nonblocking() : error;
}

/* In a child that an action forked, and that may run no program of its own: it would hold all
 * connections open, so that clients saw no end, and epoll told of them for ever. */
static void epoll_forked(void) {
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        const nest_session *s = nest__slot_at(slot);
        if (s->phase != NEST__FREE && s->c0.kind != NEST__PIPE) {
            close(s->c0.fd);
        }
    }
}

int nest__io_start(void) {
    int error = epoll_start();
    if (error == 0) {
        error = -pthread_atfork(NULL, NULL, epoll_forked);
    }
    if (error < 0) {
        nest__say("cannot start: %s", strerror(-error));
        return error;
    }
    nest__epoll_wake_after(NEST__EPOLL_WATCHDOG, nest__watchdog());
    if (nest__listener_count == 0) {
        nest__epoll_wake_after(NEST__EPOLL_ONLY, 1);
    } else {
        nest__epoll_wake_after(NEST__EPOLL_IDLE_EXIT, nest__listen_idle_exit());
        nest__accept_open(true);
    }
    return 0;
}
