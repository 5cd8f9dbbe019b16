/* pipe.c: a channel that is a pair of descriptors: input comes from one, output goes to another.
 *
 * Called by channel.c, in servers with option inetd. State: where output goes (a process has one
 * such channel). They may be pipes, files, a terminal, or two sockets; nothing is shut down, and no
 * file is sent without a copy. */
#include "pipe.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

int nest__pipe_out = -1;

/* A pipe has no nonblocking call: a ready one is read or written only as far as it does not block.
 */
static bool pipe_ready(int fd, short events) {
    return nest__poll_now(fd, events) != 0;
}

int64_t nest__pipe_receive(const struct nest__chan *chan, void *to, size_t n,
                           enum nest__chan_how how) {
    if (how == NEST__CHAN_NOW && !pipe_ready(chan->fd, POLLIN)) {
        return -EAGAIN;
    }
    ssize_t got = read(chan->fd, to, n);
    if (got >= 0) {
        return got;
    }
    return errno == EAGAIN ? -EAGAIN : errno == EINTR ? -EINTR : -ECONNRESET;
}

int64_t nest__pipe_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                        enum nest__chan_how how) {
    size_t most = (size_t)out[0].n;
    ssize_t sent;
    (void)chan, (void)n;
    if (how == NEST__CHAN_NOW) {
        if (!pipe_ready(nest__pipe_out, POLLOUT)) {
            return -EAGAIN;
        }
        most = most < PIPE_BUF ? most : PIPE_BUF; /* a ready pipe accepts at least this much */
    }
    do {
        sent = write(nest__pipe_out, out[0].p, most);
    } while (sent == -1 && errno == EINTR);
    if (sent >= 0) {
        return sent;
    }
    return errno == EAGAIN ? -EAGAIN : -ECONNRESET;
}

void nest__pipe_peer(char *to, size_t size) {
    nest_strlcpy(to, "pipe", size);
}
