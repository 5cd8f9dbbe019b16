/* fallback.c: the poller of io_uring, or that of epoll where the kernel gives no ring.
 *
 * See poller.h. Both are in the server, with names of their own (unit.rs). State: which of them
 * serves. It is decided once, before there are workers. Must not know how they do it. */
#include "poller.h"

#include <errno.h>

#define FALLBACK_DECLARE(poller)                                                                   \
    int nest__##poller##_prepare(uint32_t *most);                                                  \
    unsigned nest__##poller##_needs(struct nest__need needs[]);                                    \
    int nest__##poller##_start(void);                                                              \
    void nest__##poller##_step(void);                                                              \
    bool nest__##poller##_next(struct nest__completion *);                                         \
    void nest__##poller##_sleep(bool look);                                                        \
    uint32_t nest__##poller##_completed(void);                                                     \
    uint32_t nest__##poller##_clients(void);                                                       \
    int nest__##poller##_arm(bool on);                                                             \
    void nest__##poller##_retire(unsigned listener);                                               \
    bool nest__##poller##_await(nest_session *, struct nest__chan *, enum nest__await);            \
    int64_t nest__##poller##_receive(nest_session *, struct nest__chan *, struct nest__window *);  \
    bool nest__##poller##_pending(const nest_session *, const struct nest__chan *);                \
    bool nest__##poller##_close(nest_session *, struct nest__chan *);                              \
    bool nest__##poller##_received_ahead(const struct nest__chan *);                               \
    int nest__##poller##_push(nest_session *, struct nest__chan *);                                \
    int64_t nest__##poller##_send_file(nest_session *, struct nest__chan *, int, uint64_t, uint64_t)

FALLBACK_DECLARE(uring);
FALLBACK_DECLARE(epoll);

static bool fallback; /* epoll serves */

#define FALLBACK(call) (fallback ? nest__epoll_##call : nest__uring_##call)

int nest__poller_prepare(uint32_t *most) {
    int error = nest__uring_prepare(most);
    fallback = error == -EOPNOTSUPP;
    return fallback ? nest__epoll_prepare(most) : error;
}

unsigned nest__poller_needs(struct nest__need needs[]) {
    return FALLBACK(needs(needs));
}

int nest__poller_start(void) {
    return FALLBACK(start());
}

void nest__poller_step(void) {
    FALLBACK(step());
}

bool nest__poller_next(struct nest__completion *done) {
    return FALLBACK(next(done));
}

void nest__poller_sleep(bool look) {
    FALLBACK(sleep(look));
}

uint32_t nest__poller_completed(void) {
    return FALLBACK(completed());
}

uint32_t nest__poller_clients(void) {
    return FALLBACK(clients());
}

int nest__poller_arm(bool on) {
    return FALLBACK(arm(on));
}

void nest__poller_retire(unsigned listener) {
    FALLBACK(retire(listener));
}

bool nest__poller_await(nest_session *s, struct nest__chan *chan, enum nest__await what) {
    return FALLBACK(await(s, chan, what));
}

int64_t nest__poller_receive(nest_session *s, struct nest__chan *chan,
                             struct nest__window *window) {
    return FALLBACK(receive(s, chan, window));
}

bool nest__poller_pending(const nest_session *s, const struct nest__chan *chan) {
    return FALLBACK(pending(s, chan));
}

bool nest__poller_close(nest_session *s, struct nest__chan *chan) {
    return FALLBACK(close(s, chan));
}

bool nest__received_ahead(const struct nest__chan *chan) {
    return FALLBACK(received_ahead(chan));
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    return FALLBACK(push(s, chan));
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    return FALLBACK(send_file(s, chan, fd, at, n));
}
