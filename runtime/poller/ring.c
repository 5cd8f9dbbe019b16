/* ring.c: see ring.h.
 *
 * State: this process's ring. The kernel runs operations only inside io_uring_enter, which only the
 * thread of the loop calls: nothing completes, and no socket is read, between two calls. The raw
 * system calls are used, because a generated server depends on nothing but libc. */
#include "ring.h"
#include "../platform/context.h"
#include "../platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    RING_SUBMISSIONS = 1024,
    RING_COMPLETIONS = 8192, /* what does not fit, the kernel keeps */
    RING_BUFFERS = NEST__MESSAGES ? 64 : 256,
    RING_GROUP = 0,
    RING_MESSAGES = 64,
    RING_TRIES = 100,
    RING_TRY_MS = 10
};
static const uint64_t ring_nobody = UINT64_MAX;

static struct {
    int fd;
    uint8_t *rings; /* both, in one mapping */
    size_t rings_size, sqes_size;
    _Atomic uint32_t *sq_tail, *sq_flags, *cq_head, *cq_tail;
    uint32_t sq_mask, cq_mask;
    struct nest__sqe *sqes;
    struct nest__cqe *cqes;
    uint32_t tail, submitted; /* of submissions */
    uint32_t head;            /* of completions */
    struct ring_buffer *buffers;
    uint8_t *memory; /* of the buffers */
    uint16_t given;
    unsigned messages;
} ring;

static struct {
    struct msghdr header;
    struct iovec vectors[NEST__RING_VECTORS];
} ring_messages[RING_MESSAGES];

/* -- the beginning */

static int ring_register(unsigned what, void *argument, unsigned n) {
    return (int)syscall(SYS_io_uring_register, ring.fd, what, argument, n);
}

