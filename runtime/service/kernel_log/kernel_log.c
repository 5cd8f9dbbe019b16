/* kernel_log.c: the task of the service process that logs what the kernel answered.
 *
 * nest accelerate (kernel/src/told.rs) writes a line for each request, with tabs between its parts:
 * "answer", peer, request, status, bytes. "lost" and a number stand for lines for which the pipe
 * had no room. State: the pipe, and what the supervisor has read of the configuration, which all
 * processes share; bytes that were read and do not end a line. Must not know how the kernel
 * answers, nor where lines go. */
#include "kernel_log.h"
#include "../../platform/platform.h"
#include "../../workers/service_process.h"
#include "../../workers/shared.h"
#include "../../workers/supervisor.h"
#include "../fields/fields.h"
#include "../log/log.h"
#include "../sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ANSWERS_PIPE = 1024 * 1024, /* bytes; what an unprivileged process may have (pipe(7)) */
    ANSWERS_BUFFER = 64 * 1024, /* bytes; a line has less than a thousand */
    ANSWERS_PARTS = 5
};

/* scope: process, set before workers are made */
static int answers_pipe[2] = {-1, -1};
/* scope: server; the supervisor writes to it, others only read */
static struct answers_settings {
    _Atomic uint32_t logging, format; /* as in nest__config */
} * answers_settings;
/* scope: process */
static struct {
    size_t n;
    char bytes[ANSWERS_BUFFER];
} answers;

int nest__kernel_log_pipe(void) {
    return answers_pipe[1];
}

/* In the supervisor: the service process does not read the configuration again. */
void nest__kernel_log_reloaded(void) {
    if (nest__supervises()) {
        atomic_store(&answers_settings->logging, nest__config.logging);
        atomic_store(&answers_settings->format, nest__config.log_format);
    }
}

int nest__kernel_log_start(void) {
    void *shared = mmap(NULL, sizeof *answers_settings, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(answers_pipe, O_NONBLOCK | O_CLOEXEC) == -1) {
        int error = -errno;
        nest__say("cannot start: nothing to log with what the kernel answers: %s",
                  strerror(-error));
        return error;
    }
    answers_settings = shared;
    answers_settings->logging = nest__config.logging;
    answers_settings->format = nest__config.log_format;
    (void)fcntl(answers_pipe[1], F_SETPIPE_SZ, ANSWERS_PIPE); /* a smaller one does as well */
    return 0;
}

static void answers_shut(int *end) {
    close(*end);
    *end = -1;
}

/* A worker needs neither end, the service process the one to read from. */
int nest__kernel_log_serve(void) {
    (void)mprotect(answers_settings, sizeof *answers_settings, PROT_READ);
    answers_shut(&answers_pipe[1]);
    if (nest__report_own(0) != NULL) {
        answers_shut(&answers_pipe[0]);
    }
    return 0;
}

/* -- the task ------------------------------------------------------------------------------------
 */

static struct nest__field answers_field(const char *name, const char *value, bool number) {
    return (struct nest__field){name, value, (uint32_t)strlen(name), (uint32_t)strlen(value),
                                number};
}

/* Writes the line for a request. */
static void answers_log(char *parts[ANSWERS_PARTS]) {
    char text[NEST__SINK_RECORD];
    const struct nest__field fields[] = {answers_field("peer", parts[1], false),
                                         answers_field("request", parts[2], false),
                                         answers_field("status", parts[3], true)};
    size_t n = nest__log_outside(&(struct nest__outside){.rule = "kernelCache",
                                                         .peer = parts[1],
                                                         .fields = fields,
                                                         .count = sizeof fields / sizeof fields[0],
                                                         .out = strtoull(parts[4], NULL, 10)},
                                 text);
    if (n > 0) {
        nest__sink_serve_put(text, n);
    }
}

/* Takes a line apart. One that a process which died has left in part has not all parts. */
static void answers_line(char *line) {
    char *parts[ANSWERS_PARTS];
    unsigned n = 0;
    for (char *rest = line; n < ANSWERS_PARTS && rest != NULL; n++) {
        parts[n] = rest;
        rest = strchr(rest, '\t');
        if (rest != NULL) {
            *rest++ = '\0';
        }
    }
    if (n == ANSWERS_PARTS && strcmp(parts[0], "answer") == 0) {
        answers_log(parts);
    } else if (n == 2 && strcmp(parts[0], "lost") == 0) {
        nest__sink_drop(strtoull(parts[1], NULL, 10));
    }
}

/* Logs the lines that are whole. Returns how many bytes the pipe had. */
static size_t answers_read(void) {
    ssize_t got =
        read(answers_pipe[0], answers.bytes + answers.n, sizeof answers.bytes - answers.n);
    if (got <= 0) {
        return 0;
    }
    char *line = answers.bytes, *end = line + answers.n + got, *newline;
    while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        *newline = '\0';
        answers_line(line);
        line = newline + 1;
    }
    answers.n = line == answers.bytes && end == line + sizeof answers.bytes
                    ? 0 /* no line is so long */
                    : (size_t)(end - line);
    memmove(answers.bytes, line, answers.n);
    return (size_t)got;
}

static int answers_begin(void) {
    return 0;
}

static unsigned answers_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    waits[0] = (struct pollfd){.fd = answers_pipe[0], .events = POLLIN};
    return 1;
}

/* One read: other tasks have their turn. */
static int answers_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    (void)waits, (void)n;
    atomic_store(&nest__config.logging, atomic_load(&answers_settings->logging));
    atomic_store(&nest__config.log_format, atomic_load(&answers_settings->format));
    nest__sink_serve_begin();
    if (answers_read() > 0) {
        nest__sink_serve_flush();
    }
    return -1;
}

static void answers_end(void) {
    size_t all = 0, got;
    nest__sink_serve_begin();
    while (all < ANSWERS_PIPE && (got = answers_read()) > 0) {
        all += got;
    }
    nest__sink_serve_flush();
}

/* What a service process that is gone has left. */
void nest__kernel_log_close(void) {
    if (nest__supervises()) {
        answers_end();
        answers_shut(&answers_pipe[0]);
        answers_shut(&answers_pipe[1]);
    }
}

const struct nest__task nest__kernel_log_task = {"the log of the kernel", answers_begin,
                                                 answers_waits, answers_step, answers_end};
