/* short.c: receives bring few bytes at a time, as when memory is short. What only looks sees all.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

enum { FEW = 4 };

ssize_t recv(int fd, void *to, size_t n, int flags) {
    static ssize_t (*real)(int, void *, size_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "recv");
    return real(fd, to, (flags & MSG_PEEK) == 0 && n > FEW ? FEW : n, flags);
}
