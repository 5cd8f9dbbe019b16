/* What comes over a link from the filter in front, and what is left in the link of a filter behind
 * that has died.
 *
 * Filters do not acknowledge what they receive: a bundle that was received is in this process only.
 * So none is received unless there are descriptors for it, and one that needs more memory than
 * there is waits here. Must not know: who asks for bundles, where they go. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A copy of the socket from which a filter behind this one receives. What is in the socket when
 * that filter dies can be received here. */
struct ccf__twin {
    int fd;
    struct ccf__twin *next;
};

static struct cc__message batch[CC__BATCH];
static char bytes[CC__BATCH][CC__INLINE];
static int have, next; /* messages in `batch`; the first one that is no bundle yet */
static struct ccf__twin *dead;

int ccf__receive(int link, struct ccf_bundle **bundle) {
    if (have == 0) {
        int most = cc__fitting(ccf__highest);
        for (int i = 0; i < most; i++)
            batch[i].bytes = bytes[i];
        int count = most > 0 ? cc__receive_many(link, batch, most) : -ENOMEM;
        if (count < 0)
            return count == -EAGAIN || count == -ENOMEM ? count : 0;
        have = count;
        next = 0;
    }
    for (; next < have; next++) {
        struct cc__message *message = &batch[next];
        if (message->got == 1 && message->head.type == CC__BUNDLE) {
            *bundle = ccf__from(message);
            next += *bundle != NULL;
            return *bundle != NULL ? 1 : -ENOMEM;
        }
        if (message->got == 1)
            cc__close_all(message->fds, message->count);
        if (message->got == 0) {
            have = 0;
            return 0;
        }
    }
    have = 0;
    return -EAGAIN; /* if there is more, the loop says so */
}

struct ccf__twin *ccf__twin_new(int fd) {
    struct ccf__twin *twin = malloc(sizeof *twin);
    if (twin != NULL)
        *twin = (struct ccf__twin){.fd = fd};
    return twin;
}

void ccf__twin_free(struct ccf__twin *twin) {
    if (twin != NULL)
        close(twin->fd);
    free(twin);
}

void ccf__twin_died(struct ccf__twin *twin) {
    twin->next = dead;
    dead = twin;
}

bool ccf__take_back(struct ccf_list *list) {
    static char one[CC__INLINE];
    while (dead != NULL) {
        struct ccf__twin *twin = dead;
        struct cc__message message = {.bytes = one};
        int got =
            cc__fitting(ccf__highest) > 0 ? cc__receive(twin->fd, &message, MSG_DONTWAIT) : -ENOMEM;
        if (got == -ENOMEM)
            return false;
        struct ccf_bundle *bundle = NULL;
        if (got == 1 && message.head.type == CC__BUNDLE)
            bundle = ccf__from(&message);
        if (bundle != NULL)
            ccf_push(list, bundle);
        else if (got == 1)
            cc__close_all(message.fds, message.count);
        if (got == 1 || got == -EPROTO)
            continue;
        dead = twin->next;
        ccf__twin_free(twin);
    }
    return true;
}
