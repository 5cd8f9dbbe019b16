/* Presenting each request of a connection as a connection of its own: when the server has given a
 * connection back, the next request is packaged. Needs the traits CCF_HOLDS, CCF_LEASES and
 * CCF_SPLITS.
 * Must not know: the protocol. */
#ifndef CCFREPEAT_H
#define CCFREPEAT_H

#include "ccfpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At the start of a bundle's `own`. */
struct ccf_repeat {
    struct ccf_pack pack;
    struct ccf_watch watch; /* of the lease, while the server has the connection */
    struct ccf_bundle *bundle;
};

/* `more` says whether the client may send another request after this one; NULL: always. The
 * packing's `done` must be ccf_repeat. */
bool ccf_repeat_start(const struct ccf_packing *packing, bool (*more)(struct ccf_bundle *bundle));
void ccf_repeat(struct ccf_bundle *bundle); /* takes a bundle with its request */
void ccf_repeat_stop(void);

#ifdef __cplusplus
}
#endif

#endif
