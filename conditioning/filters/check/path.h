/* Paths of requests: what is suspicious in one, and its simpler form. */
#ifndef CHECK_PATH_H
#define CHECK_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the path in a request's target, without its query. Returns false for a target that has
 * none, such as "*" or "host:port". */
bool path_in(const char *target, size_t size, size_t *start, size_t *length);

/* What is suspicious in a path, or NULL: a part that leads above the root, an encoded zero byte, a
 * backslash. */
const char *path_suspicious(const char *path, size_t size);

/* The longest run of slashes. */
size_t path_slashes(const char *path, size_t size);

/* Writes a path without its first `strip` parts; repeated slashes become one if `fold`. `to` needs
 * room for `size` + 1 bytes. Returns the length. */
size_t path_simplify(const char *path, size_t size, long strip, bool fold, char *to);

#endif
