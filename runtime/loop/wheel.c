/* wheel.c: a hierarchical timing wheel that links deadline slots.
 *
 * Called by the files of loop/, see wheel.h. State: the buckets of this process's loop. Must not
 * know whose deadlines they are, nor what they mean. It allocates no memory. An entry moves down at
 * most once a level.
 *
 * The wheel's time has 64 bits, in digits of 6 bits. The level of an entry is the highest digit in
 * which its time differs from the wheel's; its bucket is that digit. So all entries of a level are
 * due before those of the next level, and an entry moves only when the wheel's time reaches its
 * bucket. An entry is never later in the wheel than its deadline, but may be earlier, so that a
 * deadline which is put off many times moves its entry once a round.
 *
 * next, prev: numbers of slots. The last slot's next is NEST__NO_NUMBER. The first slot's prev is
 * its bucket with WHEEL_HEAD set. A slot that is in no wheel has prev NEST__NO_NUMBER. */
#include "wheel.h"

enum {
    WHEEL_BITS = 6,
    WHEEL_DIGITS = 1 << WHEEL_BITS,
    WHEEL_LEVELS = 7,   /* 2^42 ms, 139 years */
    WHEEL_MOVES = 4096, /* entries that one call of nest__wheel_take moves */
    WHEEL_FEW = 16,     /* entries that nest__wheel_next always looks at */
    WHEEL_SAVED = 1024, /* at most, with what earlier calls saved */
    WHEEL_SAVES = 2     /* saved by each call and each new entry */
};
#define WHEEL_HEAD 0x80000000u

static struct {
    uint64_t now;                /* all earlier entries were taken */
    uint64_t known;              /* nothing is due before it; may be in the past */
    uint64_t full[WHEEL_LEVELS]; /* bit d: bucket d is not empty */
    uint32_t first[WHEEL_LEVELS][WHEEL_DIGITS];
    uint32_t sorted; /* the bucket, above level 0, that wheel.now has reached; 0: none */
    uint32_t count, saved;
    bool exact; /* `known` is the least deadline */
} wheel;

static uint64_t wheel_time(uint32_t time) {
    int32_t ahead = (int32_t)(time - (uint32_t)wheel.now);
    return ahead > 0 ? wheel.now + (uint32_t)ahead : wheel.now;
}

/* Notes that a slot's deadline changes. */
static void wheel_doubt(uint32_t deadline) {
    wheel.exact = wheel.exact && deadline != (uint32_t)wheel.known;
}

static void wheel_unlink(struct nest__wheel_slot *slot) {
    uint32_t before = slot->prev, after = slot->next;
    if ((before & WHEEL_HEAD) == 0) {
        nest__wheel_slot(before)->next = after;
    } else {
        uint32_t level = (before & ~WHEEL_HEAD) / WHEEL_DIGITS, digit = before % WHEEL_DIGITS;
        wheel.first[level][digit] = after;
        if (after == NEST__NO_NUMBER) {
            wheel.full[level] &= ~(UINT64_C(1) << digit);
        }
    }
    if (after != NEST__NO_NUMBER) {
        nest__wheel_slot(after)->prev = before;
    }
    slot->prev = NEST__NO_NUMBER;
    wheel.count--;
}

/* The bucket for this time. */
static uint32_t wheel_bucket(uint64_t at) {
    uint32_t level = (uint32_t)(63 - __builtin_clzll((at ^ wheel.now) | 1)) / WHEEL_BITS;
    uint32_t digit = (uint32_t)(at >> (level * WHEEL_BITS)) % WHEEL_DIGITS;
    return level * WHEEL_DIGITS + digit;
}

static void wheel_link(struct nest__wheel_slot *slot, uint32_t number, uint64_t at) {
    uint32_t bucket = wheel_bucket(at);
    uint32_t level = bucket / WHEEL_DIGITS, digit = bucket % WHEEL_DIGITS;
    uint64_t bit = UINT64_C(1) << digit;
    slot->prev = WHEEL_HEAD | bucket;
    slot->next = NEST__NO_NUMBER;
    if ((wheel.full[level] & bit) != 0) {
        slot->next = wheel.first[level][digit];
        nest__wheel_slot(slot->next)->prev = number;
    }
    wheel.first[level][digit] = number;
    wheel.full[level] |= bit;
    wheel.count++;
    wheel.known = at < wheel.known ? at : wheel.known;
}

