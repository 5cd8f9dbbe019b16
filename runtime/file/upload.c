/* upload.c: a file that is being received. commit.c and place.c put it in its place.
 *
 * Called by the engine where it may block. State, per process: a counter, and what the system
 * supports. Must not know sessions.
 *
 * It has no name until it is whole, where the system has files without a name: an upload that stops
 * in the middle, killed or not, leaves nothing. Between the two steps of replacing a file it has a
 * name in home.c's folder. Where that is not possible (another file system, or no right to make
 * it), and where files need a name from the beginning, it has a name beside its place that no
 * client can guess or use; a server that is killed may leave such a file. The mode is the replaced
 * file's, so that what was private stays so, else 0666 less the umask; a link is replaced, not
 * followed. */
#include "upload.h"
#include "../platform/files.h"
#include "../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new file that has a name from the beginning. A descriptor or -errno. */
static int upload_open_named(struct nest__upload *u) {
    int error = nest__reserve_name(u->beside);
    int fd = error != 0 ? -1
                        : openat(u->directory, u->beside,
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd == -1) {
        error = error != 0 ? error : -errno;
        u->beside[0] = '\0';
        return error;
    }
    u->holder = u->directory;
    return fd;
}

/* Gives the file a name in the folder of home.c. */
static int upload_name_at_home(struct nest__upload *u) {
    static _Atomic unsigned long long number;
    int directory = nest__home();
    if (directory < 0) {
        return directory;
    }
    snprintf(u->beside, sizeof u->beside, "%ld-%llu", (long)getpid(),
             (unsigned long long)atomic_fetch_add(&number, 1) + 1);
    int result = nest__name_nameless(u->fd, directory, u->beside);
    if (result == -ENOSYS && (directory = nest__home_again()) >= 0) {
        result = nest__name_nameless(u->fd, directory, u->beside);
    }
    u->holder = directory;
    return result;
}

static int upload_name_beside(struct nest__upload *u) {
    int result = nest__reserve_name(u->beside);
    u->holder = u->directory;
    return result != 0 ? result : nest__name_nameless(u->fd, u->directory, u->beside);
}

/* Whether a file without a name can later get one, which needs /proc on most systems. `fd`: any
 * open descriptor. */
static bool upload_nameless(int fd) {
    enum { UNKNOWN, YES, NO };
    static _Atomic int known = UNKNOWN;
    if (atomic_load(&known) == UNKNOWN) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        atomic_store(&known, access(path, F_OK) == 0 ? YES : NO);
    }
    return atomic_load(&known) == YES;
}

/* Opens the new file with its final mode. */
static int upload_open(struct nest__upload *u) {
    struct stat old;
    bool replaces = fstatat(u->directory, u->name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!replaces && errno != ENOENT) {
        return -errno;
    }
    if (replaces && S_ISDIR(old.st_mode)) {
        return -EISDIR;
    }
    if (replaces && !S_ISREG(old.st_mode) && !S_ISLNK(old.st_mode)) {
        return -ENXIO;
    }
    u->replaces = replaces;
    if (replaces) {
        u->old_size = old.st_size;
        u->old_inode = old.st_ino;
        u->old_mtime = old.st_mtim;
    }
    u->fd = upload_nameless(u->directory) ? nest__open_nameless(u->directory) : -ENOSYS;
    if (u->fd == -ENOSYS) {
        u->fd = upload_open_named(u);
    }
    if (u->fd < 0) {
        int error = u->fd;
        u->fd = -1;
        return error;
    }
    if (replaces && S_ISREG(old.st_mode) && fchmod(u->fd, old.st_mode & 0777) == -1) {
        return -errno;
    }
    return 0;
}

int nest__upload_begin(const char *path, struct nest__upload **upload) {
    const char *name;
    int directory = nest__file_folder(path, &name);
    if (directory < 0) {
        return directory;
    }
    size_t n = strlen(name) + 1;
    struct nest__upload *u = malloc(sizeof *u + n);
    if (u == NULL) {
        close(directory);
        return -ENOMEM;
    }
    memset(u, 0, sizeof *u);
    memcpy(u->name, name, n);
    u->fd = -1;
    u->directory = directory;
    int error = upload_open(u);
    if (error != 0) {
        nest__upload_abandon(u);
        return error;
    }
    *upload = u;
    return 0;
}

int nest__upload_write(struct nest__upload *u, const void *bytes, size_t n) {
    const char *p = bytes;
    while (n > 0) {
        ssize_t written = write(u->fd, p, n);
        if (written == -1 && errno != EINTR) {
            return -errno;
        }
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        }
    }
    return 0;
}

int nest__upload_name(struct nest__upload *u) {
    if (u->beside[0] != '\0') {
        return 0;
    }
    int result = upload_name_at_home(u);
    if (result == -EXDEV || result == -EACCES || result == -EPERM || result == -EROFS) {
        result = upload_name_beside(u);
    }
    if (result != 0) {
        u->beside[0] = '\0';
    }
    return result;
}

void nest__upload_guard(struct nest__upload *u) {
    u->guarded = true;
}

void nest__upload_abandon(struct nest__upload *u) {
    if (u->beside[0] != '\0') {
        unlinkat(u->holder, u->beside, 0);
    }
    if (u->fd != -1) {
        close(u->fd);
    }
    close(u->directory);
    free(u);
}
