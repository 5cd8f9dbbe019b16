/* The calls of the server that the kernel holds (seccomp user notification): listen, accept,
 * accept4, and by choice those that ask or set options of a socket. All other calls run untouched,
 * but io_uring, which could accept unseen, is not there. Must not know: where connections come
 * from. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#endif

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "cc-condition does not know the calls of this processor"
#endif

int trap_fd = -1;
bool listen_refused;

const char *trap_missing(void) {
    struct seccomp_notif_sizes sizes;
    struct utsname name;
    unsigned major = 0, minor = 0;
    uname(&name);
    sscanf(name.release, "%u.%u", &major, &minor);
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == -1 || major < 5 ||
        (major == 5 && minor < 14))
        return "the kernel cannot hold calls of a server: Linux 5.14 with seccomp is needed; "
               "--by preload does without";
    return NULL;
}

/* What the kernel holds: by default, with --options, with --check. */
static const int always[] = {SYS_accept, SYS_accept4, SYS_listen};
static const int by_choice[] = {SYS_getsockname, SYS_getsockopt, SYS_setsockopt};
static const int to_check[] = {SYS_bind,          SYS_shutdown, SYS_epoll_ctl,
                               SYS_ppoll,         SYS_pselect6,
#ifdef SYS_poll
                               SYS_poll,          SYS_select,
#endif
                               SYS_io_uring_setup};

enum { MOST_CODE = 64 };
static struct sock_filter code[MOST_CODE];
static unsigned short code_size;

static void add(struct sock_filter statement) {
    code[code_size++] = statement;
}

#define STATEMENT(what, k) ((struct sock_filter)BPF_STMT(what, k))
#define LOAD(field)                                                                                \
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))

static void add_calls(const int *calls, size_t count, uint32_t what) {
    for (size_t i = 0; i < count; i++) {
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1));
        add(STATEMENT(BPF_RET | BPF_K, what));
    }
}

#define ADD_CALLS(calls, what) add_calls(calls, sizeof calls / sizeof calls[0], what)

