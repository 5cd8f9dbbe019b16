/* The programs of filters: files in a folder. inside.c stands for this where they are functions. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CC_LIBEXEC
#define CC_LIBEXEC "/usr/local/libexec/cc"
#endif

char *program_path(const char *name) {
    const char *place = secure_getenv("CC_LIBEXEC");
    char *path = NULL;
    if (strchr(name, '/') != NULL)
        return strdup(name);
    return asprintf(&path, "%s/%s", place != NULL ? place : CC_LIBEXEC, name) == -1 ? NULL : path;
}

const char *program_check(const char *path) {
    return access(path, X_OK) == -1 ? strerror(errno) : NULL;
}

void program_run(const char *path, char *const argv[], pid_t chain) {
    (void)chain;
    execv(path, argv);
}
