/* root.c: fileRoot, and the lookup of paths that must not lead outside of it.
 *
 * Called by the other files of file/, and by service/files at the start. State, per process and set
 * once: the descriptor of fileRoot, and what the kernel supports. Must not know sessions.
 *
 * Linux 5.6 and later resolve a whole path below a directory, and follow links and ".." as long as
 * they stay inside. Elsewhere, or if a sandbox forbids that call, this file walks the path
 * component by component and refuses ".." and links. */
#include "file.h"
#include "../platform/files.h"
#include "../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ROOT_RESERVED ".nest-upload-"
enum { ROOT_TRIES = 64 /* while names change under a path with ".." */ };

static int root_fd = -1;
static bool root_beneath, root_cached;

/* -- reserved names ---------------------------------------------------------------------------- */

int nest__reserve_name(char name[NEST__RESERVED_NAME]) {
    uint64_t random[2];
    int error = nest__random(random, sizeof random);
    if (error == 0) {
        snprintf(name, NEST__RESERVED_NAME, ROOT_RESERVED "%016llx%016llx",
                 (unsigned long long)random[0], (unsigned long long)random[1]);
    }
    return error;
}

/* Ignores case, because some file systems do. */
bool nest__is_reserved(const char *name) {
    return strncasecmp(name, ROOT_RESERVED, sizeof ROOT_RESERVED - 1) == 0;
}

static bool root_is_reserved(const char *path) {
    while (*path != '\0') {
        path += strspn(path, "/");
        if (*path == '.' && nest__is_reserved(path)) {
            return true;
        }
        path += strcspn(path, "/");
    }
    return false;
}

/* -- fileRoot ---------------------------------------------------------------------------------- */

const char *nest_file_root(void) {
    const char *path = nest__config.file_root;
    return path == NULL || path[0] == '\0' ? "." : path;
}

/* Whether a directory lies beneath the one that becomes the root directory of workers. Its
 * descriptor would be a way out of there. */
static bool root_is_confined(const char *name) {
    const char *chroot = nest__config.chroot;
    if (chroot == NULL || chroot[0] == '\0') {
        return true;
    }
    char *inner = realpath(name, NULL), *outer = realpath(chroot, NULL);
    size_t n = outer == NULL ? 0 : strcmp(outer, "/") == 0 ? 0 : strlen(outer);
    bool confined = inner != NULL && outer != NULL && strncmp(inner, outer, n) == 0 &&
                    (inner[n] == '/' || inner[n] == '\0');
    free(inner);
    free(outer);
    return confined;
}

int nest__file_root_open(void) {
    const char *name = nest_file_root();
    root_fd = open(name, nest__directory_flags());
    if (root_fd == -1) {
        int error = errno;
        nest__say("cannot start: fileRoot %s: %s", name, strerror(error));
        return -error;
    }
    if (!root_is_confined(name)) {
        nest__say("cannot start: fileRoot %s is not beneath chroot %s", name, nest__config.chroot);
        return -EXDEV;
    }
    nest__home_begin(root_fd);
    int probe = nest__open_beneath(root_fd, ".", nest__directory_flags(), false);
    root_beneath = probe >= 0;
    if (!root_beneath) {
        nest__say("openat2 is not available (%s): links below fileRoot are not followed",
                  strerror(-probe));
        return 0;
    }
    close(probe);
    probe = nest__open_beneath(root_fd, ".", nest__directory_flags(), true);
    root_cached = probe != -EINVAL;
    if (probe >= 0) {
        close(probe);
    }
    return 0;
}

void nest__file_root_close(void) {
    nest__home_end();
    close(root_fd);
    root_fd = -1;
}

/* Name by name. `path` is relative. */
static int root_walk(const char *path, int flags) {
    int at = root_fd;
    for (;;) {
        char name[1024]; /* some file systems allow 255 characters of up to 4 bytes */
        size_t n = strcspn(path, "/");
        const char *rest = path + n + strspn(path + n, "/");
        bool last = path[n] == '\0';
        if (n >= sizeof name) {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        if (strcmp(name, "..") == 0) {
            errno = EXDEV;
            break;
        }
        int how = last ? flags : nest__directory_flags();
        if (!last && *rest == '\0') { /* "name/" */
            how = flags | O_DIRECTORY;
            last = true;
        }
        int fd = openat(at, name, how | O_NOFOLLOW | O_CLOEXEC);
        if (fd == -1) {
            break;
        }
        if (at != root_fd) {
            close(at);
        }
        if (last) {
            return fd;
        }
        at = fd;
        path = rest;
    }
    int error = errno;
    if (at != root_fd) {
        close(at);
    }
    return -error;
}

/* A nonempty `path`, relative to fileRoot. */
static const char *root_relative(const char *path) {
    path += strspn(path, "/");
    return path[0] == '\0' ? "." : path;
}

int nest__file_look(const char *path, struct stat *about) {
    return fstatat(root_fd, root_relative(path), about, 0) == -1 ? -errno : 0;
}

static int root_open(int directory, const char *path, int flags, bool cached) {
    path = root_relative(path);
    if (cached) {
        return root_cached ? nest__open_beneath(directory, path, flags | O_CLOEXEC, true) : -EAGAIN;
    }
    int fd = -EAGAIN;
    for (int i = 0; i < ROOT_TRIES && fd == -EAGAIN; i++) {
        fd = nest__open_beneath(directory, path, flags | O_CLOEXEC, false);
    }
    return fd;
}

/* "FOLDER//rest", where `n` is the length of the folder: the rest is opened below the folder. */
static int root_open_below(const char *path, size_t n, int flags, bool cached) {
    char name[NEST__FOLDER_NAME];
    if (n >= sizeof name) {
        return -ENAMETOOLONG;
    }
    memcpy(name, path, n);
    name[n] = '\0';
    int folder = root_open(root_fd, name, nest__directory_flags(), cached);
    int fd = folder < 0 ? folder : root_open(folder, path + n, flags, cached);
    if (folder >= 0) {
        close(folder);
    }
    return fd;
}

int nest__file_find(const char *path, int flags, bool cached) {
    if (path[0] == '\0' || root_is_reserved(path)) {
        return -ENOENT;
    }
    path = root_relative(path);
    if (!root_beneath) { /* no link and no ".." is followed, so a folder cannot be left either */
        return cached ? -EAGAIN : root_walk(path, flags);
    }
    const char *fence = strstr(path, "//");
    return fence == NULL ? root_open(root_fd, path, flags, cached)
                         : root_open_below(path, (size_t)(fence - path), flags, cached);
}

int nest__file_folder(const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash == NULL ? path : slash + 1;
    if (path[0] == '\0') {
        return -ENOENT;
    }
    if ((*name)[0] == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
        return -EISDIR;
    }
    if (nest__is_reserved(*name)) {
        return -EACCES;
    }
    if (slash == NULL) {
        return nest__file_find(".", nest__directory_flags(), false);
    }
    size_t n = (size_t)(*name - path);
    char *directory = malloc(n + 1);
    if (directory == NULL) {
        return -ENOMEM;
    }
    memcpy(directory, path, n);
    directory[n] = '\0';
    int fd = nest__file_find(directory, nest__directory_flags(), false);
    free(directory);
    return fd;
}
