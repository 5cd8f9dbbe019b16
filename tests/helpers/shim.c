/* shim.c: a system that lacks things, and a disk that fails: preloaded, by the words in SHIM.
 *
 * openat2: the call is not known. tmpfile: no files without names. fsync, directory: syncing a
 * file, or a directory, fails. slow: syncing takes a while. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static bool shim_has(const char *word) {
    const char *words = getenv("SHIM");
    return words != NULL && strstr(words, word) != NULL;
}

long syscall(long number, ...) {
    static long (*real)(long, ...);
    va_list list;
    long arguments[6];
    if (number == 437 && shim_has("openat2")) {
        errno = ENOSYS;
        return -1;
    }
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    }
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        arguments[i] = va_arg(list, long);
    }
    va_end(list);
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

int openat(int directory, const char *path, int flags, ...) {
    static int (*real)(int, const char *, int, ...);
    va_list list;
    if ((flags & O_TMPFILE) == O_TMPFILE && shim_has("tmpfile")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (real == NULL) {
        real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    }
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return real(directory, path, flags, mode);
}

int fsync(int fd) {
    static int (*real)(int);
    struct stat about;
    if (shim_has("slow")) {
        usleep(100000);
    }
    bool directory = fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
    if (shim_has(directory ? "directory" : "fsync")) {
        errno = EIO;
        return -1;
    }
    if (real == NULL) {
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    }
    return real(fd);
}
