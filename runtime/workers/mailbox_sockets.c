/* mailbox_sockets.c: messages to workers that block: a pair of sockets for each.
 *
 * Called by worker models and by what sends. The system keeps each message whole if a process dies,
 * and bounds the bytes that wait; of datagram sockets it bounds their number, by default to 10.
 * Workers may be processes or threads; each has one session, whose slot is the worker's number.
 * State: the sockets, which all inherit; the number of the calling thread's worker. Must not know
 * sessions, nor what is sent. */
#include "mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SOCKETS_BYTES = 1 << 20 /* for each mailbox; the system gives less by default */ };

struct sockets_header {
    uint32_t kind, serial;
    nest__ref to;
};
struct sockets_pair {
    int receive, send;
};

static struct sockets_pair *sockets_all;
static uint32_t sockets_workers;
static _Thread_local uint32_t sockets_own;

uint32_t nest__mailbox_descriptors(uint32_t workers) {
    return 2 * workers;
}

int nest__mailbox_prepare(uint32_t workers) {
    sockets_workers = workers;
    sockets_all = calloc(workers, sizeof *sockets_all);
    if (sockets_all == NULL) {
        return -ENOMEM;
    }
    for (uint32_t worker = 0; worker < workers; worker++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1) {
            return -errno;
        }
        int bytes = SOCKETS_BYTES;
        (void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        sockets_all[worker] = (struct sockets_pair){ends[0], ends[1]};
    }
    return 0;
}

void nest__mailbox_begin(uint32_t worker) {
    struct nest__mail mail;
    sockets_own = worker;
    if (worker == sockets_workers) { /* it has no socket, and needs none to send */
        return;
    }
    while (recv(sockets_all[worker].receive, &mail, sizeof mail, MSG_DONTWAIT) >= 0) {
    }
}

int nest__mailbox_fd(void) {
    return sockets_all[sockets_own].receive;
}

bool nest__mailbox_sleep(void) {
    return true; /* the descriptor is readable as long as mail is there */
}

/* A full socket is readable as well. */
void nest__mailbox_nudge(uint32_t worker) {
    (void)send(sockets_all[worker].send, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int64_t nest__mailbox_shift(uint32_t worker) {
    char byte; /* the rest of the message is dropped */
    ssize_t n = worker >= sockets_workers ? -1
                                          : recv(sockets_all[worker].receive, &byte, sizeof byte,
                                                 MSG_DONTWAIT | MSG_TRUNC);
    int64_t header = sizeof(struct sockets_header);
    return n > header ? n - header : n == -1 ? -1 : 0;
}

int nest__mail_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n) {
    struct sockets_header header = {.kind = kind, .serial = serial, .to = to};
    struct iovec parts[2] = {{&header, sizeof header}, {(void *)(uintptr_t)bytes, n}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (n > NEST__MAIL_MOST) {
        return -EMSGSIZE;
    }
    if (to.slot >= sockets_workers) {
        return -ESRCH;
    }
    if (sendmsg(sockets_all[to.slot].send, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == -1) {
        return errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM ? -EAGAIN : -errno;
    }
    return 0;
}

bool nest__mailbox_take(struct nest__mail *mail) {
    struct sockets_header header;
    struct iovec parts[2] = {{&header, sizeof header}, {mail->bytes, sizeof mail->bytes}};
    for (uint32_t drops = 0; drops < NEST__MAIL_DROPS; drops++) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t n = recvmsg(sockets_all[sockets_own].receive, &message, MSG_DONTWAIT);
        if (n == -1) {
            return false;
        }
        if ((size_t)n < sizeof header || (message.msg_flags & MSG_TRUNC) != 0 ||
            header.serial != nest__serial || header.to.slot != sockets_own ||
            !nest__mail_alive(header.to)) {
            continue;
        }
        mail->to = header.to;
        mail->kind = header.kind;
        mail->n = (uint32_t)((size_t)n - sizeof header);
        return true;
    }
    return false;
}