/* A child that an action forks must not share the rings. */
static void *ring_map(size_t size, int fd, int64_t offset) {
    int flags = fd == -1 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
    if (p == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(p, size, MADV_DONTFORK);
    return p;
}

static int ring_map_rings(const struct ring_params *params) {
    size_t sq = params->sq.array + params->sq_entries * sizeof(uint32_t);
    size_t cq = params->cq.cqes + params->cq_entries * sizeof(struct nest__cqe);
    ring.rings_size = sq > cq ? sq : cq;
    ring.sqes_size = params->sq_entries * sizeof(struct nest__sqe);
    ring.rings = ring_map(ring.rings_size, ring.fd, 0);
    ring.sqes = ring_map(ring.sqes_size, ring.fd, RING_OFFSET_SQES);
    if (ring.rings == NULL || ring.sqes == NULL) {
        return -ENOMEM;
    }
    ring.sq_tail = (void *)(ring.rings + params->sq.tail);
    ring.sq_flags = (void *)(ring.rings + params->sq.flags);
    ring.sq_mask = params->sq_entries - 1;
    ring.cq_head = (void *)(ring.rings + params->cq.head);
    ring.cq_tail = (void *)(ring.rings + params->cq.tail);
    ring.cq_mask = params->cq_entries - 1;
    ring.cqes = (void *)(ring.rings + params->cq.cqes);
    uint32_t *array = (void *)(ring.rings + params->sq.array);
    for (uint32_t i = 0; i < params->sq_entries; i++) {
        array[i] = i;
    }
    return 0;
}

static int ring_map_buffers(void) {
    ring.buffers = ring_map(RING_BUFFERS * sizeof *ring.buffers, -1, 0);
    ring.memory = ring_map((size_t)RING_BUFFERS * NEST__RING_BUFFER, -1, 0);
    if (ring.buffers == NULL || ring.memory == NULL) {
        return -ENOMEM;
    }
    struct ring_buffers group = {
        .address = (uintptr_t)ring.buffers, .entries = RING_BUFFERS, .group = RING_GROUP};
    if (ring_register(RING_REGISTER_BUFFERS, &group, 1) == -1) {
        return -errno;
    }
    for (uint32_t id = 0; id < RING_BUFFERS; id++) {
        nest__ring_give(id);
    }
    return 0;
}

static void ring_unmap(void *p, size_t size) {
    if (p != NULL) {
        munmap(p, size);
    }
}

static void ring_close(void) {
    ring_unmap(ring.rings, ring.rings_size);
    ring_unmap(ring.sqes, ring.sqes_size);
    close(ring.fd);
    ring_unmap(ring.buffers, RING_BUFFERS * sizeof *ring.buffers);
    ring_unmap(ring.memory, (size_t)RING_BUFFERS * NEST__RING_BUFFER);
    memset(&ring, 0, sizeof ring);
}

static int ring_create(void) {
    struct ring_params params = {
        .cq_entries = RING_COMPLETIONS,
        .flags = RING_CQ_SIZE | RING_CLAMP | RING_SUBMIT_ALL | RING_TASK_FLAG | RING_SINGLE_ISSUER |
                 RING_DEFER,
    };
    memset(&ring, 0, sizeof ring);
    ring.fd = (int)syscall(SYS_io_uring_setup, RING_SUBMISSIONS, &params);
    if (ring.fd == -1) {
        return -errno;
    }
    const unsigned features = RING_SINGLE_MMAP | RING_NODROP; /* as of 5.5 */
    int error = (params.features & features) == features ? ring_map_rings(&params) : -EINVAL;
    if (error == 0) {
        error = ring_map_buffers();
    }
    if (error < 0) {
        ring_close();
    }
    return error;
}

/* The kernel gives the locked memory of a ring back some time after its process has ended. */
int nest__ring_open(void) {
    int error = ring_create();
    for (int tries = 0; error == -ENOMEM && tries < RING_TRIES; tries++) {
        (void)poll(NULL, 0, RING_TRY_MS);
        error = ring_create();
    }
    return error;
}

/* -- submissions */

void nest__ring_enter(bool wait) {
    uint32_t n = ring.tail - ring.submitted;
    uint32_t work = atomic_load_explicit(ring.sq_flags, memory_order_relaxed);
    if (n == 0 && !wait && (work & (RING_SQ_TASK_WORK | RING_SQ_OVERFLOW)) == 0) {
        return;
    }
    atomic_store_explicit(ring.sq_tail, ring.tail, memory_order_release);
    atomic_store_explicit(ring.cq_head, ring.head, memory_order_release);
    /* Not by a registered number: the ring would outlive its descriptor, and a process whose action
     * has closed all descriptors would sleep for ever. */
    long done = syscall(SYS_io_uring_enter, ring.fd, n, wait ? 1 : 0, RING_GET_EVENTS, NULL, 0);
    if (done > 0) {
        ring.submitted += (uint32_t)done;
    } else if (done == -1 && (errno == EBADF || errno == EOPNOTSUPP)) { /* or it is another's now */
        nest__closed_under();
    }
    if (ring.submitted == ring.tail) {
        ring.messages = 0;
    }
}

static bool ring_is_full(void) {
    return ring.tail - ring.submitted > ring.sq_mask;
}

struct nest__sqe *nest__ring_submit(uint8_t opcode, int fd, uint64_t name) {
    if (ring_is_full()) {
        nest__ring_enter(false);
        if (ring_is_full()) {
            return NULL;
        }
    }
    struct nest__sqe *sqe = &ring.sqes[ring.tail++ & ring.sq_mask];
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = opcode;
    sqe->fd = fd;
    sqe->name = name;
    return sqe;
}

void nest__ring_cancel(uint64_t name, uint64_t own) {
    struct nest__sqe *sqe = nest__ring_submit(NEST__SQE_CANCEL, -1, own);
    if (sqe != NULL) {
        sqe->address = name;
        sqe->flags = NEST__SQE_SILENT;
    }
}

bool nest__ring_poll(int fd, uint32_t events, bool multi, uint64_t name) {
    struct nest__sqe *sqe = nest__ring_submit(NEST__SQE_POLL, fd, name);
    if (sqe == NULL) {
        return false;
    }
    sqe->how = events;
    sqe->length = multi ? NEST__SQE_MULTI : 0;
    return true;
}

bool nest__ring_close(int fd, uint64_t own) {
    struct nest__sqe *sqe =
        NEST__CALLS_WATCHED ? NULL : nest__ring_submit(NEST__SQE_CLOSE, fd, own);
    if (sqe != NULL) {
        sqe->flags = NEST__SQE_SILENT;
    }
    return sqe != NULL;
}

/* Its entry must fit, too: an enter between the two would free the message before the kernel has
 * it, and another one could take its place. */
struct msghdr *nest__ring_message(void) {
    if (ring.messages == RING_MESSAGES || ring_is_full()) {
        nest__ring_enter(false);
        if (ring.messages == RING_MESSAGES || ring_is_full()) {
            return NULL;
        }
    }
    unsigned i = ring.messages++;
    ring_messages[i].header = (struct msghdr){.msg_iov = ring_messages[i].vectors};
    return &ring_messages[i].header;
}

/* -- completions */

uint32_t nest__ring_count(void) {
    return atomic_load_explicit(ring.cq_tail, memory_order_acquire) - ring.head;
}

uint32_t nest__ring_count_without(uint64_t bits) {
    uint32_t count = 0;
    for (uint32_t n = nest__ring_count(), i = 0; i < n; i++) {
        count += (ring.cqes[(ring.head + i) & ring.cq_mask].name & bits) != bits;
    }
    return count;
}

bool nest__ring_next(struct nest__cqe *done) {
    while (nest__ring_count() > 0) {
        *done = ring.cqes[ring.head++ & ring.cq_mask];
        atomic_store_explicit(ring.cq_head, ring.head, memory_order_release);
        if (done->name != ring_nobody) {
            return true;
        }
    }
    return false;
}

static struct nest__cqe *ring_find(uint64_t name) {
    for (uint32_t n = nest__ring_count(), i = 0; i < n; i++) {
        struct nest__cqe *cqe = &ring.cqes[(ring.head + i) & ring.cq_mask];
        if (cqe->name == name) {
            return cqe;
        }
    }
    return NULL;
}

bool nest__ring_has(uint64_t name) {
    return ring_find(name) != NULL;
}

bool nest__ring_take(uint64_t name, struct nest__cqe *done) {
    struct nest__cqe *cqe = ring_find(name);
    if (cqe == NULL) {
        return false;
    }
    *done = *cqe;
    cqe->name = ring_nobody; /* its place stays */
    return true;
}

/* -- buffers */

uint8_t *nest__ring_buffer(uint32_t id) {
    return ring.memory + (size_t)id * NEST__RING_BUFFER;
}

void nest__ring_give(uint32_t id) {
    struct ring_buffer *buffer = &ring.buffers[ring.given % RING_BUFFERS];
    buffer->address = (uintptr_t)nest__ring_buffer(id);
    buffer->length = NEST__RING_BUFFER;
    buffer->id = (uint16_t)id;
    ring.given++;
    atomic_store_explicit((_Atomic uint16_t *)&ring.buffers[0].tail, ring.given,
                          memory_order_release);
}
