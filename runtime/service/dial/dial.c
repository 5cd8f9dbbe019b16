/* dial.c: $dial: an action opens a connection to an address.
 *
 * Called by actions. State: why the last one failed, in the work block. The addresses of a name are
 * tried as RFC 8305 says ("Happy Eyeballs"): families alternate, the next address is tried when one
 * fails or has not answered for 250 ms, and the first that answers wins. Must not know how bytes
 * move. */
#include "../../engine/second.h"
#include "../../platform/platform.h"
#include "address.h"
#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DIAL_NEXT_MS = 250, /* RFC 8305, 5: Connection Attempt Delay */
    DIAL_AT_ONCE = 4,   /* attempts at the same time */
    DIAL_AGAIN_MS = 10  /* until a Unix socket whose queue is full is tried again */
};

struct dial {
    nest_session *s;
    uint32_t deadline; /* 0: none */
    struct nest__dial_address addresses[NEST__DIAL_ADDRESSES];
    unsigned count, next; /* of addresses; the next one that is tried */
    uint32_t step;        /* when it is tried at the latest */
    struct nest__member attempts[DIAL_AT_ONCE];
    unsigned attempts_n;
    int error; /* of the last attempt */
};

int nest__dial_start(void) {
    if (nest__resolve_prepare() == 0) {
        return 0;
    }
    int error = -errno;
    nest__say("cannot start: the system's resolver of names: %s", strerror(errno));
    return error;
}

struct nest__need nest__dial_need(void) {
    uint64_t each = 2 * ((uint64_t)nest__config.input_buffer + 4);
    return (struct nest__need){"input of second connections", "inputBuffer", NEST__FURTHER * each,
                               0};
}

static char *dial_text(nest_session *s) {
    struct nest__work *work = nest__borrow(s);
    return work == NULL ? NULL : work->services.dial.error;
}

/* -1 and errno; the reason in words is kept for nest_dial_error. */
static int dial_fail(nest_session *s, int error, const char *what, const char *address,
                     const char *why) {
    char *text = dial_text(s);
    if (text != NULL) {
        snprintf(text, NEST__DIAL_TEXT, "%s '%.100s': %s", what, address,
                 why == NULL ? strerror(error) : why);
    }
    errno = error;
    return -1;
}

const char *nest_dial_error(nest_session *s) {
    const char *text = s->work == NULL ? "" : s->work->services.dial.error;
    return text;
}

/* -- names */

static int dial_unknown(nest_session *s, const char *host, int error) {
    int system = errno;
    switch (error) {
    case EAI_SYSTEM:
        return dial_fail(s, system, "cannot look up", host, NULL);
    case EAI_AGAIN:
        system = EAGAIN;
        break;
    case EAI_MEMORY:
        system = ENOMEM;
        break;
    default:
        system = ENOENT;
        break;
    }
    return dial_fail(s, system, "cannot look up", host,
                     error == 0 ? "it has no address" : gai_strerror(error));
}

/* The result of a lookup has come, or the time is over. 0; -1 and errno. */
static int dial_await(struct dial *dial, int event) {
    nest_session *s = dial->s;
    uint8_t byte;
    int number = nest__channel_attach(s, event, NEST__UNIX);
    if (number < 0) {
        int error = errno;
        close(event);
        errno = error;
        return -1;
    }
    struct nest__further *further = nest__channel_use(s, (unsigned)number);
    struct nest__wait wait = {
        .what = NEST__INPUT, .into = &byte, .room = 1, .deadline = dial->deadline};
    int result = nest__channel_wait(s, further, wait), error = errno;
    nest__channel_close(s, (unsigned)number, true);
    errno = error;
    return result < 0 ? -1 : 0;
}

static int dial_look_up(struct dial *dial, const char *host, uint16_t port) {
    int event, error = 0;
    struct nest__lookup *lookup = nest__resolve_begin(host, port, &event);
    if (lookup == NULL) {
        return dial_fail(dial->s, errno, "cannot look up", host, NULL);
    }
    if (dial_await(dial, event) < 0) {
        error = errno;
        nest__resolve_leave(lookup);
        return dial_fail(dial->s, error, "cannot look up", host, NULL);
    }
    dial->count = nest__resolve_result(lookup, dial->addresses, &error);
    int system = errno;
    nest__resolve_leave(lookup);
    errno = system;
    return dial->count > 0 ? 0 : dial_unknown(dial->s, host, error);
}

/* -- attempts */

/* A channel with a new socket: it has a number before anything is sent. NULL and errno. */
static struct nest__chan *dial_socket(nest_session *s, const struct nest__dial_address *address) {
    int one = 1,
        fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        return NULL;
    }
    if (address->kind != NEST__UNIX) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    int number = nest__channel_attach(s, fd, address->kind);
    if (number < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return NULL;
    }
    return nest__chan_at(s, (unsigned)number);
}

