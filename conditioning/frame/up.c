/* Where a filter's connections come from: a listening socket, or a link to the filter in front.
 *
 * The filter in front has a copy of the socket from which this filter receives. If this filter
 * dies, that one takes back what is in the socket. So no connection has to be acknowledged, which
 * would wake the filter in front for each one. Must not know: what a filter decides. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TAKE = 32,     /* connections accepted before others are passed on */
    AHEAD = 16,    /* connections that a filter prepares before the next process asks for them */
    RESERVE = 256, /* descriptors that are not for connections */
    RETRY = 50,    /* ms until descriptors or room may be free again */
    OVER = 32      /* connections that may exceed the limit until others have been ended */
};

static struct ccf_watch in = {.fd = CCF__IN};
static struct ccf_watch link_watch = {.fd = -1};
static bool listening, strict, armed, stopped, ended;
static bool kept;              /* it was replaced, and its clients may go on */
static struct ccf_timer retry; /* set while nothing is asked for */
static bool waits;             /* a connection waits at the link until then */
static size_t owed;            /* connections that were asked for and have not arrived */
static size_t limit;

/* How many more connections there is room for. */
static size_t space(void) {
    size_t most = limit, held = ccf__count->held;
    if (!(ccf__filter->traits & CCF_HOLDS)) {
        size_t wanted = ccf__down_wanted() + (strict ? 0 : AHEAD);
        /* Connections that the filter delays are not ready, but they count towards the limit. */
        size_t ready = ccf__down_ready();
        size_t more = wanted > ready ? wanted - ready : 0;
        return held >= most ? 0 : more < most - held ? more : most - held;
    }
    if (held < most)
        return most - held;
    /* At the limit, `arrive` ends one connection for each new one. */
    return ccf__filter->shed != NULL && held < most + OVER ? 1 : 0;
}

static void on_link(struct ccf_watch *watch, uint32_t events);

static void wake(struct ccf_timer *timer) {
    (void)timer; /* after each timer the loop calls ccf__up_update, which asks again */
    if (waits)
        on_link(&link_watch, 0);
}

static void pause_a_little(void) {
    retry.call = wake;
    ccf_timer_set(&retry, ccf_now() + RETRY);
}

static void arrive(struct ccf_bundle *bundle) {
    ccf__count->accepted++;
    if (ccf__count->held >= limit && ccf__filter->shed != NULL && !ccf__filter->shed())
        pause_a_little();
    ccf__hold(bundle);
    ccf__filter->arrive(bundle);
}

static void on_listener(struct ccf_watch *watch, uint32_t events) {
    (void)events;
    size_t room = space();
    for (size_t i = 0; i < room && i < TAKE; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof from;
        int fd = accept4(watch->fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
        if (fd == -1) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                if (ccf__filter->shed == NULL || !ccf__filter->shed())
                    pause_a_little();
            }
            return;
        }
        struct ccf_bundle *bundle = ccf__new(fd);
        if (bundle == NULL) {
            close(fd);
            return;
        }
        struct cc__address address = cc__address_of(&from);
        bundle->from.family = address.family;
        bundle->from.port = address.port;
        __builtin_memcpy(bundle->from.bytes, address.bytes, 16);
        arrive(bundle);
    }
}

static void stop(void) {
    if (!kept && !stopped) {
        stopped = true;
        if (ccf__filter->stop != NULL)
            ccf__filter->stop();
    }
}

static void end(void) {
    ended = true;
    stop();
}

/* Announces a new link to the filter in front. */
static void attach(void) {
    struct cc__head head = cc__head_of(CC__ATTACH);
    int pair[2];
    int error = cc__pair(pair);
    if (error == 0) {
        int fds[2] = {pair[1], pair[0]};
        error = cc__send(CCF__IN, &head, NULL, 0, fds, 2, MSG_DONTWAIT);
        close(pair[1]);
        if (error != 0)
            close(pair[0]);
    }
    owed = 0;
    if (error == -EPIPE || error == -ECONNRESET) {
        ccf__control_look(); /* why it has: this filter was told before that one, as chain_leave
                                does */
        end();               /* the filter in front has finished */
        return;
    }
    link_watch = (struct ccf_watch){.fd = error == 0 ? pair[0] : -1, .call = on_link};
    if (error != 0 || !ccf_watch_add(&link_watch, EPOLLIN))
        pause_a_little();
}

static void detach(void) {
    ccf_watch_remove(&link_watch);
    close(link_watch.fd);
    link_watch.fd = -1;
}

/* Waits until there is room for the connection that is next at the link. */
static void set_waits(bool on) {
    if (on && !waits)
        ccf_watch_remove(&link_watch);
    waits = on || (waits && !ccf_watch_add(&link_watch, EPOLLIN));
    if (waits)
        pause_a_little();
}

static void on_link(struct ccf_watch *watch, uint32_t events) {
    struct ccf_bundle *bundle;
    int got;
    (void)events;
    while ((got = ccf__receive(watch->fd, &bundle)) == 1) {
        owed -= owed > 0;
        arrive(bundle);
    }
    set_waits(got == -ENOMEM);
    if (got == 0) {
        detach();
        attach();
    }
}

bool ccf__up_start(void) {
    struct rlimit files = {0};
    int value = 0;
    socklen_t size = sizeof value;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    /* Descriptors for each connection: its socket and, if filters may add leases, these too. */
    getsockopt(CCF__IN, SOL_SOCKET, SO_ACCEPTCONN, &value, &size);
    listening = value != 0;
    size_t each = listening && !(ccf__filter->traits & CCF_LEASES) ? 1 : 3;
    limit = files.rlim_cur > 2 * RESERVE ? ((size_t)files.rlim_cur - RESERVE) / each : RESERVE / 4;
    if (ccf__filter->limit > 0 && (size_t)ccf__filter->limit < limit)
        limit = (size_t)ccf__filter->limit;
    strict = getenv("CC_STRICT") != NULL;
    if (listening) {
        in.call = on_listener;
        fcntl(CCF__IN, F_SETFL, fcntl(CCF__IN, F_GETFL) | O_NONBLOCK);
        return true;
    }
    attach();
    return true;
}

void ccf__up_update(void) {
    if (ended || (retry.place != 0 && !listening))
        return;
    if (listening) {
        bool want = retry.place == 0 && space() > 0;
        if (want != armed) {
            if (want)
                ccf_watch_add(&in, EPOLLIN);
            else
                ccf_watch_remove(&in);
            armed = want;
        }
        return;
    }
    if (link_watch.fd == -1)
        attach();
    size_t room = space();
    size_t more = room > owed ? room - owed : 0;
    if (more == 0 || more < owed || link_watch.fd == -1)
        return;
    /* While some are ready it asks for several at a time. */
    if (!strict && more < AHEAD / 2 && owed + ccf__down_ready() > ccf__down_wanted())
        return;
    struct cc__head head = cc__head_of(CC__TAKE);
    head.demand = (uint32_t)more;
    int error = cc__send(link_watch.fd, &head, NULL, 0, NULL, 0, MSG_DONTWAIT);
    if (error == 0)
        owed += more;
    else if (error == -EAGAIN)
        pause_a_little();
}

void ccf__up_stop(bool keep) {
    /* A filter behind others goes on until they have passed everything on and closed the hop. */
    kept = keep;
    stop();
    if (!listening || ended)
        return;
    if (armed)
        ccf_watch_remove(&in);
    close(CCF__IN);
    end();
}

bool ccf__up_ended(void) {
    return ended;
}
