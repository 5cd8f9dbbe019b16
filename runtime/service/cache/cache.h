/* cache.h: files that stay open for later actions.
 *
 * file/file.c finds, adds and leaves, on the loop's thread. In models without a loop none.c stands
 * for these functions: no file stays open. */
#ifndef NEST_SERVICE_CACHE_H
#define NEST_SERVICE_CACHE_H

#include "../../seam.h"

#include <sys/stat.h>

/* -- file/: a descriptor is its caller's until nest__cache_leave. */

/* A descriptor of what `path` leads to, if that is open, and *now; -1: it is not. */
int nest__cache_find(const char *path, struct stat *now);
/* May keep a file open that the caller has opened. */
void nest__cache_add(const char *path, int fd, const struct stat *about);
/* False: the cache does not have it, and the caller closes it. */
bool nest__cache_leave(int fd);

/* -- join points */
unsigned nest__cache_spare(uint64_t most);
unsigned nest__cache_due(void);
void nest__cache_tick(void);

#endif
