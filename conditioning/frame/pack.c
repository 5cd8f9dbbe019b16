/* Packaging. ccfpack.h has the interface.
 *
 * An incomplete request stays in its socket, where it is looked at without being taken: a
 * connection costs a descriptor and a little memory. Only requests longer than a message of the
 * chain are taken out piece by piece. Exactly one request is taken; what a client sent after it
 * stays. There is one exception: if the end of a long request is found only after later bytes were
 * taken out, these are passed on with it.
 *
 * If the server reads from the socket itself, nothing is taken out. A request longer than the
 * socket can hold then counts as complete when its head and as much of its body as fits are there.
 * A client that waits to be told to send the body is told here, and may be told by the server
 * again, which HTTP allows (RFC 9110, 15.2): what asks for it cannot be taken out of the socket.
 */
#define _GNU_SOURCE
#include "ccfpack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <string.h>
#include <unistd.h>
#include "wire.h"

enum { LOOK = 65536 };
static const struct ccf_packing *packing;
static struct ccf_tree *incomplete;
static struct ccf_list waiting; /* the same bundles, the one that has waited longest first */
static char look[LOOK];
static bool peeks;
static long spilled; /* bytes of incomplete requests in memory */

static struct ccf_pack *pack_of(struct ccf_bundle *bundle) {
    return bundle->own;
}

/* Stops waiting for a bundle's request. */
static void leave(struct ccf_pack *pack) {
    if (pack->watched) {
        ccf_watch_remove(&pack->watch);
        ccf_timer_clear(&pack->timer);
        ccf_tree_remove(incomplete, &pack->item);
        ccf_take(&waiting, pack->bundle);
    }
    spilled -= pack->spilled;
}

void ccf_pack_end(struct ccf_bundle *bundle, const char *reason, const char *answer) {
    struct ccf_pack *pack = pack_of(bundle);
    leave(pack);
    if (pack->memfd != -1)
        close(pack->memfd);
    ccf_refuse(bundle, reason, answer);
}

/* Receives bytes that were peeked before. If the server reads the socket, leaves them there. */
static bool take(int fd, char *to, size_t n) {
    return recv(fd, to, n, MSG_DONTWAIT | (peeks ? MSG_PEEK : 0)) == (ssize_t)n;
}

/* Moves the bytes that were looked at into memory. */
static bool spill(struct ccf_bundle *bundle, struct ccf_pack *pack) {
    size_t n = pack->frame.fed;
    if (pack->memfd == -1)
        pack->memfd = memfd_create("request", MFD_CLOEXEC);
    if (pack->memfd == -1 || !take(bundle->fd, look, n) ||
        write(pack->memfd, look, n) != (ssize_t)n)
        return false;
    pack->spilled += (uint32_t)n;
    spilled += (long)n;
    pack->frame.fed = 0;
    return true;
}

/* The client has been told to send the body: the server is not to tell it again. */
static bool forget_question(struct ccf_bundle *bundle) {
    size_t length, old = 0, n = 0;
    const char *head = ccf_head(bundle, &length);
    char *changed = head != NULL ? malloc(length) : NULL;
    if (changed != NULL)
        n = packing->framer->told(head, length, changed, &old);
    bool good = changed != NULL && ccf_replace(bundle, old, changed, n);
    free(changed);
    return good;
}

/* fresh: the request is in `look`, as it was just looked at. */
static void whole(struct ccf_bundle *bundle, struct ccf_pack *pack, bool fresh) {
    uint32_t length = pack->spilled + (uint32_t)pack->frame.fed;
    if (peeks && length > CC__INLINE)
        length = CC__INLINE; /* the filters behind this one see its start */
    bool large = pack->memfd != -1 || length > CC__INLINE;
    char *bytes = large ? NULL : malloc(length);
    bool good = bytes != NULL;
    if (large)
        good = spill(bundle, pack);
    else if (good && fresh && peeks)
        memcpy(bytes, look, length);
    else if (good)
        good = take(bundle->fd, bytes, length);
    if (!good) {
        free(bytes);
        ccf_pack_end(bundle, "no memory", packing->framer->crowded);
        return;
    }
    leave(pack);
    ccf_package(bundle, bytes, pack->memfd, length);
    pack->memfd = -1;
    if (pack->told && !peeks && packing->framer->told != NULL && !forget_question(bundle))
        ccf_refuse(bundle, "no memory", packing->framer->crowded);
    else
        packing->done(bundle);
}

static void set_timer(struct ccf_pack *pack, long wait) {
    ccf_timer_set(&pack->timer, ccf_now() + (uint64_t)wait);
}

/* The client sends no more: completes its request, or ends it. */
static void ended(struct ccf_bundle *bundle, struct ccf_pack *pack) {
    bool (*end)(struct ccf_frame * frame) = packing->framer->end;
    if (pack->begun && end != NULL && end(&pack->frame))
        whole(bundle, pack, false);
    else /* A connection on which nothing was sent is ended without being counted as refused. */
        ccf_pack_end(bundle, pack->begun ? "aborted" : NULL, NULL);
}

