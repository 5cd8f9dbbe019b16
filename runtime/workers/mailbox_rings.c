/* mailbox_rings.c: mail to loops: a ring in shared memory for each pair of a sender and a loop.
 *
 * Called by worker models and by what sends. A ring has one producer and one consumer, so that no
 * lock can be left behind by a dead one: the producer publishes its tail after the bytes, and what
 * it had not published is overwritten by its successor. State: the mapping, of all; the positions
 * of this worker, in private memory, so that only its neighbours' values have to be checked.
 *
 * Each worker can write to its own pages only: rings that it fills, and heads of those that it
 * empties. Must not know sessions, nor what is sent. */
#include "mailbox.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RINGS_BYTES = 256 * 1024, RINGS_STEP = 8 };
_Static_assert((RINGS_BYTES & (RINGS_BYTES - 1)) == 0, "positions wrap at 2^32");

struct rings_header { /* of a message, in a ring */
    uint32_t n, kind;
    nest__ref to;
    uint32_t serial, unused;
};
_Static_assert(sizeof(struct rings_header) % RINGS_STEP == 0, "messages stay aligned");

/* Positions count bytes, modulo 2^32. */
struct rings_out { /* of a pair: by the producer */
    alignas(64) _Atomic uint32_t tail;
    alignas(64) uint8_t bytes[RINGS_BYTES];
};
struct rings_head { /* of a pair: by the consumer */
    alignas(64) _Atomic uint32_t head;
};
struct rings_in { /* of a consumer */
    _Atomic uint32_t sleeping;
    struct rings_head heads[]; /* by producer */
};

static struct {
    char *memory;
    size_t size, in_size, out_size; /* bytes of all; of what one worker writes to: whole pages */
    uint32_t workers, senders, own; /* senders: the workers, and the service process */
    int *wakes;                     /* eventfds, by consumer */
    uint32_t *tails, *heads;        /* of this worker, by consumer and by producer */
    uint32_t next;                  /* the producer whose mail is looked at first */
    bool sleeping;
} rings;

static struct rings_in *rings_in(uint32_t consumer) {
    return (void *)(rings.memory + consumer * rings.in_size);
}

static struct rings_out *rings_out(uint32_t producer, uint32_t consumer) {
    char *all = rings.memory + rings.workers * rings.in_size + producer * rings.out_size;
    return (void *)(all + consumer * sizeof(struct rings_out));
}

