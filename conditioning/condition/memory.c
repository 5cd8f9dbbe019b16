/* The memory of a thread of the server while one of its calls is held.
 * Must not know: what is in it. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Says once that the system does not allow it. Returns whether all bytes were there. */
static bool moved(ssize_t got, size_t size) {
    static bool said;
    if (got == -1 && (errno == EPERM || errno == ENOSYS) && !said) {
        say("the memory of the server cannot be used: %s: run this program as root, or where it may "
            "trace the server",
            strerror(errno));
        said = true;
    }
    return got == (ssize_t)size;
}

bool memory_get(const struct seccomp_notif *call, uint64_t from, void *to, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return moved(process_vm_readv((pid_t)call->pid, &local, 1, &remote, 1, 0), size);
}

bool memory_put(const struct seccomp_notif *call, uint64_t to, const void *from, size_t size) {
    struct iovec local = {(void *)(uintptr_t)from, size}, remote = {(void *)(uintptr_t)to, size};
    return moved(process_vm_writev((pid_t)call->pid, &local, 1, &remote, 1, 0), size);
}

bool memory_put_sized(const struct seccomp_notif *call, uint64_t to, uint64_t length,
                      const void *from, unsigned size) {
    unsigned room;
    if (!memory_get(call, length, &room, sizeof room))
        return false;
    size_t cut = room < size ? room : size;
    struct iovec local[2] = {{(void *)(uintptr_t)from, cut}, {&size, sizeof size}};
    struct iovec remote[2] = {{(void *)(uintptr_t)to, cut},
                              {(void *)(uintptr_t)length, sizeof size}};
    return moved(process_vm_writev((pid_t)call->pid, local, 2, remote, 2, 0), cut + sizeof size);
}
