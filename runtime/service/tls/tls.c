/* tls.c: what connections are encrypted with: certificates, keys, protocols and ciphers.
 *
 * Called at join points and by channel/tls.c. State: the pairs in use, of this process. Workers
 * inherit them, and with them the keys of session tickets. Protocols and ciphers are those of
 * Mozilla's intermediate profile (version 5.7). Must not know connections, nor which model runs it.
 *
 * The first pair is for clients that name no host, or one that no certificate has. Its SSL_CTX owns
 * the others: connections refer to it, so it is freed when the last of them has ended. */
#include "tls.h"
#include "../../channel/deep.h"
#include "../../channel/tls.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    TLS_PAIRS = 16,
    TLS_NAME = 4096,
    TLS_LIMIT_MS = 60 * 1000,     /* of a handshake, if there is no readTimeout */
    TLS_SECURE_HEAP = 256 * 1024, /* private keys; not swapped if allowed */
    TLS_SECURE_LEAST = 16,
    TLS_CONNECTION = 64 * 1024 /* of OpenSSL for a connection, at most; see tests/tls */
};

static const char tls_ciphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:DHE-RSA-CHACHA20-POLY1305";
static const char tls_suites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
static const char tls_groups[] = "X25519:prime256v1:secp384r1";

struct tls_pairs {
    unsigned n;
    SSL_CTX *all[TLS_PAIRS]; /* the first one owns this record and the others */
};

/* scope: process, shared by its threads */
static struct {
    pthread_mutex_t lock; /* threads begin connections, and one of them replaces the pairs */
    SSL_CTX *first;       /* NULL: connections are not encrypted */
    int index;            /* of the pairs in the first one */
    bool short_of_memory; /* since these keys were first used; see nest__tls_short */
} tls_now = {.lock = PTHREAD_MUTEX_INITIALIZER, .index = -1};

/* scope: process; used by the thread that reads pairs. Ends a message about what cannot be used. */
static const char *tls_then = "";

/* -- pairs */

