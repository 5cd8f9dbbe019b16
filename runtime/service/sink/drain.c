/* drain.c: the task of the service process that empties the pipe of log records.
 *
 * State: bytes that were read and not written; the pause. After each look it rests, so that many
 * records are written together. The supervisor drains what is left when the server ends. Must not
 * know what a target is. */
#include "../../platform/platform.h"
#include "../../workers/supervisor.h"
#include "sinks.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DRAIN_BUFFER = 128 * 1024,
    DRAIN_REST_MS = 20,
    DRAIN_WAIT_MS = 200, /* for targets that take nothing: other tasks wait meanwhile */
    DRAIN_LAST_MS = 1000,
    DRAIN_PIPE = 1024 * 1024, /* what the pipe holds at most: more comes from workers that live */
    DRAIN_MUCH = 32 * 1024    /* bytes at a look, after which it does not rest */
};

/* scope: process */
static struct {
    size_t n;
    bool rests;
    char bytes[DRAIN_BUFFER];
} drain;

static bool drain_tag(char c) {
    return c == NEST__SINK_ACCESS || c == NEST__SINK_FIELDS || c == NEST__SINK_ERROR;
}

/* Whether no byte of the next eight is a tag. The subtraction sets the top bit of a byte that is
 * less than all others; where it borrows from the next byte, the answer is false anyway. */
static bool drain_text(const char *p) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t eight;
    memcpy(&eight, p, sizeof eight);
    return ((eight - ones * (NEST__SINK_ERROR + 1)) & ~eight & tops) == 0;
}

/* Where the record that begins at `p` ends: before the next one, or at `end`. */
static const char *drain_next(const char *p, const char *end) {
    p++;
    while (end - p >= 8 && drain_text(p)) {
        p += 8;
    }
    while (p < end && !drain_tag(*p)) {
        p++;
    }
    return p;
}

/* Writes the complete records. A process that died while it read may have left half of one, which
 * is passed over. `more`: the last one may continue. */
static void drain_split(const struct nest__sink_targets *targets, bool more) {
    const char *p = drain.bytes, *end = p + drain.n;
    while (p < end && !drain_tag(*p)) {
        p++;
    }
    while (p < end) {
        const char *next = drain_next(p, end);
        if (next == end && more && next - p < NEST__SINK_RECORD) {
            break;
        }
        if (next[-1] == '\n') {
            nest__sink_write(targets, (enum nest__sink_tag) * p, p + 1, (size_t)(next - p) - 1);
        }
        p = next;
    }
    drain.n = (size_t)(end - p);
    memmove(drain.bytes, p, drain.n);
}

/* The report may be lost as well, and is counted then; the lines that it was about still are. */
static void drain_report(const struct nest__sink_targets *targets, bool last) {
    uint64_t dropped = nest__sink_dropped();
    if (dropped > 0) {
        char text[NEST__SINK_DROP_TEXT];
        size_t n = nest__sink_drop_text(text, dropped);
        unsigned lost = nest__sink_write(targets, NEST__SINK_ERROR, text, n);
        lost += nest__sink_flush(targets, last);
        nest__sink_drop(lost > 0 ? dropped - 1 : 0);
    }
}

size_t nest__sink_drain(int pipe, const struct nest__sink_targets *targets, bool last) {
    size_t room = sizeof drain.bytes - drain.n, all = 0;
    ssize_t n;
    nest__sink_allow(last && nest__supervises() ? DRAIN_LAST_MS : DRAIN_WAIT_MS);
    while ((n = read(pipe, drain.bytes + drain.n, room)) > 0) {
        drain.n += (size_t)n;
        all += (size_t)n;
        drain_split(targets, (size_t)n == room);
        room = sizeof drain.bytes - drain.n;
        if (all > (last ? DRAIN_PIPE : sizeof drain.bytes)) {
            break; /* other tasks of this process have their turn */
        }
    }
    if (n <= 0) { /* the last record that filled the buffer was whole */
        drain_split(targets, false);
    }
    nest__sink_flush(targets, last);
    drain_report(targets, last);
    return all;
}

/* -- the task ------------------------------------------------------------------------------------
 */

/* The supervisor has opened new targets. */
static void drain_receive(void) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(NEST__SINK_STREAMS * sizeof(int))];
    } control;
    struct nest__sink_targets told;
    struct iovec into = {&told, sizeof told};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t n = recvmsg(nest__sink_handover(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = n == (ssize_t)sizeof told ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights == NULL || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len != CMSG_LEN(NEST__SINK_STREAMS * sizeof(int))) {
        return;
    }
    int fds[NEST__SINK_STREAMS];
    memcpy(fds, CMSG_DATA(rights), sizeof fds);
    for (int i = 0; i < NEST__SINK_STREAMS; i++) {
        told.of[i].fd = fds[i];
        if (told.of[i].kind == NEST__SINK_STDERR) { /* has a descriptor only for the message */
            close(fds[i]);
            told.of[i].fd = STDERR_FILENO;
        }
    }
    nest__sink_leave(nest__sink_targets());
    *nest__sink_targets() = told;
}

void nest__sink_serve_begin(void) {
    nest__sink_allow(nest__supervises() ? DRAIN_LAST_MS : DRAIN_WAIT_MS);
}

void nest__sink_serve_put(const char *record, size_t n) {
    (void)nest__sink_write(nest__sink_targets(), (enum nest__sink_tag) * record, record + 1, n - 1);
}

void nest__sink_serve_flush(void) {
    (void)nest__sink_flush(nest__sink_targets(), nest__supervises());
    drain_report(nest__sink_targets(), nest__supervises());
}

static int drain_begin(void) {
    return 0;
}

static unsigned drain_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    waits[0] = (struct pollfd){.fd = nest__sink_handover(), .events = POLLIN};
    waits[1] = (struct pollfd){.fd = nest__sink_pipe(), .events = POLLIN};
    return drain.rests ? 1 : 2;
}

/* ms until the next look; -1: when a record comes. */
static int drain_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    (void)waits, (void)n;
    size_t got = nest__sink_drain(nest__sink_pipe(), nest__sink_targets(), false);
    drain_receive(); /* after the drain: what was put before a HUP goes where it was to go */
    drain.rests = got > 0;
    return got == 0 ? -1 : got > DRAIN_MUCH ? 0 : DRAIN_REST_MS;
}

/* The rest of a record that is here in part would mean nothing to the supervisor, which does not
 * have the rest of a line that was written in part either. */
static void drain_end(void) {
    if (drain.n > 0) {
        (void)nest__sink_drain(nest__sink_pipe(), nest__sink_targets(), true);
    } else {
        nest__sink_allow(DRAIN_WAIT_MS);
        (void)nest__sink_flush(nest__sink_targets(), true);
    }
}

const struct nest__task nest__sink_task = {"the log", drain_begin, drain_waits, drain_step,
                                           drain_end};
