/* files.h: file operations that differ between systems. Called only by file/.
 *
 * Results < 0 are -errno. -ENOSYS: this system does not have the operation. No state. */
#ifndef NEST_PLATFORM_FILES_H
#define NEST_PLATFORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags to open a directory in which names are looked up. They need no permission to read it. */
int nest__directory_flags(void);
/* Like openat, but reaches nothing outside of `root`, whatever links and ".." contain, and does not
 * follow links that only the kernel can resolve (/proc). -EXDEV: the path leads outside. -EAGAIN:
 * the lookup would have to wait for a disk (if `cached`), or names changed during the lookup.
 * -EINVAL: the kernel does not know `cached`. */
int nest__open_beneath(int root, const char *path, int flags, bool cached);
/* Whether names in the file system of this file are looked up by this kernel alone, not by another
 * machine or a program. False also if the system cannot tell. */
bool nest__is_local(int fd);
/* pread of data that is in memory. -EAGAIN: it is not in memory, or the system cannot tell. */
int64_t nest__read_cached(int fd, void *to, size_t n, uint64_t at);
/* Whether all of the range is in memory. False also if the system cannot tell. */
bool nest__is_cached(int fd, uint64_t at, uint64_t n);
/* Starts reading into memory; only a hint. */
void nest__read_ahead(int fd, uint64_t at, uint64_t n);
/* Creates a file without a name in a directory, for writing. */
int nest__open_nameless(int directory);
/* Gives such a file a name that must not exist (-EEXIST). */
int nest__name_nameless(int fd, int directory, const char *name);
/* rename, to a name that is not taken (-EEXIST). */
int nest__rename_new(int from, const char *old, int to, const char *name);
/* Fills a buffer of at most 256 bytes with random bytes that nobody can guess. Returns 0 or -errno.
 */
int nest__random(void *to, size_t n);
/* Starts to write what fsync will wait for. */
void nest__write_out(int fd);

#endif
