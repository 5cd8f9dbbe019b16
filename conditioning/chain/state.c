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
    char line[KEEP_LINE];
} client[CLIENTS];

static void change(FILE *out, char *texts) {
    char *text[MOST_FILTERS + 1], why[512], reason[4 * sizeof why], line[KEEP_LINE];
    snprintf(line, sizeof line, "%s", texts);
    int count = keep_split(texts, text);
    struct plan *plan = plan_new(text, count, why, sizeof why);
    shown(reason, sizeof reason, why, sizeof why);
    if (plan == NULL)
        fprintf(out, "refused: %s\n", reason);
    else if (!reload(plan, REPLACED))
        fprintf(out, "refused: too few descriptors or too little memory\n");
    else
        fprintf(out, "changed%s\n",
                keep_write(line) ? "" : ", but a chain that is started again has the old filters");
}

static void answer(int fd, char *line) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    if (strcmp(line, "metrics") == 0)
        show_metrics(out);
    else if (strncmp(line, "chain ", 6) == 0)
        change(out, line + 6);
    else if (strcmp(line, "status") == 0 || *line == '\0')
        show_table(out);
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
    show_began = now_ms();
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
        say("nothing answers at %s: %s; give the socket of --state of one that runs", path,
            strerror(errno));
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
