/* networks.c: the places of clients by network, in memory that all workers share.
 *
 * Called by per_address.c. State: one table for the server. A place says which process has it, so
 * that the places of a process that has died are found when they are missed. The supervisor counts
 * such deaths, so that nobody looks for them in vain. All else, chains of places by network and the
 * chain of free ones, is made anew from the places when its links cannot be right, or when the lock
 * was taken from a process that died with it. Must not know sessions, nor which networks there are.
 */
#include "../../platform/platform.h"
#include "per_address.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NETWORKS_END UINT32_MAX

enum {
    NETWORKS_TRIES = 64,      /* of the lock, before others have a turn */
    NETWORKS_STUCK_MS = 1000, /* who holds the lock for so long does not run: it is taken from it */
    NETWORKS_SAY_MS = 60000,
    NETWORKS_ASKED = 64 /* processes, between two holds of the lock */
};

struct networks_place {
    uint8_t network[NEST__NETWORK];
    int32_t pid; /* 0: the place is free */
    uint32_t next;
    bool told; /* its client is told that it is one too many */
};

/* scope: server */
static struct networks {
    _Atomic int32_t holder;  /* of the lock; 0: nobody */
    _Atomic uint32_t deaths; /* of workers, counted by the supervisor */
    uint32_t free;
    uint64_t said; /* ms */
    uint32_t heads[];
} * networks;
static struct networks_place *networks_all; /* scope: server; behind the heads */
static uint32_t *networks_buried; /* scope: server; `deaths` up to which a chain has none */
static uint32_t networks_most, networks_mask; /* scope: process; set before workers exist */
static uint64_t networks_secret[2];           /* scope: process; the same */

