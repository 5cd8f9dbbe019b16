/* wheel.h: which session's deadline comes next.
 *
 * Called by the files of loop/. One wheel a loop; deadlines
 * and times as in seam.h: milliseconds modulo 2^32, 0 is never. No deadline lies further ahead than
 * 2^30. */
#ifndef NEST_WHEEL_H
#define NEST_WHEEL_H

#include "../seam.h"

/* A new session is in no wheel. */
static inline void nest__wheel_new(nest_session *s) {
    s->deadline = 0;
    s->wheel_prev = UINT32_MAX;
}
/* Now s->deadline is `deadline`. O(1); almost nothing if it is the old one or a later one: then the
 * entry stays where it is, and is looked at again when its old time has come. */
void nest__wheel_set(nest_session *, uint32_t deadline, uint32_t now);
/* It has none any more, and is in no wheel: its record may be used again. */
void nest__wheel_drop(nest_session *);
/* The next session whose deadline has come; it keeps it, and is in no wheel. NULL: no other, or
 * there is so much to sort that the rest waits for the next call: nest__wheel_next says so. */
nest_session *nest__wheel_take(uint32_t now);
/* Until when nothing is due: the very next deadline, or where there are many, perhaps a moment
 * before it; it may have come already. 0: never. */
uint32_t nest__wheel_next(void);

#endif
