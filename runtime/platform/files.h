/* files.h: what systems offer for files in ways of their own. Called by file/ alone.
 *
 * Results < 0 are -errno; -ENOSYS: this system has no such thing. No state. */
#ifndef NEST_PLATFORM_FILES_H
#define NEST_PLATFORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For a directory that names are looked up in: no right to read it is needed. */
int nest__directory_flags(void);
/* openat, but nothing outside of `root` is reached, whatever links and ".." say, and no link that
 * only the kernel can follow. -EXDEV: it leads outside. -EAGAIN: `cached`, and a disk would have to
 * be asked; or names changed meanwhile. -EINVAL: `cached` is not known. */
int nest__open_beneath(int root, const char *path, int flags, bool cached);
/* Names beside this file are looked up by this system alone: no other machine, and no program, is
 * asked. False also where the system cannot tell. */
bool nest__is_local(int fd);
/* pread of what is in memory; -EAGAIN if nothing is, or if the system cannot tell. */
int64_t nest__read_cached(int fd, void *to, size_t n, uint64_t at);
/* All of it is in memory; false: some is not, or the system cannot tell. */
bool nest__is_cached(int fd, uint64_t at, uint64_t n);
/* Begins to read into memory; a hint. */
void nest__read_ahead(int fd, uint64_t at, uint64_t n);
/* A new file in a directory, for writing, without a name. */
int nest__open_nameless(int directory);
/* Gives it one that is not taken (-EEXIST). */
int nest__name_nameless(int fd, int directory, const char *name);
/* rename, to a name that is not taken (-EEXIST). */
int nest__rename_new(int from, const char *old, int to, const char *name);
/* Bytes that nobody can guess; at most 256. 0 or -errno. */
int nest__random(void *to, size_t n);
/* Starts to write what fsync will wait for. */
void nest__write_out(int fd);

#endif