int nest__networks_make(uint32_t places) {
    uint32_t heads = 1;
    while (heads < places) {
        heads *= 2;
    }
    size_t head = sizeof *networks + heads * sizeof *networks->heads;
    head = (head + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    size_t size = head + places * sizeof *networks_all + heads * sizeof *networks_buried;
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    networks = memory;
    networks_all = (struct networks_place *)(void *)((char *)memory + head);
    networks_buried = (uint32_t *)(void *)(networks_all + places);
    networks_most = places;
    networks_mask = heads - 1;
    networks->said = 0;
    networks->free = 0;
    for (uint32_t i = 0; i < heads; i++) {
        networks->heads[i] = NETWORKS_END;
    }
    for (uint32_t i = 0; i < places; i++) {
        networks_all[i].next = i + 1 < places ? i + 1 : NETWORKS_END;
    }
    return getentropy(networks_secret, sizeof networks_secret) == -1 ? -errno : 0;
}

/* Clients must not be able to choose networks that share a chain. */
static uint32_t *networks_head(const uint8_t network[NEST__NETWORK]) {
    uint64_t word[2], hash = networks_secret[0];
    memcpy(word, network, sizeof word);
    for (int i = 0; i < 2; i++) {
        hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        hash = (hash + networks_secret[1]) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return &networks->heads[hash & networks_mask];
}

/* -- the lock: held for less than a microsecond, unless its holder dies or is stopped */

static bool networks_lives(int32_t pid) {
    return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

static void networks_rebuild(void) {
    networks->free = NETWORKS_END;
    for (uint32_t i = 0; i <= networks_mask; i++) {
        networks->heads[i] = NETWORKS_END;
    }
    for (uint32_t i = networks_most; i-- > 0;) {
        struct networks_place *place = &networks_all[i];
        place->pid = networks_lives(place->pid) ? place->pid : 0;
        uint32_t *head = place->pid != 0 ? networks_head(place->network) : &networks->free;
        place->next = *head;
        *head = i;
    }
}

static void networks_lock(void) {
    int32_t own = (int32_t)getpid(), before = 0;
    uint64_t since = 0;
    for (unsigned tries = 1;; tries++) {
        int32_t holder = 0;
        if (atomic_compare_exchange_strong(&networks->holder, &holder, own)) {
            return;
        }
        if (tries % NETWORKS_TRIES != 0) {
            continue;
        }
        uint64_t now = nest__clock_ms();
        since = since == 0 || holder != before ? now : since;
        before = holder;
        if ((!networks_lives(holder) || now - since >= NETWORKS_STUCK_MS) &&
            atomic_compare_exchange_strong(&networks->holder, &holder, own)) {
            networks_rebuild();
            return;
        }
        sched_yield();
    }
}

static void networks_unlock(void) {
    atomic_store(&networks->holder, 0);
}

/* -- chains; all of what follows needs the lock */

/* Whether the chain has an end, and goes through no place twice. */
static bool networks_sound(uint32_t at) {
    uint32_t left = networks_most;
    while (at < networks_most && left > 0) {
        at = networks_all[at].next;
        left--;
    }
    return at == NETWORKS_END;
}

static void networks_check(const uint32_t *head) {
    if (!networks_sound(*head)) {
        networks_rebuild();
    }
}

/* The smallest process identifiers above `above` in the chain, in their order; how many. */
static unsigned networks_pids(uint32_t at, int32_t above, int32_t pids[NETWORKS_ASKED]) {
    unsigned n = 0;
    for (; at != NETWORKS_END; at = networks_all[at].next) {
        int32_t pid = networks_all[at].pid;
        unsigned i = n;
        while (i > 0 && pids[i - 1] > pid) {
            i--;
        }
        if (pid <= above || i == NETWORKS_ASKED || (i > 0 && pids[i - 1] == pid)) {
            continue;
        }
        n -= n == NETWORKS_ASKED;
        memmove(&pids[i + 1], &pids[i], (n - i) * sizeof pids[0]);
        pids[i] = pid;
        n++;
    }
    return n;
}

/* Frees the places of the chain that this process has. */
static void networks_free(uint32_t *head, int32_t pid) {
    uint32_t *link = head;
    while (*link != NETWORKS_END) {
        uint32_t at = *link;
        struct networks_place *place = &networks_all[at];
        if (place->pid != pid) {
            link = &place->next;
        } else {
            place->pid = 0;
            *link = place->next;
            place->next = networks->free;
            networks->free = at;
        }
    }
}

/* How many places of the network are `told`, or are not. */
static uint32_t networks_count(uint32_t at, const uint8_t network[NEST__NETWORK], bool told) {
    uint32_t count = 0;
    for (; at != NETWORKS_END; at = networks_all[at].next) {
        const struct networks_place *place = &networks_all[at];
        count += memcmp(place->network, network, NEST__NETWORK) == 0 && place->told == told;
    }
    return count;
}

/* Frees the places of the chain whose processes have died. It does not ask for a process while it
 * holds the lock, nor again before another worker has died. */
static void networks_bury(uint32_t *head) {
    uint32_t *buried = &networks_buried[head - networks->heads];
    uint32_t deaths = atomic_load(&networks->deaths);
    int32_t pids[NETWORKS_ASKED], above = 0;
    unsigned n = *buried == deaths ? 0 : NETWORKS_ASKED;
    while (n == NETWORKS_ASKED) {
        uint64_t dead = 0;
        n = networks_pids(*head, above, pids);
        networks_unlock();
        for (unsigned i = 0; i < n; i++) {
            dead |= (uint64_t)!networks_lives(pids[i]) << i;
        }
        networks_lock();
        networks_check(head);
        for (unsigned i = 0; i < n; i++) {
            if ((dead >> i & 1) != 0) {
                networks_free(head, pids[i]);
            }
        }
        above = n > 0 ? pids[n - 1] : 0;
    }
    *buried = deaths;
}

static bool networks_full(uint32_t *head, const uint8_t network[NEST__NETWORK], uint32_t most,
                          bool told) {
    if (networks_count(*head, network, told) < most) {
        return false;
    }
    networks_bury(head);
    return networks_count(*head, network, told) >= most;
}

void nest__networks_died(void) {
    atomic_fetch_add(&networks->deaths, 1);
}

void nest__networks_sweep(void) {
    int32_t own = (int32_t)getpid();
    for (uint32_t i = 0; i < networks_most; i++) {
        if (networks_all[i].pid == own) {
            nest__networks_give(i + 1);
        }
    }
}

uint32_t nest__networks_take(const uint8_t network[NEST__NETWORK], uint32_t most, bool told,
                             enum nest__admission *admission, bool *say) {
    uint32_t *head = networks_head(network), at = NETWORKS_END;
    uint64_t now = nest__clock_ms();
    *admission = NEST__ADMITTED;
    *say = false;
    networks_lock();
    networks_check(head);
    if (networks_full(head, network, most, false)) {
        *say = networks->said == 0 || now - networks->said >= NETWORKS_SAY_MS;
        networks->said = *say ? now : networks->said;
        *admission =
            !told || networks_full(head, network, most, true) ? NEST__REFUSED : NEST__TURNED_AWAY;
    }
    if (*admission != NEST__REFUSED) {
        if (networks->free >= networks_most || networks_all[networks->free].pid != 0) {
            networks_rebuild(); /* a process has died that had some */
        }
        at = networks->free;
    }
    if (at != NETWORKS_END) {
        struct networks_place *place = &networks_all[at];
        networks->free = place->next;
        memcpy(place->network, network, NEST__NETWORK);
        place->told = *admission == NEST__TURNED_AWAY;
        place->pid = (int32_t)getpid();
        place->next = *head;
        *head = at;
    } else {
        *admission = NEST__REFUSED;
    }
    networks_unlock();
    return at + 1;
}

void nest__networks_give(uint32_t place) {
    struct networks_place *own = &networks_all[place - 1];
    networks_lock();
    uint32_t *link = networks_head(own->network);
    networks_check(link);
    while (*link != NETWORKS_END && *link != place - 1) {
        link = &networks_all[*link].next;
    }
    own->pid = 0;
    if (*link != NETWORKS_END) {
        *link = own->next;
        own->next = networks->free;
        networks->free = place - 1;
    } else { /* it was written over */
        networks_rebuild();
    }
    networks_unlock();
}
