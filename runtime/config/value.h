/* value.h: the value of one option. */
#ifndef NEST_CONFIG_VALUE_H
#define NEST_CONFIG_VALUE_H

#include "../seam.h"

enum { NEST__VALUE_REASON = 256 };

/* Sets an option from text. 0; -EINVAL or -ENOMEM, and the reason. With `copy`, a text may go away
 * afterwards; the copy lives as long as the process. */
int nest__value_set(const struct nest__option *, const char *text, bool copy,
                    char reason[NEST__VALUE_REASON]);

#endif
