/* Where a filter's connections go: links to the processes behind it, each of which asks for as many
 * connections as it is ready for.
 *
 * A connection that was sent is kept until it is acknowledged. If the link ends before that,
 * another process gets the connection: the first one had not looked at it. Must not know: what a
 * filter decides. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { RETRY = 10 }; /* ms until the system may accept more descriptors in flight */

struct link {
    struct ccf_watch watch;
    struct ccf__twin *twin;      /* of a process that does not acknowledge; or NULL */
    struct ccf_list sent;        /* not yet acknowledged, in the order of sending */
    size_t demand;               /* connections that it has asked for and that were not sent */
    bool willing;                /* in the list of links that want a connection and can take one */
    bool blocked;                /* its socket is full */
    struct link *next, *prev;    /* all links */
    struct link *after, *before; /* willing ones */
};

static struct ccf_watch hop = {.fd = CCF__OUT};
static struct ccf_watch elsewhere = {.fd = -1};
static struct link *links;
static struct link *willing, *willing_last;
static size_t wanted;         /* the sum of all `demand` */
static size_t unacknowledged; /* connections in all `sent` */
static bool leaving, elsewhere_full;
static struct ccf_timer retry;

static void set_willing(struct link *link) {
    bool want = link->demand > 0 && !link->blocked;
    if (want == link->willing)
        return;
    link->willing = want;
    if (want) {
        link->after = NULL;
        link->before = willing_last;
        *(willing_last != NULL ? &willing_last->after : &willing) = link;
        willing_last = link;
    } else {
        *(link->before != NULL ? &link->before->after : &willing) = link->after;
        *(link->after != NULL ? &link->after->before : &willing_last) = link->before;
    }
}

static void end_link(struct link *link) {
    wanted -= link->demand;
    link->demand = 0;
    set_willing(link);
    unacknowledged -= link->sent.count;
    ccf__all_again(&link->sent);
    if (link->twin != NULL)
        ccf__died(link->twin);
    *(link->prev != NULL ? &link->prev->next : &links) = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    ccf_watch_remove(&link->watch);
    close(link->watch.fd);
    free(link);
}

/* Handles CC__TAKE: bundles were taken or returned, and more are wanted. */
static void on_take(struct link *link, const struct cc__head *head) {
    for (uint32_t i = 0; i < head->taken && link->sent.first != NULL; i++) {
        ccf__free(ccf_pop(&link->sent));
        unacknowledged--;
    }
    for (uint32_t i = 0; i < head->returned && link->sent.first != NULL; i++) {
        unacknowledged--;
        ccf__again(ccf_pop(&link->sent));
    }
    link->demand += head->demand;
    wanted += head->demand;
    set_willing(link);
}

static void on_link(struct ccf_watch *watch, uint32_t events) {
    struct link *link = CCF_OF(watch, struct link, watch);
    if (link->blocked && (events & EPOLLOUT)) {
        link->blocked = false;
        ccf_watch_change(watch, EPOLLIN);
        set_willing(link);
    }
    struct cc__message messages[CC__BATCH];
    for (int i = 0; i < CC__BATCH; i++)
        messages[i].bytes = NULL;
    int count = cc__receive_many(watch->fd, messages, CC__BATCH);
    bool over = count < 0 && count != -EAGAIN;
    for (int i = 0; i < count && !over; i++) {
        if (messages[i].got == 1 && messages[i].head.type == CC__TAKE)
            on_take(link, &messages[i].head);
        else if (messages[i].got == 1)
            cc__close_all(messages[i].fds, messages[i].count);
        over = messages[i].got == 0;
    }
    if (over) {
        end_link(link);
        return;
    }
    if (leaving && link->sent.first == NULL)
        end_link(link);
}

/* twin: a copy of its other end, or -1. */
static void new_link(int fd, int twin) {
    struct link *link = calloc(1, sizeof *link);
    if (link != NULL && twin != -1)
        link->twin = ccf__twin_new(twin);
    if (link != NULL && (twin == -1 || link->twin != NULL)) {
        link->watch = (struct ccf_watch){.fd = fd, .call = on_link};
        if (ccf_watch_add(&link->watch, EPOLLIN)) {
            link->next = links;
            if (links != NULL)
                links->prev = link;
            links = link;
            return;
        }
    }
    /* The process at its other end announces another link. */
    if (twin != -1)
        close(twin);
    close(fd);
    if (link != NULL)
        free(link->twin);
    free(link);
}

/* A filter is the only process behind its hop: if it announces a link, earlier ones have ended. */
static void end_twins(void) {
    for (struct link *link = links, *after; link != NULL; link = after) {
        after = link->next;
        if (link->twin != NULL)
            end_link(link);
    }
}

