/* tls.c: channels that are encrypted sockets; see tls.h.
 *
 * Called by channel.c, loop/ and blocking/. State: a record for each encrypted channel, in a table
 * by descriptor, of this process; a thread or loop touches those of its own connections alone.
 * Must not know where certificates come from (service/tls), nor the language.
 *
 * OpenSSL reads and writes the socket through a BIO of this file, which never waits where the
 * caller may not. Bytes of the client's stream are encrypted only as far as the socket takes them:
 * a record that has left in part is counted when all of it has, and until then the queue keeps its
 * bytes. Bytes of the protocol itself (handshake, alerts) belong to no queue. Where the socket has
 * no room for them, they wait in the record, and each later operation tries first to send them. */
#include "tls.h"
#include "../platform/platform.h"
#include "../service/tls/tls.h"
#include "channel.h"
#include "deep.h"
#include "socket.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TLS_RECORD = 16 * 1024,     /* bytes in a record, at most */
    TLS_HELD_MOST = 64 * 1024,  /* a client for which more waits is cut off */
    TLS_FILE_MOST = 256 * 1024, /* bytes of a file in one call */
    TLS_READS_MOST = 4, /* of the socket, without a byte of the stream: others have a turn */
    TLS_TABLE_MOST = 1 << 24
};

struct tls {
    SSL *ssl;
    const struct nest__chan *chan; /* during an operation */
    enum nest__chan_how how;       /* of its receives */
    bool shaken, ended, broken;    /* handshake done; end of file on the socket; an error of it */
    bool in_turns;                 /* its handshake */
    bool sends;                    /* the client's stream is being sent: nothing is held for it */
    bool said_bye;
    bool more;        /* the last receive has left something in OpenSSL */
    uint8_t reads;    /* of the socket, since the last bytes of the stream */
    uint32_t pending; /* bytes of the stream in a record that has left in part */
    uint64_t given;   /* encrypted bytes that the socket has taken */
    uint64_t counted; /* bytes of the stream that callers were told are sent */
    uint8_t *held;    /* bytes of the protocol that wait, from held_at on */
    uint32_t held_at, held_n;
};

static struct {
    /* scope: process; an entry is its connection's own. Atomic, because a descriptor that one
     * thread has closed may be the next one of another. */
    _Atomic(struct tls *) *by_fd;
    size_t size;
    BIO_METHOD *method;
    int64_t left; /* us of this turn, for handshakes. Scope: the process's loop */
} tls_all = {.left = INT64_MAX};

static struct tls *tls_of(const struct nest__chan *chan) {
    size_t fd = (size_t)chan->fd;
    return chan->fd >= 0 && fd < tls_all.size
               ? atomic_load_explicit(&tls_all.by_fd[fd], memory_order_acquire)
               : NULL;
}

/* -- the socket */

/* Sends what is held. False: some of it still is. */
static bool tls_flush(struct tls *tls) {
    while (tls->held_n > 0 && !tls->broken) {
        struct nest__out out = {
            .kind = NEST__OUT_BYTES, .p = tls->held + tls->held_at, .n = tls->held_n};
        int64_t n = nest__socket_send(tls->chan, &out, 1, NEST__CHAN_NOW);
        if (n == -EAGAIN) {
            return false;
        }
        tls->broken = n < 0;
        tls->given += n > 0 ? (uint64_t)n : 0;
        tls->held_at += n > 0 ? (uint32_t)n : 0;
        tls->held_n -= n > 0 ? (uint32_t)n : 0;
    }
    free(tls->held);
    tls->held = NULL;
    tls->held_at = tls->held_n = 0;
    return true;
}

static int tls_hold(struct tls *tls, const char *from, size_t n) {
    uint8_t *held = NULL;
    if (tls->held_n + n <= TLS_HELD_MOST) {
        held = malloc(tls->held_n + n);
    }
    if (held == NULL) {
        return -1;
    }
    if (tls->held_n > 0) {
        memcpy(held, tls->held + tls->held_at, tls->held_n);
    }
    memcpy(held + tls->held_n, from, n);
    free(tls->held);
    tls->held = held;
    tls->held_at = 0;
    tls->held_n += (uint32_t)n;
    return 0;
}

