/* cc_epoll_ctl and cc_epoll_wait: epoll with the two additions of cc_poll.
 *
 * The library keeps registrations of listening descriptors, and of connections while their request
 * is unread; both are few. */
#define _GNU_SOURCE
#include "cc.h"

#include <errno.h>
#include <stdlib.h>
#include "table.h"

static struct cc__reg *find(int epfd, int fd) {
    struct cc__reg *reg = cc__regs;
    while (reg != NULL && (reg->epfd != epfd || reg->fd != fd))
        reg = reg->next;
    return reg;
}

int cc_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event) {
    int result = -1;
    pthread_mutex_lock(&cc__lock);
    struct cc__conn *conn = cc__conn_at(fd);
    struct cc__reg *reg = find(epfd, fd), *made = NULL;
    bool wanted = cc__link_at(fd) != NULL || (conn != NULL && cc__unread(conn));
    if (op != EPOLL_CTL_DEL && wanted && reg == NULL) {
        made = malloc(sizeof *made);
        if (made == NULL) {
            errno = ENOMEM;
            goto out;
        }
    }
    result = epoll_ctl(epfd, op, fd, event);
    if (result == -1) {
        free(made);
        goto out;
    }
    if (made != NULL) {
        made->epfd = epfd;
        made->fd = fd;
        made->next = cc__regs;
        cc__regs = made;
        reg = made;
    }
    if (op == EPOLL_CTL_DEL)
        cc__reg_remove(epfd, fd);
    else if (reg != NULL)
        reg->event = *event;
out:
    pthread_mutex_unlock(&cc__lock);
    return result;
}

/* Puts connections with an unread request into `events`; asks for connections. Returns how many. */
static int collect(int epfd, struct epoll_event *events, int room) {
    int count = 0;
    for (struct cc__reg **at = &cc__regs; *at != NULL;) {
        struct cc__reg *reg = *at;
        struct cc__conn *conn = cc__conn_at(reg->fd);
        struct cc__link *link = cc__link_at(reg->fd);
        bool drop = false;
        if (reg->epfd == epfd && link != NULL && (reg->event.events & EPOLLIN)) {
            cc__link_demand(reg->fd, link);
        } else if (reg->epfd == epfd && conn != NULL) {
            drop = !cc__unread(conn);
            if (!drop && count < room && (reg->event.events & EPOLLIN)) {
                events[count].events = EPOLLIN;
                events[count++].data = reg->event.data;
                /* Once: what follows in the socket is the system's to report. */
                drop = (reg->event.events & (EPOLLET | EPOLLONESHOT)) != 0;
            }
        }
        if (drop) {
            *at = reg->next;
            free(reg);
        } else {
            at = &reg->next;
        }
    }
    return count;
}

int cc_epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout) {
    if (maxevents <= 0) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&cc__lock);
    int ours = collect(epfd, events, maxevents);
    pthread_mutex_unlock(&cc__lock);
    if (ours == maxevents)
        return ours;
    int got = epoll_wait(epfd, events + ours, maxevents - ours, ours > 0 ? 0 : timeout);
    if (got <= 0)
        return ours > 0 ? ours : got;
    /* A descriptor that the system reports as well gets one event. */
    int count = ours;
    for (int i = ours; i < ours + got; i++) {
        int same = 0;
        while (same < ours && events[same].data.u64 != events[i].data.u64)
            same++;
        if (same < ours)
            events[same].events |= events[i].events;
        else
            events[count++] = events[i];
    }
    return count;
}
