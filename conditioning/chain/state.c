/* The state of a chain, on a Unix socket: a line with a command comes in, text goes out.
 *
 *     status            a table
 *     metrics           OpenMetrics text
 *     chain FILTER...   other filters from now on */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 16 };
static int state = -1;
static char where[108];
static struct {
    int fd; /* 0: none */
    size_t have;
    char line[4096];
} client[CLIENTS];

static void table(FILE *out) {
    uint64_t now = now_ms();
    fprintf(out, "%-12s %8s %10s %10s %10s %8s %8s %6s\n", "filter", "process", "accepted",
            "passed", "refused", "held", "oldest", "deaths");
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        for (struct chain *c = l->chains; c != NULL; c = c->next) {
            fprintf(out, "%s%s\n", l->name, c->leaving ? " (leaving)" : "");
            for (int i = 0; i < c->plan->count; i++) {
                const struct stage *s = &c->stage[i];
                const struct ccf__counters *n = s->counters;
                uint64_t refused = 0, oldest = n->oldest;
                for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++)
                    refused += n->refused[r].count;
                fprintf(out, "%-12s %8d %10llu %10llu %10llu %8llu %7.1fs %6u\n", s->spec->argv[0],
                        (int)s->pid, (unsigned long long)n->accepted, (unsigned long long)n->passed,
                        (unsigned long long)refused, (unsigned long long)n->held,
                        oldest != 0 && oldest < now ? (double)(now - oldest) / 1000 : 0.0,
                        s->deaths);
                for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++) {
                    char reason[4 * CCF__REASON_NAME + 1];
                    shown(reason, sizeof reason, n->refused[r].name, CCF__REASON_NAME);
                    fprintf(out, "    %-23s %10llu\n", reason,
                            (unsigned long long)n->refused[r].count);
                }
            }
        }
    }
}

struct metric {
    const char *name, *type, *help;
    uint64_t (*value)(const struct stage *stage);
};

static uint64_t accepted(const struct stage *s) {
    return s->counters->accepted;
}
static uint64_t passed(const struct stage *s) {
    return s->counters->passed;
}
static uint64_t held(const struct stage *s) {
    return s->counters->held;
}
static uint64_t deaths(const struct stage *s) {
    return s->deaths;
}

static const struct metric metrics_list[] = {
    {"cc_accepted", "counter", "Connections and requests that arrived at a filter.", accepted},
    {"cc_passed", "counter", "Connections and requests that a filter passed on.", passed},
    {"cc_deaths", "counter", "How often a filter died and was started again.", deaths},
    {"cc_held", "gauge", "Connections that a filter holds.", held},
};

static void labels(FILE *out, const struct listener *l, const struct chain *c, int place) {
    fprintf(out, "listen=\"%s\",place=\"%d\",filter=\"%s\"", l->name, place,
            c->plan->spec[place].argv[0]);
}

static void metrics(FILE *out) {
    uint64_t now = now_ms();
    for (size_t m = 0; m < sizeof metrics_list / sizeof metrics_list[0]; m++) {
        const struct metric *metric = &metrics_list[m];
        fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", metric->name, metric->type, metric->name,
                metric->help);
        for (struct listener *l = listeners; l != NULL; l = l->next)
            for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
                fprintf(out, "%s%s{", metric->name,
                        strcmp(metric->type, "counter") == 0 ? "_total" : "");
                labels(out, l, l->chains, i);
                fprintf(out, "} %llu\n", (unsigned long long)metric->value(&l->chains->stage[i]));
            }
    }
    fprintf(out, "# TYPE cc_oldest_seconds gauge\n# UNIT cc_oldest_seconds seconds\n"
                 "# HELP cc_oldest_seconds Age of the oldest connection that a filter holds.\n");
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
            uint64_t oldest = l->chains->stage[i].counters->oldest;
            fprintf(out, "cc_oldest_seconds{");
            labels(out, l, l->chains, i);
            fprintf(out, "} %.3f\n",
                    oldest != 0 && oldest < now ? (double)(now - oldest) / 1000 : 0.0);
        }
    fprintf(out,
            "# TYPE cc_refused counter\n# HELP cc_refused Connections that a filter refused.\n");
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
            const struct ccf__counters *n = l->chains->stage[i].counters;
            for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++) {
                fprintf(out, "cc_refused_total{");
                labels(out, l, l->chains, i);
                fprintf(out, ",reason=\"%.*s\"} %llu\n", CCF__REASON_NAME, n->refused[r].name,
                        (unsigned long long)n->refused[r].count);
            }
        }
    fprintf(out, "# EOF\n");
}