static int tls_bio_write(BIO *bio, const char *from, int n) {
    struct tls *tls = BIO_get_data(bio);
    struct nest__out out = {.kind = NEST__OUT_BYTES, .p = from, .n = (uint64_t)n};
    int64_t sent = -EAGAIN;
    BIO_clear_retry_flags(bio);
    if (tls_flush(tls) && !tls->broken) {
        sent = nest__socket_send(tls->chan, &out, 1, NEST__CHAN_NOW);
    }
    if (tls->broken || (sent < 0 && sent != -EAGAIN)) {
        tls->broken = true;
        return -1;
    }
    tls->given += sent > 0 ? (uint64_t)sent : 0;
    if (tls->sends) {
        if (sent < 0) {
            BIO_set_retry_write(bio);
        }
        return sent < 0 ? -1 : (int)sent;
    }
    size_t left = sent < 0 ? 0 : (size_t)sent;
    if (left < (size_t)n && tls_hold(tls, from + left, (size_t)n - left) < 0) {
        tls->broken = true;
        return -1;
    }
    return n;
}

static int tls_bio_read(BIO *bio, char *to, int n) {
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->reads == TLS_READS_MOST || !tls_flush(tls)) { /* the client may wait: no wait here */
        BIO_set_retry_read(bio);
        return -1;
    }
    int64_t got =
        tls->broken ? -ECONNRESET : nest__socket_receive(tls->chan, to, (size_t)n, tls->how);
    if (got == -EAGAIN || got == -EINTR) {
        BIO_set_retry_read(bio);
        return -1;
    }
    tls->reads++;
    tls->ended = got == 0;
    tls->broken = got < 0;
    return got < 0 ? -1 : (int)got;
}

static long tls_bio_control(BIO *bio, int what, long number, void *pointer) {
    const struct tls *tls = BIO_get_data(bio);
    (void)number, (void)pointer;
    return what == BIO_CTRL_FLUSH || (what == BIO_CTRL_EOF && tls->ended);
}

/* -- beginning and end */

int nest__tls_prepare(void) {
    struct rlimit files;
    size_t most = TLS_TABLE_MOST;
    if (tls_all.by_fd != NULL) {
        return 0;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < most) {
        most = (size_t)files.rlim_max;
    }
    /* memory is used where there are connections */
    void *p = mmap(NULL, most * sizeof *tls_all.by_fd, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    tls_all.method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "nest");
    if (p == MAP_FAILED || tls_all.method == NULL) {
        return -ENOMEM;
    }
    BIO_meth_set_write(tls_all.method, tls_bio_write);
    BIO_meth_set_read(tls_all.method, tls_bio_read);
    BIO_meth_set_ctrl(tls_all.method, tls_bio_control);
    tls_all.by_fd = p;
    tls_all.size = most;
    return 0;
}

static int64_t tls_make(void *arg) {
    struct tls *tls = arg;
    bool asks = tls->ssl != NULL;
    tls->ssl = asks ? tls->ssl : nest__tls_new();
    BIO *bio = tls->ssl == NULL ? NULL : BIO_new(tls_all.method);
    if (bio == NULL) {
        SSL_free(tls->ssl);
        return -ENOMEM;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    if (asks) {
        SSL_set_connect_state(tls->ssl);
    } else {
        SSL_set_accept_state(tls->ssl);
    }
    return 0;
}

static int tls_begin(const struct nest__chan *chan, SSL *ssl) {
    struct tls *tls = (size_t)chan->fd < tls_all.size ? calloc(1, sizeof *tls) : NULL;
    if (tls == NULL) {
        SSL_free(ssl);
        return -ENOMEM;
    }
    tls->ssl = ssl;
    if (nest__deep(tls_make, tls) < 0) {
        free(tls);
        return -ENOMEM;
    }
    atomic_store_explicit(&tls_all.by_fd[chan->fd], tls, memory_order_release);
    return 0;
}

int nest__tls_begin(const struct nest__chan *chan) {
    return tls_begin(chan, NULL);
}

int nest__tls_begin_asking(const struct nest__chan *chan, SSL *ssl) {
    return tls_begin(chan, ssl);
}

static int64_t tls_free(void *arg) {
    struct tls *tls = arg;
    SSL_free(tls->ssl);
    ERR_clear_error();
    return 0;
}

void nest__tls_end(const struct nest__chan *chan) {
    struct tls *tls = tls_of(chan);
    if (tls != NULL) {
        atomic_store_explicit(&tls_all.by_fd[chan->fd], NULL, memory_order_release);
        if (!tls->shaken) {
            nest__on_shaken(false, false);
        }
        (void)nest__deep(tls_free, tls);
        free(tls->held);
        free(tls);
    }
}

void nest__tls_in_turns(const struct nest__chan *chan) {
    tls_of(chan)->in_turns = true;
}

bool nest__tls_is(const struct nest__chan *chan) {
    return tls_of(chan) != NULL;
}

/* -- operations; each runs on the deep stack */

struct tls_call {
    struct tls *tls;
    uint8_t *to; /* receive, into n bytes */
    size_t n;
    const struct nest__out *out; /* send */
    int pieces;
    int fd; /* of a file, from `at` */
    uint64_t at;
};

/* Whether the last operation has found no memory. Forgets its errors. */
static bool tls_was_short(void) {
    bool any = false;
    unsigned long error;
    while ((error = ERR_get_error()) != 0) {
        any = any || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
    }
    return any;
}

/* What the result of OpenSSL's function means, if it is not positive; 0: end of the stream. */
static int64_t tls_error(struct tls *tls, int result) {
    int error = SSL_get_error(tls->ssl, result);
    if (tls_was_short()) {
        nest__tls_short();
    }
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        tls->broken = true;
        return -ECONNRESET;
    }
}

