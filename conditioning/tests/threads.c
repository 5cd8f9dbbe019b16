/* Threads that accept, read, duplicate and close at once, for a thread sanitizer. A filter is
 * played by the main thread: it hands out connections on demand. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cc.h"
#include "table.h"

enum { THREADS = 6, CONNECTIONS = 4000 };
static int s, served;

static void *serve(void *unused) {
    char bytes[64];
    (void)unused;
    for (;;) {
        int c = cc_accept4(s, NULL, NULL, 0);
        if (c == -1 && errno == ESHUTDOWN)
            return NULL;
        if (c == -1)
            abort();
        struct pollfd polled = {c, POLLIN, 0};
        if (cc_poll(&polled, 1, 0) != 1)
            abort();
        int other = cc_dup(c);
        if (cc_read(c, bytes, 3) != 3 || cc_recv(other, bytes, sizeof bytes, 0) != 4)
            abort();
        cc_close(c, 0);
        cc_close(other, 0);
        __atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
    }
}

/* Gives out `count` connections over one link. */
static void give(int link, int count) {
    unsigned demand = 0, taken = 0;
    for (int given = 0; given < count || taken < (unsigned)count;) {
        struct cc__message message = {.bytes = NULL};
        if (demand == 0 || given == count) {
            if (cc__receive(link, &message, 0) != 1)
                abort();
            demand += message.head.demand;
            taken += message.head.taken;
            continue;
        }
        struct cc__head head = cc__head_of(CC__BUNDLE);
        int ends[2], lease[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1 ||
            pipe2(lease, O_CLOEXEC) == -1)
            abort();
        head.length = 7;
        head.leases = 1;
        int fds[2] = {ends[0], lease[1]};
        if (cc__send(link, &head, "request", 7, fds, 2, 0) != 0)
            abort();
        close(ends[0]);
        close(ends[1]);
        close(lease[0]);
        close(lease[1]);
        demand--;
        given++;
    }
}

int main(void) {
    int hop[2], control[2];
    pthread_t threads[THREADS];
    signal(SIGPIPE, SIG_IGN);
    if (cc__pair(hop) != 0 || cc__pair(control) != 0)
        return 1;
    if (cc__link_new(hop[0], control[0], AF_INET, &s) == NULL)
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, NULL);
    /* The filter ends and comes again: the threads announce a new link each time. */
    for (int round = 0; round < 4; round++) {
        struct cc__message message = {.bytes = NULL};
        if (cc__receive(hop[1], &message, 0) != 1 || message.head.type != CC__ATTACH)
            return 1;
        give(message.fds[0], CONNECTIONS / 4);
        close(message.fds[0]);
    }
    close(hop[1]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d served\n", served);
    return served != CONNECTIONS;
}
