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
#include <sys/mman.h>

enum { COPY_WORDS = 32 * 1024, COPY_MOST = COPY_WORDS * 8, COPY_TRIES = 1000 };

static struct copy_shared { /* NULL: the file itself is read */
    _Atomic uint32_t turn;  /* odd: it is being written */
    _Atomic int error;      /* errno of the last attempt to read the file; 0: it is this text */
    _Atomic uint32_t n;     /* bytes */
    _Atomic uint64_t words[COPY_WORDS];
} * copy;
static struct copy_own { /* what is parsed */
    int error;
    uint32_t n;
    uint64_t words[COPY_WORDS];
} * copy_own;
static bool copy_left;

static void copy_read(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = (char *)copy_own->words;
    copy_own->n = 0;
    copy_own->error = errno;
    if (file != NULL) {
        copy_own->n = (uint32_t)fread(text, 1, COPY_MOST - 1, file);
        copy_own->error = ferror(file) ? errno : getc(file) != EOF ? EFBIG : 0;
        fclose(file);
    }
    text[copy_own->n++] = '\n'; /* streams in memory cannot be empty everywhere */
}

static uint32_t copy_words(uint32_t n) {
    return (n + 7) / 8;
}

/* Each store is a release, so none is seen before `turn` is odd; each load in copy_fetch is an
 * acquire, so `turn` is looked at last. */
static void copy_publish(void) {
    atomic_fetch_add(&copy->turn, 1);
    atomic_store(&copy->error, copy_own->error);
    atomic_store(&copy->n, copy_own->n);
    for (uint32_t i = 0; i < copy_words(copy_own->n); i++) {
        atomic_store_explicit(&copy->words[i], copy_own->words[i], memory_order_release);
    }
    atomic_fetch_add(&copy->turn, 1);
}

/* The supervisor may be writing, and may even have died meanwhile. */
static void copy_fetch(void) {
    for (int tries = 0; tries < COPY_TRIES; tries++) {
        uint32_t turn = atomic_load(&copy->turn), n = atomic_load(&copy->n);
        copy_own->error = atomic_load(&copy->error);
        copy_own->n = n <= COPY_MOST ? n : 0;
        for (uint32_t i = 0; i < copy_words(copy_own->n); i++) {
            copy_own->words[i] = atomic_load_explicit(&copy->words[i], memory_order_acquire);
        }
        if (turn % 2 == 0 && atomic_load(&copy->turn) == turn) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    copy_own->error = EAGAIN;
}

int nest__copy_begin(const char *path) {
    copy = mmap(NULL, sizeof *copy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    copy_own = calloc(1, sizeof *copy_own);
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
    return copy_own->error != 0 ? NULL : fmemopen(copy_own->words, copy_own->n, "r");
}
