/* stop.h: the phases of a server's end, the same in every worker model. */
#ifndef NEST_WORKERS_STOP_H
#define NEST_WORKERS_STOP_H

/* A phase is only ever raised. */
enum nest__stop_phase {
    NEST__GO_ON,
    NEST__DRAIN, /* what has come is answered, and delivered */
    NEST__CUT_OFF
};

#endif
