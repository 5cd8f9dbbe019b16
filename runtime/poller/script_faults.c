/* script_faults.c: allocations, stacks and operations on files that fail when a script says so.
 *
 * Stands before files and the engine in server.c: what the runtime asks of the system from there on
 * goes through here. The user's own calls do not, and those of the script itself are written so
 * that they do not: (malloc)(n). State: what is to fail next. */
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static uint32_t faults_left[5]; /* by enum nest__fault: this many calls from now; 0: none fails */
static int faults_error;
static bool faults_cold;
long nest__faults_held;
uint32_t nest__faults_struck, nest__faults_of_files;

void script_fail(const struct nest__command *command) {
    faults_left[command->fault] = command->number;
    if (command->fault == NEST__FAULT_FILE) {
        faults_error = command->error;
    }
}

static bool faults_now(enum nest__fault fault) {
    bool now = faults_left[fault] > 0 && --faults_left[fault] == 0;
    nest__faults_struck += now;
    return now;
}

static bool faults_memory(void) {
    bool scarce = faults_left[NEST__FAULT_SCARCE] > 0;
    faults_left[NEST__FAULT_SCARCE] -= scarce;
    nest__faults_struck += scarce;
    return faults_now(NEST__FAULT_MEMORY) || scarce;
}

bool script_watch_fails(void) {
    return faults_now(NEST__FAULT_WATCH);
}

static void *faults_malloc(size_t n) {
    void *p = NULL;
    if (faults_memory()) {
        errno = ENOMEM;
    } else {
        p = (malloc)(n);
    }
    nest__faults_held += p != NULL;
    return p;
}

static void *faults_realloc(void *old, size_t n) {
    void *p = NULL;
    if (faults_memory()) {
        errno = ENOMEM;
    } else {
        p = (realloc)(old, n);
    }
    nest__faults_held += p != NULL && old == NULL;
    return p;
}

/* Inline: not all that may be built with this asks for the next two. */
static inline void *faults_calloc(size_t n, size_t size) {
    void *p = faults_malloc(n * size);
    return p == NULL ? NULL : memset(p, 0, n * size);
}

static inline char *faults_strdup(const char *text) {
    size_t n = strlen(text) + 1;
    char *p = faults_malloc(n);
    return p == NULL ? NULL : memcpy(p, text, n);
}

static void faults_free(void *p) {
    nest__faults_held -= p != NULL;
    (free)(p);
}

/* A guard page: what a new stack begins with. */
static int faults_mprotect(void *p, size_t n, int how) {
    if (faults_now(NEST__FAULT_STACK)) {
        errno = ENOMEM;
        return -1;
    }
    return (mprotect)(p, n, how);
}

static int faults_madvise(void *p, size_t n, int how) {
    if (faults_left[NEST__FAULT_STACK] > 0) {
        errno = EINVAL; /* the guard is mprotect's then */
        return -1;
    }
    return (madvise)(p, n, how);
}

void script_disk(bool cold) {
    faults_cold = cold;
}

bool script_disk_is_cold(void) {
    return faults_cold;
}

/* Whether this operation on a file fails; errno says how. Inline: a server without files asks no
 * such thing. */
static inline bool faults_file(void) {
    bool now = faults_now(NEST__FAULT_FILE);
    nest__faults_of_files += now;
    errno = now ? faults_error : errno;
    return now;
}

/* What is asked of memory alone, and is not there. */
static inline bool faults_not_there(bool cached) {
    errno = cached && faults_cold ? EAGAIN : errno;
    return cached && faults_cold;
}

#define malloc(n) faults_malloc(n)
#define calloc(n, size) faults_calloc(n, size)
#define strdup(text) faults_strdup(text)
#define realloc(p, n) faults_realloc(p, n)
#define free(p) faults_free(p)
#define mprotect(p, n, how) faults_mprotect(p, n, how)
#define madvise(p, n, how) faults_madvise(p, n, how)
#define write(...) (faults_file() ? -1 : (write)(__VA_ARGS__))
#define pread(...) (faults_file() ? -1 : (pread)(__VA_ARGS__))
#define preadv2(...) (faults_not_there(true) ? -1 : (preadv2)(__VA_ARGS__))
#define fsync(fd) (faults_file() ? -1 : (fsync)(fd))
#define openat(...) (faults_file() ? -1 : (openat)(__VA_ARGS__))
#define linkat(...) (faults_file() ? -1 : (linkat)(__VA_ARGS__))
#define renameat(...) (faults_file() ? -1 : (renameat)(__VA_ARGS__))
/* openat2, which is asked for as no libc has it; 0x20: RESOLVE_CACHED */
#define syscall(number, root, path, how, size)                                                     \
    (faults_file() || faults_not_there(((how)->resolve & 0x20) != 0)                               \
         ? -1L                                                                                     \
         : (syscall)(number, root, path, how, size))
