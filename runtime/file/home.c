/* home.c: the folder in which an upload has a temporary name before it replaces a file.
 *
 * Called by upload.c, and by main and the supervisor at the start, at the end, and when a process
 * has died. State: the folder's name, one per server; its descriptor, one per process. Must not
 * know what an upload is.
 *
 * The folder is ".nest-upload-ID" in fileRoot, where ID differs for each run of a server. A process
 * creates it when it first needs it. Paths of clients cannot contain such a name (root.c), and
 * lists omit it. Each process that uses the folder holds a shared lock on it (flock). At its start
 * a server removes the folders that nobody has locked, because their servers were killed; and at
 * its end, because workers of a killed server may have lived on at the start. The files are called
 * PID-NUMBER, so that the supervisor can remove those of a process that died. Another program may
 * remove the folder, such as one that makes fileRoot the copy of another folder. */
#include "file.h"
#include "../platform/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { HOME_TRIES = 8 /* if another server removes the folder before it is locked */ };

static struct {
    pthread_mutex_t lock; /* protects fd */
    int root;             /* fileRoot */
    int fd;               /* -1: not open in this process */
    char name[NEST__RESERVED_NAME];
} home = {.lock = PTHREAD_MUTEX_INITIALIZER, .root = -1, .fd = -1};

/* Opens a folder to read its names. */
static int home_open(int directory, const char *name) {
    int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd == -1 ? -errno : fd;
}

/* Removes the files of a folder whose names have this prefix. Closes `fd`. */
static void home_empty(int fd, const char *prefix) {
    DIR *directory = fdopendir(fd);
    const struct dirent *found;
    if (directory == NULL) {
        close(fd);
        return;
    }
    while ((found = readdir(directory)) != NULL) {
        if (strncmp(found->d_name, prefix, strlen(prefix)) == 0) {
            (void)unlinkat(fd, found->d_name, 0);
        }
    }
    closedir(directory);
}

/* Removes such a folder, unless a process has locked it. */
static void home_remove(const char *name) {
    int fd = home_open(home.root, name);
    if (fd < 0) {
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        int names = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* closing one descriptor keeps the lock */
        if (names != -1) {
            home_empty(names, "");
        }
        (void)unlinkat(home.root, name, AT_REMOVEDIR);
    }
    close(fd);
}

/* Removes the folders of servers that were killed. */
static void home_sweep(void) {
    int fd = home_open(home.root, ".");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;
    if (directory == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while ((found = readdir(directory)) != NULL) {
        if (nest__is_reserved(found->d_name)) {
            home_remove(found->d_name); /* a file with such a name is not a folder; it stays */
        }
    }
    closedir(directory);
}

void nest__home_begin(int root) {
    home.root = root;
    if (nest__reserve_name(home.name) != 0) {
        home.name[0] = '\0';
    }
    home_sweep();
}

void nest__home_end(void) {
    if (home.fd != -1) {
        close(home.fd);
        home.fd = -1;
    }
    home_sweep(); /* this server's folder is among them */
}

void nest__file_root_lost(long process) {
    char prefix[32];
    int fd = home.name[0] == '\0' ? -ENOENT : home_open(home.root, home.name);
    if (fd >= 0) {
        snprintf(prefix, sizeof prefix, "%ld-", process);
        home_empty(fd, prefix);
    }
}

/* Opens and locks the folder; creates it if necessary. Returns a descriptor or -errno. */
static int home_enter(void) {
    for (int i = 0; i < HOME_TRIES; i++) {
        struct stat about;
        if (mkdirat(home.root, home.name, 0700) == -1 && errno != EEXIST) {
            return -errno;
        }
        int fd = home_open(home.root, home.name);
        if (fd < 0 && fd != -ENOENT) {
            return fd;
        }
        if (fd >= 0) {
            if (flock(fd, LOCK_SH) == 0 && fstat(fd, &about) == 0 && about.st_nlink > 0) {
                return fd;
            }
            close(fd); /* it was removed before it was locked */
        }
    }
    return -EAGAIN;
}

int nest__home(void) {
    int fd = -ENOENT;
    pthread_mutex_lock(&home.lock);
    if (home.fd == -1 && home.name[0] != '\0' && (fd = home_enter()) >= 0) {
        home.fd = fd;
    }
    fd = home.fd != -1 ? home.fd : fd;
    pthread_mutex_unlock(&home.lock);
    return fd;
}

/* Uploads may have the descriptor, so the new folder gets the same one. */
int nest__home_again(void) {
    struct stat about;
    int result = 0;
    pthread_mutex_lock(&home.lock);
    if (home.fd != -1 && fstat(home.fd, &about) == 0 && about.st_nlink == 0) {
        int fd = home_enter();
        if (fd < 0 || dup3(fd, home.fd, O_CLOEXEC) == -1) {
            result = fd < 0 ? fd : -errno;
        }
        if (fd >= 0) {
            close(fd); /* the other descriptor keeps the lock */
        }
    }
    pthread_mutex_unlock(&home.lock);
    return result == 0 ? nest__home() : result;
}
