/* sockets.c: what $dial and $listen ask of the system: sockets whose other sides are drawn, and a
 * resolver.
 *
 * Included behind the other files of the runtime, and before those of service/dial, which call
 * these functions in place of the system's. State: the lookups that are not left. What an attempt
 * does is drawn when it begins: it connects, or is refused, at once, later, or never. */
#include "second.h"

#include "../../../service/dial/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>

static struct call *sock_call(void) {
    return act_of(nest__current_session());
}

struct side *sock_new(enum side_kind kind) {
    int fd = script_dial();
    if (fd < 0) {
        sim_broken(NULL, "the numbers of channels are used up");
    }
    return side_make((uint32_t)fd, kind, sock_call());
}

static void sock_room(struct side *side, uint64_t room) {
    side->room = room;
    script_client(side->who)->room = room;
}

/* -- attempts */

void sock_tried(struct call *call) {
    call->tried = call->open = call->addresses = 0;
    call->any_failed = call->found = false;
    call->error = 0;
}

static void sock_failed(struct call *call, int error) {
    call->failed = nest__now();
    call->any_failed = true;
    call->error = error;
}

static int sock_socket(int family, int type, int protocol) {
    struct call *call = sock_call();
    uint32_t now = nest__now();
    (void)type, (void)protocol;
    bool due = call->tried == 0 || nest__after(now, 0) == nest__after(call->last, SECOND_NEXT_MS) ||
               (call->any_failed && call->failed == now) ||
               (call->local && nest__after(now, 0) == nest__after(call->last, SECOND_AGAIN_MS));
    if (!due) {
        sim_broken(NULL, "conversation %u tries the next address after %u ms", (unsigned)call->who,
                   (unsigned)(now - call->last));
    }
    if (call->open == SECOND_AT_ONCE) {
        sim_broken(NULL, "conversation %u has too many attempts", (unsigned)call->who);
    }
    call->tried++;
    call->last = now;
    call->local = family == AF_UNIX;
    if (sim_chance(1)) {
        sock_failed(call, EMFILE);
        errno = EMFILE;
        return -1;
    }
    struct side *side = sock_new(SIDE_DIALLED);
    side->pends = side->never = true;
    sock_room(side, 0);
    return (int)side->who;
}

static int sock_connect(int fd, const struct sockaddr *address, socklen_t length) {
    struct side *side = side_find((uint32_t)fd);
    struct call *call = side->call;
    uint32_t kind = sim_random(100);
    (void)length;
    side->attached = true;
    if (kind < 8) {
        errno = address->sa_family != AF_UNIX ? (int)DRAW(ENETUNREACH, EADDRNOTAVAIL)
                                              : (int)DRAW(ENOENT, ECONNREFUSED, EAGAIN);
        call->tried -= errno == EAGAIN; /* it is tried again */
        sock_failed(call, errno);
        return -1;
    }
    call->open++;
    side->never = sim_chance(second.never);
    side->due = nest__after(nest__now(), DRAW(0, 1, 100, 249, 250, 251, 260, 700, 4000));
    side->error = sim_chance(30) ? (int)DRAW(ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT) : 0;
    if (kind < 20) {
        side->pends = side->never = false;
        side->error = 0;
        sock_room(side, UINT64_MAX);
        return 0;
    }
    errno = EINPROGRESS;
    return -1;
}

static int sock_getsockopt(int fd, int level, int name, void *to, socklen_t *length) {
    struct side *side = side_find((uint32_t)fd);
    (void)level, (void)name, (void)length;
    if (side->pends) {
        side_broken(side, "its attempt has not ended, and is asked about");
    }
    int error = side->reset && side->error == 0 ? ECONNRESET : side->error;
    *(int *)to = error;
    side->call->open--;
    if (error != 0) {
        sock_failed(side->call, error);
    }
    return 0;
}

static int sock_setsockopt(int fd, int level, int name, const void *value, socklen_t n) {
    (void)fd, (void)level, (void)name, (void)value, (void)n;
    return 0;
}

/* Of what is no channel. */
static void sock_drop(struct side *side, bool cut) {
    const struct nest__chan chan = {
        .fd = (int32_t)side->who, .kind = NEST__SCRIPT, .state = cut ? NEST__CHAN_CUT : 0};
    nest__chan_close(&chan);
}

