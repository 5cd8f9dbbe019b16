/* wheel.h: finds the next deadline.
 *
 * Called by the files of loop/. Each loop has one wheel. Deadlines and times are those of seam.h:
 * milliseconds modulo 2^32, and 0 is never. A deadline is at most 2^30 ms ahead. The wheel links
 * deadline slots (struct nest__wheel_slot). Each slot has a number below 2^31, and
 * nest__wheel_slot(number) finds it. */
#ifndef NEST_WHEEL_H
#define NEST_WHEEL_H

#include "../seam.h"

/* A new slot has no deadline, and is in no wheel. */
static inline void nest__wheel_new(struct nest__wheel_slot *slot) {
    slot->deadline = 0;
    slot->prev = NEST__NO_NUMBER;
}
/* Sets the deadline of the slot with this number, in O(1). A deadline that is not earlier than the
 * old one only changes the slot: the entry stays in its bucket and is moved when its old time
 * comes.
 */
void nest__wheel_set(struct nest__wheel_slot *, uint32_t number, uint32_t deadline, uint32_t now);
/* Removes the slot's deadline and takes the slot out of the wheel: its memory may be reused. */
void nest__wheel_drop(struct nest__wheel_slot *);
/* Takes a slot whose deadline has come out of the wheel and returns its number; the slot keeps its
 * deadline. NEST__NO_NUMBER: there is none, or the call has moved WHEEL_MOVES entries and the rest
 * waits for the next call; nest__wheel_next is then not in the future. */
uint32_t nest__wheel_take(uint32_t now);
/* A time before which nothing is due: the next deadline or, if there are many, perhaps a moment
 * before it. It may be in the past. 0: never. */
uint32_t nest__wheel_next(void);

/* -- the loop supplies */
struct nest__wheel_slot *nest__wheel_slot(uint32_t number);

#endif
