/* upload.h: shared by upload.c, commit.c and place.c: an upload and the steps of its commit. */
#ifndef NEST_UPLOAD_H
#define NEST_UPLOAD_H

#include "file.h"

#include <sys/types.h>
#include <time.h>

struct nest__upload {
    struct nest__upload *next; /* list of commit.c */
    int directory;             /* contains `name`; opened only for lookups */
    int fd;                    /* -1: closed */
    bool offered, settled;     /* for commit.c: in its list; `result` is final */
    bool finished;             /* for commit.c, under its lock: the group is done */
    bool guarded, replaces;    /* NEST_UNCHANGED; there was an old file */
    off_t old_size;            /* of the old file */
    ino_t old_inode;
    struct timespec old_mtime;
    int result;
    dev_t device; /* of the directory: uploads with the same one need one fsync */
    ino_t inode;
    int holder; /* the folder that it has this name in: its own, or home.c's */
    char beside[NEST__RESERVED_NAME]; /* its name until it is in its place; "": none */
    char name[];                      /* of its place */
};

/* Gives the file a temporary name, so that it can be renamed. Returns 0 or -errno. */
int nest__upload_name(struct nest__upload *);
/* Gives the complete file its time of change. Call it before the file is synced or named. */
void nest__upload_stamp(struct nest__upload *);
/* Renames the file from its temporary to its final name. Returns 0 or -errno; -ESTALE if the upload
 * is guarded and the old file has changed. */
int nest__upload_place(struct nest__upload *);

#endif
