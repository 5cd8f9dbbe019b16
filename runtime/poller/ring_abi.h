/* ring_abi.h: the kernel's interface of io_uring, as far as nest uses it.
 *
 * Included by ring.c and uring.c. Linux guarantees this layout for all architectures. It is here
 * because musl has no header for it, and older headers lack parts of it. Source: io_uring_setup(2),
 * io_uring_enter(2), io_uring_register(2). */
#ifndef NEST_POLLER_RING_ABI_H
#define NEST_POLLER_RING_ABI_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "poll events would be swapped");

/* An operation that is submitted. */
struct nest__sqe {
    uint8_t opcode, flags;
    uint16_t ioprio;
    int32_t fd;
    uint64_t offset;
    uint64_t address;
    uint32_t length;
    uint32_t how; /* flags of this opcode: of messages, of cancelling, or the events of a poll */
    uint64_t name;
    uint16_t buffers; /* with NEST__SQE_BUFFER: the group of buffers */
    uint16_t personality;
    int32_t file;
    uint64_t unused[2];
};
_Static_assert(sizeof(struct nest__sqe) == 64, "as the kernel has it");
enum {
    NEST__SQE_POLL = 6,
    NEST__SQE_SENDMSG = 9,
    NEST__SQE_CANCEL = 14,
    NEST__SQE_CLOSE = 19,
    NEST__SQE_SEND = 26,
    NEST__SQE_RECEIVE = 27,
    NEST__SQE_NOTHING = 0
};
enum { NEST__SQE_BUFFER = 1 << 5, NEST__SQE_SILENT = 1 << 6 }; /* flags; SILENT: if it succeeds */
enum { NEST__SQE_POLL_FIRST = 1 };                             /* ioprio of RECEIVE */
enum { NEST__SQE_MULTI = 1 };                                  /* length of POLL */

/* One that has completed. */
struct nest__cqe {
    uint64_t name;
    int32_t result;
    uint32_t flags;
};
enum { NEST__CQE_BUFFER = 1, NEST__CQE_MORE = 2, NEST__CQE_NONEMPTY = 4, NEST__CQE_SHIFT = 16 };

struct ring_params {
    uint32_t sq_entries, cq_entries, flags, sq_cpu, sq_idle, features, wq_fd, unused[3];
    struct {
        uint32_t head, tail, mask, entries, flags, dropped, array, unused1;
        uint64_t unused2;
    } sq;
    struct {
        uint32_t head, tail, mask, entries, overflow, cqes, flags, unused1;
        uint64_t unused2;
    } cq;
};
enum {
    RING_CQ_SIZE = 1 << 3,
    RING_CLAMP = 1 << 4,
    RING_SUBMIT_ALL = 1 << 7,
    RING_TASK_FLAG = 1 << 9,
    RING_SINGLE_ISSUER = 1 << 12,
    RING_DEFER = 1 << 13 /* completions are made in io_uring_enter alone; Linux 6.1 */
};
enum { RING_SINGLE_MMAP = 1, RING_NODROP = 2 };       /* features */
enum { RING_SQ_OVERFLOW = 2, RING_SQ_TASK_WORK = 4 }; /* flags of the submission ring */
#define RING_OFFSET_SQES 0x10000000
enum { RING_GET_EVENTS = 1 }; /* io_uring_enter */
enum { RING_REGISTER_BUFFERS = 22 };

struct ring_buffer { /* one that the kernel may fill; the first one's `tail` is that of the ring */
    uint64_t address;
    uint32_t length;
    uint16_t id;
    uint16_t tail;
};
struct ring_buffers { /* argument of RING_REGISTER_BUFFERS */
    uint64_t address;
    uint32_t entries;
    uint16_t group, flags;
    uint64_t unused[3];
};

#ifndef SYS_io_uring_setup /* the same numbers on all architectures */
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

#endif