static int sock_close(int fd) {
    struct side *side = side_find((uint32_t)fd);
    if (side_further(side) != NULL) {
        side_broken(side, "a channel is closed like a descriptor");
    }
    if (side->kind == SIDE_DIALLED) { /* it gets no number */
        sock_failed(side->call, errno);
    }
    sock_drop(side, side->dropped);
    return 0;
}

/* -- listeners */

static int sock_listener(int family, int type, int protocol) {
    (void)family, (void)type, (void)protocol;
    return (int)sock_new(SIDE_LISTENER)->who;
}

static int sock_bind(int fd, const struct sockaddr *address, socklen_t n) {
    (void)fd, (void)address, (void)n;
    errno = EADDRINUSE;
    return sim_chance(20) ? -1 : 0;
}

static int sock_listen(int fd, int queue) {
    (void)fd, (void)queue;
    return 0;
}

static int sock_getsockname(int fd, struct sockaddr *to, socklen_t *n) {
    (void)fd;
    *(struct sockaddr_in *)to = (struct sockaddr_in){.sin_family = AF_INET};
    *n = sizeof(struct sockaddr_in);
    return 0;
}

/* A byte of what the listener's other side says is a connection. */
static int sock_accept4(int fd, struct sockaddr *to, socklen_t *n, int flags) {
    struct side *listener = side_find((uint32_t)fd);
    struct script_client *there = script_client((uint32_t)fd);
    (void)to, (void)n, (void)flags;
    if (there->n == 0) {
        errno = EAGAIN;
        return -1;
    }
    struct side *side = sock_new(SIDE_ACCEPTED);
    side->foreign = there->sent[there->at] == 'f';
    side->never = listener->never; /* strangers may come */
    there->at++;
    there->n--;
    listener->taken++;
    return (int)side->who;
}

static bool sock_peer_bytes(const struct nest__chan *chan, uint8_t to[16]) {
    nest__peer_bytes(chan, to);
    to[14] = (uint32_t)chan->fd > SCRIPT_CONVERSATIONS && side_find((uint32_t)chan->fd)->foreign;
    return true;
}

static void sock_reset_at_close(int fd) {
    side_find((uint32_t)fd)->dropped = true;
}

/* -- names */

struct nest__lookup {
    struct side *side;
    struct nest__dial_address addresses[NEST__DIAL_ADDRESSES];
    unsigned count;
    int error;
};

int nest__resolve_prepare(void) {
    return 0;
}

struct nest__lookup *nest__resolve_begin(const char *host, uint16_t port, int *event) {
    (void)host;
    if (sim_chance(3)) {
        sock_call()->error = errno = EAGAIN;
        return NULL;
    }
    struct nest__lookup *lookup = (calloc)(1, sizeof *lookup);
    struct side *side = sock_new(SIDE_LOOKUP);
    side->pends = true;
    side->never = sim_chance(second.never);
    side->due = nest__after(nest__now(), DRAW(0, 1, 40, 400, 2500));
    lookup->side = side;
    lookup->error = sim_chance(15) ? (int)DRAW(1, 2) : 0;
    lookup->count = lookup->error != 0 ? 0 : 1 + sim_random(NEST__DIAL_ADDRESSES);
    for (unsigned i = 0; i < lookup->count; i++) {
        struct nest__dial_address *address = &lookup->addresses[i];
        bool four = sim_chance(50);
        address->kind = four ? NEST__TCP4 : NEST__TCP6;
        address->socket.any.sa_family = four ? AF_INET : AF_INET6;
        address->length = four ? sizeof address->socket.four : sizeof address->socket.six;
        nest__dial_port(address, port);
    }
    second.lookups++;
    *event = (int)side->who;
    return lookup;
}

unsigned nest__resolve_result(struct nest__lookup *lookup, struct nest__dial_address to[],
                              int *error) {
    struct call *call = sock_call();
    memcpy(to, lookup->addresses, sizeof lookup->addresses);
    *error = lookup->error == 1 ? EAI_NONAME : lookup->error == 2 ? EAI_AGAIN : 0;
    call->error = lookup->error == 1 ? ENOENT : lookup->error == 2 ? EAGAIN : 0;
    call->addresses = lookup->count;
    call->found = true;
    return lookup->count;
}

void nest__resolve_leave(struct nest__lookup *lookup) {
    second.lookups--;
    (free)(lookup);
}
