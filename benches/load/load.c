/* load.c: a load generator for servers of HTTP/1.1: who begins a request, and when.
 *
 * In a closed loop every client asks again as soon as it is answered. In an open loop requests
 * arrive at random times at a rate, find a client at rest or wait for one, and their latency counts
 * from the arrival: a server that stalls is charged for all who came meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "load.h"

enum { EVENTS = 256, WAITING_MOST = 1 << 22, OPENING_MOST = 64 };
#define SCAN 100000000ull /* nanoseconds between looks for requests without an answer */

struct counts counts;

static struct client *clients, *crowd;
static struct client **rest; /* a ring: who can begin, first come first */
static unsigned rest_from, rest_count;
static uint64_t *waiting; /* a ring: arrivals that found nobody at rest */
static unsigned waiting_from, waiting_count;
static uint64_t next_arrival, last_arrival;
static uint64_t arrival_draw;

uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t draw(uint64_t *state) { /* splitmix64 */
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t nanoseconds(double seconds) {
    return (uint64_t)(seconds * 1e9);
}

void client_done(struct client *c) {
    if (!c->idle) {
        c->rests = options.pause > 0 ? now() + nanoseconds(options.pause) : 0;
        rest[(rest_from + rest_count++) % options.clients] = c;
    }
}

static struct client *rested(void) {
    struct client *c = rest[rest_from];
    rest_from = (rest_from + 1) % options.clients;
    rest_count--;
    return c;
}

/* -- who begins */

/* An exponential gap: arrivals of many who know nothing of each other. */
static void arrive(uint64_t time) {
    while (next_arrival <= time && next_arrival < last_arrival) {
        if (waiting_count == WAITING_MOST) {
            fputs("load: more wait than there is room for\n", stderr);
            exit(1);
        }
        waiting[(waiting_from + waiting_count++) % WAITING_MOST] = next_arrival;
        double even = ((double)(draw(&arrival_draw) >> 11) + 0.5) * 0x1p-53;
        next_arrival += nanoseconds(-log(even) / options.rate);
    }
}

static void begin_open(void) {
    uint64_t time = now();
    arrive(time);
    while (waiting_count > 0 && rest_count > 0) {
        uint64_t due = waiting[waiting_from];
        waiting_from = (waiting_from + 1) % WAITING_MOST;
        waiting_count--;
        if (time - due > nanoseconds(options.timeout)) {
            counts.faults[FAULT_TIMEOUT] += counts.measuring;
        } else {
            client_begin(rested(), due);
        }
    }
}

/* As many as there are: who fails at once comes again in the next turn, not for ever in this. All
 * pause for the same time, so who came first begins first. */
static void begin_closed(void) {
    for (unsigned left = rest_count; left > 0; left--) {
        uint64_t time = now();
        if (rest[rest_from]->rests > time) {
            return;
        }
        client_begin(rested(), time);
    }
}

static void begin_none(void) {
}

/* -- the loop */

static bool overdue(const struct client *c, uint64_t time) {
    return c->outstanding > 0 && c->fd != -1 && c->begun < time &&
           time - c->begun > nanoseconds(options.timeout);
}

static void scan(uint64_t time) {
    for (unsigned i = 0; i < options.clients; i++) {
        if (overdue(&clients[i], time)) {
            client_fail(&clients[i], FAULT_TIMEOUT);
        }
    }
    for (unsigned i = 0; i < options.idle; i++) {
        if (overdue(&crowd[i], time)) {
            client_fail(&crowd[i], FAULT_TIMEOUT);
        }
    }
}

static bool all_rest(void) {
    return rest_count == options.clients && waiting_count == 0;
}

/* Goes on until a time, or until `enough`. */
static void run(uint64_t until, void (*begin)(void), bool (*enough)(void)) {
    static uint64_t scanned;
    struct epoll_event events[EVENTS];
    for (;;) {
        begin();
        uint64_t time = now(), wake = time + SCAN;
        if (time >= until || (enough != NULL && enough())) {
            return;
        }
        if (time - scanned > SCAN) {
            scanned = time;
            scan(time);
        }
        if (begin == begin_open && next_arrival < wake) {
            wake = next_arrival;
        }
        if (until < wake) {
            wake = until;
        }
        uint64_t left = wake > time ? wake - time : 0;
        if (begin == begin_closed && rest_count > 0) {
            uint64_t at = rest[rest_from]->rests;
            uint64_t pause = at > time ? at - time : 0;
            left = pause < left ? pause : left;
        }
        struct timespec most = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int n = epoll_pwait2(client_epoll, events, EVENTS, &most, NULL);
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;
            if (c->fd != -1) {
                client_event(c, events[i].events);
                begin();
            }
        }
    }
}

/* -- the phases */

static unsigned opened; /* of the crowd */

static bool crowd_opened(void) {
    static unsigned seen;
    while (seen < opened && (crowd[seen].state == RESTING || crowd[seen].state == CLOSED)) {
        seen++;
    }
    return seen == opened;
}

/* Connects who will only rest, a few at a time, so that no queue of the server overflows. */
static void open_crowd(void) {
    while (opened < options.idle) {
        for (unsigned i = 0; i < OPENING_MOST && opened < options.idle; i++) {
            client_begin(&crowd[opened++], now());
        }
        run(now() + nanoseconds(options.timeout), begin_none, crowd_opened);
        if (!crowd_opened()) {
            fprintf(stderr, "load: of the idle, some of the first %u are not served\n", opened);
            exit(1);
        }
    }
}

static void prepare(struct client *c, bool idle, uint64_t seed) {
    c->fd = -1;
    c->idle = idle;
    c->draw = seed * 0x100000001b3;
}

static void *room(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        perror("load");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1); /* arrivals are to be on time */
    client_epoll = epoll_create1(EPOLL_CLOEXEC);
    clients = room(options.clients, sizeof *clients);
    crowd = room(options.idle, sizeof *crowd);
    rest = room(options.clients, sizeof(struct client *));
    waiting = room(options.rate > 0 ? WAITING_MOST : 0, sizeof *waiting);
    arrival_draw = options.seed;
    for (unsigned i = 0; i < options.idle; i++) {
        prepare(&crowd[i], true, options.seed + options.clients + i);
    }
    open_crowd();
    for (unsigned i = 0; i < options.clients; i++) {
        prepare(&clients[i], false, options.seed + i);
        client_done(&clients[i]);
    }
    bool open = options.rate > 0;
    void (*begin)(void) = open ? begin_open : begin_closed;
    if (open && !options.closing) { /* connections are there when the first arrives */
        begin_closed();
        run(now() + nanoseconds(options.timeout), begin_none, all_rest);
    }
    uint64_t start = now();
    next_arrival = start;
    uint64_t begins = start + nanoseconds(options.warm);
    uint64_t ends = begins + nanoseconds(options.seconds);
    last_arrival = ends;
    run(begins, begin, NULL);
    report_read(0);
    counts.begin = now();
    counts.end = open ? ends : UINT64_MAX;
    counts.measuring = true;
    run(ends, begin, NULL);
    report_read(1);
    uint64_t ended = now();
    if (open) { /* who came in time is waited for */
        run(ends + nanoseconds(options.timeout), begin, all_rest);
    }
    counts.measuring = false;
    uint64_t unserved = open ? waiting_count + (options.clients - rest_count) : 0;
    counts.end = open ? ends : ended;
    report(clients, crowd, unserved);
    return 0;
}
