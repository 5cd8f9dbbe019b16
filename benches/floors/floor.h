/* floor.h: what the floors share: the least that a server of HTTP/1.1 over TCP can do.
 *
 * A floor is a loop of system calls: it looks for the end of each request head and answers, and has
 * no limits, no time-outs and no parsing. Nothing can be much cheaper on the same system calls, so
 * the distance to it is what a server adds. Usage:
 *
 *     epoll|thread|process|fork --port N (--bytes N | --files DIR) [--close] [--workers N]
 *
 * --bytes: each answer is the same N bytes in all; --files: the file that is asked for, opened anew
 * each time. --close: an answer ends the connection. */
#ifndef FLOOR_H
#define FLOOR_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLOOR_COPIES = 64, FLOOR_WHOLE = 32 * 1024, FLOOR_INPUT = 16 * 1024, FLOOR_BACKLOG = 4096 };

static struct {
    unsigned port, workers;
    size_t bytes; /* of the constant answer */
    char *copies; /* FLOOR_COPIES of it, for requests that came together */
    int root;     /* the directory of --files, or -1 */
    bool closing;
    int listener;
} floor_ = {.workers = 64, .root = -1};

/* What a connection needs to know from one receive to the next. */
struct floor_client {
    unsigned matched; /* of the blank line that ends a head, at the end of what was received */
    unsigned owed;    /* answers */
    size_t sent;      /* of the present answer, the head included */
    int file;         /* whose rest is to be sent, or -1 */
    off_t offset;
    size_t left;
};

/* How many heads end in these bytes. */
static unsigned floor_heads(struct floor_client *c, const char *p, size_t n) {
    static const char blank[] = "\r\n\r\n";
    unsigned heads = 0;
    const char *end = p + n;
    while (c->matched > 0 && p < end) { /* a blank line that was cut */
        if (*p != blank[c->matched]) {
            c->matched = 0;
        } else if (p++, ++c->matched == 4) {
            c->matched = 0;
            heads++;
        }
    }
    for (const char *at; (at = memmem(p, (size_t)(end - p), blank, 4)) != NULL; p = at + 4) {
        heads++;
    }
    for (unsigned k = end - p < 3 ? (unsigned)(end - p) : 3; k > 0; k--) {
        if (memcmp(end - k, blank, k) == 0) {
            c->matched = k;
            break;
        }
    }
    return heads;
}

/* Answers all that is owed. 1: done; 0: the client takes no more now; -1: it is gone. */
static int floor_constant(int fd, struct floor_client *c) {
    while (c->owed > 0) {
        size_t copies = c->owed < FLOOR_COPIES ? c->owed : FLOOR_COPIES;
        ssize_t n =
            send(fd, floor_.copies + c->sent, copies * floor_.bytes - c->sent, MSG_NOSIGNAL);
        if (n == -1) {
            return errno == EAGAIN ? 0 : -1;
        }
        c->sent += (size_t)n;
        c->owed -= (unsigned)(c->sent / floor_.bytes);
        c->sent %= floor_.bytes;
    }
    return 1;
}

/* The rest of a file that was begun; as above. */
static int floor_rest(int fd, struct floor_client *c) {
    while (c->left > 0) {
        ssize_t n = sendfile(fd, c->file, &c->offset, c->left);
        if (n <= 0) {
            return n == -1 && errno == EAGAIN ? 0 : -1;
        }
        c->left -= (size_t)n;
    }
    close(c->file);
    c->file = -1;
    c->owed--;
    return 1;
}

