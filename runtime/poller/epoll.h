/* epoll.h: what the files of the epoll io share. Nobody else includes it.
 *
 * epoll.c: steps, time, the beginning; epoll_bytes.c: bytes and what is armed for them;
 * epoll_end.c: how connections end; epoll_wait.c: actions in a wait; epoll_accept.c: new
 * connections; epoll_stop.c: signals, and the stop.
 *
 * Level-triggered: what is left is reported again, so nothing is remembered here. A session is
 * armed for input or for output, never both: while output waits nothing is read, and who must wait
 * for nothing has no entry at all. A wake-up happens only for an event or a deadline. */
#ifndef NEST_EPOLL_H
#define NEST_EPOLL_H

#include "../workers/loops.h"
#include "../loop/accept.h"
#include "../loop/wheel.h"

#include <sys/epoll.h>
#include <sys/types.h>

enum { NEST__EPOLL_EVENTS = 256 };
/* nest__chan.io: EPOLLIN, EPOLLOUT, or one of: */
enum {
    NEST__EPOLL_QUIET = 32,  /* in the set for errors alone, each of them told once */
    NEST__EPOLL_ALWAYS = 64, /* with one of the above: cannot be polled, and never blocks */
};
/* Names of events beside those of slots; listeners count down from there. */
#define NEST__EPOLL_SIGNALS (NEST__NO_SLOT - 1)
#define NEST__EPOLL_HELPERS (NEST__NO_SLOT - 2)
#define NEST__EPOLL_TIMER (NEST__NO_SLOT - 3)
#define NEST__EPOLL_LISTENERS (NEST__NO_SLOT - 4)

/* What the loop itself has a time for. */
enum nest__epoll_due {
    NEST__EPOLL_RETRY,     /* taking connections again: nest__io_rest */
    NEST__EPOLL_CUT,       /* drainTimeout is over */
    NEST__EPOLL_GRACE,     /* and helpers still work for clients that were cut */
    NEST__EPOLL_WATCHDOG,  /* systemd hears of us */
    NEST__EPOLL_IDLE_EXIT, /* nobody has come for long */
    NEST__EPOLL_FILES,     /* those that are kept open expire */
    NEST__EPOLL_ONLY,      /* at the beginning: the one connection there is */
    NEST__EPOLL_DUES
};

struct nest__epoll {
    int fd, signals;  /* signals: an eventfd, its counter holds requests; see epoll_stop.c */
    int timer;        /* a timerfd, */
    uint32_t planned; /* and when it rings: no later than anything is due; 0: not */
    pid_t self;
    int next, count; /* of events */
    struct epoll_event events[NEST__EPOLL_EVENTS];
    uint32_t accepts; /* in a row, of one event */
    uint32_t turns;   /* of the ready list, before events are asked for again */
    uint32_t spent;   /* bytes moved in this step */
    uint32_t now;     /* of this step, if timed */
    bool timed;
    bool closing;                   /* a helper closes files that have expired */
    bool helped, expired;           /* jobs, deadlines may have to be looked at */
    _Atomic bool stopping;          /* a stop has begun; helpers look at it */
    bool again;                     /* a second one came before all were told of the first */
    bool cut;                       /* the time to stop is over */
    bool abandoned;                 /* helpers still work, and nobody waits for them */
    uint32_t drain, cutting;        /* next slot to be told */
    uint32_t due[NEST__EPOLL_DUES]; /* 0: never */
    struct nest__job *leaving;      /* of the action that has just left its stack */
    uint8_t buffer[NEST__VISIT_IN];
};
extern struct nest__epoll nest__epoll;

/* -- epoll.c */
void nest__epoll_wake_after(enum nest__epoll_due, uint32_t ms); /* 0: never */
/* When this session's deadline is; 0: never. */
void nest__epoll_until(nest_session *, uint32_t deadline);

/* -- epoll_bytes.c */
bool nest__epoll_arm(nest_session *, uint8_t events); /* false: no memory */
void nest__epoll_disarm(nest_session *);              /* before its descriptors close */
ssize_t nest__epoll_recv(const struct nest__chan *, void *, size_t); /* as recv(2) */
void nest__epoll_receive(nest_session *); /* once; what is left in the kernel is reported again */
void nest__epoll_go_on(nest_session *);   /* with what it has */
void nest__epoll_tell(nest_session *, enum nest__event);
/* Does what the engine wants: sends, then waits for what must come next, or ends. */
void nest__epoll_settle(nest_session *, unsigned want, struct nest__window *);

/* -- epoll_end.c */
void nest__epoll_finish(nest_session *); /* ended, and all is delivered that will be */
void nest__epoll_release(nest_session *);
void nest__epoll_discard(nest_session *); /* of one that lingers: input, or its end */

/* -- epoll_wait.c: each returns the session if its wait is over, else NULL */
nest_session *nest__epoll_waited(nest_session *, int result);
nest_session *nest__epoll_waiting(nest_session *, uint32_t events);
nest_session *nest__epoll_again(nest_session *); /* its turn has come, or its deadline */
nest_session *nest__epoll_send_off(void);        /* nest__epoll.leaving */

/* -- epoll_accept.c */
void nest__epoll_accept(unsigned listener);
void nest__epoll_only(void);

/* -- epoll_stop.c */
int nest__epoll_hear(void); /* 0 or -errno */
void nest__epoll_signal(void);
void nest__epoll_stop(void);
void nest__epoll_over(void);    /* of drainTimeout */
void nest__epoll_abandon(void); /* ends without who is left */
/* Tells one session of the stop, if there is one left to tell. False: there is none. */
bool nest__epoll_sweep(nest_session **resumed);

#endif
