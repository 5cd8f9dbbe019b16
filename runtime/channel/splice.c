/* splice.c: bytes that go from one channel to another through a pipe; see splice.h.
 *
 * Called by engine/relay.c, channel.h, loop/many.c and blocking/any.c. State: the caller's. Must
 * not know sessions. */
#include "splice.h"
#include "../platform/platform.h"
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A smaller pipe, which a user with many of them gets, is no gain. */
enum { SPLICE_LEAST = 64 * 1024 };

/* -- the pipe */

/* splice(2) has no flag for it that all kinds of sockets and all kernels obey. */
static int splice_unblock(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags == -1                 ? -1
           : (flags & O_NONBLOCK) != 0 ? 0
                                       : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void splice_end(struct nest__splice *pipe) {
    close(pipe->in);
    close(pipe->out);
    free(pipe->spare);
    pipe->spare = NULL;
    pipe->open = false;
    pipe->refused = true;
}

void nest__splice_open(struct nest__splice *pipe, const struct nest__chan *from,
                       const struct nest__chan *to) {
    int ends[2];
    pipe->refused = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1;
    if (pipe->refused) {
        return;
    }
    pipe->open = true;
    pipe->out = ends[0];
    pipe->in = ends[1];
    if (fcntl(pipe->in, F_GETPIPE_SZ) < SPLICE_LEAST || splice_unblock(from->fd) == -1 ||
        splice_unblock(to->fd) == -1) {
        splice_end(pipe);
    }
}

/* -- bytes */

/* The queue has sent or dropped the item. */
static void splice_gone(void *arg) {
    struct nest__splice *pipe = arg;
    pipe->item = NULL;
}

static bool splice_readable(const struct nest__chan *chan) {
    return nest__poll_now(chan->fd, POLLIN) != 0;
}

/* splice(2) says that input has ended although a byte that was sent as urgent is there. */
static bool splice_urgent(const struct nest__chan *chan) {
    char byte;
    return recv(chan->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* One splice from a socket. -ENOBUFS: bytes are there, but do not enter the pipe. */
static int64_t splice_some(const struct nest__splice *pipe, const struct nest__chan *from,
                           uint32_t room) {
    ssize_t n = splice(from->fd, NULL, pipe->in, NULL, room, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n >= 0) {
        return n == 0 && splice_urgent(from) ? -ENOBUFS : n;
    }
    switch (errno) {
    case EINTR:
        return -EAGAIN;
    case EAGAIN:
        return splice_readable(from) ? -ENOBUFS : -EAGAIN;
    case EINVAL:
    case ENOSYS:
    case EPERM:
    case EOPNOTSUPP:
    case ENOMEM:
        return -ENOBUFS;
    default:
        return -ECONNRESET;
    }
}

/* Bytes do not enter the pipe: it is full of pieces, however short they are, or, if it is empty,
 * the system does not splice them. */
static void splice_stuck(struct nest__splice *pipe) {
    pipe->full = pipe->item != NULL;
    pipe->refused = !pipe->full;
    pipe->mark = pipe->full ? pipe->item->n / 2 : 0;
}

int64_t nest__splice_receive(struct nest__splice *pipe, struct nest__chan *from,
                             struct nest__queue *queue, uint32_t room) {
    struct nest__item *item = pipe->item == NULL ? pipe->spare : pipe->item;
    if (item == NULL) {
        item = pipe->spare = malloc(sizeof *item);
        if (item == NULL) {
            return -ENOMEM;
        }
    }
    int64_t n = splice_some(pipe, from, room);
    if (n == -ENOBUFS) { /* or came between two calls of the system */
        n = splice_some(pipe, from, room);
    }
    if (n <= 0) {
        nest__chan_received(from, false);
        if (n == -ENOBUFS) {
            splice_stuck(pipe);
        }
        return n;
    }
    nest__chan_received(from, (uint32_t)n == room);
    if (pipe->item == NULL) {
        pipe->spare = NULL;
        pipe->item = item;
        *item = (struct nest__item){.kind = NEST__ITEM_PIPE,
                                    .fd = pipe->out,
                                    .n = (size_t)n,
                                    .release = splice_gone,
                                    .arg = pipe};
        nest__queue_append(queue, item);
    } else {
        item->n += (size_t)n;
    }
    queue->n += (uint64_t)n;
    return n;
}

int64_t nest__splice_send(const struct nest__chan *to, int fd, uint64_t n) {
    ssize_t sent;
    do {
        sent = splice(fd, NULL, to->fd, NULL, (size_t)n, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    } while (sent == -1 && errno == EINTR);
    if (sent > 0) {
        return sent;
    }
    return sent == -1 && errno == EAGAIN ? -EAGAIN
           : sent == -1 && (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOMEM)
               ? -EOPNOTSUPP
               : -ECONNRESET;
}

/* -- bytes that are copied after all */

/* A block with what the pipe holds; NULL: no memory. */
static struct nest__item *splice_block(int fd, size_t n) {
    struct nest__item *block = malloc(sizeof *block + n + 1);
    size_t done = 0;
    if (block == NULL) {
        return NULL;
    }
    while (done < n) {
        ssize_t got = read(fd, block->bytes + done, n - done);
        if (got <= 0 && !(got == -1 && errno == EINTR)) { /* it has all of them */
            free(block);
            return NULL;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    *block = (struct nest__item){.kind = NEST__ITEM_BYTES, .n = n, .cap = n + 1};
    return block;
}

/* Replaces the item of a pipe. */
static int splice_copy(struct nest__queue *queue, struct nest__item **link) {
    struct nest__item *item = *link;
    struct nest__splice *pipe = item->arg;
    struct nest__item *block = queue->dropped ? NULL : splice_block(pipe->out, item->n);
    int error = block == NULL && !queue->dropped ? -ENOMEM : 0;
    if (block != NULL) {
        block->next = item->next;
        *link = block;
    } else {
        queue->n -= queue->dropped ? 0 : item->n;
        *link = item->next;
    }
    if (queue->last == item) {
        queue->last = block;
        for (struct nest__item *last = queue->first; block == NULL && last != NULL;
             last = last->next) {
            queue->last = last;
        }
    }
    pipe->item = NULL;
    free(item);
    return error;
}

int nest__splice_refuse(struct nest__queue *queue) {
    for (struct nest__item **link = &queue->first; *link != NULL; link = &(*link)->next) {
        if ((*link)->kind == NEST__ITEM_PIPE) {
            struct nest__splice *pipe = (*link)->arg;
            pipe->refused = true;
            return splice_copy(queue, link);
        }
    }
    return 0;
}

int nest__splice_close(struct nest__splice *pipe, struct nest__queue *queue) {
    int error = pipe->item == NULL ? 0 : nest__splice_refuse(queue);
    if (pipe->open) {
        splice_end(pipe);
    }
    return error;
}
