/* access.h: files below fileRoot: descriptors and bytes, no session, no model.
 *
 * For services. These functions may block; with `cached` they return -EAGAIN instead of waiting for
 * a disk. */
#ifndef NEST_FILE_ACCESS_H
#define NEST_FILE_ACCESS_H

#include "../seam.h"

int nest__file_root_open(void);   /* at the start; returns 0, or -errno after a message */
void nest__file_root_close(void); /* when the server ends; removes its own files from fileRoot */
/* After a process of the server has died: removes the unfinished uploads that it left. */
void nest__file_root_lost(long process);
int nest__file_open(const char *path, bool cached, nest_file *file); /* 0 or -errno */
/* Returns the number of bytes; 0 at the end of the file; -errno. */
int64_t nest__file_read(int fd, void *to, size_t n, uint64_t at, bool cached);
/* Whether all these bytes are in memory; false also where the system cannot tell. */
bool nest__file_resident(int fd, uint64_t at, uint64_t n);
void nest__file_ahead(int fd, uint64_t at, uint64_t n); /* starts to read ahead */
void nest__file_close(int fd);
/* Deletes a regular file, or a link (not its target). Returns 0 or -errno. `same`, if not NULL:
 * only if this is still the file that the path leads to; otherwise -ESTALE. */
int nest__file_delete(const char *path, const nest_file *same);
/* Lists a directory, sorted by name, in at most `room` bytes (otherwise -EOVERFLOW). Returns the
 * number of entries or -errno. The caller frees list->entries, which is NULL if there are none. */
int nest__file_list(const char *path, size_t room, nest_files *list);
/* A file being received, in the directory of its target; without a name if the system allows it. */
struct nest__upload;
int nest__upload_begin(const char *path, struct nest__upload **);
int nest__upload_write(struct nest__upload *, const void *, size_t);
/* The commit shall fail with -ESTALE if the target is no longer what it was when the upload began.
 * Call it before nest__upload_offer. */
void nest__upload_guard(struct nest__upload *);
/* The file is complete and will be committed with sync. The commit of another upload may then
 * include it. Does not wait. nest__upload_commit must follow. */
void nest__upload_offer(struct nest__upload *);
/* Puts the file in its place. `sync`: waits until it is on disk, together with other uploads that
 * wait for the same. Frees the upload. */
int nest__upload_commit(struct nest__upload *, bool sync);
void nest__upload_abandon(struct nest__upload *); /* removes the file and frees the upload */

#endif
