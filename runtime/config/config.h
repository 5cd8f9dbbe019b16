/* config.h: the functions of the configuration for main, and what the files of config/ share. */
#ifndef NEST_CONFIG_H
#define NEST_CONFIG_H

#include "value.h"

enum nest__request { NEST__SERVE, NEST__CHECK, NEST__HELP, NEST__VERSION };

/* Fills nest__config from the table, config.nest, the environment and the arguments, in increasing
 * precedence. Reports all errors on stderr. Returns 0 or -EINVAL. Arguments after "--" belong to
 * the start-up section. */
int nest__config_read(int argc, char **argv, enum nest__request *);
/* Prints the effective settings and their origins to stdout. */
void nest__config_print(void);
void nest__size_text(uint32_t value, char to[32]);     /* "8K", "64M", "1000" */
void nest__duration_text(uint32_t value, char to[32]); /* "30s", "5m", "none" */

/* -- between config.c and reload.c ------------------------------------------------------------ */
struct nest__setting {
    struct nest__value value;
    char origin[96]; /* "": built in */
};
extern struct nest__setting
    *nest__settings; /* one per option: the last ones read without an error */
/* Reads all sources again and returns one setting per option; NULL after reporting an error. */
struct nest__setting *nest__settings_read(void);
void nest__settings_free(struct nest__setting *);

#endif
