/* cc_accept and cc_accept4: the next connection from the filter next to the server. */
#define _GNU_SOURCE
#include "cc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "table.h"

/* Answers a filter: `taken` connections are now ours, or `returned` could not be received. */
static void answer(int s, unsigned taken, unsigned returned) {
    struct cc__head head = cc__head_of(CC__TAKE);
    head.taken = taken;
    head.returned = returned;
    cc__send(s, &head, NULL, 0, NULL, 0, 0);
}

/* Makes the table's entry of a received connection. Returns 0 or -ENOMEM. */
static int keep(const struct cc__message *message) {
    const struct cc__head *head = &message->head;
    struct cc__conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return -ENOMEM;
    conn->refs = 1;
    conn->length = head->length;
    conn->leases = head->leases;
    memcpy(conn->lease, message->fds + 1, head->leases * sizeof(int));
    conn->memfd = head->flags & CC__MEMFD ? message->fds[1 + head->leases] : -1;
    if (conn->memfd == -1 && head->length > 0) {
        conn->bytes = malloc(head->length);
        if (conn->bytes == NULL) {
            free(conn);
            return -ENOMEM;
        }
        memcpy(conn->bytes, message->bytes, head->length);
    }
    if (cc__put(message->fds[0], conn, NULL) != 0) {
        free(conn->bytes);
        free(conn);
        return -ENOMEM;
    }
    return 0;
}

/* Sets the flags of a new descriptor as accept4(2) would; a filter or an earlier holder of the
 * connection may have changed them. */
static void set_flags(int fd, int flags) {
    int have = fcntl(fd, F_GETFL);
    int want = flags & SOCK_NONBLOCK ? have | O_NONBLOCK : have & ~O_NONBLOCK;
    if (have != want)
        fcntl(fd, F_SETFL, want);
    if (!(flags & SOCK_CLOEXEC))
        fcntl(fd, F_SETFD, 0);
}

static void fill(const struct cc__head *head, int domain, struct sockaddr *addr, socklen_t *len) {
    struct cc__address from = {.family = head->family, .port = head->port};
    struct sockaddr_storage storage;
    if (addr == NULL || len == NULL)
        return;
    memcpy(from.bytes, head->address, sizeof from.bytes);
    socklen_t size = cc__sockaddr_of(&from, &storage, domain);
    memcpy(addr, &storage, *len < size ? *len : size);
    *len = size;
}

/* Receives one connection. Returns its descriptor, -EINTR to try again after a new link, or another
 * -errno. Needs the lock, and gives it up while it waits. */
static int take(int s, struct cc__link *link, struct sockaddr *addr, socklen_t *addrlen,
                int flags) {
    char bytes[CC__INLINE];
    struct cc__message message = {.bytes = bytes};
    int error = cc__link_ready(link);
    if (error != 0)
        return error;
    cc__link_demand(s, link);
    int domain = link->domain;
    link->waiting++;
    link->refs++;
    pthread_mutex_unlock(&cc__lock);
    int got = cc__receive(s, &message, 0);
    pthread_mutex_lock(&cc__lock);
    link->ended |= got == 0;
    cc__link_left(link);
    if (got == 1 || got == -EMFILE || got == -EPROTO)
        link->owed -= link->owed > 0;
    if (link->refs == 1) {
        /* Another thread has closed it; the filter gives the connection to another process. */
        if (got > 0)
            cc__close_all(message.fds, message.count);
        got = -EBADF;
    } else if (got == 1 && message.head.type == CC__BUNDLE) {
        got = keep(&message);
        answer(s, got == 0, got != 0);
        if (got == 0) {
            set_flags(message.fds[0], flags);
            fill(&message.head, domain, addr, addrlen);
            got = message.fds[0];
        } else {
            cc__close_all(message.fds, message.count);
        }
    } else if (got == 1 || got == -EPROTO) {
        cc__close_all(message.fds, message.count);
        answer(s, 1, 0);
        got = -ERESTART;
    } else if (got == -EMFILE) {
        answer(s, 0, 1);
    } else if (got == 0) {
        got = -ERESTART;
    }
    cc__release_link(link);
    return got;
}

int cc_accept4(int s, struct sockaddr *addr, socklen_t *addrlen, int flags) {
    if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) {
        errno = EINVAL;
        return -1;
    }
    int got;
    pthread_mutex_lock(&cc__lock);
    do {
        struct cc__link *link = cc__link_at(s);
        if (link == NULL) {
            pthread_mutex_unlock(&cc__lock);
            return accept4(s, addr, addrlen, flags);
        }
        got = take(s, link, addr, addrlen, flags);
    } while (got == -ERESTART);
    pthread_mutex_unlock(&cc__lock);
    if (got < 0) {
        errno = -got;
        return -1;
    }
    return got;
}

int cc_accept(int s, struct sockaddr *addr, socklen_t *addrlen) {
    return cc_accept4(s, addr, addrlen, 0);
}