void nest__wheel_set(struct nest__wheel_slot *slot, uint32_t number, uint32_t deadline,
                     uint32_t now) {
    uint32_t old = slot->deadline;
    wheel_doubt(old);
    slot->deadline = deadline;
    if (deadline == 0 ||
        (slot->prev != NEST__NO_NUMBER && old != 0 && (int32_t)(deadline - old) >= 0)) {
        return;
    }
    if (slot->prev != NEST__NO_NUMBER) {
        wheel_unlink(slot);
    }
    if (wheel.count == 0) { /* the wheel's time was not advanced while it was empty */
        wheel.now += now - (uint32_t)wheel.now;
        wheel.known = UINT64_MAX;
        wheel.sorted = 0;
    }
    wheel.saved += wheel.saved < WHEEL_SAVED ? WHEEL_SAVES : 0;
    wheel_link(slot, number, wheel_time(deadline));
}

void nest__wheel_drop(struct nest__wheel_slot *slot) {
    wheel_doubt(slot->deadline);
    slot->deadline = 0;
    if (slot->prev != NEST__NO_NUMBER) {
        wheel_unlink(slot);
    }
}

static bool wheel_full(uint32_t bucket) {
    return (wheel.full[bucket / WHEEL_DIGITS] >> bucket % WHEEL_DIGITS & 1) != 0;
}

/* Finds the first bucket that is not empty, and the time at which it begins. A bucket that
 * wheel.now has reached comes first: its entries may be due before those of lower levels. False:
 * the wheel is empty. */
static bool wheel_first(uint32_t *bucket, uint64_t *begins) {
    if (wheel.sorted != 0 && wheel_full(wheel.sorted)) {
        *bucket = wheel.sorted;
        *begins = wheel.now;
        return true;
    }
    wheel.sorted = 0;
    for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
        if (wheel.full[level] != 0) { /* none of its full buckets is in the past */
            uint32_t digit = (uint32_t)__builtin_ctzll(wheel.full[level]);
            uint64_t time = wheel.now >> (level * WHEEL_BITS);
            *bucket = level * WHEEL_DIGITS + digit;
            *begins = (time - time % WHEEL_DIGITS + digit) << (level * WHEEL_BITS);
            return true;
        }
    }
    return false;
}

uint32_t nest__wheel_take(uint32_t now) {
    uint64_t to = wheel_time(now), begins = 0;
    uint32_t bucket;
    if (wheel.known > to) {
        return NEST__NO_NUMBER; /* wheel.now may stay behind: it only says that nothing was due */
    }
    wheel.exact = false;
    for (unsigned moves = 0; moves < WHEEL_MOVES; moves++) {
        if (!wheel_first(&bucket, &begins) || begins > to) {
            wheel.now = to;
            wheel.known = wheel.count == 0 ? UINT64_MAX : begins;
            return NEST__NO_NUMBER;
        }
        wheel.now = begins > wheel.now ? begins : wheel.now;
        wheel.sorted = bucket < WHEEL_DIGITS ? 0 : bucket;
        uint32_t number = wheel.first[bucket / WHEEL_DIGITS][bucket % WHEEL_DIGITS];
        struct nest__wheel_slot *slot = nest__wheel_slot(number);
        wheel_unlink(slot);
        if (slot->deadline != 0) {
            if (nest__reached(slot->deadline, now)) {
                return number;
            }
            wheel_link(slot, number, wheel_time(slot->deadline));
        }
    }
    return NEST__NO_NUMBER;
}

/* Moves those entries of a bucket that belong elsewhere by now. Returns the least time of the
 * others; UINT64_MAX: there are none. */
static uint64_t wheel_least(uint32_t bucket) {
    uint64_t least = UINT64_MAX;
    uint32_t at = wheel.first[bucket / WHEEL_DIGITS][bucket % WHEEL_DIGITS];
    while (at != NEST__NO_NUMBER) {
        uint32_t number = at;
        struct nest__wheel_slot *slot = nest__wheel_slot(number);
        uint64_t due = wheel_time(slot->deadline);
        at = slot->next;
        wheel.saved -= wheel.saved > 0;
        if (slot->deadline == 0) {
            wheel_unlink(slot);
        } else if (wheel_bucket(due) != bucket) {
            wheel_unlink(slot);
            wheel_link(slot, number, due);
        } else {
            least = due < least ? due : least;
        }
    }
    return least;
}

/* The time as a deadline, never later than it. */
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