static void change(FILE *out, char *texts) {
    char *text[MOST_FILTERS + 1], why[512], reason[4 * sizeof why];
    int count = 0;
    for (char *piece; count <= MOST_FILTERS && (piece = strsep(&texts, " ")) != NULL;)
        if (*piece != '\0')
            text[count++] = piece;
    struct plan *plan = plan_new(text, count, why, sizeof why);
    shown(reason, sizeof reason, why, sizeof why);
    if (plan == NULL)
        fprintf(out, "refused: %s\n", *why != '\0' ? reason : "a filter has refused its options");
    else
        fprintf(out, "%s\n",
                reload(plan) ? "changed" : "refused: too few descriptors or too little memory");
}

static void answer(int fd, char *line) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    if (strcmp(line, "metrics") == 0)
        metrics(out);
    else if (strncmp(line, "chain ", 6) == 0)
        change(out, line + 6);
    else if (strcmp(line, "status") == 0 || *line == '\0')
        table(out);
    else
        fprintf(out, "refused: the commands are status, metrics, chain FILTER...\n");
    fclose(out);
    /* A reader that does not read loses its answer, not the chain its time. */
    for (size_t done = 0; done < size;) {
        ssize_t sent = send(fd, text + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        done += (size_t)sent;
    }
    free(text);
}

static int address(const char *path, struct sockaddr_un *at) {
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(at->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

bool state_open(const char *path) {
    struct sockaddr_un at;
    int fd = address(path, &at);
    if (fd == -1)
        return false;
    /* A socket that nobody listens on any more is left over. */
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == -1 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
    state = address(path, &at);
    if (state == -1 || bind(state, (struct sockaddr *)&at, sizeof at) == -1 ||
        listen(state, CLIENTS) == -1)
        return false;
    strcpy(where, path);
    return true;
}

void state_close(void) {
    if (*where != '\0')
        unlink(where);
}

size_t state_polls(struct pollfd *polls, size_t room) {
    size_t count = 0, free_places = 0;
    for (int i = 0; i < CLIENTS && count + 1 < room; i++) {
        if (client[i].fd != 0)
            polls[count++] = (struct pollfd){client[i].fd, POLLIN, 0};
        else
            free_places++;
    }
    if (state != -1 && free_places > 0)
        polls[count++] = (struct pollfd){state, POLLIN, 0};
    return count;
}

static void on_client(int i) {
    ssize_t got = recv(client[i].fd, client[i].line + client[i].have,
                       sizeof client[i].line - 1 - client[i].have, MSG_DONTWAIT);
    if (got == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    client[i].have += got > 0 ? (size_t)got : 0;
    client[i].line[client[i].have] = '\0';
    char *end = strpbrk(client[i].line, "\r\n");
    if (end == NULL && got > 0 && client[i].have + 1 < sizeof client[i].line)
        return;
    if (end != NULL)
        *end = '\0';
    if (got >= 0)
        answer(client[i].fd, client[i].line);
    close(client[i].fd);
    client[i].fd = 0;
}

void state_events(const struct pollfd *polls, size_t count) {
    for (size_t p = 0; p < count; p++) {
        if (polls[p].revents == 0)
            continue;
        for (int i = 0; i < CLIENTS; i++) {
            if (polls[p].fd == state && client[i].fd == 0) {
                int fd = accept4(state, NULL, NULL, SOCK_CLOEXEC);
                client[i].fd = fd > 0 ? fd : 0;
                client[i].have = 0;
                break;
            }
            if (polls[p].fd != state && client[i].fd == polls[p].fd) {
                on_client(i);
                break;
            }
        }
    }
}

int state_ask(const char *path, const char *command) {
    struct sockaddr_un at;
    char text[4096];
    ssize_t got = 0;
    int fd = address(path, &at);
    if (fd == -1 || connect(fd, (struct sockaddr *)&at, sizeof at) == -1) {
        say("%s: %s", path, strerror(errno));
        return TEMPORARY;
    }
    snprintf(text, sizeof text, "%s\n", command);
    bool refused = false;
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text)) {
        for (bool first = true; (got = read(fd, text, sizeof text)) > 0; first = false) {
            refused = refused || (first && got > 8 && memcmp(text, "refused:", 8) == 0);
            fwrite(text, 1, (size_t)got, stdout);
        }
    }
    close(fd);
    return got < 0 ? TEMPORARY : refused ? WRONG_CALL : 0;
}
