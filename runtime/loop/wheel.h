/* wheel.h: which deadline comes next.
 *
 * Called by the files of loop/. One wheel a loop; deadlines and times as in seam.h: milliseconds
 * modulo 2^32, 0 is never. No deadline lies further ahead than 2^30. The wheel links deadline slots
 * (struct nest__wheel_slot); each has a number below 2^31, by which the wheel asks for it. */
#ifndef NEST_WHEEL_H
#define NEST_WHEEL_H

#include "../seam.h"

/* A new slot has no deadline, and is in no wheel. */
static inline void nest__wheel_new(struct nest__wheel_slot *slot) {
    slot->deadline = 0;
    slot->prev = NEST__NO_NUMBER;
}
/* Sets the deadline of this slot, whose number is `number`. O(1); almost nothing if it is the old
 * one or a later one: then the entry stays where it is, and is looked at again when its old time
 * has come. */
void nest__wheel_set(struct nest__wheel_slot *, uint32_t number, uint32_t deadline, uint32_t now);
/* The slot has no deadline any more, and is in no wheel: its memory may be used again. */
void nest__wheel_drop(struct nest__wheel_slot *);
/* The number of the next slot whose deadline has come; the slot keeps it, and is in no wheel.
 * NEST__NO_NUMBER: no other, or there is so much to sort that the rest waits for the next call:
 * nest__wheel_next says so. */
uint32_t nest__wheel_take(uint32_t now);
/* Until when nothing is due: the very next deadline, or where there are many, perhaps a moment
 * before it; it may have come already. 0: never. */
uint32_t nest__wheel_next(void);

/* -- the loop supplies */
struct nest__wheel_slot *nest__wheel_slot(uint32_t number);

#endif
