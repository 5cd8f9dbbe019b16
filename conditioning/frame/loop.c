/* The loop of a filter: events of descriptors, timers in a heap.
 * Must not know: what a bundle is. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64 };
static int epfd = -1;
static struct epoll_event batch[BATCH];
static int batch_size;
static struct ccf_timer **heap; /* a binary heap; the first timer is heap[1] */
static size_t timers, room;     /* timers in the heap; elements allocated */

uint64_t ccf_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void put(size_t place, struct ccf_timer *timer) {
    heap[place] = timer;
    timer->place = place;
}

/* Puts a timer into the heap, from `place` up or down to its position. */
static void settle(size_t place, struct ccf_timer *timer) {
    while (place > 1 && heap[place / 2]->when > timer->when) {
        put(place, heap[place / 2]);
        place /= 2;
    }
    for (;;) {
        size_t child = 2 * place;
        if (child < timers && heap[child + 1]->when < heap[child]->when)
            child++;
        if (child > timers || heap[child]->when >= timer->when)
            break;
        put(place, heap[child]);
        place = child;
    }
    put(place, timer);
}

bool ccf_timer_set(struct ccf_timer *timer, uint64_t when) {
    if (timer->place == 0 && timers + 1 >= room) {
        size_t more = room > 0 ? 2 * room : 64;
        struct ccf_timer **grown = realloc(heap, more * sizeof(struct ccf_timer *));
        if (grown == NULL)
            return false;
        heap = grown;
        room = more;
    }
    timer->when = when;
    settle(timer->place != 0 ? timer->place : ++timers, timer);
    return true;
}

void ccf_timer_clear(struct ccf_timer *timer) {
    size_t place = timer->place;
    if (place == 0)
        return;
    struct ccf_timer *last = heap[timers--];
    timer->place = 0;
    if (last != timer)
        settle(place, last);
}

/* Calls the timers that are due. Returns how long to wait for the next one, as epoll_wait takes it.
 */
int ccf__run_timers(void) {
    uint64_t now = timers > 0 ? ccf_now() : 0;
    while (timers > 0 && heap[1]->when <= now) {
        struct ccf_timer *timer = heap[1];
        ccf_timer_clear(timer);
        timer->call(timer);
    }
    if (timers == 0)
        return -1;
    uint64_t wait = heap[1]->when - now;
    return wait > 60000 ? 60000 : (int)wait;
}

static bool control(int op, struct ccf_watch *watch, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(epfd, op, watch->fd, &event) == 0;
}

bool ccf_watch_add(struct ccf_watch *watch, uint32_t events) {
    return control(EPOLL_CTL_ADD, watch, events);
}

bool ccf_watch_change(struct ccf_watch *watch, uint32_t events) {
    return control(EPOLL_CTL_MOD, watch, events);
}

void ccf_watch_remove(struct ccf_watch *watch) {
    control(EPOLL_CTL_DEL, watch, 0);
    for (int i = 0; i < batch_size; i++)
        if (batch[i].data.ptr == watch)
            batch[i].data.ptr = NULL;
}

bool ccf__loop_start(void) {
    epfd = epoll_create1(EPOLL_CLOEXEC);
    return epfd != -1;
}

void ccf__events(int wait) {
    /* Of a process that was stopped and continued, epoll_wait fails with EINTR: bytes that came in
     * time are looked at before timers that are due now. */
    do {
        batch_size = epoll_wait(epfd, batch, BATCH, wait);
        wait = 0;
    } while (batch_size == -1 && errno == EINTR);
    for (int i = 0; i < batch_size; i++) {
        struct ccf_watch *watch = batch[i].data.ptr;
        if (watch != NULL)
            watch->call(watch, batch[i].events);
    }
    batch_size = 0;
}

void ccf__loop(void) {
    for (;;) {
        ccf__down_update();
        ccf__up_update();
        int wait = ccf__run_timers();
        ccf__down_update();
        ccf__up_update();
        if (ccf__up_ended() && ccf__count->held == 0 && ccf__down_idle() && !ccf__stays())
            return;
        ccf__events(wait);
    }
}
