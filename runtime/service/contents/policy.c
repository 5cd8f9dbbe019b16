/* policy.c: which file leaves a cache when another one needs its room: eight policies.
 *
 * Called by the service process, by `nest cache-sim` and by a test; compiled alone by the latter.
 * State: what each policy knows of the objects that are cached, in lists or in a heap. A step takes
 * constant or logarithmic time, but LRU-MIN may look at objects of similar size, and SIEVE and
 * S3-FIFO pass over those that were used. Must not know files. */
#include "policy.h"

#include <math.h>
#include <stdlib.h>

enum {
    POLICY_CLASSES = 64, /* of sizes, by their power of two */
    POLICY_FREQUENT = 3, /* S3-FIFO counts no further */
    POLICY_SMALL = 10    /* per cent of S3-FIFO's small queue */
};

const char *const nest__policy_names[NEST__POLICIES] = {
    "LRU", "LFU", "LRU-MIN", "LRU-Threshold", "Hyper-G", "SIEVE", "S3-FIFO", "custom"};

struct policy_object {
    uint64_t size, key, uses;
    uint64_t entered, used;    /* times, counted in steps */
    double value;              /* NEST__CUSTOM */
    uint32_t newer, older, at; /* neighbours in its list; its place in the heap */
    uint8_t list;
};

struct policy_list { /* the newest first */
    uint32_t newest, oldest;
    uint64_t bytes;
};

struct policy_ghost { /* of S3-FIFO: an object that left the small queue */
    uint64_t key, size;
    uint32_t next; /* in its chain; `most`: the last */
    bool there;
};

struct nest__policy {
    enum nest__policy_kind kind;
    uint32_t most, count; /* `count`: objects in the heap */
    uint64_t capacity, threshold, time;
    nest__policy_value *value;
    double least; /* of the one that left last to make room */
    struct policy_object *objects;
    struct policy_list lists[POLICY_CLASSES];
    uint32_t *heap;
    uint32_t hand;
    struct policy_ghost *ghosts; /* a ring of `most` */
    uint32_t *chains;            /* of keys */
    uint64_t ghosts_first, ghosts_end, ghosts_bytes;
};

enum { POLICY_ONLY = 0, POLICY_MAIN = 1 };

/* -- lists ---------------------------------------------------------------------------------------
 */

static void policy_push(struct nest__policy *p, unsigned which, uint32_t object) {
    struct policy_list *list = &p->lists[which];
    struct policy_object *o = &p->objects[object];
    o->list = (uint8_t)which;
    o->newer = p->most;
    o->older = list->newest;
    if (list->newest == p->most) {
        list->oldest = object;
    } else {
        p->objects[list->newest].newer = object;
    }
    list->newest = object;
    list->bytes += o->size;
}

static void policy_pull(struct nest__policy *p, uint32_t object) {
    struct policy_object *o = &p->objects[object];
    struct policy_list *list = &p->lists[o->list];
    if (o->newer == p->most) {
        list->newest = o->older;
    } else {
        p->objects[o->newer].older = o->older;
    }
    if (o->older == p->most) {
        list->oldest = o->newer;
    } else {
        p->objects[o->older].newer = o->newer;
    }
    list->bytes -= o->size;
}

/* -- the heap: the one to leave next is first ----------------------------------------------------
 */

static bool policy_before(const struct nest__policy *p, uint32_t a, uint32_t b) {
    const struct policy_object *x = &p->objects[a], *y = &p->objects[b];
    if (p->kind == NEST__CUSTOM) {
        return x->value != y->value ? x->value < y->value : x->used < y->used;
    }
    if (x->uses != y->uses) {
        return x->uses < y->uses;
    }
    return p->kind == NEST__LFU ? x->entered < y->entered : x->used < y->used;
}

static void policy_put(struct nest__policy *p, uint32_t at, uint32_t object) {
    p->heap[at] = object;
    p->objects[object].at = at;
}

/* Moves the object to its place, up or down. */
static void policy_sift(struct nest__policy *p, uint32_t object) {
    uint32_t at = p->objects[object].at;
    while (at > 0 && policy_before(p, object, p->heap[(at - 1) / 2])) {
        policy_put(p, at, p->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < p->count && policy_before(p, p->heap[child + 1], p->heap[child])) {
            child++;
        }
        if (child >= p->count || !policy_before(p, p->heap[child], object)) {
            break;
        }
        policy_put(p, at, p->heap[child]);
        at = child;
    }
    policy_put(p, at, object);
}

