/* per_address.h: option perAddress: how many clients of one network are served at the same time. */
#ifndef NEST_SERVICE_PER_ADDRESS_H
#define NEST_SERVICE_PER_ADDRESS_H

#include "../../seam.h"

int nest__per_address_start(void);
int nest__per_address_serve(void);
/* An enum nest__admission; that of a session stays until it is released. */
int nest__per_address_admit(nest_session *);
int nest__per_address_shaking(nest_session *); /* the same */
void nest__per_address_release(nest_session *);
void nest__per_address_reaped(uint32_t worker); /* in the supervisor */
struct nest__need nest__per_address_need(void);
/* Whether a text is a value of the option; else -EINVAL, and the reason, of at most 256 bytes. */
int nest__per_address_valid(const char *text, char *reason);

/* -- networks.c: the places of clients by network, in memory that all workers share */
enum { NEST__NETWORK = 16 }; /* bytes of an address of IPv6; IPv4 as ::ffff:a.b.c.d */

int nest__networks_make(uint32_t places); /* before workers exist; 0 or -errno */
/* Frees the places of an earlier process that had this one's identifier. */
void nest__networks_sweep(void);
/* Takes a place for a client: *admission says for what. At most `most` clients of a network are
 * admitted, and as many are being told that they are not, if `told` is set. `say`: a minute has
 * passed since it was last set. Returns the place, from 1; 0: none was taken. */
uint32_t nest__networks_take(const uint8_t network[NEST__NETWORK], uint32_t most, bool told,
                             enum nest__admission *admission, bool *say);
void nest__networks_give(uint32_t place);
void nest__networks_died(void); /* a worker; only then places of the dead are looked for */

#endif