/* Begins the next attempt; if it fails at once, its error is noted. */
static void dial_begin(struct dial *dial) {
    const struct nest__dial_address *address = &dial->addresses[dial->next];
    struct nest__chan *chan = dial_socket(dial->s, address);
    bool began = chan != NULL && (connect(chan->fd, &address->socket.any, address->length) == 0 ||
                                  errno == EINPROGRESS);
    int error = errno;
    if (began) {
        dial->attempts[dial->attempts_n++] = (struct nest__member){.chan = chan, .writable = true};
    } else {
        dial->error = error;
        if (chan != NULL) {
            nest__chan_end(dial->s, chan, true);
        }
    }
    bool full = !began && error == EAGAIN && address->kind == NEST__UNIX; /* its queue is full */
    dial->next += !full;
    dial->step = nest__after(nest__clock(), full ? DIAL_AGAIN_MS : began ? DIAL_NEXT_MS : 0);
}

static void dial_drop(struct dial *dial, unsigned i) {
    nest__chan_end(dial->s, dial->attempts[i].chan, true);
    dial->attempts[i] = dial->attempts[--dial->attempts_n];
}

/* Attempts that have ended: the one that has connected, or NULL. */
static struct nest__chan *dial_ended(struct dial *dial) {
    for (unsigned i = dial->attempts_n; i-- > 0;) {
        struct nest__chan *chan = dial->attempts[i].chan;
        int error = 0;
        socklen_t length = sizeof error;
        if (!dial->attempts[i].came) {
            continue;
        }
        if (getsockopt(chan->fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) {
            error = errno;
        }
        if (error == 0) {
            dial->attempts[i] = dial->attempts[--dial->attempts_n];
            return chan;
        }
        dial->error = error;
        dial->step = nest__after(nest__clock(), 0); /* the next one need not wait */
        dial_drop(dial, i);
    }
    return NULL;
}

/* Waits for an attempt, or until the next one begins. The connected channel; NULL: errno is 0, or
 * the error that ends the dial. */
static struct nest__chan *dial_wait(struct dial *dial) {
    bool more = dial->next < dial->count && dial->attempts_n < DIAL_AT_ONCE;
    uint32_t until = nest__earlier(dial->deadline, more ? dial->step : 0);
    int result = nest__second_wait(dial->s, dial->attempts, dial->attempts_n, until);
    if (result < 0) {
        bool over = errno != ETIMEDOUT || nest__fails(dial->s, nest__acting(dial->s)) ||
                    (dial->deadline != 0 && nest__reached(dial->deadline, nest__clock()));
        errno = over ? errno : 0;
        return NULL;
    }
    struct nest__chan *chan = dial_ended(dial);
    errno = 0;
    return chan;
}

/* The connected channel; NULL and errno. */
static struct nest__chan *dial_connect(struct dial *dial) {
    struct nest__chan *chan = NULL;
    dial->error = EADDRNOTAVAIL;
    while (chan == NULL) {
        bool more = dial->next < dial->count && dial->attempts_n < DIAL_AT_ONCE;
        if (more && (dial->step == 0 || nest__reached(dial->step, nest__clock()))) {
            dial_begin(dial);
            continue;
        }
        if (dial->attempts_n == 0 && dial->next == dial->count) {
            errno = dial->error;
            return NULL;
        }
        chan = dial_wait(dial);
        if (chan == NULL && errno != 0) {
            break;
        }
    }
    int error = errno;
    while (dial->attempts_n > 0) {
        dial_drop(dial, 0);
    }
    errno = error;
    return chan;
}

__attribute__((noinline)) static int dial_dial(nest_session *s, const char *address, uint32_t ms) {
    char host[NEST__DIAL_HOST];
    uint16_t port = 0;
    const char *wrong;
    struct dial dial = {.s = s};
    char *text = dial_text(s);
    if (text != NULL) {
        text[0] = '\0';
    }
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    if (nest__dial_parse(address, host, &port, &dial.addresses[0], &dial.count, &wrong) < 0) {
        char why[NEST__DIAL_TEXT] = "it is not HOST:PORT, [IPv6]:PORT or unix:/path";
        if (wrong != NULL) {
            snprintf(why, sizeof why, "the address %s", wrong);
        }
        return dial_fail(s, EINVAL, "cannot dial", address == NULL ? "" : address, why);
    }
    char name[NEST__DIAL_TEXT]; /* the address may be a part of the message, which moves */
    nest_strlcpy(name, address, sizeof name);
    dial.deadline = nest__second_until(ms != 0 ? ms : nest__config.read_timeout);
    if (dial.count == 0 && dial_look_up(&dial, host, port) < 0) {
        return -1;
    }
    struct nest__chan *chan = dial_connect(&dial);
    if (chan == NULL) {
        return dial_fail(s, errno, "cannot connect to", name, NULL);
    }
    return nest__second_handle(nest__further_of(s, chan));
}

int nest_dial(nest_session *s, const char *address, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = dial_dial(s, address, ms);
    nest__from_home(trip);
    return result;
}
