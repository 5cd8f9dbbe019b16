/* Connections that can be sent to a process behind the filter: those that it has passed, and those
 * that a process has not taken.
 * Must not know: links, who asks for connections. */
#define _GNU_SOURCE
#include "frame.h"

#include <stdlib.h>

static struct ccf_list ready;
static bool left; /* processes that have died have left some in their sockets */

void ccf__again(struct ccf_bundle *bundle) {
    if (!bundle->held)
        ccf__hold(bundle);
    bundle->prev = NULL;
    bundle->next = ready.first;
    *(ready.first != NULL ? &ready.first->prev : &ready.last) = bundle;
    ready.first = bundle;
    ready.count++;
}

void ccf__all_again(struct ccf_list *list) {
    while (list->last != NULL) {
        struct ccf_bundle *bundle = list->last;
        bundle->counted = true; /* also if it comes from the socket of a process that has died */
        ccf_take(list, bundle);
        ccf__again(bundle);
    }
}

void ccf__died(struct ccf__twin *twin) {
    ccf__twin_died(twin);
    left = true;
}

struct ccf_bundle *ccf__next(void) {
    if (left) {
        struct ccf_list list = {NULL, NULL, 0};
        left = !ccf__take_back(&list);
        ccf__all_again(&list);
    }
    struct ccf_bundle *bundle = ccf_pop(&ready);
    if (bundle == NULL && (ccf__filter->traits & CCF_CHOOSES))
        bundle = ccf__filter->choose();
    return bundle;
}

size_t ccf__down_ready(void) {
    return ready.count + left;
}

void ccf_pass(struct ccf_bundle *bundle) {
    ccf_push(&ready, bundle);
}
