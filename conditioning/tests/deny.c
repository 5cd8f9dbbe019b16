/* Runs a program for which calls of the system fail, and without CAP_SYS_ADMIN. It needs root.
 *
 *     deny CALL=ERRNO... -- PROGRAM [ARGUMENT...]
 *
 * CALL is seccomp, pidfd_getfd, writev (of another process's memory) or privs (prctl that sets
 * no_new_privs). */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter code[64];
static unsigned short size;

static void add(unsigned short what, uint32_t k, uint8_t yes, uint8_t no) {
    code[size++] = (struct sock_filter){what, yes, no, k};
}

/* Adds one CALL=ERRNO. Returns whether there is such a call. */
static int deny(const char *text) {
    static const struct {
        const char *name;
        uint32_t number;
    } calls[] = {{"seccomp=", SYS_seccomp},
                 {"pidfd_getfd=", SYS_pidfd_getfd},
                 {"writev=", SYS_process_vm_writev},
                 {"privs=", SYS_prctl}};
    size_t i = 0;
    while (i < 4 && strncmp(text, calls[i].name, strlen(calls[i].name)) != 0)
        i++;
    if (i == 4)
        return 0;
    int one = calls[i].number == SYS_prctl;
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, one ? 3 : 1);
    if (one) {
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
        add(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NO_NEW_PRIVS, 0, 1);
    }
    int number = atoi(strchr(text, '=') + 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)number, 0, 0);
    return 1;
}

int main(int argc, char **argv) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2];
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (!deny(argv[at]))
            return 2;
    if (at + 1 >= argc)
        return 2;
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog program = {size, code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == -1)
        return 3;
    if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) == -1 ||
        syscall(SYS_capget, &head, caps) == -1)
        return 4;
    uint32_t kept = ~(1u << CAP_SYS_ADMIN);
    caps[0].effective &= kept;
    caps[0].permitted &= kept;
    caps[0].inheritable &= kept;
    if (syscall(SYS_capset, &head, caps) == -1)
        return 5;
    execvp(argv[at + 1], argv + at + 1);
    return 6;
}