/* Answers a request for a file whose head is here and came whole; as above. */
static int floor_file(int fd, struct floor_client *c, char *head, size_t n) {
    char answer[512 + FLOOR_WHOLE];
    struct stat info;
    char *path = head + 5, *space = n > 5 ? memchr(path, ' ', n - 5) : NULL;
    if (memcmp(head, "GET /", 5) != 0 || space == NULL) {
        return -1;
    }
    *space = '\0';
    c->file = openat(floor_.root, path, O_RDONLY | O_CLOEXEC);
    if (c->file == -1 || fstat(c->file, &info) == -1) {
        return -1;
    }
    size_t size = (size_t)info.st_size;
    size_t length = (size_t)sprintf(answer,
                                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                    "Content-Length: %zu\r\n%s\r\n",
                                    size, floor_.closing ? "Connection: close\r\n" : "");
    c->offset = 0;
    c->left = size;
    if (size <= FLOOR_WHOLE) {
        if (read(c->file, answer + length, size) != (ssize_t)size) {
            return -1;
        }
        ssize_t sent = send(fd, answer, length + size, MSG_NOSIGNAL);
        if (sent < (ssize_t)length) {
            return -1; /* not even the head: there is always room for that at first */
        }
        c->offset = sent - (ssize_t)length;
        c->left = size - (size_t)c->offset;
    } else if (send(fd, answer, length, MSG_NOSIGNAL | MSG_MORE) != (ssize_t)length) {
        return -1;
    }
    return floor_rest(fd, c);
}

/* What one receive brought; as above, or 2: it was only a part of a head. */
static int floor_serve(int fd, struct floor_client *c, char *input, size_t n) {
    if (floor_.root == -1) {
        c->owed += floor_heads(c, input, n);
        return c->owed == 0 ? 2 : floor_constant(fd, c);
    }
    if (n < 4 || memcmp(input + n - 4, "\r\n\r\n", 4) != 0) {
        return -1; /* files are asked for one at a time */
    }
    c->owed = 1;
    return floor_file(fd, c, input, n);
}

static void floor_nodelay(int fd) {
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static _Noreturn void floor_fail(const char *what) {
    perror(what);
    exit(1);
}

static unsigned long floor_number(const char *text) {
    char *end;
    unsigned long value = strtoul(text == NULL ? "" : text, &end, 10);
    if (text == NULL || *text == '\0' || *end != '\0') {
        fputs("floor: a number is missing\n", stderr);
        exit(2);
    }
    return value;
}

static void floor_answers(void) {
    char head[256];
    int body = (int)floor_.bytes, length = 0;
    for (int i = 0; i < 3; i++) { /* the length of the length counts */
        length = sprintf(head,
                         "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                         "Content-Length: %d\r\n%s\r\n",
                         body, floor_.closing ? "Connection: close\r\n" : "");
        body = (int)floor_.bytes - length;
    }
    floor_.copies = malloc(FLOOR_COPIES * floor_.bytes);
    if (body < 0 || floor_.copies == NULL) {
        fputs("floor: --bytes is too small or too large\n", stderr);
        exit(2);
    }
    for (unsigned i = 0; i < FLOOR_COPIES; i++) {
        memcpy(floor_.copies + i * floor_.bytes, head, (size_t)length);
        memset(floor_.copies + i * floor_.bytes + length, 'x', (size_t)body);
    }
}

static void floor_start(int argc, char **argv, bool blocking) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--close") == 0) {
            floor_.closing = true;
        } else if (strcmp(argv[i], "--port") == 0) {
            floor_.port = (unsigned)floor_number(argv[++i]);
        } else if (strcmp(argv[i], "--workers") == 0) {
            floor_.workers = (unsigned)floor_number(argv[++i]);
        } else if (strcmp(argv[i], "--bytes") == 0) {
            floor_.bytes = floor_number(argv[++i]);
        } else if (strcmp(argv[i], "--files") == 0 && i + 1 < argc) {
            floor_.root = open(argv[++i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        } else {
            fprintf(stderr, "floor: unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
    if (floor_.bytes > 0) {
        floor_answers();
    } else if (floor_.root == -1) {
        floor_fail("floor: neither --bytes nor --files");
    }
    int yes = 1, type = SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)floor_.port)};
    floor_.listener = socket(AF_INET, type, 0);
    setsockopt(floor_.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    floor_nodelay(floor_.listener); /* accepted sockets inherit it */
    if (bind(floor_.listener, (struct sockaddr *)&own, sizeof own) == -1 ||
        listen(floor_.listener, FLOOR_BACKLOG) == -1) {
        floor_fail("floor: cannot listen");
    }
    signal(SIGPIPE, SIG_IGN);
}

#endif
