/* policy.c: the policies of fileCache against plain definitions that search lists: each file that
 * leaves must be the same one, in a million drawn accesses of objects of all sizes.
 *
 * usage: policy SEED. Exit status 0: all is well. */
#include "../service/contents/policy.c"

#include <stdio.h>
#include <string.h>

enum { OBJECTS = 4000, MOST = 300, ACCESSES = 1000000, CHANGE = 200 };
#define CAPACITY UINT64_C(200000)
#define THRESHOLD UINT64_C(20000)

/* What is cached, the oldest first: in the order in which it came (or, in S3-FIFO, entered its
 * queue). */
struct kept {
    unsigned name;
    uint64_t size, uses, used;
    bool main; /* S3-FIFO */
    double value;
};
static struct kept kept[MOST], ghosts[OBJECTS];
static unsigned count, ghost_count, hand;         /* `hand`: SIEVE; an index of `kept` */
static uint64_t seed, now, steps, sizes[OBJECTS]; /* `steps`: uses of what is or gets cached */
static uint32_t numbers[OBJECTS];                 /* in policy.c; MOST: not cached */
static unsigned names[MOST];
static double left; /* the value of the one that left last to make room */

/* Not a number for some, so that this is tried too. */
static double value(uint64_t size, uint64_t uses, uint64_t at, double least) {
    return size % 7 == 0 ? 0.0 / (double)(size % 7)
                         : least + (double)uses * 100 / (double)size + (double)(at % 3);
}

/* In an order that has a place for what is not a number. */
static double rated(uint64_t size, uint64_t uses, uint64_t at) {
    return size % 7 == 0 ? -1 : value(size, uses, at, left);
}

static uint64_t draw(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static void drop(struct kept *list, unsigned *n, unsigned at) {
    memmove(&list[at], &list[at + 1], (--*n - at) * sizeof *list);
}

static uint64_t bytes(const struct kept *list, unsigned n, int main) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += main < 0 || list[i].main == (main == 1) ? list[i].size : 0;
    }
    return sum;
}

static unsigned least(uint64_t size, bool by_uses, bool by_use) {
    unsigned best = count;
    for (unsigned i = 0; i < count; i++) {
        if (kept[i].size < size) {
            continue;
        }
        if (best == count || (by_uses && kept[i].uses < kept[best].uses) ||
            ((!by_uses || kept[i].uses == kept[best].uses) && by_use &&
             kept[i].used < kept[best].used)) {
            best = i;
        }
    }
    return best;
}

static unsigned oldest(bool main) {
    unsigned i = 0;
    while (i < count && kept[i].main != main) {
        i++;
    }
    return i;
}

static unsigned least_value(void) {
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++) {
        if (kept[i].value < kept[best].value ||
            (kept[i].value == kept[best].value && kept[i].used < kept[best].used)) {
            best = i;
        }
    }
    return best;
}

/* The index of the one that leaves. */
static unsigned leaves(enum nest__policy_kind kind, uint64_t size) {
    switch (kind) {
    case NEST__LRU:
    case NEST__LRU_THRESHOLD:
        return least(0, false, true);
    case NEST__LFU:
        return least(0, true, false);
    case NEST__HYPER_G:
        return least(0, true, true);
    case NEST__CUSTOM:
        return least_value();
    case NEST__LRU_MIN:
        for (;; size /= 2) {
            unsigned found = least(size, false, true);
            if (found < count) {
                return found;
            }
        }
    case NEST__SIEVE:
        for (;; hand++) {
            hand = hand >= count ? 0 : hand;
            if (kept[hand].uses == 1) {
                return hand;
            }
            kept[hand].uses = 1;
        }
    default: /* S3-FIFO */
        for (;;) {
            bool small = bytes(kept, count, 0) > CAPACITY / 10 || oldest(true) == count;
            unsigned at = oldest(!small);
            struct kept object = kept[at];
            if (small ? object.uses <= 2 : object.uses <= 1) {
                return at;
            }
            object.uses = small ? 1 : object.uses - 1;
            object.main = true;
            drop(kept, &count, at);
            kept[count++] = object;
        }
    }
}

