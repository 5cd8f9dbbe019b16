/* gets.c: clients of a cache with memcached's protocol: each sends one command at a time, mostly
 * `get` of a key that is there, and verifies the answer. One thread, one epoll loop.
 *
 * usage: gets PORT CLIENTS SECONDS SETS   (of 100 commands, so many are `set`)
 * Prints how many answers there were. */
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

enum { KEYS = 10000, VALUE = 100, MOST = 256, ANSWER = 21 + VALUE + 2 + 5 };

struct client {
    int fd;
    bool sets;
    size_t got, wants;
    char answer[MOST];
};

static uint64_t state = 1;

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

static void ask(struct client *client, unsigned key, bool sets) {
    char text[MOST], value[VALUE + 1];
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    int n = sets ? snprintf(text, sizeof text, "set k%06u 0 0 %d\r\n%s\r\n", key, VALUE, value)
                 : snprintf(text, sizeof text, "get k%06u\r\n", key);
    client->sets = sets;
    client->got = 0;
    client->wants = sets ? strlen("STORED\r\n") : ANSWER;
    if (write(client->fd, text, (size_t)n) != n) {
        wrong("a command is not sent");
    }
}

/* True: the answer is complete. */
static bool take(struct client *client) {
    ssize_t n = read(client->fd, client->answer + client->got, MOST - client->got);
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
    if (client->sets ? memcmp(client->answer, "STORED\r\n", 8) != 0
                     : memcmp(client->answer, "VALUE k", 7) != 0 ||
                           memcmp(client->answer + ANSWER - 7, "\r\nEND\r\n", 7) != 0) {
        wrong("an answer is wrong");
    }
    return true;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        wrong("usage: gets PORT CLIENTS SECONDS SETS");
    }
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int count = atoi(argv[2]), one = 1, poll = epoll_create1(0);
    double seconds = atof(argv[3]), end = 0;
    unsigned sets = (unsigned)atoi(argv[4]), filled = 0;
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
        ask(&clients[i], filled++ % KEYS, true);
    }
    for (;;) {
        struct epoll_event events[256];
        int n = epoll_wait(poll, events, 256, 5000);
        if (n <= 0) {
            wrong("no answer within 5 s");
        }
        for (int i = 0; i < n; i++) {
            struct client *client = events[i].data.ptr;
            if (!take(client)) {
                continue;
            }
            if (filled < KEYS) { /* first all keys are stored */
                ask(client, filled++, true);
                continue;
            }
            end = end == 0 ? now() + seconds : end;
            answers++;
            ask(client, (unsigned)(draw() % KEYS), draw() % 100 < sets);
        }
        if (end != 0 && now() >= end) {
            printf("%lu\n", answers);
            return 0;
        }
    }
}
