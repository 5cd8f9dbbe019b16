/* Requests of a connection, one after the other. ccfrepeat.h has the interface. */
#include "ccfrepeat.h"
#include "frame.h"

#include <sys/epoll.h>
#include <unistd.h>

static bool (*may_repeat)(struct ccf_bundle *bundle);
static bool stopping;

/* The server has given the connection back, or has closed it, or died. */
static void on_lease(struct ccf_watch *watch, uint32_t events) {
    struct ccf_repeat *kept = CCF_OF(watch, struct ccf_repeat, watch);
    struct ccf_bundle *bundle = kept->bundle;
    (void)events;
    bool good = ccf_lease_kept(watch->fd);
    ccf_watch_remove(watch);
    close(watch->fd);
    if (!good) {
        ccf_refuse(bundle, NULL, NULL); /* it is over: no reason is counted */
        return;
    }
    bundle->born = ccf_now();
    ccf__count->accepted++;
    ccf_pack(bundle);
    if (stopping)
        ccf_pack_end_idle(); /* a request that has begun may be completed */
}

/* Passes a request on, and keeps the connection if there may be another. */
void ccf_repeat(struct ccf_bundle *bundle) {
    bool more = !stopping && (may_repeat == NULL || may_repeat(bundle));
    struct ccf_bundle *copy = more ? ccf_copy(bundle) : NULL;
    if (copy != NULL) {
        struct ccf_repeat *kept = copy->own;
        kept->bundle = copy;
        kept->watch = (struct ccf_watch){.fd = ccf_lease(bundle), .call = on_lease};
        if (kept->watch.fd == -1 || !ccf_watch_add(&kept->watch, 0)) {
            /* Without a lease the server closes the connection after this request. */
            if (kept->watch.fd != -1)
                close(kept->watch.fd);
            ccf_drop(copy);
        }
    }
    ccf_pass(bundle);
}

bool ccf_repeat_start(const struct ccf_packing *packing, bool (*more)(struct ccf_bundle *bundle)) {
    may_repeat = more;
    return ccf_pack_start(packing);
}

void ccf_repeat_stop(void) {
    stopping = true;
    ccf_pack_end_idle();
}
