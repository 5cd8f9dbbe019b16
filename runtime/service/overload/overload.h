/* overload.h: option overload: a loop that has too much to do takes no clients. */
#ifndef NEST_SERVICE_OVERLOAD_H
#define NEST_SERVICE_OVERLOAD_H

#include "../../seam.h"

bool nest__overload_load(uint32_t actions);
int nest__overload_admit(nest_session *); /* an enum nest__admission */
uint32_t nest__overload_due(void);
void nest__overload_tick(void);
/* Whether a text is a value of the option; else -EINVAL, and the reason, of at most 256 bytes. */
int nest__overload_valid(const char *text, char *reason);

#endif
