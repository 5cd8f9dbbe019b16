/* http.c: tells the counts by HTTP, in the service process.
 *
 * Called by workers/service_process.c. State: the connections. Must not know what is counted.
 *
 * GET and HEAD of /metrics, /ready and /live are answered, one request for each connection
 * (RFC 9112). A request is small, and the reply is made at once, so that a scrape sees one moment.
 * Who sends or reads nothing for five seconds is disconnected, and when all places are taken, the
 * one that has waited longest goes. Without a free descriptor, new clients wait a second. */
#include "../../platform/platform.h"
#include "../../workers/supervisor.h"
#include "counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HTTP_SCRAPERS = NEST__TASK_WAITS - 1, /* connections at a time */
    HTTP_REQUEST = 4096,                  /* bytes of a request's head, at most */
    HTTP_TIMEOUT_MS = 5000,
    HTTP_LINGER_MS = 1000,
    HTTP_REST_MS = 1000
};

struct http_scraper {
    int fd;         /* -1: free */
    bool over;      /* all is sent: waits for the client to close */
    uint64_t until; /* ms */
    size_t got, sent;
    char request[HTTP_REQUEST];
    struct nest__metrics_text reply;
};

static struct http_scraper *http_scrapers; /* scope: process; [HTTP_SCRAPERS] */
static uint64_t http_rests; /* scope: process; ms until when no client is accepted; 0: now */

/* -- a request -----------------------------------------------------------------------------------
 */

static void http_answer(struct http_scraper *to, const char *status, const char *type,
                        const char *more, const struct nest__metrics_text *body, bool head) {
    size_t n = body->failed ? 0 : body->n;
    nest__metrics_put(&to->reply,
                      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                      "%sConnection: close\r\n\r\n",
                      status, type, n, more);
    if (n > 0 && !head) {
        nest__metrics_put(&to->reply, "%.*s", (int)n, body->p);
    }
    to->until = nest__clock_ms() + HTTP_TIMEOUT_MS;
}

static void http_say(struct http_scraper *to, const char *status, const char *text, bool head) {
    struct nest__metrics_text body = {0};
    nest__metrics_put(&body, "%s\n", text);
    http_answer(to, status, "text/plain; charset=utf-8",
                status[0] == '4' && strncmp(status, "405", 3) == 0 ? "Allow: GET, HEAD\r\n" : "",
                &body, head);
    free(body.p);
}

/* Whether the request has the field Accept with this text. Preferences (q=) are not weighed: only
 * who can read OpenMetrics names it. */
static bool http_accepts(const char *request, const char *type) {
    const char *line = request;
    while ((line = strstr(line, "\r\n")) != NULL) {
        line += 2;
        size_t n = strcspn(line, "\r\n");
        if (n > 7 && strncasecmp(line, "accept:", 7) == 0) {
            const char *found = strstr(line, type);
            if (found != NULL && found < line + n) {
                return true;
            }
        }
    }
    return false;
}

static void http_show(struct http_scraper *to, const char *query, bool head) {
    struct nest__metrics_text body = {0};
    enum nest__metrics_format format = http_accepts(to->request, "application/openmetrics-text")
                                           ? NEST__METRICS_OPEN
                                           : NEST__METRICS_PROMETHEUS;
    nest__metrics_expose(&body, format, strcmp(query, "fine") == 0);
    if (body.failed) {
        http_say(to, "503 Service Unavailable", "out of memory", head);
    } else {
        http_answer(to, "200 OK",
                    format == NEST__METRICS_OPEN
                        ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8",
                    "Vary: Accept\r\n", &body, head);
    }
    free(body.p);
}

static void http_ready(struct http_scraper *to, bool head) {
    struct nest__metrics_state state = nest__metrics_told();
    if (state.stopping) {
        http_say(to, "503 Service Unavailable", "the server stops", head);
    } else if (state.workers == 0) {
        http_say(to, "503 Service Unavailable", "no worker lives", head);
    } else {
        http_say(to, "200 OK", "ready", head);
    }
}

/* The head is complete and ends in NUL. */
static void http_request(struct http_scraper *to) {
    char method[8], target[512], version[16], *path = target, *query;
    if (sscanf(to->request, "%7[A-Z] %511[^ \r\n] HTTP/1.%1[0-9]\r\n", method, target, version) !=
        3) {
        http_say(to, "400 Bad Request", "not a request of HTTP/1.1", false);
        return;
    }
    if (strncasecmp(target, "http://", 7) == 0) { /* absolute form (RFC 9112, 3.2.2) */
        path = target + 7 + strcspn(target + 7, "/?");
    }
    bool head = strcmp(method, "HEAD") == 0;
    if (!head && strcmp(method, "GET") != 0) {
        http_say(to, "405 Method Not Allowed", "only GET and HEAD", false);
        return;
    }
    query = strchr(path, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    if (strcmp(path, "/metrics") == 0) {
        http_show(to, query == NULL ? "" : query, head);
    } else if (strcmp(path, "/ready") == 0) {
        http_ready(to, head);
    } else if (strcmp(path, "/live") == 0) {
        http_say(to, "200 OK", "alive", head);
    } else {
        http_say(to, "404 Not Found", "there are /metrics, /ready and /live", head);
    }
}

/* -- the task ------------------------------------------------------------------------------------
 */

static void http_leave(struct http_scraper *scraper) {
    close(scraper->fd);
    free(scraper->reply.p);
    scraper->reply = (struct nest__metrics_text){0};
    scraper->fd = -1;
}

static void http_receive(struct http_scraper *from) {
    ssize_t n = recv(from->fd, from->request + from->got, HTTP_REQUEST - 1 - from->got, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            http_leave(from);
        }
        return;
    }
    from->got += (size_t)n;
    from->request[from->got] = '\0';
    size_t blank = strspn(from->request, "\r\n"); /* before a request (RFC 9112, 2.2) */
    from->got -= blank;
    memmove(from->request, from->request + blank, from->got + 1);
    if (strlen(from->request) < from->got) {
        http_say(from, "400 Bad Request", "not a request of HTTP/1.1", false);
    } else if (strstr(from->request, "\r\n\r\n") != NULL) {
        http_request(from);
    } else if (from->got == HTTP_REQUEST - 1) {
        http_say(from, "431 Request Header Fields Too Large", "the request is too long", false);
    }
}

