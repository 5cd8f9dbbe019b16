/* wait.c: an action waits: for its client, for a while, for work elsewhere.
 *
 * Called by the engine's directives. State: the session's marks of a wait that was cut short. The
 * only file that goes through the fiber switch. Must not know how anybody waits. */
#include "engine.h"

#include <errno.h>

int nest__wait_in_fiber(nest_session *s, const struct nest__wait *wait) {
    struct nest__action *action = nest__worker()->action;
    (void)nest__lent_long(s);
    nest__on_wait(s);
    int result = nest__wait(s, wait);
    nest__worker()->action = action; /* other actions may have run meanwhile */
    nest__on_resume(s);
    return result;
}

int nest__refuse(nest_session *s) {
    errno = (s->c0.state & NEST__CHAN_GONE) != 0 ? ECONNRESET : ECANCELED;
    return -1;
}

int nest__cut_short(nest_session *s, int error) {
    s->flags |= NEST__CUT;
    if (error == -ETIMEDOUT) {
        s->flags |= NEST__EXPIRED;
    } else if (error == -ECANCELED) {
        s->flags |= NEST__STOPPING;
        s->c0.state |= NEST__CHAN_CUT;
        nest__out_drop(s);
    } else { /* nothing may follow where bytes are missing */
        s->c0.state |= NEST__CHAN_GONE;
        nest__out_drop(s);
    }
    errno = -error;
    return -1;
}

int nest__unsent(nest_session *s) {
    s->c0.state |= NEST__CHAN_CUT;
    nest__out_drop(s);
    return nest__cut_short(s, -ETIMEDOUT);
}

__attribute__((noinline)) static int wait_output(nest_session *s, uint64_t mark) {
    for (;;) {
        struct nest__wait wait = {
            .what = NEST__DRAINED, .chan = &s->c0, .mark = mark, .deadline = nest__out_deadline(s)};
        int result = nest__wait_in_fiber(s, &wait);
        if (result == 0) {
            return 0;
        }
        if (result != -ETIMEDOUT) {
            return nest__cut_short(s, result);
        }
        if (nest__out_overdue(s)) { /* otherwise its client makes progress */
            return nest__unsent(s);
        }
    }
}

int nest__await_output(nest_session *s, uint64_t mark) {
    struct nest__trip *trip = nest__at_home(s);
    int result = wait_output(s, mark);
    nest__from_home(trip);
    return result;
}

int64_t nest__await_input(nest_session *s, uint8_t *into, uint32_t room, uint32_t deadline) {
    struct nest__wait wait = {
        .what = NEST__INPUT, .chan = &s->c0, .into = into, .room = room, .deadline = deadline};
    int result = nest__wait_in_fiber(s, &wait);
    if (result < 0) {
        return nest__cut_short(s, result);
    }
    if (result > 0) {
        nest__on_input(s, (uint64_t)result);
    }
    return result;
}

int nest__await_work(nest_session *s, int (*work)(void *), void *arg) {
    bool beside = NEST__PROCESSORS && nest__processors_number() != 0;
    if (beside || nest__worker()->in_block) {
        return work(arg); /* a thread beside the loop may block */
    }
    struct nest__wait wait = {.what = NEST__WORK, .chan = &s->c0, .work = work, .arg = arg};
    return nest__wait_in_fiber(s, &wait);
}

/* A pause is interrupted only to see whether output is overdue. */
__attribute__((noinline)) static int wait_sleep(nest_session *s, uint32_t ms) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    while (ms > 0) {
        uint32_t now = nest__clock();
        uint32_t until = nest__after(now, ms < NEST__LONGEST ? ms : NEST__LONGEST);
        if (nest__out_overdue(s)) {
            return nest__unsent(s);
        }
        uint32_t due = nest__out_deadline(s);
        if (due != 0 && !nest__reached(until, due)) {
            until = due;
        }
        struct nest__wait wait = {.what = NEST__TIME, .chan = &s->c0, .deadline = until};
        int result = nest__wait_in_fiber(s, &wait);
        if (result < 0) {
            return nest__cut_short(s, result);
        }
        ms = until - now < ms ? ms - (until - now) : 0;
    }
    return 0;
}

int nest_sleep(nest_session *s, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = wait_sleep(s, ms);
    nest__from_home(trip);
    return result;
}

bool nest_draining(nest_session *s) {
    return (s->flags & NEST__STOPPING) != 0 || nest__stopping();
}
