/* Packaging: waits until the request of a connection is complete. What is complete says a framer,
 * of which there is one for each protocol. */
#ifndef CCFPACK_H
#define CCFPACK_H

#include "ccfilter.h"
#include "ccftree.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ccf_need { CCF_MORE, CCF_WHOLE, CCF_BAD };

/* A framer's memory of one request. It is zeroed for each new one. */
struct ccf_frame {
    size_t fed; /* bytes of the buffer that were looked at; with CCF_WHOLE: the request's end, 0 if
                   it lies before the buffer */
    const char *reason; /* with CCF_BAD: what is counted, and the answer to the client or NULL */
    const char *answer;
    bool expects;  /* the client waits to be told to send the body */
    bool body;     /* the framer needs no byte before `fed` again */
    uint64_t left; /* bytes that are known to follow */
    int phase;     /* these are the framer's */
    uint64_t total;
    uint64_t end;
    unsigned line;
};

/* Looks at more bytes. The buffer begins at the same byte as in the last call, unless some of the
 * first `fed` bytes were taken away and subtracted from `fed`. */
struct ccf_framer {
    const char *name;
    const char *go_on;   /* sent if it expects to be told; or NULL */
    const char *overdue; /* the answer to a client whose time is over; or NULL */
    const char *crowded; /* the answer if there is no room; or NULL */
    enum ccf_need (*feed)(struct ccf_frame *frame, const char *bytes, size_t n);
    /* The client sends no more. Returns whether its request is complete by that, with `fed` as
     * after CCF_WHOLE. May be NULL: it never is. */
    bool (*end)(struct ccf_frame *frame);
    /* `go_on` was sent: writes the request's first `*old` bytes without what asks for it to `to`,
     * which has room for `n`. Returns how many these are. May be NULL. */
    size_t (*told)(const char *bytes, size_t n, char *to, size_t *old);
};

/* One for a filter. */
struct ccf_packing {
    const struct ccf_framer *framer;
    long timeout; /* ms for a whole request */
    long idle;    /* ms until its first byte; 0: it counts as part of `timeout` */
    long memory;  /* bytes of incomplete long requests, of all clients together */
    long passes;  /* if the server reads the socket: whether a request whose client waits to be told
                     to send the body is complete without it, and the server tells the client */
    void (*done)(struct ccf_bundle *bundle); /* it has its request and is the caller's again */
};

/* At the start of a bundle's `own`. */
struct ccf_pack {
    struct ccf_watch watch;
    struct ccf_timer timer;
    struct ccf_tree_item item; /* among those that are incomplete */
    struct ccf_frame frame;
    struct ccf_bundle *bundle;
    int memfd; /* the part of a long request that was taken from the socket */
    uint32_t spilled;
    bool begun, told, watched;
};

bool ccf_pack_start(const struct ccf_packing *packing);
void ccf_pack(struct ccf_bundle *bundle); /* holds it until it is complete, or ends it */
bool ccf_pack_shed(void);                 /* ends the oldest one of the heaviest network */
bool ccf_pack_shed_oldest(void);          /* ends the one that waits longest */
void ccf_pack_end_idle(void);             /* ends all those of which no byte has come */
void ccf_pack_end(struct ccf_bundle *bundle, const char *reason, const char *answer);

#ifdef __cplusplus
}
#endif

#endif
