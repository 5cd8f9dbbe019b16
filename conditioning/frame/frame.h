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

extern int ccf__highest; /* of the descriptors of bundles so far */
void ccf__seen(int fd);  /* a bundle or its filter has it */

/* inbox.c: links without acknowledgements, which filters have among each other. */
/* The next bundle. Returns 1; 0 at the end of the link; -EAGAIN: the loop says when there are more;
 * -ENOMEM: there is no room for it now, it waits. */
int ccf__receive(int link, struct ccf_bundle **bundle);
struct ccf__twin *ccf__twin_new(int fd); /* a copy of the receiver's end; NULL: no memory */
void ccf__twin_free(struct ccf__twin *twin);
void ccf__twin_died(struct ccf__twin *twin); /* its receiver: what it has not received is left */
/* Appends to the list what dead receivers have left. Returns false if there is more, but no room
 * for it now. */
bool ccf__take_back(struct ccf_list *list);

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
void ccf__down_leave(int elsewhere); /* another filter takes over: closes links, sends what is left
                                        to `elsewhere`, which it owns */
bool ccf__down_idle(void);           /* nothing is left here */

/* ready.c: what can be sent. ccf_pass appends to it. */
void ccf__again(struct ccf_bundle *bundle); /* its process did not take it: it is next */
void ccf__all_again(struct ccf_list *list); /* the same with all of a list, which were sent */
void ccf__died(struct ccf__twin *twin);     /* its receiver; what that has left can be sent */
struct ccf_bundle *ccf__next(void);         /* takes the next one out; NULL: there is none now */
size_t ccf__down_ready(void);               /* passed by the filter and not yet sent */

/* control.c */
bool ccf__control_start(void);
void ccf__control_look(void); /* what the chain has said counts from now on */
bool ccf__stays(void);        /* it must not end yet */

#endif
