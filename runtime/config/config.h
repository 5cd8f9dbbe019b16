/* config.h: what main asks of the configuration. */
#ifndef NEST_CONFIG_H
#define NEST_CONFIG_H

#include "../seam.h"

enum nest__request { NEST__SERVE, NEST__CHECK, NEST__HELP, NEST__VERSION };

/* Fills nest__config: from the table, config.nest, the environment, the arguments, later ones over
 * earlier ones. Says on stderr all that is wrong; 0 or -EINVAL. Arguments after "--" belong to the
 * start-up section. */
int nest__config_read(int argc, char **argv, enum nest__request *);
/* The effective settings and where they come from, on stdout. */
void nest__config_print(void);
/* "8K", "64M", "1000": as the option is written. `to` holds 32 bytes; texts are returned as they
 * are. */
const char *nest__config_text(const struct nest__option *, char to[32]);
void nest__size_text(uint32_t value, char to[32]);

#endif
