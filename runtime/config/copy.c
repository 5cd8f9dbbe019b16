/* copy.c: the text of the configuration file, for processes that can no longer open it.
 *
 * Called by config.c. A worker that has left root, or sits in a chroot, may not be able to read the
 * file when HUP comes. The supervisor reads it first; what it has read is in shared memory. State:
 * that memory, which only the supervisor writes to; whether this process has left. Must not know
 * what the text means. */
#include "../platform/platform.h"
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { COPY_MOST = 256 * 1024, COPY_TRIES = 1000 };

static struct copy {
    _Atomic uint32_t turn; /* odd: it is being written */
    int32_t error;         /* errno of the last attempt to read the file; 0: it is this text */
    uint32_t n;
    char text[COPY_MOST];
} * copy, *copy_own; /* shared; a private one, which is parsed. NULL: the file itself is read */
static bool copy_left;

static void copy_read(const char *path) {
    FILE *file = fopen(path, "re");
    copy_own->n = 0;
    copy_own->error = errno;
    if (file != NULL) {
        copy_own->n = (uint32_t)fread(copy_own->text, 1, COPY_MOST - 1, file);
        copy_own->error = ferror(file) ? errno : getc(file) != EOF ? EFBIG : 0;
        fclose(file);
    }
    copy_own->text[copy_own->n++] = '\n'; /* streams in memory cannot be empty everywhere */
}

static void copy_publish(void) {
    atomic_fetch_add(&copy->turn, 1);
    atomic_thread_fence(memory_order_seq_cst);
    copy->error = copy_own->error;
    copy->n = copy_own->n;
    memcpy(copy->text, copy_own->text, copy_own->n);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_fetch_add(&copy->turn, 1);
}

/* The supervisor may be writing, and may even have died meanwhile. */
static void copy_fetch(void) {
    for (int tries = 0; tries < COPY_TRIES; tries++) {
        uint32_t turn = atomic_load(&copy->turn);
        copy_own->error = copy->error;
        copy_own->n = copy->n <= COPY_MOST ? copy->n : 0;
        memcpy(copy_own->text, copy->text, copy_own->n);
        atomic_thread_fence(memory_order_seq_cst);
        if (turn % 2 == 0 && atomic_load(&copy->turn) == turn) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    copy_own->error = EAGAIN;
}

int nest__copy_begin(const char *path) {
    copy = mmap(NULL, sizeof *copy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    copy_own = malloc(sizeof *copy_own);
    if (copy == MAP_FAILED || copy_own == NULL) {
        return -ENOMEM;
    }
    copy_read(path);
    copy_publish();
    return 0;
}

void nest__config_leave(void) {
    copy_left = true;
    (void)mprotect(copy, sizeof *copy, PROT_READ);
}

FILE *nest__copy_open(const char *path) {
    if (copy == NULL) {
        return fopen(path, "re");
    }
    if (copy_left) {
        copy_fetch();
    } else {
        copy_read(path);
        copy_publish();
    }
    errno = copy_own->error;
    return copy_own->error != 0 ? NULL : fmemopen(copy_own->text, copy_own->n, "r");
}
