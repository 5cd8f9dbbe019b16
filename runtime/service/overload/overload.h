/* overload.h: option overload: a loop that has too much to do takes no clients. */
#ifndef NEST_SERVICE_OVERLOAD_H
#define NEST_SERVICE_OVERLOAD_H

#include "../../seam.h"

int nest__overload_start(void);
bool nest__overload_load(uint32_t actions);
bool nest__overload_enough(void);
int nest__overload_admit(nest_session *); /* an enum nest__admission */
void nest__overload_release(nest_session *);
uint32_t nest__overload_due(void);
/* Whether a text is a value of the option; else -EINVAL, and the reason, of at most 256 bytes. */
int nest__overload_valid(const char *text, char *reason);

/* -- told.c: how many sessions are being told that they are turned away */
void nest__overload_told_add(int count); /* to those of this loop */
uint32_t nest__overload_told_own(void);
uint32_t nest__overload_told_all(void); /* of all loops */

#endif
