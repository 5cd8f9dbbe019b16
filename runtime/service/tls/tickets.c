/* tickets.c: the keys of session tickets.
 *
 * Called by OpenSSL, on behalf of connections. State: server scope: the keys, in memory that all
 * processes share, so that each of them resumes what another one began. Time is divided into
 * periods of 12 hours. A key makes tickets in one period and reads them in the next one too; then
 * nothing is left of it, so none is older than 24 hours. Who finds a period over begins the next
 * one: the supervisor wakes for this, and connections look as well, because the system may have
 * slept. Must not know sessions of the server. */
#include "tls.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    TICKETS_NAME = 16,
    TICKETS_KEY = 32,
    TICKETS_PERIOD = 12 * 60 * 60, /* seconds */
    TICKETS_AGAIN_MS = 1000        /* when a process uses the keys while the supervisor looks */
};

struct tickets_key {
    uint8_t name[TICKETS_NAME], cipher[TICKETS_KEY], mac[TICKETS_KEY];
};
struct tickets {
    pthread_mutex_t lock;
    int64_t since; /* the period of `now` began; seconds; 0: there are no keys */
    struct tickets_key now, before;
};
static struct tickets *tickets; /* scope: server, in shared memory */

static int64_t tickets_seconds(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_BOOTTIME, &time); /* goes on while the system sleeps */
    return (int64_t)time.tv_sec + 1;
}

static void tickets_forget(void) {
    OPENSSL_cleanse(&tickets->now, sizeof tickets->now);
    OPENSSL_cleanse(&tickets->before, sizeof tickets->before);
    tickets->since = 0;
}

/* `error`: of locking. False: the lock is not held. */
static bool tickets_locked(int error) {
    if (error == EOWNERDEAD) { /* a process has died while it made one */
        (void)pthread_mutex_consistent(&tickets->lock);
        tickets_forget();
        return true;
    }
    return error == 0;
}

/* Begins the period of this moment if it has not begun. False: there are no keys. */
static bool tickets_turn(void) {
    int64_t now = tickets_seconds();
    int64_t over = tickets->since == 0 ? 0 : (now - tickets->since) / TICKETS_PERIOD;
    if (tickets->since != 0 && over == 0) {
        return true;
    }
    int64_t since = tickets->since == 0 ? now : tickets->since + over * TICKETS_PERIOD;
    bool good = over == 1 || RAND_bytes((uint8_t *)&tickets->now, sizeof tickets->now) == 1;
    tickets->before = tickets->now; /* unless a period is just over, one that has made none */
    good = RAND_bytes((uint8_t *)&tickets->now, sizeof tickets->now) == 1 && good;
    tickets->since = since;
    if (!good) {
        tickets_forget();
    }
    return good;
}

int nest__tickets_make(void) {
    pthread_mutexattr_t shared;
    void *p =
        mmap(NULL, sizeof *tickets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    (void)madvise(p, sizeof *tickets, MADV_DONTDUMP);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    tickets = p;
    int error = pthread_mutex_init(&tickets->lock, &shared);
    pthread_mutexattr_destroy(&shared);
    return -error;
}

unsigned nest__tls_mind(void) {
    if (!tickets_locked(pthread_mutex_trylock(&tickets->lock))) { /* never waits for a worker */
        return TICKETS_AGAIN_MS;
    }
    bool good = tickets_turn();
    int64_t left = tickets->since + TICKETS_PERIOD - tickets_seconds();
    pthread_mutex_unlock(&tickets->lock);
    return good && left > 0 ? (unsigned)left * 1000 : TICKETS_AGAIN_MS;
}

/* Both keys, of which the first makes tickets. False: there are none. */
static bool tickets_keys(struct tickets_key keys[2]) {
    if (!tickets_locked(pthread_mutex_lock(&tickets->lock))) {
        return false;
    }
    bool good = tickets_turn();
    keys[0] = tickets->now;
    keys[1] = tickets->before;
    pthread_mutex_unlock(&tickets->lock);
    return good;
}

static bool tickets_use(const struct tickets_key *key, const uint8_t *start, EVP_CIPHER_CTX *cipher,
                        EVP_MAC_CTX *mac, bool makes) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)key->mac, sizeof key->mac),
        OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, sizeof digest - 1), OSSL_PARAM_END};
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, start, makes) == 1 &&
           EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

/* 1: the keys are set; 2: also, and the client is given a new ticket; 0: not known; -1: an error.
 * A client of TLS 1.3 uses a ticket once (RFC 8446, C.4), so it needs one for the next time. */
static int tickets_asked(SSL *ssl, unsigned char name[TICKETS_NAME], unsigned char *start,
                         EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int makes) {
    struct tickets_key keys[2];
    int result = 0;
    if (!tickets_keys(keys)) {
        return makes ? -1 : 0;
    }
    if (makes) {
        memcpy(name, keys[0].name, sizeof keys[0].name);
        bool good = RAND_bytes(start, EVP_MAX_IV_LENGTH) == 1 &&
                    tickets_use(&keys[0], start, cipher, mac, true);
        result = good ? 1 : -1;
    }
    for (int i = 0; i < 2 && result == 0; i++) {
        if (memcmp(name, keys[i].name, sizeof keys[i].name) == 0) {
            bool renews = i > 0 || SSL_version(ssl) == TLS1_3_VERSION;
            bool good = tickets_use(&keys[i], start, cipher, mac, false);
            result = !good ? -1 : renews ? 2 : 1;
        }
    }
    OPENSSL_cleanse(keys, sizeof keys);
    return result;
}

void nest__tickets_of(SSL_CTX *context) {
    (void)SSL_CTX_set_tlsext_ticket_key_evp_cb(context, tickets_asked);
}
