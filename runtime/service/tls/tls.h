/* tls.h: option tls: certificates and keys, and what connections are encrypted with. */
#ifndef NEST_SERVICE_TLS_H
#define NEST_SERVICE_TLS_H

#include "../../channel/tls.h"

/* Whether a text is a value of the option; else -EINVAL, and the reason, of at most 256 bytes. */
int nest__tls_valid(const char *text, char *reason);

/* -- generated: the protocols of option alpn in the server's order, each behind its length; size 0:
 * it names none, and clients are not asked */
extern const uint8_t nest__spec_alpn[];
extern const unsigned nest__spec_alpn_size;

/* -- join points */
int nest__tls_check(void);
int nest__tls_start(void);
int nest__tls_serve(void);
void nest__tls_renewed(void);
struct nest__need nest__tls_need(void);
unsigned nest__tls_mind(void); /* renews the keys of session tickets */

bool nest__tls_offered(void); /* false: the option is none */
struct ssl_st;
struct ssl_st *nest__tls_new(void); /* for a connection; NULL: no memory, or the option is none */

/* Memory has run out in a handshake. OpenSSL 3.0 keeps a value with its inverse for each key of RSA
 * (blinding), and changes both before a signature. If it can change one only, the next 31
 * signatures are wrong. So keys are copied, without these values, before the next handshake. */
void nest__tls_short(void);

/* -- ahead.c */
/* 0; -1 and EALREADY or ENOTSUP: no handshake may begin; -1: the session ends after the action. */
int nest__tls_ahead(nest_session *);

/* -- pair.c */
struct ssl_ctx_st;
/* Reads the two files. False after a message, which ends with `then`. */
bool nest__pair_read(struct ssl_ctx_st *, const char *certificate, const char *key,
                     const char *then);

/* -- tickets.c */
int nest__tickets_make(void);  /* before workers exist; 0 or -errno */
void nest__tickets_seal(void); /* this process makes no keys */
void nest__tickets_of(struct ssl_ctx_st *);

#endif
