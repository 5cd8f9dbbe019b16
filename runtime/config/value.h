/* value.h: the value of one option, before it is put in force. */
#ifndef NEST_CONFIG_VALUE_H
#define NEST_CONFIG_VALUE_H

#include "../seam.h"

enum { NEST__VALUE_REASON = 256 };

struct nest__value {
    uint32_t number; /* ms of a duration, bytes of a size */
    char *text;      /* owned; NULL: none */
};

/* Reads a value. 0; -EINVAL or -ENOMEM, the reason, and *to as it was; else what *to had is freed.
 */
int nest__value_read(const struct nest__option *, const char *text, struct nest__value *to,
                     char reason[NEST__VALUE_REASON]);
bool nest__value_same(const struct nest__option *, const struct nest__value *,
                      const struct nest__value *);
/* Before it is put in force: its text will stay valid for ever, and is used again if it comes back:
 * who changes it for ever needs no more memory than there are texts. 0 or -ENOMEM. */
int nest__value_keep(const struct nest__option *, const struct nest__value *);
/* Puts it in force: in nest__config, where other threads may be reading. */
void nest__value_use(const struct nest__option *, const struct nest__value *);
/* As the option is written: "8K", "30s". `to` holds 32 bytes; texts are returned as they are. */
const char *nest__value_text(const struct nest__option *, const struct nest__value *, char to[32]);

#endif
