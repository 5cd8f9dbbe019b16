/* ccserver: the web server of "Connection Conditioning" (Park and Pai, 2006). It serves files, one
 * request at a time. It never waits for a client: whole requests come from the filters, and an
 * answer fits into the socket's buffer, or a child sends it.
 *
 *     ccserver [ADDRESS:]PORT DIRECTORY [FILTER...]     FILTER next to the server first */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cc.h"

enum { MAXREQUEST = 65536, SENDBUFSIZE = 131072, BACKLOG = 1024, SEND_TIMEOUT = 30 };

struct answer {
    const char *status, *type;
    off_t size;
    int file;   /* or -1 */
    bool body;  /* the method is not HEAD */
    bool close; /* the client sends no other request */
};

static int root;

/* Decodes %XX up to the query. Returns false for a path that is malformed. */
static bool decode(const char *from, char *to) {
    for (; *from != '\0' && *from != '?'; from++) {
        unsigned c = (unsigned char)*from;
        if (c == '%' && sscanf(from + 1, "%2x", &c) == 1 && from[1] != '\0' && from[2] != '\0')
            from += 2;
        if (c == '\0')
            return false;
        *to++ = (char)c;
    }
    *to = '\0';
    return true;
}

static const char *type_of(const char *path) {
    static const char *const types[][2] = {{".html", "text/html"}, {".txt", "text/plain"},
                                           {".css", "text/css"},   {".png", "image/png"},
                                           {".jpg", "image/jpeg"}, {".js", "text/javascript"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

static struct answer parse_and_open(char *request) {
    struct answer answer = {"400 Bad Request", "text/plain", 0, -1, true, true};
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    static char path[MAXREQUEST + 16];
    struct stat st;
    bool last = strcasestr(request, "\nConnection: close") != NULL;
    char *method = strsep(&request, " "), *target = strsep(&request, " ");
    if (target == NULL || *target != '/' || !decode(target, path))
        return answer;
    answer.status = "501 Not Implemented";
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer;
    answer.body = strcmp(method, "GET") == 0;
    answer.close = last;
    answer.status = "404 Not Found";
    if (path[strlen(path) - 1] == '/')
        strcat(path, "index.html");
    int file = (int)syscall(SYS_openat2, root, path + strspn(path, "/"), &how, sizeof how);
    if (file == -1 || fstat(file, &st) == -1 || !S_ISREG(st.st_mode)) {
        if (file != -1)
            close(file);
        return answer;
    }
    return (struct answer){"200 OK", type_of(path), st.st_size, file, answer.body, last};
}

static bool send_header(int c, const struct answer *answer) {
    char header[256];
    int n = snprintf(header, sizeof header,
                     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %lld\r\n%s\r\n",
                     answer->status, answer->type, (long long)answer->size,
                     answer->close ? "Connection: close\r\n" : "");
    bool more = answer->body && answer->size > 0;
    return send(c, header, (size_t)n, MSG_NOSIGNAL | (more ? MSG_MORE : 0)) == n;
}

/* Whether the answer might not fit into the socket's buffer. */
static bool is_long(int c, const struct answer *answer) {
    int size = SENDBUFSIZE, queued = 0;
    setsockopt(c, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ioctl(c, SIOCOUTQ, &queued);
    return answer->body && answer->size + queued > SENDBUFSIZE;
}

static bool send_body(int c, const struct answer *answer) {
    struct timeval timeout = {.tv_sec = SEND_TIMEOUT};
    off_t offset = 0;
    setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    while (answer->body && offset < answer->size) {
        ssize_t sent = sendfile(c, answer->file, &offset, (size_t)(answer->size - offset));
        /* With a time limit, a process that is stopped and continued gets EINTR. */
        if (sent == 0 || (sent == -1 && errno != EINTR))
            return false;
    }
    return true;
}

/* Serves one request. */
static void serve(int c) {
    static char request[MAXREQUEST];
    ssize_t n = cc_recv(c, request, sizeof request - 1, MSG_DONTWAIT);
    if (n <= 0) {
        cc_close(c, 1);
        return;
    }
    request[n] = '\0';
    struct answer answer = parse_and_open(request);
    bool child = false, good = true;
    pid_t pid = 0;
    if (is_long(c, &answer)) {
        /* A child sends what could make this process wait. */
        pid = cc_fork();
        child = pid == 0;
        good = pid != -1;
    }
    if (good && (pid == 0 || child))
        good = send_header(c, &answer) && send_body(c, &answer);
    /* A whole answer leaves the connection ready for the next request. */
    cc_close(c, !good || answer.close);
    if (answer.file != -1)
        close(answer.file);
    if (child)
        _exit(0);
}

int main(int argc, char **argv) {
    char *usual[] = {"priority", "persist", "request", NULL}, **filters = usual;
    struct in_addr address = {.s_addr = htonl(INADDR_ANY)};
    char *colon = argc > 2 ? strchr(argv[1], ':') : NULL, *port = colon ? colon + 1 : argv[1];
    if (argc > 3)
        filters = argv + 3;
    if (colon != NULL)
        *colon = '\0';
    if (argc < 3 || (colon != NULL && inet_aton(argv[1], &address) == 0) || atoi(port) <= 0) {
        fprintf(stderr, "usage: ccserver [ADDRESS:]PORT DIRECTORY [FILTER...]\n");
        return 100;
    }
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    root = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    int s =
        root == -1 ? -1 : cc_createlsock(address, htons((in_port_t)atoi(port)), BACKLOG, filters);
    if (s == -1) {
        fprintf(stderr, "ccserver: %s: %s\n", root == -1 ? argv[2] : argv[1], strerror(errno));
        return 111;
    }
    for (;;) {
        int c = cc_accept(s, NULL, NULL);
        if (c >= 0)
            serve(c);
        else if (errno == ESHUTDOWN)
            return 0; /* the chain has ended */
        else if (errno != EINTR)
            usleep(10000);
    }
}
