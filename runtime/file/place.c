/* place.c: puts complete files in their places, and deletes files.
 *
 * Called by commit.c, and by service/files where it may block. No state. Must not know sessions.
 *
 * A file is replaced or deleted while the lock of its directory is held (flock). So what a guarded
 * upload or a guarded deletion has compared is what it replaces or deletes, in whichever process
 * another one runs. Where the directory cannot be locked, because the server may not read it or its
 * file system has no locks, a guarded operation fails, and others do without.
 *
 * Clients tell versions of a file apart by its time of change and its size. The system sets the
 * time from a clock that stands still for some ms, so that two versions can have the same one.
 * Therefore each upload gets a time from an exact clock, and a later one than the file it replaces.
 */
#include "upload.h"
#include "../platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PLACE_SECOND = 1000000000, PLACE_AHEAD = 24 * 60 * 60, PLACE_UNLOCKED = INT_MAX };

/* Returns a descriptor, which the caller closes to unlock it, or -errno. */
static int place_lock(int directory) {
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        return -errno;
    }
    while (flock(fd, LOCK_EX) == -1) {
        int error = errno;
        if (error != EINTR) {
            close(fd);
            return -error;
        }
    }
    return fd;
}

/* The same, for an operation that does without a lock where there can be none. */
static int place_try_lock(int directory, bool guarded) {
    int lock = place_lock(directory);
    bool never = lock == -EACCES || lock == -EPERM || lock == -EBADF || lock == -EINVAL ||
                 lock == -ENOLCK || lock == -ENOSYS || lock == -EOPNOTSUPP;
    return never && !guarded ? PLACE_UNLOCKED : lock;
}

static void place_unlock(int lock) {
    if (lock >= 0 && lock != PLACE_UNLOCKED) {
        close(lock);
    }
}

static bool place_later(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static bool place_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* File systems that do not let the owner set the time keep their own. */
void nest__upload_stamp(struct nest__upload *u) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    clock_gettime(CLOCK_REALTIME, &times[1]);
    (void)futimens(u->fd, times);
}

/* Makes the file's time later than that of the file it will replace, which may have been stamped
 * meanwhile, or before the clock was set back. A time that is more than a day ahead is not from a
 * clock, and is not continued. File systems round down; the steps are their resolutions. */
static void place_after(const struct nest__upload *u, struct timespec old) {
    static const struct timespec steps[] = {{0, 1},        {0, 100}, {0, 1000}, {0, 1000000},
                                            {0, 10000000}, {1, 0},   {2, 0}};
    struct stat mine;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (fstatat(u->holder, u->beside, &mine, AT_SYMLINK_NOFOLLOW) == -1 ||
            place_later(mine.st_mtim, old) || old.tv_sec - mine.st_mtim.tv_sec > PLACE_AHEAD) {
            return;
        }
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, old};
        times[1].tv_sec += steps[i].tv_sec;
        times[1].tv_nsec += steps[i].tv_nsec;
        if (times[1].tv_nsec >= PLACE_SECOND) {
            times[1].tv_nsec -= PLACE_SECOND;
            times[1].tv_sec++;
        }
        (void)utimensat(u->holder, u->beside, times, AT_SYMLINK_NOFOLLOW);
    }
}

static bool place_unchanged(const struct nest__upload *u, const struct stat *now) {
    return now->st_ino == u->old_inode && now->st_size == u->old_size &&
           place_same_time(now->st_mtim, u->old_mtime);
}

static int place_replace(const struct nest__upload *u) {
    struct stat now;
    int result = 0, lock = place_try_lock(u->directory, u->guarded);
    if (lock < 0) {
        return lock;
    }
    bool there = fstatat(u->directory, u->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (u->guarded && (there ? !place_unchanged(u, &now) : errno == ENOENT)) {
        result = -ESTALE;
    } else if (!there && errno != ENOENT) {
        result = -errno;
    } else {
        if (there) {
            place_after(u, now.st_mtim);
        }
        result = renameat(u->holder, u->beside, u->directory, u->name) == -1 ? -errno : 0;
    }
    place_unlock(lock);
    return result;
}

/* A file that must not replace any needs no lock. */
static int place_new(const struct nest__upload *u) {
    int result = nest__rename_new(u->holder, u->beside, u->directory, u->name);
    return result == -EEXIST ? -ESTALE : result;
}

int nest__upload_place(struct nest__upload *u) {
    int fd = u->fd;
    u->fd = -1;
    if (fd != -1 && close(fd) == -1 &&
        errno != EINTR) { /* network file systems report errors here */
        return -errno;
    }
    int result = u->guarded && !u->replaces ? place_new(u) : place_replace(u);
    if (result == 0) {
        u->beside[0] = '\0';
    }
    return result;
}

/* -- delete */

/* Whether the name still leads to this file. */
static bool place_is(int directory, const char *name, const nest_file *same) {
    struct stat now;
    return fstatat(directory, name, &now, 0) == 0 && now.st_ino == same->inode &&
           (uint64_t)now.st_size == same->size && place_same_time(now.st_mtim, same->mtime);
}

static int place_delete(int directory, const char *name, const nest_file *same) {
    struct stat about;
    if (fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW) == -1) {
        return -errno;
    }
    if (S_ISDIR(about.st_mode)) {
        return -EISDIR;
    }
    if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode)) {
        return -ENXIO;
    }
    if (same != NULL && !place_is(directory, name, same)) {
        return -ESTALE;
    }
    return unlinkat(directory, name, 0) == -1 ? -errno : 0;
}

int nest__file_delete(const char *path, const nest_file *same) {
    const char *name;
    int directory = nest__file_folder(path, &name);
    if (directory < 0) {
        return directory;
    }
    int lock = place_try_lock(directory, same != NULL);
    int result = lock < 0 ? lock : place_delete(directory, name, same);
    place_unlock(lock);
    close(directory);
    return result;
}