static bool policy_heaps(const struct nest__policy *p) {
    return p->kind == NEST__LFU || p->kind == NEST__HYPER_G || p->kind == NEST__CUSTOM;
}

/* Gives the object its value, for its latest use. */
static void policy_rate(const struct nest__policy *p, struct policy_object *o) {
    if (p->kind == NEST__CUSTOM) {
        double value = p->value(o->size, o->uses, p->time, p->least);
        o->value = isfinite(value) ? value : -INFINITY;
    }
}

/* -- ghosts --------------------------------------------------------------------------------------
 */

static uint32_t *policy_chain(const struct nest__policy *p, uint64_t key) {
    return &p->chains[(key ^ key >> 32) % p->most];
}

static void policy_forget(struct nest__policy *p, uint32_t ghost) {
    uint32_t *link = policy_chain(p, p->ghosts[ghost].key);
    while (*link != ghost) {
        link = &p->ghosts[*link].next;
    }
    *link = p->ghosts[ghost].next;
    p->ghosts[ghost].there = false;
    p->ghosts_bytes -= p->ghosts[ghost].size;
}

/* Whether it is a ghost; then it is none any more. */
static bool policy_returns(struct nest__policy *p, uint64_t key) {
    for (uint32_t ghost = *policy_chain(p, key); ghost != p->most; ghost = p->ghosts[ghost].next) {
        if (p->ghosts[ghost].key == key) {
            policy_forget(p, ghost);
            return true;
        }
    }
    return false;
}

static void policy_haunt(struct nest__policy *p, uint64_t key, uint64_t size) {
    uint64_t room = p->capacity - p->capacity / POLICY_SMALL;
    while (p->ghosts_first < p->ghosts_end &&
           (p->ghosts_end - p->ghosts_first == p->most || p->ghosts_bytes + size > room)) {
        uint32_t oldest = (uint32_t)(p->ghosts_first++ % p->most);
        if (p->ghosts[oldest].there) {
            policy_forget(p, oldest);
        }
    }
    uint32_t ghost = (uint32_t)(p->ghosts_end++ % p->most), *chain = policy_chain(p, key);
    p->ghosts[ghost] = (struct policy_ghost){key, size, *chain, true};
    *chain = ghost;
    p->ghosts_bytes += size;
}

/* -- what is called ------------------------------------------------------------------------------
 */

void nest__policy_free(struct nest__policy *p) {
    if (p != NULL) {
        free(p->objects);
        free(p->heap);
        free(p->ghosts);
        free(p->chains);
        free(p);
    }
}

struct nest__policy *nest__policy_make(enum nest__policy_kind kind, uint64_t capacity,
                                       uint64_t threshold, uint32_t most,
                                       nest__policy_value *value) {
    struct nest__policy *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->kind = kind;
    p->most = most;
    p->capacity = capacity;
    p->threshold = threshold;
    p->value = value;
    p->hand = most;
    p->objects = calloc(most, sizeof *p->objects);
    p->heap = calloc(policy_heaps(p) ? most : 1, sizeof *p->heap);
    p->ghosts = calloc(kind == NEST__S3_FIFO ? most : 1, sizeof *p->ghosts);
    p->chains = calloc(kind == NEST__S3_FIFO ? most : 1, sizeof *p->chains);
    if (p->objects == NULL || p->heap == NULL || p->ghosts == NULL || p->chains == NULL) {
        nest__policy_free(p);
        return NULL;
    }
    for (unsigned i = 0; i < POLICY_CLASSES; i++) {
        p->lists[i] = (struct policy_list){most, most, 0};
    }
    for (uint32_t i = 0; kind == NEST__S3_FIFO && i < most; i++) {
        p->chains[i] = most;
    }
    return p;
}

bool nest__policy_takes(const struct nest__policy *p, uint64_t size) {
    return size <= p->capacity && (p->kind != NEST__LRU_THRESHOLD || size <= p->threshold);
}

static unsigned policy_class(uint64_t size) {
    unsigned power = 0;
    while (size >>= 1) {
        power++;
    }
    return power;
}

