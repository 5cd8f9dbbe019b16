/* wheel.c: a hierarchical timing wheel through the sessions' own fields.
 *
 * Called by io, see wheel.h. State: the buckets of this process's loop. Must not know what a
 * deadline means. No memory is taken, every entry moves down at most once a level.
 *
 * The wheel's time is counted on in 64 bits. An entry lies on the level of the highest digit (of
 * 6 bits) in which its time differs from the wheel's, in the bucket of its own digit there. So all
 * of one level are due before those of the next, bucket by bucket, and none needs to move while
 * the wheel's time has not come to its bucket. An entry is never later in the wheel than its
 * deadline, but may be earlier: who moves his deadline on pays for it once a round, not each time.
 *
 * wheel_next, wheel_prev: slots; the last has NEST__NO_SLOT behind it, the first its bucket before
 * it, marked by WHEEL_HEAD; in no wheel: wheel_prev is NEST__NO_SLOT. */
#include "wheel.h"
#include "slots.h"

enum {
    WHEEL_BITS = 6,
    WHEEL_DIGITS = 1 << WHEEL_BITS,
    WHEEL_LEVELS = 7,   /* 2^42 ms: 139 years of one run */
    WHEEL_MOVES = 4096, /* of one call of nest__wheel_take */
    WHEEL_FEW = 16,     /* entries that nest__wheel_next looks at each time */
    WHEEL_SAVED = 1024, /* and at most if it has saved it up, by */
    WHEEL_SAVES = 2     /* with each call, and each entry put */
};
#define WHEEL_HEAD 0x80000000u

static struct {
    uint64_t now;                /* all before it were taken */
    uint64_t known;              /* nothing is due before it; may lie in the past */
    uint64_t full[WHEEL_LEVELS]; /* bit d: bucket d is not empty */
    uint32_t first[WHEEL_LEVELS][WHEEL_DIGITS];
    uint32_t sorted; /* the bucket, of a level above 0, that wheel.now has come to; 0: none */
    uint32_t count, saved;
    bool exact; /* known is the deadline of one of them, and the least */
} wheel;

static uint64_t wheel_time(uint32_t time) {
    int32_t ahead = (int32_t)(time - (uint32_t)wheel.now);
    return ahead > 0 ? wheel.now + (uint32_t)ahead : wheel.now;
}

/* This one's deadline is another from here on. */
static void wheel_doubt(uint32_t deadline) {
    wheel.exact = wheel.exact && deadline != (uint32_t)wheel.known;
}

static void wheel_unlink(nest_session *s) {
    uint32_t before = s->wheel_prev, after = s->wheel_next;
    if ((before & WHEEL_HEAD) == 0) {
        nest__slot_at(before)->wheel_next = after;
    } else {
        uint32_t level = (before & ~WHEEL_HEAD) / WHEEL_DIGITS, digit = before % WHEEL_DIGITS;
        wheel.first[level][digit] = after;
        if (after == NEST__NO_SLOT) {
            wheel.full[level] &= ~(UINT64_C(1) << digit);
        }
    }
    if (after != NEST__NO_SLOT) {
        nest__slot_at(after)->wheel_prev = before;
    }
    s->wheel_prev = NEST__NO_SLOT;
    wheel.count--;
}

/* The place for this time. */
static uint32_t wheel_bucket(uint64_t at) {
    uint32_t level = (uint32_t)(63 - __builtin_clzll((at ^ wheel.now) | 1)) / WHEEL_BITS;
    uint32_t digit = (uint32_t)(at >> (level * WHEEL_BITS)) % WHEEL_DIGITS;
    return level * WHEEL_DIGITS + digit;
}

static void wheel_link(nest_session *s, uint64_t at) {
    uint32_t bucket = wheel_bucket(at);
    uint32_t level = bucket / WHEEL_DIGITS, digit = bucket % WHEEL_DIGITS;
    uint64_t bit = UINT64_C(1) << digit;
    s->wheel_prev = WHEEL_HEAD | bucket;
    s->wheel_next = NEST__NO_SLOT;
    if ((wheel.full[level] & bit) != 0) {
        s->wheel_next = wheel.first[level][digit];
        nest__slot_at(s->wheel_next)->wheel_prev = s->self.slot;
    }
    wheel.first[level][digit] = s->self.slot;
    wheel.full[level] |= bit;
    wheel.count++;
    wheel.known = at < wheel.known ? at : wheel.known;
}

