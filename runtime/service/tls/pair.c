/* pair.c: reads a certificate with its chain, and its key, and says what is wrong with their files.
 *
 * Called by tls.c, at the start and at a reload. No state. OpenSSL's own reasons ("PEM lib") name
 * neither the fault nor the remedy, so a file that cannot be used is looked at once more. Must not
 * know connections, nor how many pairs there are. */
#include "../../platform/platform.h"
#include "tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAIR_BUFFER = 4096, /* that a key's file is read through */
    PAIR_LINE = 256
};

/* A password would be asked for, but nobody is there to type. */
static int pair_no_password(char *to, int size, int writes, void *asked) {
    (void)to, (void)size, (void)writes;
    *(bool *)asked = true;
    return -1;
}

/* Anything but a file, such as a pipe whose other end nobody opens, could block the server. */
static FILE *pair_open(const char *name, const char *then) {
    struct stat is = {.st_mode = S_IFREG};
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd != -1 && (fstat(fd, &is) == -1 || !S_ISREG(is.st_mode))) {
        nest__say("tls: cannot read %s: it is not a file%s", name, then);
        close(fd);
        return NULL;
    }
    FILE *file = fd == -1 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        nest__say("tls: cannot read %s: %s%s", name, strerror(errno), then);
        if (fd != -1) {
            close(fd);
        }
    }
    return file;
}

/* -- a file that cannot be used */

struct pair_seen {
    bool empty, binary;
    bool key;              /* a line begins one */
    unsigned certificates; /* lines that begin one, */
    unsigned ends;         /* and that end one */
};

static struct pair_seen pair_look(FILE *file) {
    struct pair_seen seen = {.empty = true};
    char line[PAIR_LINE] = "";
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        bool begins = strncmp(line, "-----BEGIN ", 11) == 0;
        bool certificate = strstr(line, "CERTIFICATE-----") != NULL;
        /* a sequence of ASN.1, whose length is long, or whose first part is a number */
        seen.binary = seen.binary || (seen.empty && line[0] == 0x30 &&
                                      ((unsigned char)line[1] >= 0x80 || line[2] == 2));
        seen.empty = false;
        seen.key = seen.key || (begins && strstr(line, "PRIVATE KEY-----") != NULL);
        seen.certificates += begins && certificate;
        seen.ends += strncmp(line, "-----END ", 9) == 0 && certificate;
    }
    OPENSSL_cleanse(line, sizeof line);
    return seen;
}

static void pair_say_no_certificate(const char *name, FILE *file, const char *then) {
    struct pair_seen seen = pair_look(file);
    if (seen.empty) {
        nest__say("tls: %s is empty; it must contain the certificate in PEM format, and behind it "
                  "those of its issuers%s",
                  name, then);
    } else if (seen.binary) {
        nest__say("tls: %s is not in PEM format, but binary; convert it with openssl x509 -inform "
                  "DER, or with openssl pkcs12 -nokeys if it is PKCS #12%s",
                  name, then);
    } else if (seen.key) {
        nest__say("tls: %s contains a key, but no certificate; write the file of the certificate "
                  "first, and then that of the key%s",
                  name, then);
    } else {
        nest__say(
            "tls: %s does not begin with a certificate in PEM format: it has no line -----BEGIN "
            "CERTIFICATE-----%s",
            name, then);
    }
}

static void pair_say_no_key(const char *name, FILE *file, const char *then) {
    struct pair_seen seen = pair_look(file);
    if (seen.empty) {
        nest__say("tls: %s is empty; it must contain the key in PEM format%s", name, then);
    } else if (seen.binary) {
        nest__say("tls: %s is not in PEM format, but binary; convert it with openssl pkey -inform "
                  "DER, or with openssl pkcs12 -nocerts -nodes if it is PKCS #12%s",
                  name, then);
    } else if (seen.key) {
        nest__say(
            "tls: the key in %s is damaged, or of a kind that OpenSSL does not know; copy the "
            "file anew from where it was made%s",
            name, then);
    } else {
        nest__say(
            "tls: %s contains no private key in PEM format: it has no line -----BEGIN PRIVATE "
            "KEY-----%s",
            name, then);
    }
}