void nest__policy_enter(struct nest__policy *p, uint32_t object, uint64_t key, uint64_t size) {
    struct policy_object *o = &p->objects[object];
    p->time++;
    *o = (struct policy_object){.size = size, .key = key, .entered = p->time, .used = p->time};
    if (policy_heaps(p)) {
        o->uses = 1;
        policy_rate(p, o);
        o->at = p->count++;
        policy_sift(p, object);
    } else if (p->kind == NEST__LRU_MIN) {
        policy_push(p, policy_class(size), object);
    } else if (p->kind == NEST__S3_FIFO && policy_returns(p, key)) {
        policy_push(p, POLICY_MAIN, object);
    } else {
        policy_push(p, POLICY_ONLY, object);
    }
}

void nest__policy_hit(struct nest__policy *p, uint32_t object) {
    struct policy_object *o = &p->objects[object];
    o->used = ++p->time;
    o->uses++;
    switch (p->kind) {
    case NEST__LFU:
    case NEST__HYPER_G:
    case NEST__CUSTOM:
        policy_rate(p, o);
        policy_sift(p, object);
        break;
    case NEST__SIEVE:
        break;
    case NEST__S3_FIFO:
        o->uses = o->uses > POLICY_FREQUENT ? POLICY_FREQUENT : o->uses;
        break;
    default:
        policy_pull(p, object);
        policy_push(p, o->list, object);
    }
}

/* The one used the longest ago of those that are at least so large. */
static uint32_t policy_least_recent(const struct nest__policy *p, uint64_t size) {
    uint32_t best = p->most;
    for (unsigned power = policy_class(size); power < POLICY_CLASSES; power++) {
        uint32_t object = p->lists[power].oldest;
        while (object != p->most && p->objects[object].size < size) {
            object = p->objects[object].newer;
        }
        if (object != p->most &&
            (best == p->most || p->objects[object].used < p->objects[best].used)) {
            best = object;
        }
    }
    return best;
}

static uint32_t policy_min(const struct nest__policy *p, uint64_t size) {
    uint32_t object = policy_least_recent(p, size);
    while (object == p->most && size > 0) {
        size /= 2;
        object = policy_least_recent(p, size);
    }
    return object;
}

static uint32_t policy_sieve(struct nest__policy *p) {
    const struct policy_list *list = &p->lists[POLICY_ONLY];
    uint32_t object = p->hand == p->most ? list->oldest : p->hand;
    while (object != p->most && p->objects[object].uses > 0) {
        p->objects[object].uses = 0;
        object = p->objects[object].newer;
        object = object == p->most ? list->oldest : object;
    }
    p->hand = object;
    return object;
}

static uint32_t policy_s3(struct nest__policy *p) {
    for (;;) {
        const struct policy_list *small = &p->lists[POLICY_ONLY], *main = &p->lists[POLICY_MAIN];
        bool first = main->oldest == p->most || small->bytes > p->capacity / POLICY_SMALL;
        uint32_t object = first ? small->oldest : main->oldest;
        if (object == p->most || p->objects[object].uses <= (first ? 1 : 0)) {
            return object;
        }
        p->objects[object].uses = first ? 0 : p->objects[object].uses - 1;
        policy_pull(p, object);
        policy_push(p, POLICY_MAIN, object);
    }
}

uint32_t nest__policy_victim(struct nest__policy *p, uint64_t size) {
    switch (p->kind) {
    case NEST__LFU:
    case NEST__HYPER_G:
    case NEST__CUSTOM:
        return p->count > 0 ? p->heap[0] : p->most;
    case NEST__LRU_MIN:
        return policy_min(p, size);
    case NEST__SIEVE:
        return policy_sieve(p);
    case NEST__S3_FIFO:
        return policy_s3(p);
    default:
        return p->lists[POLICY_ONLY].oldest;
    }
}

void nest__policy_leave(struct nest__policy *p, uint32_t object, bool evicted) {
    struct policy_object *o = &p->objects[object];
    if (policy_heaps(p)) {
        uint32_t last = p->heap[--p->count];
        if (last != object) {
            policy_put(p, o->at, last);
            policy_sift(p, last);
        }
        p->least = evicted && isfinite(o->value) ? o->value : p->least;
        return;
    }
    if (p->hand == object) {
        p->hand = o->newer;
    }
    policy_pull(p, object);
    if (evicted && p->kind == NEST__S3_FIFO && o->list == POLICY_ONLY) {
        policy_haunt(p, o->key, o->size);
    }
}
