/* script_faults.c: allocations, stacks and operations on files that fail when a script says so.
 *
 * Stands before the engine in server.c: what the runtime asks of the system from there on goes
 * through here. The user's own calls do not, and those of the script itself are written so that
 * they do not: (malloc)(n). State: what is to fail next. */
#include "script.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint32_t faults_left[3]; /* by enum nest__fault: this many calls from now; 0: none fails */
static int faults_error;
long nest__faults_held;
uint32_t nest__faults_struck;

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

static void *faults_malloc(size_t n) {
    void *p = NULL;
    if (faults_now(NEST__FAULT_MEMORY)) {
        errno = ENOMEM;
    } else {
        p = (malloc)(n);
    }
    nest__faults_held += p != NULL;
    return p;
}

static void *faults_realloc(void *old, size_t n) {
    void *p = NULL;
    if (faults_now(NEST__FAULT_MEMORY)) {
        errno = ENOMEM;
    } else {
        p = (realloc)(old, n);
    }
    nest__faults_held += p != NULL && old == NULL;
    return p;
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

/* The result of an operation on a file: what it is, or the fault. */
int nest__faults_file(void) {
    if (!faults_now(NEST__FAULT_FILE)) {
        return 0;
    }
    errno = faults_error;
    return -faults_error;
}

#define malloc(n) faults_malloc(n)
#define realloc(p, n) faults_realloc(p, n)
#define free(p) faults_free(p)
#define mprotect(p, n, how) faults_mprotect(p, n, how)
#define madvise(p, n, how) faults_madvise(p, n, how)