void nest__tls_turn(void) {
    tls_all.left = NEST__TLS_TURN_US;
}

static int64_t tls_shake(struct tls *tls) {
    (void)tls_flush(tls);
    if (tls->broken) {
        return -ECONNRESET;
    }
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        tls->shaken = true;
        nest__on_shaken(true, SSL_session_reused(tls->ssl) == 1);
        tls->more = true; /* the client's first bytes may have come with the end of it */
        return 0;
    }
    int64_t error = tls_error(tls, result);
    tls->more = error == -EAGAIN && tls->reads == TLS_READS_MOST;
    return error == 0 ? -ECONNRESET : error;
}

static int64_t tls_shake_in_turn(struct tls *tls) {
    if (!tls->in_turns) {
        return tls_shake(tls);
    }
    if (tls_all.left <= 0) {
        return -EALREADY;
    }
    uint64_t began = nest__clock_us();
    int64_t result = tls_shake(tls);
    tls_all.left -= (int64_t)(nest__clock_us() - began);
    return result;
}

static int64_t tls_call_shake(void *arg) {
    const struct tls_call *call = arg;
    return tls_shake(call->tls);
}

static int64_t tls_call_receive(void *arg) {
    struct tls_call *call = arg;
    struct tls *tls = call->tls;
    size_t got = 0;
    if (!tls->shaken) {
        int64_t error = tls_shake_in_turn(tls);
        return error == 0 ? -EISCONN : error;
    }
    (void)tls_flush(tls);
    if (tls->broken) {
        return -ECONNRESET;
    }
    tls->more = false;
    do {
        size_t n = 0;
        ERR_clear_error();
        int result = SSL_read_ex(tls->ssl, call->to + got, call->n - got, &n);
        if (result != 1 && got == 0) {
            int64_t error = tls_error(tls, result);
            tls->more = error == -EAGAIN && tls->reads == TLS_READS_MOST;
            return error;
        }
        if (result != 1) { /* an error, or the end, is found again by the next receive */
            int error = SSL_get_error(tls->ssl, result);
            tls->more = (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) ||
                        tls->reads == TLS_READS_MOST;
            ERR_clear_error();
            break;
        }
        got += n;
        tls->reads = 0;
        tls->how = NEST__CHAN_NOW; /* there are bytes: no wait for more */
        tls->more = SSL_has_pending(tls->ssl) != 0;
    } while (got < call->n && tls->more);
    return (int64_t)got;
}

/* Encrypts and sends n bytes, at most a record. How many; -EAGAIN; -ECONNRESET. */
static int64_t tls_send(struct tls *tls, const uint8_t *p, size_t n) {
    size_t sent = 0;
    n = tls->pending > 0 ? tls->pending : n; /* the record is made: only its length is looked at */
    tls->sends = true;
    ERR_clear_error();
    int result = SSL_write_ex(tls->ssl, p, n, &sent);
    tls->sends = false;
    if (result != 1) {
        int64_t error = tls_error(tls, result);
        tls->pending = error == -EAGAIN ? (uint32_t)n : 0;
        return error == 0 ? -ECONNRESET : error;
    }
    tls->pending = 0;
    tls->counted += sent;
    return (int64_t)sent;
}

/* -- output: `scratch` is in the frame, which is on the deep stack */

static int64_t tls_ready(struct tls *tls) {
    if (!tls_flush(tls)) {
        return -EAGAIN;
    }
    return tls->broken || tls->said_bye ? -ECONNRESET : 0;
}

