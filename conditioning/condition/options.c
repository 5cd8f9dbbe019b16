/* Answers getsockname, getsockopt and setsockopt. The server calls them on a gate, the socket that
 * it has in place of its listening socket; they are carried out on the listening socket (`real`).
 * Must not know: how gates work, connections. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { LONGEST = 1024 }; /* bytes of an option's value */

/* name_of, get and set each answer one call. They return 0 or an errno. */
static int name_of(const struct seccomp_notif *call, int real) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    if (getsockname(real, (struct sockaddr *)&name, &size) == -1)
        return errno;
    return memory_put_sized(call, call->data.args[1], call->data.args[2], &name, size) ? 0 : EFAULT;
}

static int get(const struct seccomp_notif *call, int real) {
    char value[LONGEST];
    socklen_t room;
    if (!memory_get(call, call->data.args[4], &room, sizeof room))
        return EFAULT;
    socklen_t size = room < LONGEST ? room : LONGEST;
    if (getsockopt(real, (int)call->data.args[1], (int)call->data.args[2], value, &size) == -1)
        return errno;
    bool good = memory_put(call, call->data.args[3], value, size) &&
                memory_put(call, call->data.args[4], &size, sizeof size);
    return good ? 0 : EFAULT;
}

static int set(const struct seccomp_notif *call, int real) {
    char value[LONGEST];
    size_t size = (uint32_t)call->data.args[4];
    if (size > LONGEST)
        return EINVAL;
    if (!memory_get(call, call->data.args[3], value, size))
        return EFAULT;
    int level = (int)call->data.args[1], name = (int)call->data.args[2];
    return setsockopt(real, level, name, value, (socklen_t)size) == -1 ? errno : 0;
}

int options_answer(const struct seccomp_notif *call, int real) {
    return call->data.nr == SYS_getsockname  ? name_of(call, real)
           : call->data.nr == SYS_getsockopt ? get(call, real)
                                             : set(call, real);
}