static void http_send(struct http_scraper *to) {
    ssize_t n = send(to->fd, to->reply.p + to->sent, to->reply.n - to->sent, MSG_NOSIGNAL);
    if (n == -1) {
        if (errno != EAGAIN && errno != EINTR) {
            http_leave(to);
        }
        return;
    }
    to->sent += (size_t)n;
    to->until = nest__clock_ms() + HTTP_TIMEOUT_MS;
    if (to->sent == to->reply.n) {
        to->over = true;
        to->until = nest__clock_ms() + HTTP_LINGER_MS;
        (void)shutdown(to->fd, SHUT_WR);
    }
}

/* What the client still sends is dropped, or a reset would take the reply from it. */
static void http_drop(struct http_scraper *from) {
    char bytes[HTTP_REQUEST];
    ssize_t n = recv(from->fd, bytes, sizeof bytes, 0);
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        http_leave(from);
    }
}

static struct http_scraper *http_place(void) {
    struct http_scraper *oldest = &http_scrapers[0];
    for (unsigned i = 0; i < HTTP_SCRAPERS; i++) {
        struct http_scraper *scraper = &http_scrapers[i];
        if (scraper->fd == -1) {
            return scraper;
        }
        oldest = scraper->until < oldest->until ? scraper : oldest;
    }
    http_leave(oldest);
    return oldest;
}

static void http_accept(void) {
    int fd = accept4(nest__metrics_listener(), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd != -1) {
        struct http_scraper *scraper = http_place();
        scraper->fd = fd;
        scraper->over = false;
        scraper->got = scraper->sent = 0;
        scraper->until = nest__clock_ms() + HTTP_TIMEOUT_MS;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        http_rests = nest__clock_ms() + HTTP_REST_MS; /* the listener would be ready for ever */
    }
}

static int http_begin(void) {
    if (nest__metrics_listener() == -1) {
        return 0;
    }
    http_scrapers = calloc(HTTP_SCRAPERS, sizeof *http_scrapers);
    if (http_scrapers == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < HTTP_SCRAPERS; i++) {
        http_scrapers[i].fd = -1;
    }
    return 0;
}

static unsigned http_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    unsigned n = 0;
    if (http_scrapers == NULL) {
        return 0;
    }
    waits[n++] =
        (struct pollfd){.fd = http_rests == 0 ? nest__metrics_listener() : -1, .events = POLLIN};
    for (unsigned i = 0; i < HTTP_SCRAPERS; i++) {
        const struct http_scraper *scraper = &http_scrapers[i];
        if (scraper->fd != -1) {
            bool sends = scraper->reply.n > 0 && !scraper->over;
            waits[n++] = (struct pollfd){.fd = scraper->fd, .events = sends ? POLLOUT : POLLIN};
        }
    }
    return n;
}

static void http_visit(struct http_scraper *scraper) {
    if (scraper->over) {
        http_drop(scraper);
    } else if (scraper->reply.n == 0) {
        http_receive(scraper);
    }
    if (scraper->fd != -1 && scraper->reply.failed) {
        http_leave(scraper); /* no memory even for a refusal */
    }
    if (scraper->fd != -1 && scraper->reply.n > 0 && !scraper->over) {
        http_send(scraper);
    }
}

static bool http_is_ready(const struct pollfd waits[], unsigned n, int fd) {
    for (unsigned i = 0; i < n; i++) {
        if (waits[i].fd == fd) {
            return waits[i].revents != 0;
        }
    }
    return false;
}

/* The first call has no descriptors. ms until a client is disconnected or may come again; -1: no
 * time matters. */
static int http_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    uint64_t now = nest__clock_ms();
    int again = -1;
    for (unsigned i = 0; i < HTTP_SCRAPERS && http_scrapers != NULL; i++) {
        struct http_scraper *scraper = &http_scrapers[i];
        if (scraper->fd != -1 && http_is_ready(waits, n, scraper->fd)) {
            http_visit(scraper);
        }
        if (scraper->fd != -1 && now >= scraper->until) {
            http_leave(scraper);
        }
        if (scraper->fd != -1) {
            again = nest__sooner(again, (int)(scraper->until - now));
        }
    }
    if (n > 0 && waits[0].revents != 0) {
        http_accept();
        again = nest__sooner(again, HTTP_TIMEOUT_MS);
    }
    http_rests = now >= http_rests ? 0 : http_rests;
    return http_rests == 0 ? again : nest__sooner(again, (int)(http_rests - now));
}

const struct nest__task nest__metrics_task = {"metrics", http_begin, http_waits, http_step, NULL};