/* -- certificates */

/* OpenSSL does not take a certificate; `number` counts them in their file. */
static void pair_say_refused(X509 *certificate, unsigned number, const char *name,
                             const char *then) {
    unsigned long error = ERR_peek_last_error();
    const EVP_PKEY *key = X509_get0_pubkey(certificate);
    switch (ERR_GET_REASON(error)) {
    case SSL_R_EE_KEY_TOO_SMALL:
    case SSL_R_CA_KEY_TOO_SMALL:
        nest__say("tls: the key of certificate %u in %s has only %d bits; make one with an RSA key "
                  "of 2048 bits, or a key of prime256v1%s",
                  number, name, EVP_PKEY_get_bits(key), then);
        break;
    case SSL_R_CA_MD_TOO_WEAK:
        nest__say("tls: certificate %u in %s is signed with a hash that is too weak; make one that "
                  "is signed with SHA-256%s",
                  number, name, then);
        break;
    case SSL_R_UNKNOWN_CERTIFICATE_TYPE:
        nest__say("tls: the key of certificate %u in %s is of a kind with which TLS does not sign; "
                  "make one with a key of RSA, prime256v1 or ED25519%s",
                  number, name, then);
        break;
    default:
        nest__say("tls: certificate %u in %s cannot be used: %s%s", number, name,
                  ERR_reason_error_string(error), then);
        break;
    }
}

/* Clients that know the time refuse it. */
static void pair_warn_of_time(const X509 *certificate, unsigned number, const char *name) {
    bool over = X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
    bool early = X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0;
    char when[64] = "", which[64] = "the certificate";
    BIO *text = BIO_new(BIO_s_mem());
    if (number > 1) {
        snprintf(which, sizeof which, "certificate %u, of an issuer,", number);
    }
    if (text != NULL && (over || early)) {
        (void)ASN1_TIME_print(text, over ? X509_get0_notAfter(certificate)
                                         : X509_get0_notBefore(certificate));
        (void)BIO_read(text, when, sizeof when - 1);
        nest__say("tls: %s in %s %s %s; clients will refuse it", which, name,
                  over ? "has expired on" : "is not valid before", when);
    }
    BIO_free(text);
}

/* The next certificate of the file, or NULL. */
static X509 *pair_next(FILE *file, unsigned number) {
    bool asked;
    return number == 1 ? PEM_read_X509_AUX(file, NULL, pair_no_password, &asked)
                       : PEM_read_X509(file, NULL, pair_no_password, &asked);
}

static bool pair_take(SSL_CTX *context, X509 *certificate, unsigned number) {
    if (number > 1) {
        return SSL_CTX_add1_chain_cert(context, certificate) == 1;
    }
    return SSL_CTX_use_certificate(context, certificate) == 1;
}

/* Takes all certificates of the file; returns how many, or 0 after a message. */
static unsigned pair_take_all(SSL_CTX *context, const char *name, FILE *file, const char *then) {
    unsigned count = 0;
    bool takes = true;
    X509 *certificate;
    while (takes && (certificate = pair_next(file, count + 1)) != NULL) {
        count++;
        takes = pair_take(context, certificate, count);
        if (takes) {
            pair_warn_of_time(certificate, count, name);
        } else {
            pair_say_refused(certificate, count, name, then);
        }
        X509_free(certificate);
    }
    if (!takes) {
        return 0;
    }
    bool over = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    struct pair_seen seen = pair_look(file);
    unsigned most = seen.certificates > seen.ends ? seen.certificates : seen.ends;
    if (!over || most > count) { /* a line that begins one may be damaged itself */
        if (most <= 1) {
            nest__say("tls: the certificate in %s is damaged; copy the file anew from where it was "
                      "made%s",
                      name, then);
        } else {
            nest__say("tls: certificate %u of %u in %s is damaged, or one before it; copy the file "
                      "anew from where it was made%s",
                      count + 1, most, name, then);
        }
        return 0;
    }
    if (count == 0) {
        pair_say_no_certificate(name, file, then);
    }
    return count;
}

