/* The memory of a thread of the server while one of its calls is held.
 * Must not know: what is in it. */
#define _GNU_SOURCE
#include "condition.h"

#include <sys/uio.h>

bool memory_get(const struct seccomp_notif *call, uint64_t from, void *to, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return process_vm_readv((pid_t)call->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool memory_put(const struct seccomp_notif *call, uint64_t to, const void *from, size_t size) {
    struct iovec local = {(void *)(uintptr_t)from, size}, remote = {(void *)(uintptr_t)to, size};
    return process_vm_writev((pid_t)call->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool memory_put_sized(const struct seccomp_notif *call, uint64_t to, uint64_t length,
                      const void *from, unsigned size) {
    unsigned room;
    return memory_get(call, length, &room, sizeof room) &&
           memory_put(call, to, from, room < size ? room : size) &&
           memory_put(call, length, &size, sizeof size);
}
