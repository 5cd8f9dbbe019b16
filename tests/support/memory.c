/* memory.c: lets allocations fail, as the file in $MEMORY says, and counts the blocks that are in
 * use.
 *
 * Preloaded into a server; all its processes share the file. glibc only. See memory.py. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *memalign(size_t, size_t);

struct counts {
    _Atomic int64_t left;    /* the allocation that fails, counted from 1; 0: none */
    _Atomic uint64_t ever;   /* 1: all that follow it fail as well */
    _Atomic uint64_t failed; /* how many have failed */
    _Atomic int64_t blocks;  /* in use */
};

static struct counts early; /* before there is a file */
static struct counts *counts = &early;

__attribute__((constructor)) static void begin(void) {
    int fd = open(getenv("MEMORY"), O_RDWR | O_CLOEXEC);
    struct counts *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED) {
        _exit(99); /* nothing would fail */
    }
    close(fd);
    counts = all;
}

static bool fails(void) {
    int64_t left = atomic_load(&counts->left), next;
    do {
        if (left == 0) {
            return false;
        }
        next = left == 1 && atomic_load(&counts->ever) != 0 ? 1 : left - 1;
    } while (!atomic_compare_exchange_weak(&counts->left, &left, next));
    if (left > 1) {
        return false;
    }
    atomic_fetch_add(&counts->failed, 1);
    errno = ENOMEM;
    return true;
}

static void *made(void *p) {
    if (p != NULL) {
        atomic_fetch_add(&counts->blocks, 1);
    }
    return p;
}

void *malloc(size_t n) {
    return fails() ? NULL : made(__libc_malloc(n));
}

void *calloc(size_t n, size_t size) {
    return fails() ? NULL : made(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n) {
    if (p == NULL) {
        return malloc(n);
    }
    if (n == 0) {
        free(p);
        return NULL;
    }
    return fails() ? NULL : __libc_realloc(p, n);
}

void free(void *p) {
    if (p != NULL) {
        atomic_fetch_sub(&counts->blocks, 1);
        __libc_free(p);
    }
}

void *memalign(size_t alignment, size_t n) {
    return fails() ? NULL : made(__libc_memalign(alignment, n));
}

void *aligned_alloc(size_t alignment, size_t n) {
    return memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    int error = errno;
    *p = memalign(alignment, n);
    errno = error;
    return *p == NULL ? ENOMEM : 0;
}
