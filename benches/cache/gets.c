/* gets.c: clients of a cache with memcached's protocol: each sends some commands at a time, mostly
 * `get` of a key that is there, and verifies the answers. One thread, one epoll loop.
 *
 * usage: gets PORT CLIENTS SECONDS SETS DEPTH   (of 100 commands, so many are `set`; so many at a
 * time) Prints how many answers there were. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 10000, VALUE = 100, MOST = 256, DEEPEST = 64, ANSWER = 21 + VALUE + 2 + 5 };

struct client {
    int fd;
    bool sets[DEEPEST]; /* what the commands are whose answers are awaited */
    size_t got, wants;
    char answers[DEEPEST * MOST];
};

static uint64_t state = 1;
static unsigned filled; /* keys that are stored; first of all, all of them */

static uint64_t draw(void) { /* splitmix64 */
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void wrong(const char *what) {
    fprintf(stderr, "gets: %s\n", what);
    exit(1);
}

/* The draws of the commands that are sent together. */
static void ask(struct client *client, int depth, unsigned sets) {
    static char text[DEEPEST * MOST];
    char value[VALUE + 1];
    int n = 0;
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    client->got = client->wants = 0;
    for (int i = 0; i < depth; i++) {
        unsigned key = filled < KEYS ? filled : (unsigned)(draw() % KEYS);
        client->sets[i] = filled < KEYS || draw() % 100 < sets;
        filled += filled < KEYS;
        client->wants += client->sets[i] ? strlen("STORED\r\n") : ANSWER;
        n += client->sets[i]
                 ? snprintf(text + n, MOST, "set k%06u 0 0 %d\r\n%s\r\n", key, VALUE, value)
                 : snprintf(text + n, MOST, "get k%06u\r\n", key);
    }
    if (write(client->fd, text, (size_t)n) != n) {
        wrong("a command is not sent");
    }
}

/* True: all answers are there. */
static bool take(struct client *client, int depth) {
    ssize_t n =
        read(client->fd, client->answers + client->got, sizeof client->answers - client->got);
    if (n <= 0) {
        wrong("a connection ended");
    }
    client->got += (size_t)n;
    if (client->got > client->wants) {
        wrong("an answer is too long");
    }
    if (client->got < client->wants) {
        return false;
    }
    const char *answer = client->answers;
    for (int i = 0; i < depth; i++) {
        if (client->sets[i] ? memcmp(answer, "STORED\r\n", 8) != 0
                            : memcmp(answer, "VALUE k", 7) != 0 ||
                                  memcmp(answer + ANSWER - 7, "\r\nEND\r\n", 7) != 0) {
            wrong("an answer is wrong");
        }
        answer += client->sets[i] ? 8 : ANSWER;
    }
    return true;
}

int main(int argc, char **argv) {
    int depth = argc == 6 ? atoi(argv[5]) : 0;
    if (depth < 1 || depth > DEEPEST) {
        wrong("usage: gets PORT CLIENTS SECONDS SETS DEPTH");
    }
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int count = atoi(argv[2]), one = 1, poll = epoll_create1(0);
    double seconds = atof(argv[3]), end = 0;
    unsigned sets = (unsigned)atoi(argv[4]);
    unsigned long answers = 0;
    struct client *clients = calloc((size_t)count, sizeof *clients);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        clients[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(clients[i].fd, (struct sockaddr *)&to, sizeof to) == -1) {
            wrong("the server refuses a connection");
        }
        setsockopt(clients[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &event);
        ask(&clients[i], depth, sets);
    }
    for (;;) {
        struct epoll_event events[256];
        int n = epoll_wait(poll, events, 256, 5000);
        if (n <= 0) {
            wrong("no answer within 5 s");
        }
        for (int i = 0; i < n; i++) {
            struct client *client = events[i].data.ptr;
            if (!take(client, depth)) {
                continue;
            }
            if (filled == KEYS) {
                end = end == 0 ? now() + seconds : end;
                answers += (unsigned long)depth;
            }
            ask(client, depth, sets);
        }
        if (end != 0 && now() >= end) {
            printf("%lu\n", answers);
            return 0;
        }
    }
}
