/* mallocs.c: counts allocations of all processes that it is preloaded into.
 *
 * The count is at the beginning of the file named by COUNT_FILE, mapped shared: other programs can
 * read it, and forked processes add to it. glibc only. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *memalign(size_t, size_t);

static _Atomic unsigned long early; /* before there is a file */
static _Atomic unsigned long *count = &early;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("COUNT_FILE");
    int fd = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
    void *p = fd == -1 ? MAP_FAILED
                       : mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        _exit(99); /* a count of nothing would pass for none */
    }
    close(fd);
    count = p;
    atomic_fetch_add(count, atomic_load(&early));
}

void *malloc(size_t n) {
    atomic_fetch_add(count, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    atomic_fetch_add(count, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    atomic_fetch_add(count, 1);
    return __libc_realloc(p, n);
}

void *memalign(size_t alignment, size_t n) {
    atomic_fetch_add(count, 1);
    return __libc_memalign(alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    atomic_fetch_add(count, 1);
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    atomic_fetch_add(count, 1);
    *p = __libc_memalign(alignment, n);
    return *p == NULL ? ENOMEM : 0;
}
