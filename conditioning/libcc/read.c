/* cc_read, cc_recv and cc_readv: the request that came with a connection, then its socket. */
#define _GNU_SOURCE
#include "cc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "table.h"

/* Copies unread bytes of a request. Returns how many, 0 if there are none, or -1 with errno. */
static ssize_t request(int fd, const struct iovec *iov, int count, bool peek) {
    ssize_t copied = 0;
    pthread_mutex_lock(&cc__lock);
    struct cc__conn *conn = cc__conn_at(fd);
    size_t offset = conn != NULL ? conn->offset : 0;
    for (int i = 0; i < count && conn != NULL && offset < conn->length; i++) {
        size_t size = conn->length - offset;
        if (size > iov[i].iov_len)
            size = iov[i].iov_len;
        if (conn->bytes != NULL) {
            memcpy(iov[i].iov_base, conn->bytes + offset, size);
        } else {
            ssize_t got = pread(conn->memfd, iov[i].iov_base, size, (off_t)offset);
            if (got <= 0) {
                if (copied == 0) {
                    errno = EIO;
                    copied = -1;
                }
                break;
            }
            size = (size_t)got;
        }
        offset += size;
        copied += (ssize_t)size;
    }
    if (copied > 0 && !peek) {
        conn->offset = offset;
        cc__consumed(conn);
    }
    pthread_mutex_unlock(&cc__lock);
    return copied;
}

ssize_t cc_read(int fd, void *buf, size_t count) {
    struct iovec iov = {buf, count};
    ssize_t got = count > 0 ? request(fd, &iov, 1, false) : 0;
    return got != 0 ? got : read(fd, buf, count);
}

ssize_t cc_recv(int fd, void *buf, size_t count, int flags) {
    struct iovec iov = {buf, count};
    ssize_t got = count > 0 ? request(fd, &iov, 1, (flags & MSG_PEEK) != 0) : 0;
    return got != 0 ? got : recv(fd, buf, count, flags);
}

ssize_t cc_readv(int fd, const struct iovec *iov, int iovcnt) {
    ssize_t got = request(fd, iov, iovcnt, false);
    return got != 0 ? got : readv(fd, iov, iovcnt);
}
