/* uring.c: the floor of the uring model: one ring, whose operations are submitted together.
 *
 * Multishot accept and receive into provided buffers, through liburing. Files are opened, read and
 * sent as in the other floors. */
#include "floor.h"

#include <liburing.h>
#include <sys/resource.h>

enum { ENTRIES = 1024, BUFFERS = 256, BUFFER = 4096, GROUP = 0, BATCH = 256 };
enum { ACCEPT, RECEIVE, SEND, QUIET };

static struct io_uring ring;
static struct io_uring_buf_ring *buffers;
static char memory[BUFFERS][BUFFER];
static struct floor_client *clients; /* by descriptor */

static struct io_uring_sqe *operation(void) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (sqe == NULL) {
        io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
    }
    return sqe;
}

static void name(struct io_uring_sqe *sqe, int fd, unsigned kind) {
    io_uring_sqe_set_data64(sqe, (uint64_t)fd << 2 | kind);
}

static void give(unsigned id) {
    io_uring_buf_ring_add(buffers, memory[id], BUFFER, (unsigned short)id,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(buffers, 1);
}

static void accept_all(void) {
    struct io_uring_sqe *sqe = operation();
    io_uring_prep_multishot_accept(sqe, floor_.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    name(sqe, floor_.listener, ACCEPT);
}

/* One request is all that a connection which is closed after its answer has. */
static void receive(int fd) {
    struct io_uring_sqe *sqe = operation();
    if (floor_.closing) {
        io_uring_prep_recv(sqe, fd, NULL, 0, 0);
    } else {
        io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
    }
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = GROUP;
    name(sqe, fd, RECEIVE);
}

static void drop(int fd) {
    struct io_uring_sqe *sqe = operation();
    io_uring_prep_close(sqe, fd);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    name(sqe, fd, QUIET);
}

static void answer(int fd) {
    struct floor_client *c = &clients[fd];
    size_t copies = c->owed < FLOOR_COPIES ? c->owed : FLOOR_COPIES;
    struct io_uring_sqe *sqe = operation();
    io_uring_prep_send(sqe, fd, floor_.copies + c->sent, copies * floor_.bytes - c->sent,
                       MSG_NOSIGNAL);
    name(sqe, fd, SEND);
    if (floor_.closing) {
        sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        drop(fd);
    }
}

static void received(int fd, const struct io_uring_cqe *cqe) {
    struct floor_client *c = &clients[fd];
    bool more = (cqe->flags & IORING_CQE_F_MORE) != 0;
    if (cqe->res == -ENOBUFS) {
        receive(fd);
        return;
    }
    if (cqe->res <= 0) {
        drop(fd);
        return;
    }
    unsigned id = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
    if (floor_.root == -1) {
        bool busy = c->owed > 0;
        c->owed += floor_heads(c, memory[id], (size_t)cqe->res);
        if (!busy && c->owed > 0) {
            answer(fd);
        }
    } else if (floor_serve(fd, c, memory[id], (size_t)cqe->res) != 1) {
        floor_fail("a small file that was not sent at once");
    } else if (floor_.closing) {
        drop(fd);
    }
    give(id);
    if (!more && !floor_.closing) {
        receive(fd);
    }
}

static void sent(int fd, int n) {
    struct floor_client *c = &clients[fd];
    if (n < 0) {
        return; /* its receive tells */
    }
    c->sent += (size_t)n;
    c->owed -= (unsigned)(c->sent / floor_.bytes);
    c->sent %= floor_.bytes;
    if (c->owed > 0) {
        answer(fd);
    }
}

static void completed(const struct io_uring_cqe *cqe) {
    uint64_t data = io_uring_cqe_get_data64(cqe);
    int fd = (int)(data >> 2);
    switch (data & 3) {
    case ACCEPT:
        if (cqe->res >= 0) {
            clients[cqe->res] = (struct floor_client){.file = -1};
            receive(cqe->res);
        }
        if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
            accept_all();
        }
        break;
    case RECEIVE:
        received(fd, cqe);
        break;
    case SEND:
        sent(fd, cqe->res);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv) {
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER |
                                              IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                                              IORING_SETUP_CQSIZE,
                                     .cq_entries = 8 * ENTRIES};
    struct rlimit files;
    floor_start(argc, argv, false);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    clients = calloc(files.rlim_cur, sizeof *clients);
    errno = -io_uring_queue_init_params(ENTRIES, &ring, &params);
    if (clients == NULL || errno != 0) {
        floor_fail("io_uring");
    }
    io_uring_register_ring_fd(&ring);
    if (posix_memalign((void **)&buffers, 4096, BUFFERS * sizeof(struct io_uring_buf)) != 0) {
        floor_fail("memory");
    }
    struct io_uring_buf_reg group = {
        .ring_addr = (uintptr_t)buffers, .ring_entries = BUFFERS, .bgid = GROUP};
    errno = -io_uring_register_buf_ring(&ring, &group, 0);
    if (errno != 0) {
        floor_fail("buffers");
    }
    io_uring_buf_ring_init(buffers);
    for (unsigned id = 0; id < BUFFERS; id++) {
        give(id);
    }
    accept_all();
    for (;;) {
        struct io_uring_cqe *cqes[BATCH];
        io_uring_submit_and_wait(&ring, 1);
        unsigned n = io_uring_peek_batch_cqe(&ring, cqes, BATCH);
        for (unsigned i = 0; i < n; i++) {
            completed(cqes[i]);
        }
        io_uring_cq_advance(&ring, n);
    }
}
