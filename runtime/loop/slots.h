/* slots.h: the sessions of a loop by their numbers.
 *
 * Everything here belongs to one loop on one thread. */
#ifndef NEST_LOOP_SLOTS_H
#define NEST_LOOP_SLOTS_H

#include "../seam.h"

#define NEST__NO_SLOT UINT32_MAX

/* The records, zeroed, for `most` sessions at once; they stay the caller's. */
void nest__slots_begin(nest_session *records, uint32_t most);
void nest__slots_limit(uint32_t most);           /* from now on; no more than before */
void nest__slots_prefer_new(bool);               /* slots are used again only when none is new */
nest_session *nest__slot_take(void);             /* NULL: all are taken */
void nest__slot_give(nest_session *, bool used); /* used: under a new generation */
nest_session *nest__slot_at(uint32_t slot);
uint32_t nest__slots_ever(void); /* slots below this one have been used */
uint32_t nest__slots_taken(void);

#endif
