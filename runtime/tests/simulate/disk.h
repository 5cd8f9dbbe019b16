/* disk.h: a file system in memory and in virtual time, for the simulation of fileCache (cached.c).
 *
 * Paths are "dD/fF": some files in each of a few folders. Whatever a file has been is a state; it
 * is known which state each path has led to since when. */
#ifndef NEST_SIMULATE_DISK_H
#define NEST_SIMULATE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DISK_FOLDERS = 3, DISK_FILES = 30, DISK_PATHS = DISK_FOLDERS * DISK_FILES };

struct disk_state {
    uint32_t version; /* of the contents */
    uint32_t size, inode, mode;
    struct timespec modified, changed;
    uint64_t since; /* ms */
};

extern uint64_t disk_now; /* ms; the time of day is that much after a fixed moment */
struct timespec disk_time(void);
void disk_begin(void);
void disk_end(void);
void disk_change(void); /* something happens to a file or a folder */
const char *disk_path(unsigned path);
uint8_t disk_byte(uint32_t version, uint64_t at);
uint32_t disk_version(const uint8_t bytes[5]); /* of contents that begin so */
/* The path led to a file with these contents, of this size, inode, mode and time, less than `ms`
 * ago. `version` 0: the contents are not known. */
bool disk_was(unsigned path, uint32_t version, const struct disk_state *, uint64_t ms);
/* What it leads to now; NULL: to none. */
const struct disk_state *disk_is(unsigned path);
const struct disk_state *disk_of(const char *path); /* the same */

/* In place of the system's: */
int disk_open(const char *path, bool reads); /* or -errno */
int disk_fstat(int fd, struct stat *);
ssize_t disk_pread(int fd, void *to, size_t n, off_t at);
int disk_close(int fd);
void disk_close_all(void);
/* Before each of these something may happen. Supplied by cached.c. */
void disk_between(void);

#endif
