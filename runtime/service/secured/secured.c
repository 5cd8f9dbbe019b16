/* secured.c: a second connection becomes encrypted when an action says so.
 *
 * Called by actions and at the start. State: whom the server trusts when it asks others, read once
 * at the start: the certificates of the system, or what OpenSSL's variables SSL_CERT_FILE and
 * SSL_CERT_DIR name. Must not know how a handshake works. */
#include "secured.h"
#include "../../channel/deep.h"
#include "../../channel/tls.h"
#include "../../engine/second.h"
#include "../../platform/platform.h"
#include "../tls/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

enum {
    SECURED_CONNECTION = 64 * 1024, /* of OpenSSL for a connection, at most; see tests/tls */
    SECURED_HOST = 253,             /* bytes of a host's name, */
    SECURED_LABEL = 63              /* and of what is between two of its dots */
};

static SSL_CTX *secured_context; /* scope: process, shared by its threads; set once */

int nest__secured_start(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(context) != 1) {
        nest__say("cannot start: this OpenSSL does not provide what $startTLSOn needs: %s",
                  ERR_reason_error_string(ERR_peek_last_error()));
        SSL_CTX_free(context);
        return -ENOSYS;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
    secured_context = context;
    return 0;
}

struct nest__need nest__secured_need(void) {
    return (struct nest__need){"encryption of second connections", NULL,
                               (uint64_t)NEST__FURTHER * SECURED_CONNECTION, 0};
}

struct secured_client {
    const char *name; /* of the other side, which its certificate must have */
    bool is_number;   /* it is an address */
    SSL *ssl;
};

static bool secured_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Letters, digits, '-' and '_' between dots (RFC 1123, 2.1); certificates have no dot at the end.
 */
static bool secured_host(const char *name) {
    size_t n = strlen(name), label = 0;
    for (size_t i = 0; i < n && n <= SECURED_HOST; i++) {
        bool inside = label > 0 && i + 1 < n && name[i + 1] != '.';
        if (name[i] == '.' && label > 0) {
            label = 0;
        } else if (++label > SECURED_LABEL ||
                   !(secured_letter(name[i]) || (name[i] == '-' && inside))) {
            return false;
        }
    }
    return label > 0;
}

static bool secured_number(const char *name) {
    unsigned char number[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, number) == 1 || inet_pton(AF_INET6, name, number) == 1;
}

/* NULL in `ssl`: no memory. */
static int64_t secured_make(void *arg) {
    struct secured_client *client = arg;
    SSL *ssl = SSL_new(secured_context);
    if (ssl == NULL) {
        return 0;
    }
    bool made = client->is_number
                    ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), client->name) == 1
                    : SSL_set_tlsext_host_name(ssl, client->name) == 1 &&
                          SSL_set1_host(ssl, client->name) == 1;
    if (!made) {
        SSL_free(ssl);
        ssl = NULL;
    }
    ERR_clear_error();
    client->ssl = ssl;
    return 0;
}

static int secured_fail(int error) {
    errno = error;
    return -1;
}

/* A handshake is a receive that brings no bytes. */
static int secured_shake(nest_session *s, struct nest__further *further) {
    uint8_t none[1];
    uint32_t limit = further->limit != 0 ? further->limit : nest__tls_limit();
    uint32_t end = nest__after(nest__clock(), limit);
    further->chan.state |= NEST__CHAN_MORE; /* as a client, the server speaks first */
    for (;;) {
        uint32_t due = nest__earlier(end, nest__out_deadline(s));
        struct nest__wait wait = {.what = NEST__INPUT,
                                  .chan = &further->chan,
                                  .into = none,
                                  .room = sizeof none,
                                  .deadline = due};
        int result = nest__wait_in_fiber(s, &wait);
        if (result == -EISCONN) {
            return 0;
        }
        if (result == -ETIMEDOUT && due != end) {
            if (nest__out_overdue(s)) {
                return nest__unsent(s);
            }
        } else if (result == -ETIMEDOUT) {
            nest__chan_lost(s, &further->chan, NEST__CHAN_CUT);
            return secured_fail(ETIMEDOUT);
        } else if (result == -ECONNRESET && (s->c0.state & NEST__CHAN_GONE) == 0) {
            return nest__second_gone(s, further);
        } else {
            return nest__cut_short(s, result < 0 ? result : -ECONNRESET);
        }
    }
}

__attribute__((noinline)) static int secured_start_tls_on(nest_session *s, int handle,
                                                          const char *name) {
    struct nest__further *further = nest__second_input(s, handle);
    struct secured_client client = {.name = name};
    client.is_number = name != NULL && secured_number(name);
    if (further == NULL || nest__second_output(s, handle) == NULL) {
        return -1;
    }
    if (nest__tls_is(&further->chan)) {
        return secured_fail(EALREADY);
    }
    if (name == NULL && !nest__tls_offered()) {
        return secured_fail(ENOTSUP);
    }
    if (name != NULL && !client.is_number && !secured_host(name)) {
        return secured_fail(EINVAL);
    }
    if (nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    further->in_at = further->in_n = 0; /* what came in clear is not the other side's for certain */
    if (name != NULL) {
        (void)nest__deep(secured_make, &client);
        if (client.ssl == NULL) {
            return secured_fail(ENOMEM);
        }
    }
    int error = name != NULL ? nest__tls_begin_asking(&further->chan, client.ssl)
                             : nest__tls_begin(&further->chan);
    return error < 0 ? secured_fail(-error) : secured_shake(s, further);
}

int nest_start_tls_on(nest_session *s, int handle, const char *name) {
    struct nest__trip *trip = nest__at_home(s);
    int result = secured_start_tls_on(s, handle, name);
    nest__from_home(trip);
    return result;
}