static void leave(enum nest__policy_kind kind, unsigned at, bool evicted) {
    struct kept object = kept[at];
    left = evicted && object.value >= 0 ? object.value : left;
    drop(kept, &count, at);
    hand -= hand > at;
    hand = hand == count ? 0 : hand; /* not at one that comes later */
    if (kind == NEST__S3_FIFO && evicted && !object.main) {
        uint64_t room = CAPACITY - CAPACITY / 10;
        while (ghost_count > 0 && bytes(ghosts, ghost_count, -1) + object.size > room) {
            drop(ghosts, &ghost_count, 0);
        }
        ghosts[ghost_count++] = object;
    }
}

static bool returns(unsigned name) {
    for (unsigned i = 0; i < ghost_count; i++) {
        if (ghosts[i].name == name) {
            drop(ghosts, &ghost_count, i);
            return true;
        }
    }
    return false;
}

static int fail(enum nest__policy_kind kind, const char *what) {
    printf("policy: %s, access %llu: %s (seed in the command)\n", nest__policy_names[kind],
           (unsigned long long)now, what);
    return 1;
}

static unsigned find(unsigned name) {
    unsigned i = 0;
    while (i < count && kept[i].name != name) {
        i++;
    }
    return i;
}

static uint32_t spare(void) {
    uint32_t number = 0;
    while (names[number] != OBJECTS) {
        number++;
    }
    return number;
}

static int access_one(struct nest__policy *p, enum nest__policy_kind kind, unsigned name) {
    unsigned at = find(name);
    if ((at < count) != (numbers[name] < MOST)) {
        return fail(kind, "one has it, the other has not");
    }
    if (at < count && draw(CHANGE) == 0) { /* the file has changed */
        nest__policy_leave(p, numbers[name], false);
        names[numbers[name]] = OBJECTS;
        numbers[name] = MOST;
        leave(kind, at, false);
        at = count;
        sizes[name] = 1 + draw(UINT64_C(1) << draw(18));
    }
    if (at < count) {
        nest__policy_hit(p, numbers[name]);
        kept[at].used = now;
        kept[at].uses += kind != NEST__S3_FIFO || kept[at].uses < 4;
        kept[at].value = rated(kept[at].size, kept[at].uses, ++steps);
        return 0;
    }
    bool takes = sizes[name] <= (kind == NEST__LRU_THRESHOLD ? THRESHOLD : CAPACITY);
    if (nest__policy_takes(p, sizes[name]) != takes) {
        return fail(kind, "one takes it, the other does not");
    }
    while (takes && (count == MOST || bytes(kept, count, -1) + sizes[name] > CAPACITY)) {
        uint32_t victim = nest__policy_victim(p, sizes[name]);
        unsigned out = leaves(kind, sizes[name]);
        if (victim >= MOST || names[victim] != kept[out].name) {
            return fail(kind, "another one leaves");
        }
        nest__policy_leave(p, victim, true);
        numbers[names[victim]] = MOST;
        names[victim] = OBJECTS;
        leave(kind, out, true);
    }
    if (takes) {
        uint32_t number = spare();
        nest__policy_enter(p, number, name * UINT64_C(0x9e3779b97f4a7c15), sizes[name]);
        numbers[name] = number;
        names[number] = name;
        bool main = kind == NEST__S3_FIFO && returns(name);
        kept[count++] =
            (struct kept){name, sizes[name], 1, now, main, rated(sizes[name], 1, ++steps)};
    }
    return 0;
}

static int run(enum nest__policy_kind kind) {
    struct nest__policy *p = nest__policy_make(kind, CAPACITY, THRESHOLD, MOST, value);
    if (p == NULL) {
        return fail(kind, "no memory");
    }
    count = ghost_count = hand = 0;
    left = 0;
    steps = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        numbers[i] = MOST;
        sizes[i] = 1 + draw(UINT64_C(1) << draw(18));
    }
    for (unsigned i = 0; i < MOST; i++) {
        names[i] = OBJECTS;
    }
    int status = 0;
    for (now = 1; now <= ACCESSES && status == 0; now++) { /* small numbers are drawn more often */
        status = access_one(p, kind, (unsigned)draw(1 + draw(1 + draw(OBJECTS))));
    }
    nest__policy_free(p);
    return status;
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1;
    int status = 0;
    for (unsigned kind = 0; kind < NEST__POLICIES; kind++) {
        status |= run((enum nest__policy_kind)kind);
    }
    if (status == 0) {
        printf("policy: %u policies, %u accesses each\n", (unsigned)NEST__POLICIES,
               (unsigned)ACCESSES);
    }
    return status;
}
