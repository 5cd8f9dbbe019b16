/* Links: how a process of the server asks the filter next to it for connections.
 *
 * A link is made anew for each process, so that a connection and its request reach one process, and
 * after its end, when the filter was replaced. */
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Signalled when no call waits any more on a link that has ended. */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

/* Puts a new pair in the place of every descriptor of the link. */
static int replace(struct cc__link *link) {
    int pair[2];
    int error = cc__pair(pair);
    if (error != 0)
        return error;
    for (int fd = 0; fd < cc__slots(); fd++) {
        if (cc__link_at(fd) != link)
            continue;
        int status = fcntl(fd, F_GETFL), flags = fcntl(fd, F_GETFD);
        if (dup3(pair[0], fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == -1)
            continue;
        if (status != -1 && (status & O_NONBLOCK))
            fcntl(fd, F_SETFL, O_NONBLOCK);
        /* The old socket took its epoll registrations along. */
        for (struct cc__reg *reg = cc__regs; reg != NULL; reg = reg->next)
            if (reg->fd == fd)
                epoll_ctl(reg->epfd, EPOLL_CTL_ADD, fd, &reg->event);
    }
    close(pair[0]);
    if (link->other != -1)
        close(link->other);
    link->other = pair[1];
    link->owed = 0;
    link->ended = false;
    return 0;
}

/* A child must not share its parent's link: a bundle would reach either of them, and the filter
 * would not notice the parent's end. The new link is announced when the child first uses it. */
static void in_child(void) {
    pthread_cond_init(&left, NULL);
    for (int fd = 0; fd < cc__slots(); fd++) {
        struct cc__link *link = cc__link_at(fd);
        bool first = link != NULL;
        for (int other = 0; first && other < fd; other++)
            first = cc__link_at(other) != link;
        if (!first)
            continue;
        /* The threads that wait on it are not in the child. */
        link->refs -= link->waiting;
        link->waiting = 0;
        if (replace(link) != 0) {
            close(fd);
            cc__forget(fd, 0);
        }
    }
    pthread_mutex_unlock(&cc__lock);
}

static void before_fork(void) {
    pthread_mutex_lock(&cc__lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&cc__lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

struct cc__link *cc__link_new(int hop, int control, int domain, int *fd) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    int pair[2];
    int error = cc__pair(pair);
    if (error != 0) {
        errno = -error;
        return NULL;
    }
    struct cc__link *link = calloc(1, sizeof *link);
    if (link == NULL || cc__put(pair[0], NULL, link) != 0) {
        free(link);
        cc__close_all(pair, 2);
        errno = ENOMEM;
        return NULL;
    }
    *link = (struct cc__link){.refs = 1, .hop = hop, .control = control, .other = pair[1]};
    link->domain = domain;
    *fd = pair[0];
    return link;
}

int cc__link_attach(struct cc__link *link) {
    if (link->other == -1)
        return 0;
    struct cc__head head = cc__head_of(CC__ATTACH);
    int error = cc__send(link->hop, &head, NULL, 0, &link->other, 1, 0);
    if (error == -EPIPE || error == -ECONNRESET)
        return -ESHUTDOWN; /* the chain has ended */
    if (error != 0)
        return error;
    close(link->other);
    link->other = -1;
    return 0;
}

void cc__link_left(struct cc__link *link) {
    link->waiting--;
    if (link->ended && link->waiting == 0)
        pthread_cond_broadcast(&left);
}

int cc__link_ready(struct cc__link *link) {
    /* A call that is about to receive on the old link must not find the new one in its place: it
     * would take a connection that another call has asked for. */
    if (link->ended && link->waiting > 0) {
        pthread_cond_wait(&left, &cc__lock);
        return -ERESTART;
    }
    int error = link->ended ? replace(link) : 0;
    return error != 0 ? error : cc__link_attach(link);
}

void cc__link_demand(int fd, struct cc__link *link) {
    if (cc__link_attach(link) != 0 || link->owed > link->waiting)
        return;
    struct cc__head head = cc__head_of(CC__TAKE);
    head.demand = 1;
    /* A failure shows when the caller receives. */
    if (cc__send(fd, &head, NULL, 0, NULL, 0, MSG_DONTWAIT) == 0)
        link->owed++;
}