/* Behind each certificate stands that of its issuer (RFC 5246, 7.4.2); others may be refused. */
static void pair_warn_of_order(SSL_CTX *context, const char *name) {
    STACK_OF(X509) *chain = NULL;
    X509 *before = SSL_CTX_get0_certificate(context);
    (void)SSL_CTX_get0_chain_certs(context, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *issuer = sk_X509_value(chain, i);
        if (X509_check_issued(issuer, before) != X509_V_OK) {
            nest__say("tls: certificate %d in %s is not that of the issuer of certificate %d; "
                      "clients may refuse them; write each issuer behind what it has issued",
                      i + 2, name, i + 1);
            return;
        }
        before = issuer;
    }
}

static bool pair_read_certificate(SSL_CTX *context, const char *name, const char *then) {
    FILE *file = pair_open(name, then);
    if (file == NULL) {
        return false;
    }
    ERR_clear_error();
    unsigned count = pair_take_all(context, name, file, then);
    fclose(file);
    ERR_clear_error();
    return count > 0;
}

/* -- keys */

/* OpenSSL copies parts of keys to the common heap when it uses them. So this process, and those
 * that it forks, write no core files. */
static void pair_leave_no_core(void) {
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
}

/* Whether TLS has signatures of this kind that clients understand. */
static bool pair_signs(const EVP_PKEY *key) {
    char curve[PAIR_LINE] = "";
    if (EVP_PKEY_is_a(key, "EC")) {
        (void)EVP_PKEY_get_group_name(key, curve, sizeof curve, NULL);
        return strcmp(curve, "prime256v1") == 0 || strcmp(curve, "secp384r1") == 0 ||
               strcmp(curve, "secp521r1") == 0;
    }
    return EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS") ||
           EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448");
}

/* Which certificate of the chain has this key: counted from 1; 0: none. */
static unsigned pair_owner(SSL_CTX *context, const EVP_PKEY *key) {
    STACK_OF(X509) *chain = NULL;
    (void)SSL_CTX_get0_chain_certs(context, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        if (X509_check_private_key(sk_X509_value(chain, i), key) == 1) {
            return (unsigned)i + 2;
        }
    }
    return 0;
}

/* Uses the key that was read. False after a message. */
static bool pair_use_key(SSL_CTX *context, EVP_PKEY *key, const char *name, const char *certificate,
                         const char *then) {
    if (!pair_signs(key)) {
        nest__say("tls: the key in %s is of a kind with which TLS does not sign; make one of RSA, "
                  "prime256v1 or ED25519%s",
                  name, then);
        return false;
    }
    if (X509_check_private_key(SSL_CTX_get0_certificate(context), key) == 1 &&
        SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1) {
        return true;
    }
    unsigned owner = pair_owner(context, key);
    if (owner > 0) {
        nest__say("tls: the key in %s belongs to certificate %u in %s; write that one first, and "
                  "each issuer behind what it has issued%s",
                  name, owner, certificate, then);
    } else {
        nest__say("tls: the key in %s does not belong to the certificate in %s%s", name,
                  certificate, then);
    }
    return false;
}

static bool pair_read_key(SSL_CTX *context, const char *name, const char *certificate,
                          const char *then) {
    bool asked = false;
    char buffer[PAIR_BUFFER];
    FILE *file = pair_open(name, then);
    if (file == NULL) {
        return false;
    }
    pair_leave_no_core();
    (void)setvbuf(file, buffer, _IOFBF, sizeof buffer);
    ERR_clear_error();
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, pair_no_password, &asked);
    if (key == NULL && asked) {
        nest__say("tls: the key in %s is encrypted; write it without a password, readable for the "
                  "server alone%s",
                  name, then);
    } else if (key == NULL) {
        pair_say_no_key(name, file, then);
    }
    fclose(file);
    OPENSSL_cleanse(buffer, sizeof buffer);
    bool fits = key != NULL && pair_use_key(context, key, name, certificate, then);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return fits;
}

bool nest__pair_read(SSL_CTX *context, const char *certificate, const char *key, const char *then) {
    if (!pair_read_certificate(context, certificate, then) ||
        !pair_read_key(context, key, certificate, then)) {
        return false;
    }
    pair_warn_of_order(context, certificate);
    return true;
}