/* Looks for the end of a request. Returns whether the bundle still waits for it. */
static bool check(struct ccf_bundle *bundle) {
    struct ccf_pack *pack = pack_of(bundle);
    for (;;) {
        ssize_t n = recv(bundle->fd, look, LOOK, MSG_PEEK | MSG_DONTWAIT);
        if (n == -1 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n == 0) {
            ended(bundle, pack);
            return false;
        }
        if (n == -1) {
            ccf_pack_end(bundle, pack->begun ? "aborted" : NULL, NULL);
            return false;
        }
        if (!pack->begun) {
            pack->begun = true;
            if (packing->idle > 0 && pack->watched)
                set_timer(pack, packing->timeout);
        }
        if ((size_t)n <= pack->frame.fed)
            return true;
        enum ccf_need need = packing->framer->feed(&pack->frame, look, (size_t)n);
        if (need == CCF_WHOLE) {
            whole(bundle, pack, true);
            return false;
        }
        if (need == CCF_BAD) {
            ccf_pack_end(bundle, pack->frame.reason, pack->frame.answer);
            return false;
        }
        if (pack->frame.expects && peeks && packing->passes) {
            whole(bundle, pack, true);
            return false;
        }
        if (pack->frame.expects && !pack->told && packing->framer->go_on != NULL) {
            pack->told = true;
            send(bundle->fd, packing->framer->go_on, strlen(packing->framer->go_on),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        if (peeks && pack->frame.body && (size_t)n >= CC__INLINE / 2) {
            whole(bundle, pack, true);
            return false;
        }
        /* A long request fills the socket's buffer, so its client can only go on if bytes are taken
         * out. */
        bool large = pack->memfd != -1 || (size_t)n >= CC__INLINE / 2 ||
                     (uint64_t)n + pack->frame.left > CC__INLINE;
        if (peeks || !large || !pack->frame.body)
            return true;
        if (spilled + n > packing->memory || !spill(bundle, pack)) {
            ccf_pack_end(bundle, "memory", packing->framer->crowded);
            return false;
        }
    }
}

static void on_events(struct ccf_watch *watch, uint32_t events) {
    struct ccf_pack *pack = CCF_OF(watch, struct ccf_pack, watch);
    struct ccf_bundle *bundle = pack->bundle;
    bool lost = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (lost)
        ccf_pack_end(bundle, pack->begun ? "aborted" : NULL, NULL);
    /* A client that sends no more may have completed its request with its last bytes. */
    else if (check(bundle) && (events & EPOLLRDHUP))
        ended(bundle, pack);
}

static void on_time(struct ccf_timer *timer) {
    struct ccf_pack *pack = CCF_OF(timer, struct ccf_pack, timer);
    bool idle = !pack->begun && packing->idle > 0;
    ccf_pack_end(pack->bundle, idle ? "idle" : "overdue", idle ? NULL : packing->framer->overdue);
}

bool ccf_pack_start(const struct ccf_packing *p) {
    packing = p;
    peeks = ccf_peeks();
    incomplete = ccf_tree_new(0);
    return incomplete != NULL;
}

void ccf_pack(struct ccf_bundle *bundle) {
    struct ccf_pack *pack = pack_of(bundle);
    memset(pack, 0, sizeof *pack);
    pack->bundle = bundle;
    pack->memfd = -1;
    pack->watch = (struct ccf_watch){.fd = bundle->fd, .call = on_events};
    pack->timer.call = on_time;
    if (!check(bundle))
        return;
    pack->watched = true;
    ccf_push(&waiting, bundle);
    if (!ccf_tree_add(incomplete, &pack->item, &bundle->from) ||
        !ccf_watch_add(&pack->watch, EPOLLIN | EPOLLRDHUP | EPOLLET)) {
        ccf_pack_end(bundle, "no memory", packing->framer->crowded);
        return;
    }
    set_timer(pack, packing->idle > 0 && !pack->begun ? packing->idle : packing->timeout);
}

bool ccf_pack_shed(void) {
    struct ccf_tree_item *item = ccf_tree_heaviest(incomplete);
    if (item == NULL)
        return false;
    struct ccf_pack *pack = CCF_OF(item, struct ccf_pack, item);
    ccf_pack_end(pack->bundle, "crowded", packing->framer->crowded);
    return true;
}

bool ccf_pack_shed_oldest(void) {
    if (waiting.first == NULL)
        return false;
    ccf_pack_end(waiting.first, "crowded", NULL);
    return true;
}

void ccf_pack_end_idle(void) {
    for (struct ccf_bundle *bundle = waiting.first, *after; bundle != NULL; bundle = after) {
        after = bundle->next;
        if (!pack_of(bundle)->begun)
            ccf_pack_end(bundle, NULL, NULL);
    }
}
