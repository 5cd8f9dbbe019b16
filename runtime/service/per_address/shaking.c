/* shaking.c: an encrypted connection counts from its handshake on, so that clients which never
 * finish theirs cannot take the places of others.
 *
 * Called at a join point. No state. Must not know how a handshake works. */
#include "per_address.h"

int nest__per_address_shaking(nest_session *s) {
    return nest__per_address_admit(s);
}
