/* contents.h: option fileCache: contents of files, in memory that all workers of a server share.
 *
 * file/file.c asks for them before it opens a file. Without the option, none.c stands for these
 * functions. */
#ifndef NEST_SERVICE_CONTENTS_H
#define NEST_SERVICE_CONTENTS_H

#include "../../seam.h"

#include <sys/stat.h>

/* -- file/, in a worker, on any thread */
/* Numbers from here on stand for descriptors of files whose contents are shared. */
enum { NEST__CONTENTS_FD = 1 << 30 };
static inline bool nest__contents_has(int fd) {
    return fd >= NEST__CONTENTS_FD;
}
/* Makes no system call. False: the contents are not there, or may be older than a second. They stay
 * until nest__contents_close. */
bool nest__contents_open(const char *path, nest_file *);
/* The caller has opened that file, whose contents were not there: others may come for it. */
void nest__contents_want(const char *path, const struct stat *);
int64_t nest__contents_read(int fd, void *to, size_t n, uint64_t at); /* 0: the end of the file */
void nest__contents_close(int fd);

/* -- the option: whether a text is a value of it; else -EINVAL, and the reason, of at most 256
 * bytes */
int nest__contents_valid(const char *text, char *reason);

/* -- join points */
int nest__contents_check(void);
int nest__contents_start(void);
int nest__contents_serve(void);
void nest__contents_reaped(uint32_t worker);
struct nest__need nest__contents_common(void);
extern const struct nest__task nest__contents_task;

/* -- for service/metrics */
struct nest__contents_counts {
    uint64_t hits, hit_bytes, misses, loads, evictions, bytes, files;
};
struct nest__contents_counts nest__contents_counts(void);

#endif
