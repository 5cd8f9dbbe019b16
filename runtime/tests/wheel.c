/* wheel.c: loop/wheel.c against a list that is searched from end to end.
 *
 * Run by `make wheel`; the argument is a seed, a failure prints it. State: the deadline slots, and
 * what the deadline of each should be. Time begins shortly before it wraps around. */
#include "sample/sizes.h"

#include "../loop/wheel.c"

#include <stdio.h>
#include <stdlib.h>

enum { WHEEL_SLOTS = 3000, WHEEL_STEPS = 200000 };

static struct nest__wheel_slot slots[WHEEL_SLOTS];
static uint32_t wanted[WHEEL_SLOTS]; /* 0: none */
static uint32_t now;
static uint64_t state, seed;

struct nest__wheel_slot *nest__wheel_slot(uint32_t number) {
    return &slots[number];
}

static uint32_t draw(uint32_t below) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % below);
}

static void fail(const char *what, uint32_t got, uint32_t want) {
    printf("FAILED: wheel, seed %llu: %s: got %u, wanted %u (now %u)\n", (unsigned long long)seed,
           what, (unsigned)got, (unsigned)want, (unsigned)now);
    exit(1);
}

/* A time span: as often some milliseconds as some hours. */
static uint32_t span(void) {
    return draw(1u << draw(28));
}

/* The earliest deadline of all, 0: none. */
static uint32_t earliest(unsigned count) {
    uint32_t least = 0;
    for (unsigned i = 0; i < count; i++) {
        if (wanted[i] != 0 && (least == 0 || (int32_t)(wanted[i] - least) < 0)) {
            least = wanted[i];
        }
    }
    return least;
}

static void take_all(unsigned count) {
    for (;;) {
        uint32_t taken = nest__wheel_take(now);
        if (taken == NEST__NO_NUMBER) {
            uint32_t next = nest__wheel_next();
            if (next == 0 || !nest__reached(next, now)) {
                break;
            }
            continue; /* it had much to sort */
        }
        if (wanted[taken] == 0) {
            fail("taken without a deadline, slot", taken, 0);
        }
        if (!nest__reached(wanted[taken], now)) {
            fail("taken early", taken, wanted[taken]);
        }
        if (slots[taken].deadline != wanted[taken] || slots[taken].prev != NEST__NO_NUMBER) {
            fail("taken, and still in the wheel", slots[taken].deadline, 0);
        }
        wanted[taken] = 0;
    }
    uint32_t left = earliest(count);
    if (left != 0 && nest__reached(left, now)) {
        fail("not taken", 0, left);
    }
}

static void check_next(unsigned count) {
    uint32_t next = nest__wheel_next(), least = earliest(count);
    if ((next == 0) != (least == 0) && count <= WHEEL_FEW) {
        fail("next", next, least);
    }
    if (least != 0 && (next == 0 || (int32_t)(next - least) > 0)) {
        fail("next is late", next, least);
    }
    if (count <= WHEEL_FEW && next != least) {
        fail("next of few is exact", next, least);
    }
}

/* Moves, drops and jumps of `count` slots. */
static void compare(unsigned count, uint32_t from) {
    memset(&wheel, 0, sizeof wheel);
    now = from;
    for (unsigned i = 0; i < count; i++) {
        nest__wheel_new(&slots[i]);
        wanted[i] = 0;
    }
    for (unsigned step = 0; step < WHEEL_STEPS / (count / 8 + 1); step++) {
        unsigned i = draw(count), what = draw(10);
        if (what < 6) {
            wanted[i] = draw(20) == 0 ? 0 : nest__after(now, span());
            nest__wheel_set(&slots[i], i, wanted[i], now);
        } else if (what == 6) {
            wanted[i] = 0;
            nest__wheel_drop(&slots[i]);
        } else if (what == 7) {
            uint32_t least = earliest(count); /* to the very moment */
            now = least != 0 && draw(2) == 0 ? least : now + span() / 64;
            take_all(count);
        } else if (what == 8) {
            now += draw(50) == 0 ? span() : draw(20);
            take_all(count);
        } else {
            check_next(count);
        }
    }
    now += 1u << 28;
    take_all(count);
    if (wheel.count != 0 || nest__wheel_next() != 0) {
        fail("left in the end", wheel.count, 0);
    }
}

/* All in one bucket: sorted in bounded pieces, and found nevertheless. */
static void crowd(void) {
    memset(&wheel, 0, sizeof wheel);
    now = 5;
    for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
        nest__wheel_new(&slots[i]);
        wanted[i] = now + 300000 + i;
        nest__wheel_set(&slots[i], i, wanted[i], now);
    }
    unsigned wakes = 0;
    while (earliest(WHEEL_SLOTS) != 0) {
        uint32_t next = nest__wheel_next();
        now = nest__reached(next, now) ? now : next;
        take_all(WHEEL_SLOTS);
        wakes++;
    }
    if (wakes > WHEEL_SLOTS + 200) {
        fail("wake-ups of a crowd", wakes, WHEEL_SLOTS);
    }
}

/* One slot whose deadline moves on with each request: no wake-up but the one that is due. */
static void alone(void) {
    memset(&wheel, 0, sizeof wheel);
    now = 0xffffff00u;
    nest__wheel_new(&slots[0]);
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t deadline = nest__after(now, 300000);
        nest__wheel_set(&slots[0], 0, deadline, now);
        if (nest__wheel_next() != deadline) {
            fail("of one", nest__wheel_next(), deadline);
        }
        now += draw(100);
        if (nest__wheel_take(now) != NEST__NO_NUMBER) {
            fail("taken early", 0, deadline);
        }
    }
}

int main(int argc, char **argv) {
    static const unsigned counts[] = {1, 2, 5, WHEEL_FEW, WHEEL_FEW + 1, 100, 1000, WHEEL_SLOTS};
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    state = seed;
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        compare(counts[i], 1);
        compare(counts[i], 0u - draw(100000)); /* wraps around soon */
        compare(counts[i], draw(UINT32_MAX));
    }
    crowd();
    alone();
    printf("wheel: %u sets of slots compared\n", 3 * (unsigned)(sizeof counts / sizeof counts[0]));
    return 0;
}
