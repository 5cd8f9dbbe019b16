/* What the files of the frame see of each other. */
#ifndef CCF_FRAME_H
#define CCF_FRAME_H

#include "ccfilter.h"
#include "counters.h"
#include "wire.h"

extern struct ccf_filter *ccf__filter;
extern struct ccf__counters *ccf__count;

/* main.c: options. Prints the one message and returns false if they are wrong. */
bool ccf__options(const struct ccf_filter *filter, int argc, char **argv);
void ccf__help(const struct ccf_filter *filter);

/* bundle.c */
struct ccf_bundle *ccf__new(int fd);
struct ccf_bundle *ccf__from(const struct cc__message *message); /* owns its descriptors; or NULL */
int ccf__send(int link, const struct ccf_bundle *bundle);        /* 0 or -errno */
void ccf__hold(struct ccf_bundle *bundle);
void ccf__release(struct ccf_bundle *bundle); /* it is held no more */
void ccf__free(struct ccf_bundle *bundle);    /* closes its descriptors */

/* loop.c */
bool ccf__loop_start(void);
void ccf__loop(void);       /* returns when the chain has ended and nothing is held */
void ccf__events(int wait); /* waits for events, in ms, and handles them */
int ccf__run_timers(void);  /* returns how long to wait for the next one, as for epoll_wait */

/* up.c: where connections come from. */
bool ccf__up_start(void);
void ccf__up_update(void);    /* asks for as many connections as there is room for */
void ccf__up_stop(bool keep); /* accepts no more; `keep`: clients that are here may go on */
bool ccf__up_ended(void);

/* down.c: where they go. */
bool ccf__down_start(void);
void ccf__down_update(void);         /* serves the readers that asked */
size_t ccf__down_wanted(void);       /* connections asked for and not yet sent */
size_t ccf__down_ready(void);        /* passed by the filter and not yet sent */
void ccf__down_leave(int elsewhere); /* another filter takes over: closes links, sends what is left
                                        to `elsewhere`, which it owns */
bool ccf__down_idle(void);           /* nothing is left here */

/* control.c */
bool ccf__control_start(void);
void ccf__control_look(void); /* what the chain has said counts from now on */
bool ccf__stays(void);        /* it must not end yet */

#endif
