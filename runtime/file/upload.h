/* upload.h: what upload.c and commit.c share: a file on its way to its place. */
#ifndef NEST_UPLOAD_H
#define NEST_UPLOAD_H

#include "file.h"

#include <sys/types.h>
#include <time.h>

struct nest__upload {
    struct nest__upload *next; /* commit.c's list */
    int directory;             /* of its place; names only */
    int fd;                    /* -1: closed */
    bool offered, settled;     /* commit.c's: in its list; result is known */
    bool finished;             /* commit.c's: the group is; under its lock */
    bool guarded, replaces;    /* takes the place only of what was there: a file, or nothing */
    off_t old_size;            /* of that file */
    ino_t old_inode;
    struct timespec old_mtime;
    int result;
    dev_t device; /* of the directory: who has the same needs one fsync */
    ino_t inode;
    int holder; /* the folder that it has this name in: its own, or home.c's */
    char beside[NEST__RESERVED_NAME]; /* its name until it is in its place; "": none */
    char name[];                      /* of its place */
};

/* So that it has a name, in its directory and on disk with it. 0 or -errno. */
int nest__upload_name(struct nest__upload *);
/* From beside its place into it; it has a name. 0 or -errno; -ESTALE if it is guarded, and its
 * place has changed. */
int nest__upload_place(struct nest__upload *);

#endif
