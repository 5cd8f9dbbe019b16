/* The messages between the processes of a chain. wire.h has the interface.
 * Must not know: who sends, what a filter decides. */
#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cc__head cc__head_of(enum cc__type type) {
    struct cc__head head;
    memset(&head, 0, sizeof head);
    head.magic = CC__MAGIC;
    head.type = (uint8_t)type;
    return head;
}

void cc__close_all(const int *fds, int count) {
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

/* Not every C library has close_range. */
void cc__close_from(int first, int last) {
    syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u);
}

int cc__pair(int fds[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == -1)
        return -errno;
    for (int i = 0; i < 2; i++) {
        int size = CC__BUFFER;
        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    return 0;
}

int cc__bundle_fds(const struct cc__head *head) {
    return 1 + head->leases + ((head->flags & CC__MEMFD) != 0);
}

int cc__valid(const struct cc__head *head, size_t size, int fds) {
    if (size < sizeof *head || head->magic != CC__MAGIC)
        return 0;
    size_t tail = size - sizeof *head;
    switch (head->type) {
    case CC__BUNDLE:
        if (head->leases > CC__LEASES || fds != cc__bundle_fds(head))
            return 0;
        if (head->flags & ~(CC__COMPLETE | CC__MEMFD))
            return 0;
        if (head->family != 0 && head->family != 4 && head->family != 6)
            return 0;
        if (head->flags & CC__MEMFD)
            return tail == 0 && head->length <= CC__REQUEST_MAX;
        return head->length <= CC__INLINE && tail == head->length;
    case CC__ATTACH:
        return tail == 0 && (fds == 1 || fds == 2);
    case CC__GATE:
        return tail == 0 && fds == 2;
    case CC__LISTEN:
        return tail == 0 && (fds == 3 || fds == 4);
    case CC__DRAIN:
        return tail == 0 && fds <= 1;
    case CC__CHAIN:
        return head->length <= CC__INLINE && tail == head->length && fds == 0;
    case CC__TAKE:
    case CC__REPLY:
        return tail == 0 && fds == 0;
    default:
        return 0;
    }
}

int cc__send(int fd, const struct cc__head *head, const void *bytes, size_t length, const int *fds,
             int count, int flags) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * CC__FDS)];
    } control;
    struct iovec iov[2] = {{(void *)head, sizeof *head}, {(void *)bytes, length}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = length > 0 ? 2 : 1};
    if (count > 0) {
        size_t size = sizeof(int) * (size_t)count;
        memset(&control, 0, sizeof control);
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(c), fds, size);
    }
    while (sendmsg(fd, &msg, flags | MSG_NOSIGNAL) == -1) {
        /* A reset belongs to the other direction's unread messages; the next call tells. */
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* Collects the descriptors of a message; those beyond CC__FDS are closed. Returns how many. */
static int collect(struct msghdr *msg, int *fds) {
    int count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (count < CC__FDS)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

/* Where a message is received. */
struct place {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CC__FDS)];
    struct iovec iov[2];
};

static void prepare(struct msghdr *msg, struct place *place, struct cc__message *message) {
    place->iov[0] = (struct iovec){&message->head, sizeof message->head};
    place->iov[1] = (struct iovec){message->bytes, CC__INLINE};
    *msg = (struct msghdr){.msg_iov = place->iov,
                           .msg_iovlen = message->bytes != NULL ? 2 : 1,
                           .msg_control = place->control,
                           .msg_controllen = sizeof place->control};
}