static void on_hop(struct ccf_watch *watch, uint32_t events) {
    char bytes[CC__INLINE];
    struct cc__message message = {.bytes = bytes};
    (void)events;
    int got = cc__receive(watch->fd, &message, MSG_DONTWAIT);
    if (got == 1 && message.head.type == CC__ATTACH) {
        if (message.count == 2)
            end_twins();
        new_link(message.fds[0], message.count == 2 ? message.fds[1] : -1);
    } else if (got == 1 && message.head.type == CC__BUNDLE) {
        /* A bundle that the filter which this one replaces had passed but not yet sent. */
        struct ccf_bundle *bundle = ccf__from(&message);
        if (bundle != NULL) {
            ccf__count->accepted++;
            ccf__hold(bundle);
            ccf_pass(bundle);
        } else {
            cc__close_all(message.fds, message.count);
        }
    } else if (got == 1) {
        cc__close_all(message.fds, message.count);
    } else if (got == 0) {
        _exit(0); /* no process is left that could ask for a connection */
    }
}

/* Counts a bundle that was sent. It may have been sent before, to a process that has died. */
static void count(struct ccf_bundle *bundle) {
    if (!bundle->counted)
        __atomic_fetch_add(&ccf__count->passed, 1, __ATOMIC_RELEASE);
    bundle->counted = true;
}

/* Sends a bundle over a link. Returns false if no other can be sent now. */
static bool send_to(struct link *link, struct ccf_bundle *bundle) {
    int error = ccf__send(link->watch.fd, bundle);
    if (error == 0) {
        ccf__release(bundle);
        count(bundle);
        if (link->twin != NULL) {
            ccf__free(bundle);
        } else {
            ccf_push(&link->sent, bundle);
            unacknowledged++;
        }
        link->demand--;
        wanted--;
        set_willing(link);
        return true;
    }
    ccf__again(bundle);
    if (error == -EAGAIN) {
        link->blocked = true;
        ccf_watch_change(&link->watch, EPOLLIN | EPOLLOUT);
        set_willing(link);
    } else if (error == -EPIPE || error == -ECONNRESET) {
        /* The process behind it has ended. What it acknowledged before may still be unread here,
         * and must not be sent again: on_link reads all of it before it ends the link. */
        link->blocked = true;
        set_willing(link);
    } else {
        ccf_timer_set(&retry, ccf_now() + RETRY);
        return false;
    }
    return true;
}

static void on_elsewhere(struct ccf_watch *watch, uint32_t events) {
    (void)events;
    elsewhere_full = false;
    ccf_watch_remove(watch);
}

/* Sends a bundle to the filter that takes over. Returns false if no other can be sent now. */
static bool send_elsewhere(struct ccf_bundle *bundle) {
    int error = ccf__send(elsewhere.fd, bundle);
    if (error == 0) {
        count(bundle);
        ccf__free(bundle);
        return true;
    }
    if (error == -EAGAIN && ccf_watch_add(&elsewhere, EPOLLOUT)) {
        ccf__again(bundle);
        elsewhere_full = true;
    } else if (error == -EPIPE || error == -ECONNRESET) {
        ccf_refuse(bundle, "nobody", NULL);
    } else {
        ccf__again(bundle);
        ccf_timer_set(&retry, ccf_now() + RETRY);
    }
    return false;
}

void ccf__down_update(void) {
    bool more = retry.place == 0;
    while (more && !elsewhere_full && (leaving ? elsewhere.fd != -1 : willing != NULL)) {
        struct ccf_bundle *bundle = ccf__next();
        if (bundle == NULL)
            break;
        more = leaving ? send_elsewhere(bundle) : send_to(willing, bundle);
    }
}

static void wake(struct ccf_timer *timer) {
    (void)timer;
}

bool ccf__down_start(void) {
    hop.call = on_hop;
    retry.call = wake;
    return ccf_watch_add(&hop, EPOLLIN);
}

size_t ccf__down_wanted(void) {
    return leaving ? 1 : wanted;
}

void ccf__down_leave(int fd) {
    if (leaving) {
        close(fd);
        return;
    }
    leaving = true;
    elsewhere = (struct ccf_watch){.fd = fd, .call = on_elsewhere};
    ccf_watch_remove(&hop);
    for (struct link *link = links, *after; link != NULL; link = after) {
        after = link->next;
        if (link->sent.first == NULL)
            end_link(link);
    }
}

bool ccf__down_idle(void) {
    return unacknowledged == 0 && ccf__down_ready() == 0;
}
