/* files.c: file operations that differ between systems. Called only by file/. No state. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

/* For a moment it has both names. */
static int files_link_new(int from, const char *old, int to, const char *name) {
    if (linkat(from, old, to, name, 0) == -1) {
        return -errno;
    }
    (void)unlinkat(from, old, 0);
    return 0;
}

int nest__random(void *to, size_t n) {
    return getentropy(to, n) == -1 ? -errno : 0;
}

#if defined(__linux__)

/* As in the kernel's headers, which need not be installed. */
struct files_how {
    uint64_t flags, mode, resolve;
};
enum {
    FILES_OPENAT2 = 437,
    FILES_NO_MAGICLINKS = 0x02,
    FILES_BENEATH = 0x08,
    FILES_CACHED = 0x20,   /* Linux 5.12 */
    FILES_NOWAIT = 0x08,   /* preadv2: RWF_NOWAIT, Linux 4.14 */
    FILES_CACHESTAT = 451, /* Linux 6.5 */
    FILES_NOREPLACE = 0x01,
};
struct files_range {
    uint64_t at, n;
};
struct files_cachestat { /* counted in pages */
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

int nest__directory_flags(void) {
    return O_PATH | O_DIRECTORY | O_CLOEXEC;
}

int nest__open_beneath(int root, const char *path, int flags, bool cached) {
    struct files_how how = {.flags = (uint64_t)(unsigned)(flags | O_LARGEFILE),
                            .resolve = FILES_BENEATH | FILES_NO_MAGICLINKS};
    if ((flags & O_PATH) != 0) {
        how.flags = (uint64_t)(unsigned)flags; /* O_PATH allows few other flags */
    }
    if (cached) {
        how.resolve |= FILES_CACHED;
    }
    long fd = syscall(FILES_OPENAT2, root, path, &how, sizeof how);
    return fd == -1 ? -errno : (int)fd;
}

bool nest__is_local(int fd) {
    static const uint32_t local[] = {
        0xef53,     /* ext2, ext3, ext4 */
        0x58465342, /* XFS */
        0x9123683e, /* btrfs */
        0x2fc12fc1, /* ZFS */
        0xf2f52010, /* F2FS */
        0xca451a4e, /* bcachefs */
        0x01021994, /* tmpfs */
        0x858458f6, /* ramfs */
        0x794c7630, /* overlayfs */
    };
    struct statfs system;
    bool known = false;
    if (fstatfs(fd, &system) == 0) {
        for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
            known = known || (uint32_t)system.f_type == local[i];
        }
    }
    return known;
}

/* Whether the file is in a file system whose content is in memory (possibly swapped out). */
static bool files_in_memory(int fd) {
    const uint32_t tmpfs = 0x01021994, ramfs = 0x858458f6;
    struct statfs system;
    return fstatfs(fd, &system) == 0 &&
           ((uint32_t)system.f_type == tmpfs || (uint32_t)system.f_type == ramfs);
}

static ssize_t files_read_now(int fd, void *to, size_t n, uint64_t at) {
    struct iovec vector = {to, n};
#if defined(__GLIBC__)
    return preadv2(fd, &vector, 1, (off_t)at, FILES_NOWAIT);
#else /* musl has no wrapper; the upper half of the offset matters where long has 32 bits */
    return (syscall)(SYS_preadv2, fd, &vector, 1L, (long)at, (long)(at >> 32), FILES_NOWAIT);
#endif
}

int64_t nest__read_cached(int fd, void *to, size_t n, uint64_t at) {
    ssize_t got = files_read_now(fd, to, n, at);
    if (got >= 0) {
        return got;
    }
    if (errno != EOPNOTSUPP) {
        return errno == EINTR || errno == ENOSYS || errno == EINVAL ? -EAGAIN : -errno;
    }
    /* The remaining file systems without RWF_NOWAIT are those in memory, and those of networks and
     * user-space programs. A loop must not wait for the latter. */
    if (!files_in_memory(fd)) {
        return -EAGAIN;
    }
    got = pread(fd, to, n, (off_t)at);
    return got == -1 ? -errno : got;
}

bool nest__is_cached(int fd, uint64_t at, uint64_t n) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct files_range range = {at, n};
    struct files_cachestat have = {0};
    return n > 0 && (syscall)(FILES_CACHESTAT, fd, &range, &have, 0) == 0 &&
           have.cached >= (at + n - 1) / page - at / page + 1;
}

void nest__read_ahead(int fd, uint64_t at, uint64_t n) {
    (void)posix_fadvise(fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
}

int nest__open_nameless(int directory) {
    int fd = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd != -1) {
        return fd;
    }
    /* Errors of kernels and file systems that do not know the flag. */
    return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? -ENOSYS : -errno;
}

int nest__name_nameless(int fd, int directory, const char *name) {
    char path[64];
    if (linkat(fd, "", directory, name, AT_EMPTY_PATH) == 0) { /* needs Linux 6.10, or root */
        return 0;
    }
    if (errno != ENOENT) {
        return -errno;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) == 0) {
        return 0;
    }
    return errno == ENOENT ? -ENOSYS : -errno;
}

int nest__rename_new(int from, const char *old, int to, const char *name) {
    if ((syscall)(SYS_renameat2, from, old, to, name, FILES_NOREPLACE) == 0) {
        return 0;
    }
    return errno == EINVAL || errno == ENOSYS ? files_link_new(from, old, to, name) : -errno;
}

void nest__write_out(int fd) {
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* errors are reported by fsync */
}

#else

int nest__directory_flags(void) {
#if defined(O_SEARCH)
    return O_SEARCH | O_DIRECTORY | O_CLOEXEC;
#else
    return O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif
}

int nest__open_beneath(int root, const char *path, int flags, bool cached) {
    (void)root;
    (void)path;
    (void)flags;
    (void)cached;
    return -ENOSYS;
}

bool nest__is_local(int fd) {
    (void)fd;
    return false;
}

int64_t nest__read_cached(int fd, void *to, size_t n, uint64_t at) {
    (void)fd;
    (void)to;
    (void)n;
    (void)at;
    return -EAGAIN;
}

bool nest__is_cached(int fd, uint64_t at, uint64_t n) {
    (void)fd;
    (void)at;
    (void)n;
    return false;
}

void nest__read_ahead(int fd, uint64_t at, uint64_t n) {
    (void)fd;
    (void)at;
    (void)n;
}

int nest__open_nameless(int directory) {
    (void)directory;
    return -ENOSYS;
}

int nest__name_nameless(int fd, int directory, const char *name) {
    (void)fd;
    (void)directory;
    (void)name;
    return -ENOSYS;
}

int nest__rename_new(int from, const char *old, int to, const char *name) {
    return files_link_new(from, old, to, name);
}

void nest__write_out(int fd) {
    (void)fd;
}

#endif
