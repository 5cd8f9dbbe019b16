/* cc_select and cc_poll: a connection whose request is unread is readable, and a listening
 * descriptor that is waited for asks its filter for a connection. */
#define _GNU_SOURCE
#include "cc.h"

#include "table.h"

/* Whether `fd` has an unread request; asks for a connection if it is a listening descriptor. */
static bool readable(int fd) {
    struct cc__conn *conn = cc__conn_at(fd);
    struct cc__link *link = cc__link_at(fd);
    if (link != NULL)
        cc__link_demand(fd, link);
    return conn != NULL && cc__unread(conn);
}

int cc_select(int n, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
              struct timeval *timeout) {
    struct timeval now = {0, 0};
    fd_set ready;
    int count = 0;
    FD_ZERO(&ready);
    pthread_mutex_lock(&cc__lock);
    for (int fd = 0; readfds != NULL && fd < n; fd++) {
        if (FD_ISSET(fd, readfds) && readable(fd)) {
            FD_SET(fd, &ready);
            count++;
        }
    }
    pthread_mutex_unlock(&cc__lock);
    if (count == 0)
        return select(n, readfds, writefds, exceptfds, timeout);
    int got = select(n, readfds, writefds, exceptfds, &now);
    for (int fd = 0; got != -1 && fd < n; fd++) {
        if (FD_ISSET(fd, &ready) && !FD_ISSET(fd, readfds)) {
            FD_SET(fd, readfds);
            got++;
        }
    }
    return got;
}

int cc_poll(struct pollfd fds[], nfds_t nfds, int timeout) {
    int count = 0;
    pthread_mutex_lock(&cc__lock);
    for (nfds_t i = 0; i < nfds; i++)
        count += (fds[i].events & POLLIN) && readable(fds[i].fd);
    pthread_mutex_unlock(&cc__lock);
    int got = poll(fds, nfds, count > 0 ? 0 : timeout);
    if (got == -1 || count == 0)
        return got;
    pthread_mutex_lock(&cc__lock);
    for (nfds_t i = 0; i < nfds; i++) {
        struct cc__conn *conn = cc__conn_at(fds[i].fd);
        if (!(fds[i].events & POLLIN) || conn == NULL || !cc__unread(conn))
            continue;
        got += fds[i].revents == 0;
        fds[i].revents |= POLLIN;
    }
    pthread_mutex_unlock(&cc__lock);
    return got;
}
