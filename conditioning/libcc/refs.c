/* cc_dup, cc_dup2, cc_close and cc_fork: how many descriptors and processes hold a connection.
 *
 * Within a process the table counts. Across processes a lease counts: a pipe whose write end every
 * holder has. Each process writes KEEP or CLOSE when its last descriptor is closed, and FORK for
 * each child that inherits the connection. The filter reads the pipe when all write ends are
 * closed, so a process that dies at any point is noticed, and the connection is then not used
 * again. */
#define _GNU_SOURCE
#include "cc.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include "table.h"

void (*cc__fork_step)(int step);

static void step(int number) {
    if (cc__fork_step != NULL)
        cc__fork_step(number);
}

/* Makes `fd` another descriptor of what `old` is. */
static int share(int old, int fd) {
    struct cc__conn *conn = cc__conn_at(old);
    struct cc__link *link = cc__link_at(old);
    if (conn == NULL && link == NULL) {
        cc__forget(fd, 0);
        return 0;
    }
    int error = cc__put(fd, conn, link);
    if (error == 0 && conn != NULL)
        conn->refs++;
    if (error == 0 && link != NULL)
        link->refs++;
    return error;
}

int cc_dup(int oldfd) {
    pthread_mutex_lock(&cc__lock);
    int fd = dup(oldfd);
    if (fd != -1 && share(oldfd, fd) != 0) {
        close(fd);
        fd = -1;
        errno = ENOMEM;
    }
    pthread_mutex_unlock(&cc__lock);
    return fd;
}

int cc_dup2(int oldfd, int newfd) {
    pthread_mutex_lock(&cc__lock);
    int fd = dup2(oldfd, newfd);
    if (fd != -1 && oldfd != newfd) {
        /* dup2 has closed the descriptor of another connection. Other processes may still serve its
         * client, so this is reported as KEEP. */
        cc__forget(newfd, CC__KEEP);
        if (share(oldfd, fd) != 0) {
            close(fd);
            fd = -1;
            errno = ENOMEM;
        }
    }
    pthread_mutex_unlock(&cc__lock);
    return fd;
}

int cc_close(int fd, int all) {
    pthread_mutex_lock(&cc__lock);
    struct cc__conn *conn = cc__conn_at(fd);
    bool last = conn == NULL || conn->refs == 1;
    /* With `all` the process wants the connection closed, even if it has more descriptors of it. */
    if (!last && all)
        cc__tell(conn, CC__CLOSE);
    if (last && conn != NULL && conn->leases > 0) {
        /* Closing would send the bytes that TCP_CORK holds back. Here the filter keeps the socket
         * open, so they are sent by turning it off. */
        int off = 0;
        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
    }
    /* Close the descriptor before the lease ends: then a filter may use the connection at once. */
    int result = close(fd);
    int error = errno;
    cc__forget(fd, all ? CC__CLOSE : CC__KEEP);
    pthread_mutex_unlock(&cc__lock);
    errno = error;
    return result;
}

static void tell_all(char byte) {
    for (int fd = 0; fd < cc__slots(); fd++) {
        struct cc__conn *conn = cc__conn_at(fd);
        bool first = conn != NULL && conn->leases > 0;
        for (int other = 0; first && conn->refs > 1 && other < fd; other++)
            first = cc__conn_at(other) != conn;
        if (first)
            cc__tell(conn, byte);
    }
}

pid_t cc_fork(void) {
    step(0);
    pthread_mutex_lock(&cc__lock);
    tell_all(CC__FORK);
    pthread_mutex_unlock(&cc__lock);
    step(1);
    pid_t pid = fork();
    if (pid == -1) {
        int error = errno;
        pthread_mutex_lock(&cc__lock);
        tell_all(CC__UNFORK);
        pthread_mutex_unlock(&cc__lock);
        errno = error;
    }
    step(pid == 0 ? 2 : 3);
    return pid;
}