/* Judges a message of `size` bytes that was received. Returns as cc__receive. */
static int judge(struct msghdr *msg, size_t size, struct cc__message *message) {
    message->count = 0;
    if (size == 0)
        return 0;
    message->count = collect(msg, message->fds);
    int bad = 0;
    /* Without room for a request, only the head of a bundle arrives. */
    bool dropped = message->bytes == NULL && size == sizeof message->head &&
                   message->head.type == CC__BUNDLE && (msg->msg_flags & MSG_TRUNC);
    size_t whole = size + (dropped ? message->head.length : 0);
    if (msg->msg_flags & MSG_CTRUNC)
        bad = -EMFILE;
    else if (((msg->msg_flags & MSG_TRUNC) && !dropped) ||
             !cc__valid(&message->head, whole, message->count))
        bad = -EPROTO;
    if (bad != 0) {
        cc__close_all(message->fds, message->count);
        message->count = 0;
        return bad;
    }
    return 1;
}

int cc__receive(int fd, struct cc__message *message, int flags) {
    struct place place;
    struct msghdr msg;
    ssize_t size;
    do {
        prepare(&msg, &place, message);
        size = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
    } while (size == -1 && errno == ECONNRESET);
    message->count = 0;
    return size == -1 ? -errno : judge(&msg, (size_t)size, message);
}

int cc__receive_many(int fd, struct cc__message *messages, int most) {
    struct place places[CC__BATCH];
    struct mmsghdr msgs[CC__BATCH];
    int count;
    do {
        for (int i = 0; i < most; i++)
            prepare(&msgs[i].msg_hdr, &places[i], &messages[i]);
        count = recvmmsg(fd, msgs, (unsigned)most, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
    } while (count == -1 && errno == ECONNRESET);
    for (int i = 0; i < count; i++)
        messages[i].got = judge(&msgs[i].msg_hdr, msgs[i].msg_len, &messages[i]);
    return count == -1 ? -errno : count;
}

/* A new descriptor has the lowest number that is free: if that number has never been high, all high
 * ones are free, but for some that the program has opened by itself. */
int cc__fitting(int highest) {
    enum { SPARE = 128 };
    static long limit;
    struct rlimit files = {0};
    int fds[CC__FDS], count = 0;
    if (limit == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0)
        limit = files.rlim_cur < INT32_MAX ? (long)files.rlim_cur : INT32_MAX;
    if (highest + CC__BATCH * CC__FDS + SPARE < limit)
        return CC__BATCH;
    while (count < CC__FDS && (fds[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) != -1)
        count++;
    cc__close_all(fds, count);
    return count == CC__FDS;
}

struct cc__address cc__address_of(const struct sockaddr_storage *from) {
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct cc__address to;
    memset(&to, 0, sizeof to);
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        to.family = 4;
        memcpy(to.bytes, &in->sin_addr, 4);
        to.port = ntohs(in->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)from;
        int v4 = memcmp(&in6->sin6_addr, mapped, sizeof mapped) == 0;
        to.family = v4 ? 4 : 6;
        memcpy(to.bytes, (const uint8_t *)&in6->sin6_addr + (v4 ? 12 : 0), v4 ? 4 : 16);
        to.port = ntohs(in6->sin6_port);
    }
    return to;
}

socklen_t cc__sockaddr_of(const struct cc__address *from, struct sockaddr_storage *to, int domain) {
    static const uint8_t dummy[4] = {192, 0, 0, 8}; /* RFC 7600: nobody has it */
    memset(to, 0, sizeof *to);
    if (domain == AF_INET || (from->family == 4 && domain != AF_INET6)) {
        struct sockaddr_in *in = (void *)to;
        in->sin_family = AF_INET;
        memcpy(&in->sin_addr, from->family == 4 ? from->bytes : dummy, 4);
        in->sin_port = htons(from->port);
        return sizeof *in;
    }
    if (from->family == 0) {
        to->ss_family = AF_UNIX;
        return sizeof to->ss_family;
    }
    struct sockaddr_in6 *in6 = (void *)to;
    uint8_t *bytes = (uint8_t *)&in6->sin6_addr;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(from->port);
    if (from->family == 4) {
        bytes[10] = bytes[11] = 0xff;
        memcpy(bytes + 12, from->bytes, 4);
    } else {
        memcpy(bytes, from->bytes, 16);
    }
    return sizeof *in6;
}
