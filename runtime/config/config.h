/* config.h: the functions of the configuration for main, and what the files of config/ share. */
#ifndef NEST_CONFIG_H
#define NEST_CONFIG_H

#include "value.h"

#include <stdio.h>

enum nest__request { NEST__SERVE, NEST__CHECK, NEST__HELP, NEST__VERSION };

/* Fills nest__config from the table, config.nest, the environment and the arguments, in increasing
 * precedence. Reports all errors on stderr. Returns 0 or -EINVAL. Arguments after "--" belong to
 * the start-up section. */
int nest__config_read(int argc, char **argv, enum nest__request *);
/* Prints the effective settings and their origins to stdout. */
void nest__config_print(void);
/* Before workers are made: keeps the text of the configuration file for processes that will not be
 * able to open it. 0, or -ENOMEM with a message. */
int nest__config_share(void);
/* In such a process: from now on, what the supervisor has read last is the file. */
void nest__config_leave(void);
void nest__size_text(uint32_t value, char to[32]);     /* "8K", "64M", "1000" */
void nest__duration_text(uint32_t value, char to[32]); /* "30s", "5m", "none" */
/* Digits and a unit, as in "30s": the ms. False: the text is no duration. */
bool nest__duration_read(const char *text, uint64_t *ms);

/* -- copy.c ----------------------------------------------------------------------------------- */
/* From now on, other processes read what this one has read last. 0 or -ENOMEM. */
int nest__copy_begin(const char *path);
/* The text of the file, to read once. NULL and errno: it cannot be read. */
FILE *nest__copy_open(const char *path);

/* -- between config.c and reload.c ------------------------------------------------------------ */
struct nest__setting {
    struct nest__value value;
    char origin[96]; /* "": built in */
    bool refused;    /* the running server could not change to it */
};
extern struct nest__setting
    *nest__settings; /* one per option: the last ones read without an error */
/* Reads all sources again and returns one setting per option; NULL after reporting an error. */
struct nest__setting *nest__settings_read(void);
void nest__settings_free(struct nest__setting *);

#endif