static int64_t tls_call_send(void *arg) {
    struct tls_call *call = arg;
    uint8_t scratch[TLS_RECORD];
    uint64_t all = 0, used = 0; /* of the first piece */
    int64_t sent = tls_ready(call->tls);
    const struct nest__out *out = call->out, *end = out + call->pieces;
    while (sent >= 0 && out < end) {
        const uint8_t *p = (const uint8_t *)out->p + used;
        size_t n = out->n - used < TLS_RECORD ? (size_t)(out->n - used) : TLS_RECORD;
        if (n < TLS_RECORD && out + 1 < end) { /* a record has bytes of several pieces */
            uint64_t at = used;
            n = 0;
            for (const struct nest__out *from = out; from < end && n < TLS_RECORD; from++, at = 0) {
                size_t part =
                    from->n - at < TLS_RECORD - n ? (size_t)(from->n - at) : TLS_RECORD - n;
                memcpy(scratch + n, (const uint8_t *)from->p + at, part);
                n += part;
            }
            p = scratch;
        }
        sent = tls_send(call->tls, p, n);
        all += sent > 0 ? (uint64_t)sent : 0;
        for (used += sent > 0 ? (uint64_t)sent : 0; out < end && used >= out->n; out++) {
            used -= out->n;
        }
    }
    return all > 0 ? (int64_t)all : sent;
}

static int64_t tls_call_send_file(void *arg) {
    struct tls_call *call = arg;
    uint8_t scratch[TLS_RECORD];
    uint64_t all = 0;
    int64_t sent = tls_ready(call->tls);
    while (sent >= 0 && all < call->n) {
        size_t n = call->n - all < TLS_RECORD ? (size_t)(call->n - all) : TLS_RECORD;
        ssize_t got;
        do {
            got = call->tls->pending > 0 ? (ssize_t)n
                                         : pread(call->fd, scratch, n, (off_t)(call->at + all));
        } while (got == -1 && errno == EINTR);
        if (got <= 0) {
            sent = got == 0 ? 0 : -errno;
            break;
        }
        sent = tls_send(call->tls, scratch, (size_t)got);
        all += sent > 0 ? (uint64_t)sent : 0;
    }
    return all > 0 ? (int64_t)all : sent;
}

static int64_t tls_call_bye(void *arg) {
    const struct tls_call *call = arg;
    struct tls *tls = call->tls;
    if (!tls->said_bye && !tls->broken && tls->shaken) {
        tls->said_bye = true;
        ERR_clear_error();
        (void)SSL_shutdown(tls->ssl);
        ERR_clear_error();
    }
    return tls_flush(tls);
}

static int64_t tls_run(const struct nest__chan *chan, struct tls_call *call,
                       enum nest__chan_how how, int64_t (*work)(void *)) {
    call->tls = tls_of(chan);
    call->tls->chan = chan;
    call->tls->how = how;
    call->tls->reads = 0;
    return nest__deep(work, call);
}

int nest__tls_shake(const struct nest__chan *chan) {
    struct tls_call call = {0};
    return (int)tls_run(chan, &call, NEST__CHAN_NOW, tls_call_shake);
}

int64_t nest__tls_receive(const struct nest__chan *chan, void *to, size_t n, bool now) {
    struct tls_call call = {.to = to, .n = n};
    return tls_run(chan, &call, now ? NEST__CHAN_NOW : NEST__CHAN_PLAIN, tls_call_receive);
}

int64_t nest__tls_send(const struct nest__chan *chan, const struct nest__out out[], int n) {
    struct tls_call call = {.out = out, .pieces = n};
    return tls_run(chan, &call, NEST__CHAN_NOW, tls_call_send);
}

int64_t nest__tls_send_file(const struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    struct tls_call call = {.fd = fd, .at = at, .n = n < TLS_FILE_MOST ? n : TLS_FILE_MOST};
    return tls_run(chan, &call, NEST__CHAN_NOW, tls_call_send_file);
}

bool nest__tls_bye(const struct nest__chan *chan) {
    struct tls_call call = {0};
    return tls_of(chan) == NULL || tls_run(chan, &call, NEST__CHAN_NOW, tls_call_bye) != 0;
}

uint64_t nest__tls_given(const struct nest__chan *chan, uint64_t sent) {
    const struct tls *tls = tls_of(chan);
    return tls == NULL ? sent : sent - tls->counted + tls->given;
}

bool nest__tls_holds_input(const struct nest__chan *chan) {
    const struct tls *tls = tls_of(chan);
    return tls != NULL && tls->more;
}

bool nest__tls_holds_output(const struct nest__chan *chan) {
    const struct tls *tls = tls_of(chan);
    return tls != NULL && tls->held_n > 0;
}
