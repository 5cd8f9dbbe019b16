/* The messages between the processes of a chain, and how they are sent and received.
 *
 * Two neighbours talk over a pair of connected Unix sockets that keep message boundaries (a link).
 * Must not know: who sends, what a filter decides. */
#ifndef CC_WIRE_H
#define CC_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CC__MAGIC 0x31434343u
#define CC__INLINE 32768u            /* longest request inside a message; longer: a memfd */
#define CC__LEASES 4                 /* leases of one connection */
#define CC__FDS (CC__LEASES + 2)     /* descriptors of one message */
#define CC__BUFFER (4u * CC__INLINE) /* what a link can hold */
#define CC__BATCH 8                  /* messages received by one call */
#define CC__REQUEST_MAX 0x7fffffffu  /* longest request */

enum cc__type {
    CC__ATTACH = 1, /* downstream, over a hop: a new link; descriptors: the sender's end and, if the
                       receiver does not acknowledge, a copy of its own end */
    CC__TAKE,       /* downstream, over a link: `demand` more; if the receiver acknowledges, `taken`
                       received and `returned` not */
    CC__BUNDLE,     /* upstream, over a link: a connection, its leases, its request */
    CC__LISTEN,     /* server to chain: descriptors: listening socket, both ends of a hop */
    CC__REPLY,      /* chain to server: `demand` is an errno, or 0 */
    CC__DRAIN,      /* chain to filter: finish; descriptor, if any: where to put what is left */
    CC__GATE, /* server to launcher: `demand`: the backlog; descriptors: socket, for the answer */
    CC__CHAIN /* server to chain: other filters from now on, `length` bytes: their line */
};

enum { CC__COMPLETE = 1, CC__MEMFD = 2 }; /* flags of a bundle */
/* Flags of CC__DRAIN. LINGER: clients that are here may go on until they leave. STAY: do not end
 * before the next CC__DRAIN, because others put into the hop what they have left. */
enum { CC__LINGER = 1, CC__STAY = 2 };

/* An Internet address of a client. family: 4, 6, or 0 if there is none. */
struct cc__address {
    uint8_t family;
    uint8_t bytes[16];
    uint16_t port;
};

/* The fixed part of every message. A bundle's request follows it, unless it is in a memfd. */
struct cc__head {
    uint32_t magic;
    uint8_t type;
    uint8_t flags;
    uint8_t leases;
    uint8_t family;
    uint8_t address[16];
    uint16_t port;
    uint16_t reserved;
    uint32_t length; /* of the request */
    uint32_t demand, taken, returned;
    uint32_t reserved2;
    uint64_t born; /* CLOCK_MONOTONIC in ms when the connection was accepted */
};

/* A received message. */
struct cc__message {
    struct cc__head head;
    int fds[CC__FDS];
    int count;   /* of fds; the receiver owns them */
    int got;     /* cc__receive_many: what cc__receive would have returned */
    char *bytes; /* where the caller wants the request, CC__INLINE bytes; NULL: it is dropped */
};

/* How many descriptors a bundle has. */
int cc__bundle_fds(const struct cc__head *head);

/* Whether a message of `size` bytes with `fds` descriptors is well formed. */
int cc__valid(const struct cc__head *head, size_t size, int fds);

/* Sends a message without waiting if `flags` has MSG_DONTWAIT. Returns 0 or -errno. */
int cc__send(int fd, const struct cc__head *head, const void *bytes, size_t length, const int *fds,
             int count, int flags);

/* Receives a message. Returns 1, 0 at the end of the stream, or -errno. -EMFILE: the message came,
 * but no descriptor was free. -EPROTO: it was malformed; its descriptors are closed.
 * A reset is no end: messages that were sent before it are still delivered. */
int cc__receive(int fd, struct cc__message *message, int flags);

/* Receives up to `most` messages, CC__BATCH at most, without waiting. Returns how many there were,
 * the end of the stream among them, or -errno. If there were fewer, the socket is empty. */
int cc__receive_many(int fd, struct cc__message *messages, int most);

/* How many messages, CC__BATCH at most, can be received without a lack of descriptors. `highest`:
 * the highest one of those that were received so far. */
int cc__fitting(int highest);

/* Makes a link: close-on-exec, with buffers that hold the longest message. Returns 0 or -errno. */
int cc__pair(int fds[2]);

/* A head of `type`, all else zero. */
struct cc__head cc__head_of(enum cc__type type);

void cc__close_all(const int *fds, int count);
void cc__close_from(int first, int last); /* all descriptors from `first` to `last` */

/* Converts between socket addresses and clients' addresses. An IPv4 address inside an IPv6 one is
 * an IPv4 address. A socket of the domain AF_INET has IPv4 addresses only: any other client's is
 * the dummy address 192.0.0.8, with the client's port. */
struct cc__address cc__address_of(const struct sockaddr_storage *from);
socklen_t cc__sockaddr_of(const struct cc__address *from, struct sockaddr_storage *to, int domain);

#endif