int trap_install(void) {
    static const int refused[] = {SYS_io_uring_setup};
    /* Calls of another architecture, such as 32-bit ones, could not be told apart: they fail. */
    add(LOAD(arch));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    add(STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
    add(LOAD(nr));
    ADD_CALLS(always, SECCOMP_RET_USER_NOTIF);
    if (options || checking)
        ADD_CALLS(by_choice, SECCOMP_RET_USER_NOTIF);
    if (checking)
        ADD_CALLS(to_check, SECCOMP_RET_USER_NOTIF);
    ADD_CALLS(refused, SECCOMP_RET_ERRNO | ENOSYS);
    add(STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog program = {code_size, code};
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (fd == -1 && errno == EACCES) {
        /* Without CAP_SYS_ADMIN: programs that the server starts gain no privileges. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
            return -errno;
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                     &program);
    }
    return fd == -1 ? -errno : (int)fd;
}

void trap_start(int fd) {
    trap_fd = fd;
    /* The server and the launcher take turns; newer kernels switch between them directly. */
    ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

static void respond(uint64_t id, int error, uint32_t flags) {
    struct seccomp_notif_resp response = {.id = id, .error = -error, .flags = flags};
    /* ENOENT: the call was interrupted or its thread has ended. */
    if (ioctl(trap_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) == -1 && errno != ENOENT)
        say("a call of the server cannot be answered: %s", strerror(errno));
}

void trap_answer(uint64_t id, int error) {
    respond(id, error, 0);
}

int trap_give(const struct seccomp_notif *call, int fd) {
    uint64_t flags = call->data.nr == SYS_accept4 ? call->data.args[3] : 0;
    fcntl(fd, F_SETFL, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
    struct seccomp_notif_addfd add = {.id = call->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SEND,
                                      .srcfd = (uint32_t)fd,
                                      .newfd_flags = flags & SOCK_CLOEXEC ? O_CLOEXEC : 0};
    return ioctl(trap_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) == -1 ? -errno : 0;
}

int trap_copy(pid_t thread, int fd) {
    int process = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);
    if (process == -1)
        process = (int)syscall(SYS_pidfd_open, thread, 0);
    if (process == -1)
        return -1;
    int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    close(process);
    return copy;
}

static bool close_on_exec(pid_t thread, int fd) {
    char path[64], text[256], *flags;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)thread, fd);
    FILE *in = fopen(path, "re");
    size_t n = in != NULL ? fread(text, 1, sizeof text - 1, in) : 0;
    if (in != NULL)
        fclose(in);
    text[n] = '\0';
    flags = strstr(text, "flags:");
    return flags != NULL && (strtol(flags + 6, NULL, 8) & O_CLOEXEC);
}

static int option(int fd, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == -1 ? -1 : value;
}

/* Makes a gate for a socket, and its filters. Owns `real`. Returns 0 or -errno. */
static int new_gate(const struct seccomp_notif *call, int real, int *fd) {
    ino_t inode = inode_of((pid_t)call->pid, (int)call->data.args[0]);
    struct gate *gate = gate_new(real, fd);
    if (gate == NULL) {
        int error = -errno;
        close(real);
        return error;
    }
    int error = checking ? 0 : tail_new(gate);
    if (error == -EPIPE)
        error = 0; /* the chain has just died; the next one gives filters to every gate */
    if (error != 0)
        gate_free(gate);
    else if (checking)
        check_listens(gate, (pid_t)call->pid, inode);
    return error;
}

static void on_listen(const struct seccomp_notif *call) {
    int fd = (int)call->data.args[0], gate;
    if (gate_of((pid_t)call->pid, fd) != NULL) {
        respond(call->id, 0, 0); /* it listens already */
        return;
    }
    int real = trap_copy((pid_t)call->pid, fd);
    if (real == -1 && errno != EBADF) {
        /* It must not listen without filters. */
        int error = errno;
        listen_refused = true;
        bool full = error == EMFILE || error == ENFILE;
        say("cannot take the listening socket of process %d: %s%s", (int)call->pid, strerror(error),
            full ? "" : ": run this program as root, or where it may trace the server");
        respond(call->id, full ? error : EPERM, 0);
        return;
    }
    int domain = real != -1 ? option(real, SO_DOMAIN) : -1;
    if ((domain != AF_INET && domain != AF_INET6) || option(real, SO_TYPE) != SOCK_STREAM) {
        if (real != -1)
            close(real);
        respond(call->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
        return;
    }
    if (listen(real, (int)call->data.args[1]) == -1) {
        respond(call->id, errno, 0);
        close(real);
        return;
    }
    /* A process that listens on a socket which others share, or again after a signal. */
    struct gate *old = gate_for(real, &gate);
    int error = old == NULL ? new_gate(call, real, &gate) : 0;
    if (old != NULL)
        close(real);
    if (error != 0) {
        respond(call->id, -error, 0);
        return;
    }
    struct seccomp_notif_addfd put = {.id = call->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                      .srcfd = (uint32_t)gate,
                                      .newfd = (uint32_t)fd,
                                      .newfd_flags =
                                          close_on_exec((pid_t)call->pid, fd) ? O_CLOEXEC : 0};
    if (ioctl(trap_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &put) == -1)
        error = -errno;
    respond(call->id, -error, 0);
}

/* Whether the call asks for an address or for an option of a socket, or sets one. */
static bool asks(int nr) {
    return nr == SYS_getsockname || nr == SYS_getsockopt || nr == SYS_setsockopt;
}

void trap_event(void) {
    struct seccomp_notif call;
    memset(&call, 0, sizeof call);
    if (ioctl(trap_fd, SECCOMP_IOCTL_NOTIF_RECV, &call) == -1)
        return; /* the call was interrupted before it was read */
    if (checking)
        check_call(&call);
    if (call.data.nr == SYS_listen) {
        on_listen(&call);
        return;
    }
    if (call.data.nr == SYS_io_uring_setup) {
        respond(call.id, ENOSYS, 0);
        return;
    }
    bool accepts = call.data.nr == SYS_accept || call.data.nr == SYS_accept4;
    struct gate *gate = accepts || (options && asks(call.data.nr))
                            ? gate_of((pid_t)call.pid, (int)call.data.args[0])
                            : NULL;
    if (gate == NULL) {
        respond(call.id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    } else if (accepts) {
        gate_accept(gate, &call);
    } else {
        respond(call.id, options_answer(&call, gate_real(gate)), 0);
    }
}
