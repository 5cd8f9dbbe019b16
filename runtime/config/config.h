/* config.h: what main asks of the configuration, and what its files share. */
#ifndef NEST_CONFIG_H
#define NEST_CONFIG_H

#include "value.h"

enum nest__request { NEST__SERVE, NEST__CHECK, NEST__HELP, NEST__VERSION };

/* Fills nest__config: from the table, config.nest, the environment, the arguments, later ones over
 * earlier ones. Says on stderr all that is wrong; 0 or -EINVAL. Arguments after "--" belong to the
 * start-up section. */
int nest__config_read(int argc, char **argv, enum nest__request *);
/* The effective settings and where they come from, on stdout. */
void nest__config_print(void);
void nest__size_text(uint32_t value, char to[32]);     /* "8K", "64M", "1000" */
void nest__duration_text(uint32_t value, char to[32]); /* "30s", "5m", "none" */

/* -- between config.c and reload.c ------------------------------------------------------------ */
struct nest__setting {
    struct nest__value value;
    char origin[96]; /* "": as built */
};
extern struct nest__setting *nest__settings; /* per option: read last without a mistake */
/* Reads all sources again: a setting per option; NULL: said on stderr what is wrong. */
struct nest__setting *nest__settings_read(void);
void nest__settings_free(struct nest__setting *);

#endif