void nest__wheel_set(nest_session *s, uint32_t deadline, uint32_t now) {
    uint32_t old = s->deadline;
    wheel_doubt(old);
    s->deadline = deadline;
    if (deadline == 0 ||
        (s->wheel_prev != NEST__NO_SLOT && old != 0 && (int32_t)(deadline - old) >= 0)) {
        return;
    }
    if (s->wheel_prev != NEST__NO_SLOT) {
        wheel_unlink(s);
    }
    if (wheel.count == 0) { /* nobody has moved the time on */
        wheel.now += now - (uint32_t)wheel.now;
        wheel.known = UINT64_MAX;
        wheel.sorted = 0;
    }
    wheel.saved += wheel.saved < WHEEL_SAVED ? WHEEL_SAVES : 0;
    wheel_link(s, wheel_time(deadline));
}

void nest__wheel_drop(nest_session *s) {
    wheel_doubt(s->deadline);
    s->deadline = 0;
    if (s->wheel_prev != NEST__NO_SLOT) {
        wheel_unlink(s);
    }
}

static bool wheel_full(uint32_t bucket) {
    return (wheel.full[bucket / WHEEL_DIGITS] >> bucket % WHEEL_DIGITS & 1) != 0;
}

/* The first bucket that is not empty, and the time at which it begins; false: there is none. One
 * whose time has come goes first: what is in it may be due before what lies on lower levels. */
static bool wheel_first(uint32_t *bucket, uint64_t *begins) {
    if (wheel.sorted != 0 && wheel_full(wheel.sorted)) {
        *bucket = wheel.sorted;
        *begins = wheel.now;
        return true;
    }
    wheel.sorted = 0;
    for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
        if (wheel.full[level] != 0) { /* all of its digits are still to come */
            uint32_t digit = (uint32_t)__builtin_ctzll(wheel.full[level]);
            uint64_t time = wheel.now >> (level * WHEEL_BITS);
            *bucket = level * WHEEL_DIGITS + digit;
            *begins = (time - time % WHEEL_DIGITS + digit) << (level * WHEEL_BITS);
            return true;
        }
    }
    return false;
}

nest_session *nest__wheel_take(uint32_t now) {
    uint64_t to = wheel_time(now), begins = 0;
    uint32_t bucket;
    if (wheel.known > to) {
        return NULL; /* wheel.now may stay: it says no more than that nothing was due */
    }
    wheel.exact = false;
    for (unsigned moves = 0; moves < WHEEL_MOVES; moves++) {
        if (!wheel_first(&bucket, &begins) || begins > to) {
            wheel.now = to;
            wheel.known = wheel.count == 0 ? UINT64_MAX : begins;
            return NULL;
        }
        wheel.now = begins > wheel.now ? begins : wheel.now;
        wheel.sorted = bucket < WHEEL_DIGITS ? 0 : bucket;
        nest_session *s = nest__slot_at(wheel.first[bucket / WHEEL_DIGITS][bucket % WHEEL_DIGITS]);
        wheel_unlink(s);
        if (s->deadline != 0) {
            if (nest__reached(s->deadline, now)) {
                return s;
            }
            wheel_link(s, wheel_time(s->deadline));
        }
    }
    return NULL;
}

/* Looks at a bucket's entries, and moves on those that do not belong there any more. The least time
 * of the others, UINT64_MAX: there are none. */
static uint64_t wheel_least(uint32_t bucket) {
    uint64_t least = UINT64_MAX;
    uint32_t at = wheel.first[bucket / WHEEL_DIGITS][bucket % WHEEL_DIGITS];
    while (at != NEST__NO_SLOT) {
        nest_session *s = nest__slot_at(at);
        uint64_t due = wheel_time(s->deadline);
        at = s->wheel_next;
        wheel.saved -= wheel.saved > 0;
        if (s->deadline == 0) {
            wheel_unlink(s);
        } else if (wheel_bucket(due) != bucket) {
            wheel_unlink(s);
            wheel_link(s, due);
        } else {
            least = due < least ? due : least;
        }
    }
    return least;
}

/* As a deadline; never later. */
static uint32_t wheel_said(void) {
    return (uint32_t)wheel.known == 0 ? UINT32_MAX : (uint32_t)wheel.known;
}

uint32_t nest__wheel_next(void) {
    uint64_t begins, least = UINT64_MAX;
    uint32_t bucket;
    if (wheel.exact) {
        return wheel_said();
    }
    wheel.saved += wheel.saved < WHEEL_SAVED ? WHEEL_SAVES : 0;
    while (least == UINT64_MAX) {
        if (!wheel_first(&bucket, &begins)) {
            wheel.exact = false;
            return 0;
        }
        wheel.exact = wheel.count <= WHEEL_FEW || wheel.count <= wheel.saved;
        least = wheel.exact ? wheel_least(bucket) : begins > wheel.known ? begins : wheel.known;
    }
    wheel.known = least;
    return wheel_said();
}
