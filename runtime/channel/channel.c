/* channel.c: dispatches each operation to the kind of the channel.
 *
 * Called by pollers, loop/, blocking/, and the engine. No state. Every server has sockets;
 * NEST__TLS is 1 if they may be encrypted, NEST__DECODES and NEST__ENCODES are the numbers of
 * functions that received and sent bytes pass, and NEST__PIPES is 1 if a channel may be a pair of
 * descriptors instead. */
#include "pipe.h"
#include "socket.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A macro, so that even unoptimized code contains no call to a kind that the server does not have.
 */
#define CHANNEL_IS_PIPE(chan) (NEST__PIPES && (chan)->kind == NEST__PIPE)
#define CHANNEL_IS_TLS(chan) (NEST__TLS && nest__tls_is(chan))
#define CHANNEL_HAS_STAGES(chan) (NEST__DECODES > 0 && nest__stages_are(chan))
#define CHANNEL_IS_ENCODED(chan) (NEST__ENCODES > 0 && nest__encodes_are(chan))

static int64_t channel_receive(const struct nest__chan *chan, void *to, size_t n, bool now) {
    enum nest__chan_how how = now ? NEST__CHAN_NOW : NEST__CHAN_PLAIN;
    return CHANNEL_IS_TLS(chan)    ? nest__tls_receive(chan, to, n, now)
           : CHANNEL_IS_PIPE(chan) ? nest__pipe_receive(chan, to, n, how)
                                   : nest__socket_receive(chan, to, n, how);
}

int64_t nest__chan_receive(const struct nest__chan *chan, void *to, size_t n,
                           enum nest__chan_how how) {
    bool now = how == NEST__CHAN_NOW;
    return CHANNEL_HAS_STAGES(chan) ? nest__stages_receive(chan, to, n, now, channel_receive)
                                    : channel_receive(chan, to, n, now);
}

static int64_t channel_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                            bool now) {
    enum nest__chan_how how = now ? NEST__CHAN_NOW : NEST__CHAN_PLAIN;
    return CHANNEL_IS_TLS(chan)    ? nest__tls_send(chan, out, n)
           : CHANNEL_IS_PIPE(chan) ? nest__pipe_send(chan, out, n, how)
                                   : nest__socket_send(chan, out, n, how);
}

int64_t nest__chan_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                        enum nest__chan_how how) {
    bool now = how == NEST__CHAN_NOW;
    return CHANNEL_IS_ENCODED(chan) ? nest__encodes_send(chan, out, n, now, channel_send)
                                    : channel_send(chan, out, n, now);
}

int64_t nest__chan_send_file(const struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    return CHANNEL_IS_ENCODED(chan) ? nest__encodes_send_file(chan, fd, at, n, channel_send)
           : CHANNEL_IS_TLS(chan)   ? nest__tls_send_file(chan, fd, at, n)
           : CHANNEL_IS_PIPE(chan)  ? -EAGAIN
                                    : nest__socket_send_file(chan, fd, at, n);
}

bool nest__chan_encoded(const struct nest__chan *chan) {
    return !CHANNEL_IS_ENCODED(chan) || nest__encodes_bye(chan, channel_send);
}

static bool channel_has_input(const struct nest__chan *chan) {
    int n = 0;
    if ((CHANNEL_IS_TLS(chan) && nest__tls_holds_input(chan)) ||
        (CHANNEL_HAS_STAGES(chan) && nest__stages_hold(chan))) {
        return true;
    }
    return ioctl(chan->fd, FIONREAD, &n) != -1 && n > 0;
}

bool nest__chan_pending(const struct nest__chan *chan) {
    return (chan->state & (NEST__CHAN_EOF | NEST__CHAN_GONE)) == 0 && channel_has_input(chan);
}

uint64_t nest__chan_unsent(const struct nest__chan *chan) {
    /* Of a pipe, FIONREAD is what its reader has not read yet. TIOCOUTQ is SIOCOUTQ, whose header
     * not every libc has. */
    int n = 0;
    int error =
        ioctl(nest__chan_descriptor(chan, true), CHANNEL_IS_PIPE(chan) ? FIONREAD : TIOCOUTQ, &n);
    return error == -1 || n < 0 ? 0 : (uint64_t)n;
}

uint64_t nest__chan_given(const struct nest__chan *chan, uint64_t sent) {
    uint64_t given = CHANNEL_IS_ENCODED(chan) ? nest__encodes_given(chan, sent) : sent;
    return CHANNEL_IS_TLS(chan) ? nest__tls_given(chan, given) : given;
}

bool nest__chan_unread(const struct nest__chan *chan) {
    const unsigned asks = NEST__CHAN_LATE | NEST__CHAN_EOF | NEST__CHAN_GONE;
    return (chan->state & asks) == NEST__CHAN_LATE && channel_has_input(chan);
}

int nest__chan_half_close(const struct nest__chan *chan) {
    if (!nest__chan_encoded(chan)) { /* what has no room leaves later, before all is closed */
        return 0;
    }
    if (CHANNEL_IS_TLS(chan)) { /* close_notify is its end; what has no room leaves later */
        (void)nest__tls_bye(chan);
        return 0;
    }
    return CHANNEL_IS_PIPE(chan) ? -1 : nest__socket_half_close(chan);
}

void nest__chan_reset(const struct nest__chan *chan) {
    if (!CHANNEL_IS_PIPE(chan)) {
        nest__socket_reset(chan);
    }
}

void nest__chan_close(const struct nest__chan *chan) {
    if ((chan->state & NEST__CHAN_CUT) != 0) {
        nest__chan_reset(chan);
    }
    nest__chan_strip(chan);
    close(chan->fd);
}

int nest__chan_descriptor(const struct nest__chan *chan, bool output) {
    return CHANNEL_IS_PIPE(chan) && output ? nest__pipe_out : chan->fd;
}

bool nest__chan_shared(const struct nest__chan *chan) {
    return CHANNEL_IS_PIPE(chan);
}

bool nest__peer_bytes(const struct nest__chan *chan, uint8_t to[16]) {
    return !CHANNEL_IS_PIPE(chan) && nest__socket_peer_bytes(chan, to);
}

void nest__peer_text(const struct nest__chan *chan, char *to, size_t size) {
    int saved = errno;
    if (CHANNEL_IS_PIPE(chan)) {
        nest__pipe_peer(to, size);
    } else {
        nest__socket_peer(chan, to, size);
    }
    errno = saved;
}
