/* tickets.c: the keys of session tickets.
 *
 * Called by OpenSSL on behalf of connections, and at join points. State: server scope: the keys, in
 * memory that all processes share, so that each of them resumes what another one began. Time is
 * divided into periods of 12 hours. A key makes tickets in one period and reads them in the next
 * one too; then nothing is left of it, so none is older than 24 hours. The supervisor makes all
 * keys, wakes for this, and believes nothing that stands in this memory; workers only read it. If
 * the supervisor is late, because the system has slept, workers do not use what is too old. Must
 * not know sessions of the server. */
#include "tls.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    TICKETS_NAME = 16,
    TICKETS_KEY = 32,
    TICKETS_PERIOD = 12 * 60 * 60,    /* seconds */
    TICKETS_LOOK_MS = 60 * 60 * 1000, /* the supervisor looks as often, should the system sleep */
    TICKETS_TRIES = 1000
};

struct tickets_key {
    uint8_t name[TICKETS_NAME], cipher[TICKETS_KEY], mac[TICKETS_KEY];
};
struct tickets {
    _Atomic uint32_t turn; /* odd while the supervisor changes the keys */
    int64_t since;         /* the period of `now` began; seconds; 0: there are no keys */
    struct tickets_key now, before;
};
static struct tickets *tickets; /* scope: server, in shared memory */
static int64_t tickets_since;   /* scope: process, the supervisor: what `since` should be */

static int64_t tickets_seconds(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_BOOTTIME, &time); /* goes on while the system sleeps */
    return (int64_t)time.tv_sec + 1;
}

/* Begins the period of this moment if it has not begun. */
static void tickets_turn(void) {
    int64_t now = tickets_seconds(), since = tickets_since;
    int64_t over = since == 0 ? 0 : (now - since) / TICKETS_PERIOD;
    if (since != 0 && over == 0) {
        return;
    }
    atomic_fetch_add(&tickets->turn, 1);
    bool good = over == 1 || RAND_bytes((uint8_t *)&tickets->now, sizeof tickets->now) == 1;
    tickets->before = tickets->now; /* unless a period is just over, one that has made none */
    good = RAND_bytes((uint8_t *)&tickets->now, sizeof tickets->now) == 1 && good;
    if (!good) {
        OPENSSL_cleanse(&tickets->now, sizeof tickets->now);
        OPENSSL_cleanse(&tickets->before, sizeof tickets->before);
    }
    tickets_since = !good ? 0 : since == 0 ? now : since + over * TICKETS_PERIOD;
    tickets->since = tickets_since;
    atomic_fetch_add(&tickets->turn, 1);
}

int nest__tickets_make(void) {
    void *p =
        mmap(NULL, sizeof *tickets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    (void)madvise(p, sizeof *tickets, MADV_DONTDUMP);
    tickets = p;
    tickets_turn();
    return 0;
}

void nest__tickets_seal(void) {
    (void)mprotect(tickets, sizeof *tickets, PROT_READ);
}

unsigned nest__tls_mind(void) {
    tickets_turn();
    int64_t left = (tickets_since + TICKETS_PERIOD - tickets_seconds()) * 1000;
    return tickets_since != 0 && left > 0 && left < TICKETS_LOOK_MS ? (unsigned)left
                                                                    : TICKETS_LOOK_MS;
}

/* Both keys, of which the first makes tickets. Returns how many of them may be used. */
static int tickets_keys(struct tickets_key keys[2]) {
    uint32_t before;
    int64_t since;
    int tries = 0;
    do {
        before = atomic_load(&tickets->turn);
        keys[0] = tickets->now;
        keys[1] = tickets->before;
        since = tickets->since;
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load(&tickets->turn)) {
            int64_t now = tickets_seconds();
            return since <= 0 || now - since >= 2 * TICKETS_PERIOD ? 0
                   : now - since >= TICKETS_PERIOD                 ? 1
                                                                   : 2;
        }
        tries++;
    } while (tries < TICKETS_TRIES && sched_yield() == 0);
    return 0;
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

/* 1: the keys are set; 2: also, and the client is given a new ticket; 0: there is no such key, so
 * the client gets no ticket, or its own is not used; -1: an error.
 * A client of TLS 1.3 uses a ticket once (RFC 8446, C.4), so it needs one for the next time. */
static int tickets_asked(SSL *ssl, unsigned char name[TICKETS_NAME], unsigned char *start,
                         EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int makes) {
    struct tickets_key keys[2];
    int result = 0;
    int n = tickets_keys(keys);
    if (makes && n > 0) {
        memcpy(name, keys[0].name, sizeof keys[0].name);
        bool good = RAND_bytes(start, EVP_MAX_IV_LENGTH) == 1 &&
                    tickets_use(&keys[0], start, cipher, mac, true);
        result = good ? 1 : -1;
    }
    for (int i = 0; i < n && !makes && result == 0; i++) {
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