/* The client has named a host: its certificate. */
static int tls_named(SSL *ssl, int *alert, void *arg) {
    const struct tls_pairs *pairs = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    for (unsigned i = 0; name != NULL && i < pairs->n; i++) {
        X509 *own = SSL_CTX_get0_certificate(pairs->all[i]);
        if (X509_check_host(own, name, strlen(name), 0, NULL) == 1) {
            pthread_mutex_lock(&tls_now.lock); /* its key may be renewed */
            (void)SSL_set_SSL_CTX(ssl, pairs->all[i]);
            pthread_mutex_unlock(&tls_now.lock);
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_NOACK;
}

static void tls_pairs_free(struct tls_pairs *pairs) {
    for (unsigned i = 1; i < pairs->n; i++) {
        SSL_CTX_free(pairs->all[i]);
    }
    free(pairs);
}

/* The first SSL_CTX is freed. */
static void tls_owner_freed(void *parent, void *pairs, CRYPTO_EX_DATA *data, int index, long number,
                            void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    if (pairs != NULL) {
        tls_pairs_free(pairs);
    }
}

/* The client offers protocols (RFC 7301): the server's first that is among them. */
static int tls_protocol(SSL *ssl, const unsigned char **to, unsigned char *n,
                        const unsigned char *offers, unsigned length, void *arg) {
    unsigned char *found = NULL;
    (void)ssl, (void)arg;
    int result =
        SSL_select_next_proto(&found, n, nest__spec_alpn, nest__spec_alpn_size, offers, length);
    *to = found; /* of the offers or of the specification: neither moves during the handshake */
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *tls_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, tls_ciphers) != 1 ||
        SSL_CTX_set_ciphersuites(context, tls_suites) != 1 ||
        SSL_CTX_set1_groups_list(context, tls_groups) != 1) {
        nest__say("tls: this OpenSSL does not provide what is needed: %s%s",
                  ERR_reason_error_string(ERR_peek_last_error()), tls_then);
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    (void)SSL_CTX_set_dh_auto(context, 1);
    if (nest__spec_alpn_size > 0) {
        SSL_CTX_set_alpn_select_cb(context, tls_protocol, NULL);
    }
    nest__tickets_of(context);
    /* tickets alone: no worker keeps sessions that another would not know */
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (!nest__pair_read(context, certificate, key, tls_then)) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/* The next word of *text, which then is behind it. False: there is none, or it is too long. */
static bool tls_word(const char **text, char to[TLS_NAME]) {
    const char *p = *text + strspn(*text, " \t");
    size_t n = strcspn(p, " \t");
    if (n == 0 || n >= TLS_NAME) {
        return false;
    }
    memcpy(to, p, n);
    to[n] = '\0';
    *text = p + n;
    return true;
}

/* Reads all pairs of a value that is not none. NULL after a message. */
static SSL_CTX *tls_read(const char *text) {
    char certificate[TLS_NAME], key[TLS_NAME];
    struct tls_pairs *pairs = calloc(1, sizeof *pairs);
    bool fits = pairs != NULL;
    ERR_clear_error();
    while (fits && pairs->n < TLS_PAIRS && tls_word(&text, certificate) && tls_word(&text, key)) {
        SSL_CTX *next = tls_context(certificate, key);
        fits = next != NULL;
        pairs->all[pairs->n] = next;
        pairs->n += fits;
    }
    ERR_clear_error();
    SSL_CTX *first = pairs != NULL && pairs->n > 0 ? pairs->all[0] : NULL;
    if (!fits || first == NULL || SSL_CTX_set_ex_data(first, tls_now.index, pairs) != 1) {
        if (pairs != NULL) {
            tls_pairs_free(pairs);
        }
        SSL_CTX_free(first);
        return NULL;
    }
    if (pairs->n > 1) {
        (void)SSL_CTX_set_tlsext_servername_callback(first, tls_named);
        (void)SSL_CTX_set_tlsext_servername_arg(first, pairs);
    }
    return first;
}

static const char *tls_text(void) {
    const char *text = atomic_load_explicit(&nest__config.tls, memory_order_acquire);
    return text == NULL || strcmp(text, "none") == 0 ? NULL : text;
}

/* Reads what the option names, and uses it from now on. False after a message: what was in use
 * stays. */
static bool tls_use(void) {
    const char *text = tls_text();
    SSL_CTX *fresh = text == NULL ? NULL : tls_read(text);
    if (text != NULL && fresh == NULL) {
        return false;
    }
    pthread_mutex_lock(&tls_now.lock);
    SSL_CTX *before = tls_now.first;
    tls_now.first = fresh;
    tls_now.short_of_memory = false;
    pthread_mutex_unlock(&tls_now.lock);
    SSL_CTX_free(before);
    return true;
}

/* -- join points */

int nest__tls_check(void) {
    (void)CRYPTO_secure_malloc_init(TLS_SECURE_HEAP, TLS_SECURE_LEAST);
    tls_now.index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, tls_owner_freed);
    return tls_now.index != -1 && tls_use() ? 0 : -EINVAL;
}

int nest__tls_start(void) {
    int error = nest__tls_prepare();
    if (error == 0) {
        error = nest__tickets_make();
    }
    if (error < 0) {
        nest__say("cannot start: tls: %s", strerror(-error));
    }
    return error;
}

int nest__tls_serve(void) {
    nest__tickets_seal();
    return nest__deep_prepare();
}

void nest__tls_renewed(void) {
    tls_then = tls_now.first != NULL ? "; what was read before is still used"
                                     : "; connections are still not encrypted";
    bool used = false;
    if (tls_text() == NULL && nest__listen_encrypts()) {
        nest__say("tls: an address of listen says tls%s", tls_then);
    } else {
        used = tls_use();
    }
    if (!used) {
        nest__config_refuse(&nest__config.tls);
    }
}

struct nest__need nest__tls_need(void) {
    return (struct nest__need){"encryption", NULL, TLS_CONNECTION, TLS_CONNECTION};
}

/* -- connections */

bool nest__tls_offered(void) {
    return tls_text() != NULL;
}

bool nest__tls_admits(nest_session *s) {
    int admission = nest__on_shaking(s);
    return admission == NEST__ADMITTED || (nest__has_overload && admission == NEST__TURNED_AWAY);
}

uint32_t nest__tls_limit(void) {
    uint32_t limit = nest__config.read_timeout;
    return limit == 0 ? TLS_LIMIT_MS : limit;
}

void nest__tls_short(void) {
    pthread_mutex_lock(&tls_now.lock);
    tls_now.short_of_memory = true;
    pthread_mutex_unlock(&tls_now.lock);
}

/* Copies of keys take their places. False: there is still no memory. */
static bool tls_copy_keys(SSL_CTX *first) {
    const struct tls_pairs *pairs = SSL_CTX_get_ex_data(first, tls_now.index);
    for (unsigned i = 0; i < pairs->n; i++) {
        EVP_PKEY *copy = EVP_PKEY_dup(SSL_CTX_get0_privatekey(pairs->all[i]));
        bool used = copy != NULL && SSL_CTX_use_PrivateKey(pairs->all[i], copy) == 1;
        EVP_PKEY_free(copy);
        if (!used) {
            return false;
        }
    }
    return true;
}

SSL *nest__tls_new(void) {
    SSL *ssl = NULL;
    pthread_mutex_lock(&tls_now.lock);
    if (tls_now.short_of_memory && tls_now.first != NULL) {
        tls_now.short_of_memory = !tls_copy_keys(tls_now.first);
    }
    if (tls_now.first != NULL && !tls_now.short_of_memory) {
        ssl = SSL_new(tls_now.first);
    }
    pthread_mutex_unlock(&tls_now.lock);
    return ssl;
}
