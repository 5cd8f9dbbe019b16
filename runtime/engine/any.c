/* any.c: waits for several connections of a session: $readAny, transfers beside a client.
 *
 * Called by actions and by service/transfer. State: on the stack of the action. Must not know how
 * bytes move. */
#include "second.h"

#include <errno.h>

static int any_fail(int error) {
    errno = error;
    return -1;
}

enum { ANY_MOST = NEST__FURTHER + 1 };

/* Whether a read from it would not wait; then *handle is the answer. Otherwise a member that
 * receives behind its unread bytes. 0 or -1. */
static int any_member(nest_session *s, int handle, struct nest__member *member, bool *ready) {
    if (handle == NEST_CLIENT) {
        uint32_t n;
        if (nest__input_fails(s)) {
            return -1;
        }
        (void)nest__unread_bytes(s, nest__acting(s)->window, &n);
        *ready = n > 0 || (s->c0.state & NEST__CHAN_EOF) != 0;
        *member = (struct nest__member){.chan = &s->c0};
        return 0;
    }
    struct nest__further *further = nest__second_use(s, handle);
    if (further == NULL) {
        return -1;
    }
    *member = (struct nest__member){.chan = &further->chan, .readable = further->listens};
    if (!further->listens) {
        nest__second_restore(further);
        *ready = further->in_n > 0 || (further->chan.state & NEST__CHAN_EOF) != 0;
    }
    return 0;
}

/* Where its bytes are received; after everything that may wait or move them. */
static int any_space(nest_session *s, struct nest__member *member) {
    struct nest__further *further = nest__further_of(s, member->chan);
    if (further != NULL) {
        if (further->listens) {
            return 0;
        }
        if (nest__second_space(further, further->in_n + 1) < 0) {
            return -ENOMEM;
        }
        member->into = further->in + further->in_at + further->in_n;
        member->room = further->in_cap - 1 - further->in_at - further->in_n;
        return 0;
    }
    if (nest__own(s, NULL) < 0 || nest__rest_behind(s, nest__acting(s), NEST__BEHIND_REST) < 0) {
        return -ENOMEM;
    }
    const struct nest__work *work = s->work;
    member->into = work->rest + work->rest_at + work->rest_n;
    member->room = work->rest_cap - work->rest_at - work->rest_n;
    return 0;
}

/* Takes what has come for a member. 0 or -1. */
static int any_came(nest_session *s, const struct nest__member *member) {
    struct nest__further *further = nest__further_of(s, member->chan);
    if (further == NULL) {
        s->work->rest_n += member->got > 0 ? (uint32_t)member->got : 0;
        return member->got < 0 ? nest__cut_short(s, -ECONNRESET) : 0;
    }
    further->in_n += member->got > 0 ? (uint32_t)member->got : 0;
    if (member->got < 0) {
        nest__chan_lost(s, member->chan, NEST__CHAN_GONE); /* the next read says so */
    }
    return 0;
}

__attribute__((noinline)) static int any_list(nest_session *s, size_t count, const int handles[]) {
    struct nest__member members[ANY_MOST];
    if (count == 0 || count > ANY_MOST) {
        return any_fail(EINVAL);
    }
    for (size_t i = 0; i < count; i++) {
        bool ready = false;
        for (size_t k = 0; k < i; k++) {
            if (handles[k] == handles[i]) { /* both would receive into the same space */
                return any_fail(EINVAL);
            }
        }
        if (any_member(s, handles[i], &members[i], &ready) < 0) {
            return -1;
        }
        if (ready) {
            return handles[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (any_space(s, &members[i]) < 0) {
            return nest__cut_short(s, -ENOMEM);
        }
    }
    if (nest__second_wait(s, members, (unsigned)count, nest__second_until(nest__idle_limit(s))) <
        0) {
        return -1;
    }
    int first = -1;
    for (size_t i = 0; i < count; i++) {
        if (members[i].came && any_came(s, &members[i]) < 0) {
            return -1;
        }
        first = members[i].came && first == -1 ? handles[i] : first;
    }
    return first;
}

int nest_read_any_list(nest_session *s, size_t count, const int handles[]) {
    struct nest__trip *trip = nest__at_home(s);
    int result = any_list(s, count, handles);
    nest__from_home(trip);
    return result;
}

/* -- transfers */

int nest__second_beside_client(nest_session *s, struct nest__member *member, uint32_t deadline) {
    struct nest__member both[2] = {*member};
    bool said = false;
    if (any_member(s, NEST_CLIENT, &both[1], &said) < 0) {
        return -1;
    }
    if (said) {
        return 1;
    }
    if (any_space(s, &both[1]) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    if (nest__second_wait(s, both, 2, deadline) < 0 ||
        (both[1].came && any_came(s, &both[1]) < 0)) {
        return -1;
    }
    *member = both[0];
    return both[0].came ? 0 : 1;
}
