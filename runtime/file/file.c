/* file.c: opens and reads regular files below fileRoot.
 *
 * Called by the engine, on a loop (`cached`) or where it may block. No state. Must not know
 * sessions. */
#include "file.h"
#include "../platform/files.h"
#include "../service/cache/cache.h"
#include "../service/contents/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: opening a pipe would wait for a writer, and opening a device could have other
 * effects. */
static int file_open(const char *path, bool cached, struct stat *about) {
    int fd = nest__file_find(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, cached);
    if (fd < 0) {
        return fd;
    }
    int error = 0;
    if (fstat(fd, about) == -1) {
        error = -errno;
    } else if (!S_ISREG(about->st_mode) && !S_ISDIR(about->st_mode)) {
        error = -ENXIO;
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    return fd;
}

int nest__file_open(const char *path, bool cached, nest_file *file) {
    struct stat about;
    if (cached && nest__contents_open(path, file)) {
        return 0;
    }
    int fd = cached ? nest__cache_find(path, &about) : -1;
    if (fd < 0) {
        fd = file_open(path, cached, &about);
        if (fd < 0) {
            return fd;
        }
        if (cached) {
            nest__cache_add(path, fd, &about);
        }
    }
    nest__contents_want(path, &about);
    *file = (nest_file){.size = S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0,
                        .mtime = about.st_mtim,
                        .inode = about.st_ino,
                        .fd = fd,
                        .mode = about.st_mode};
    return 0;
}

int64_t nest__file_read(int fd, void *to, size_t n, uint64_t at, bool cached) {
    if (nest__contents_has(fd)) {
        return nest__contents_read(fd, to, n, at);
    }
    if (cached) {
        return nest__read_cached(fd, to, n, at);
    }
    ssize_t got;
    do {
        got = pread(fd, to, n, (off_t)at);
    } while (got == -1 && errno == EINTR);
    return got == -1 ? -errno : got;
}

bool nest__file_resident(int fd, uint64_t at, uint64_t n) {
    return !nest__contents_has(fd) && nest__is_cached(fd, at, n);
}

void nest__file_ahead(int fd, uint64_t at, uint64_t n) {
    nest__read_ahead(fd, at, n);
}

void nest__file_close(int fd) {
    if (nest__contents_has(fd)) {
        nest__contents_close(fd);
    } else if (!nest__cache_leave(fd)) {
        close(fd);
    }
}