static size_t rings_pages(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

uint32_t nest__mailbox_descriptors(uint32_t workers) {
    return workers;
}

int nest__mailbox_prepare(uint32_t workers) {
    rings.workers = workers;
    rings.senders = workers + 1;
    rings.in_size =
        rings_pages(sizeof(struct rings_in) + rings.senders * sizeof(struct rings_head));
    rings.out_size = rings_pages(workers * sizeof(struct rings_out));
    rings.size = workers * rings.in_size + rings.senders * rings.out_size;
    rings.memory = mmap(NULL, rings.size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    rings.wakes = calloc(workers, sizeof *rings.wakes);
    rings.tails = calloc(workers, sizeof *rings.tails);
    rings.heads = calloc(rings.senders, sizeof *rings.heads);
    if ((void *)rings.memory == MAP_FAILED || rings.wakes == NULL || rings.tails == NULL ||
        rings.heads == NULL) {
        return -ENOMEM;
    }
    for (uint32_t worker = 0; worker < workers; worker++) {
        rings.wakes[worker] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (rings.wakes[worker] == -1) {
            return -errno;
        }
    }
    return 0;
}

static uint32_t rings_align(uint32_t position) {
    return (position + RINGS_STEP - 1) / RINGS_STEP * RINGS_STEP;
}

/* What a producer has published, in steps of messages even where it was written over. */
static uint32_t rings_tail(uint32_t producer) {
    return rings_align(atomic_load(&rings_out(producer, rings.own)->tail));
}

/* All before this position has been read, or is dropped. */
static void rings_advance(uint32_t producer, uint32_t tail) {
    rings.heads[producer] = tail;
    atomic_store(&rings_in(rings.own)->heads[producer].head, tail);
}

/* A sender goes on behind what its predecessor has published. */
static void rings_begin_out(uint32_t sender) {
    (void)mprotect(rings_out(sender, 0), rings.out_size, PROT_READ | PROT_WRITE);
    for (uint32_t other = 0; other < rings.workers; other++) {
        uint32_t tail = atomic_load(&rings_out(sender, other)->tail);
        uint32_t head = atomic_load(&rings_in(other)->heads[sender].head);
        rings.tails[other] = rings_align(tail - head <= RINGS_BYTES ? tail : head);
        atomic_store(&rings_out(sender, other)->tail, rings.tails[other]);
    }
}

static void rings_begin_in(uint32_t worker) {
    struct rings_in *in = rings_in(worker);
    (void)mprotect(in, rings.in_size, PROT_READ | PROT_WRITE);
    atomic_store(&in->sleeping, 0);
    for (uint32_t producer = 0; producer < rings.senders; producer++) {
        rings_advance(producer, rings_tail(producer));
    }
}

void nest__mailbox_begin(uint32_t worker) {
    rings.own = worker;
    /* Failure leaves the memory writable, which only a faulty action would notice. */
    (void)mprotect(rings.memory, rings.size, PROT_READ);
    if (worker < rings.workers) {
        rings_begin_in(worker);
    }
    rings_begin_out(worker);
}

bool nest__mailbox_own(uint16_t serial) {
    return serial == nest__serial && rings.own < rings.workers;
}

int nest__mailbox_fd(void) {
    return rings.wakes[rings.own];
}

/* -- sending -------------------------------------------------------------------------------------
 */

static uint32_t rings_length(uint32_t n) {
    return (uint32_t)sizeof(struct rings_header) + rings_align(n);
}

static void rings_put(struct rings_out *out, uint32_t at, const void *bytes, uint32_t n) {
    uint32_t place = at % RINGS_BYTES, first = RINGS_BYTES - place < n ? RINGS_BYTES - place : n;
    memcpy(out->bytes + place, bytes, first);
    memcpy(out->bytes, (const uint8_t *)bytes + first, n - first);
}

/* The consumer says that it sleeps before it looks for mail the last time; here the tail is
 * published before the look at whether it sleeps. */
static void rings_wake(uint32_t consumer, bool always) {
    uint64_t one = 1;
    int saved = errno;
    if (always || atomic_load(&rings_in(consumer)->sleeping) != 0) {
        (void)!write(rings.wakes[consumer], &one, sizeof one);
    }
    errno = saved;
}

int nest__mail_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n) {
    uint32_t consumer = serial % rings.workers;
    struct rings_out *out = rings_out(rings.own, consumer);
    struct rings_header header = {.n = n, .kind = kind, .to = to, .serial = serial};
    if (n > NEST__MAIL_MOST) {
        return -EMSGSIZE;
    }
    uint32_t tail = rings.tails[consumer];
    uint32_t used = tail - atomic_load(&rings_in(consumer)->heads[rings.own].head);
    if (used > RINGS_BYTES || RINGS_BYTES - used < rings_length(n)) {
        rings_wake(consumer, used > RINGS_BYTES); /* a spoiled head: its owner writes it anew */
        return -EAGAIN;
    }
    rings_put(out, tail, &header, sizeof header);
    rings_put(out, tail + (uint32_t)sizeof header, bytes, n);
    rings.tails[consumer] = tail + rings_length(n);
    atomic_store(&out->tail, rings.tails[consumer]);
    rings_wake(consumer, false);
    return 0;
}

/* -- taking --------------------------------------------------------------------------------------
 */

static void rings_get(const struct rings_out *out, uint32_t at, void *to, uint32_t n) {
    uint32_t place = at % RINGS_BYTES, first = RINGS_BYTES - place < n ? RINGS_BYTES - place : n;
    memcpy(to, out->bytes + place, first);
    memcpy((uint8_t *)to + first, out->bytes, n - first);
}

/* One message, for any session, is copied before it is looked at. False: there is none, or the
 * ring was overwritten; then it is empty now. */
static bool rings_next(uint32_t producer, struct nest__mail *mail, uint32_t *serial) {
    const struct rings_out *out = rings_out(producer, rings.own);
    struct rings_header header;
    uint32_t head = rings.heads[producer], tail = rings_tail(producer), held = tail - head;
    if (held == 0) {
        return false;
    }
    if (held > RINGS_BYTES || held < sizeof header) {
        rings_advance(producer, tail);
        return false;
    }
    rings_get(out, head, &header, sizeof header);
    if (header.n > NEST__MAIL_MOST || rings_length(header.n) > held) {
        rings_advance(producer, tail);
        return false;
    }
    *serial = header.serial;
    mail->to = header.to;
    mail->kind = header.kind;
    mail->n = header.n;
    rings_get(out, head + (uint32_t)sizeof header, mail->bytes, header.n);
    rings_advance(producer, head + rings_length(header.n));
    return true;
}

/* All heads are written anew: an action may have spoiled them, and producers would find the rings
 * full for ever. */
static void rings_awake(void) {
    uint64_t count;
    rings.sleeping = false;
    atomic_store(&rings_in(rings.own)->sleeping, 0);
    (void)!read(rings.wakes[rings.own], &count, sizeof count);
    for (uint32_t producer = 0; producer < rings.senders; producer++) {
        rings_advance(producer, rings.heads[producer]);
    }
}

bool nest__mailbox_take(struct nest__mail *mail) {
    uint32_t serial;
    if (rings.sleeping) {
        rings_awake();
    }
    for (uint32_t empty = 0; empty < rings.senders; empty++) {
        uint32_t producer = rings.next++ % rings.senders;
        for (uint32_t n = 0; n < NEST__MAIL_DROPS && rings_next(producer, mail, &serial); n++) {
            if (serial == nest__serial &&
                (mail->to.slot == NEST__NO_NUMBER || nest__mail_alive(mail->to))) {
                return true;
            }
        }
    }
    return false;
}

bool nest__mailbox_sleep(void) {
    rings.sleeping = true;
    atomic_store(&rings_in(rings.own)->sleeping, 1);
    for (uint32_t producer = 0; producer < rings.senders; producer++) {
        if (rings_tail(producer) != rings.heads[producer]) {
            return false;
        }
    }
    return true;
}
