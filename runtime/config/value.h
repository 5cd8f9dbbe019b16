/* value.h: the value of one option before it takes effect. */
#ifndef NEST_CONFIG_VALUE_H
#define NEST_CONFIG_VALUE_H

#include "../seam.h"

enum { NEST__VALUE_REASON = 256 };

struct nest__value {
    uint32_t number; /* milliseconds of a duration, bytes of a size */
    char *text;      /* owned; NULL: none */
};

/* Parses a value. Returns 0 and frees the old value of *to; or -EINVAL or -ENOMEM and the reason,
 * with *to unchanged. */
int nest__value_read(const struct nest__option *, const char *text, struct nest__value *to,
                     char reason[NEST__VALUE_REASON]);
bool nest__value_same(const struct nest__option *, const struct nest__value *,
                      const struct nest__value *);
/* Call it before nest__value_use: makes a copy of the text that is never freed, because other
 * threads may still read it. Equal texts share one copy, so memory grows only with the number of
 * different texts. Returns 0 or -ENOMEM. */
int nest__value_keep(const struct nest__option *, const struct nest__value *);
/* Applies the value: stores it in nest__config, which other threads may be reading. */
void nest__value_use(const struct nest__option *, const struct nest__value *);
/* Formats the value as users write it: "8K", "30s". `to` holds 32 bytes. Texts are returned as they
 * are. */
const char *nest__value_text(const struct nest__option *, const struct nest__value *, char to[32]);

#endif
