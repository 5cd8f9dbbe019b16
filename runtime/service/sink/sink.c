/* sink.c: the life of the log: pipe, targets, who holds what.
 *
 * Called at join points. State: the pipe, which all processes share; the targets, which the
 * supervisor opens and the service process writes to. Must not know what a line says. */
#include "../../platform/platform.h"
#include "../../workers/shared.h"
#include "../../workers/supervisor.h"
#include "sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SINK_PIPE = 1024 * 1024 /* bytes; what an unprivileged process may have (pipe(7)) */ };

/* scope: process, set before workers are made */
static struct {
    int home; /* the working directory at the start */
    int pipe[2];
    int handover[2]; /* sockets: the supervisor's, the service process's */
    struct nest__sink_targets targets;
    bool on;     /* lines go through the pipe */
    bool serves; /* this is the service process */
} sink = {.home = -1, .pipe = {-1, -1}, .handover = {-1, -1}};

static volatile sig_atomic_t sink_usr1; /* scope: process; targets are to be opened anew */

int nest__sink_pipe(void) {
    return sink.pipe[0];
}

int nest__sink_handover(void) {
    return sink.handover[1];
}

struct nest__sink_targets *nest__sink_targets(void) {
    return &sink.targets;
}

bool nest__sink_journals(void) {
    const char *where = nest__config.access_log;
    if (sink.serves) { /* which has new targets, and not the new configuration */
        return sink.targets.of[NEST__SINK_OF_ACCESS].kind == NEST__SINK_JOURNAL;
    }
    return sink.on && where != NULL && strcmp(where, "journal") == 0;
}

bool nest__sink_send(const char *records, size_t n) {
    if (!sink.on) { /* inetd's connection: one line at a time */
        nest__sink_direct(records + 1, n - 1);
        return true;
    }
    int saved = errno;
    bool sent = write(sink.pipe[1], records, n) != -1 || errno != EAGAIN;
    errno = saved;
    return sent;
}

bool nest__sink_send_error(const void *line, size_t n) {
    char record[NEST__SINK_RECORD];
    n = n < sizeof record ? n : sizeof record - 1;
    record[0] = NEST__SINK_ERROR;
    memcpy(record + 1, line, n);
    record[n] = '\n';
    bool sent = nest__sink_send(record, n + 1);
    nest__sink_drop(sent ? 0 : 1);
    return sent;
}

/* -- targets ------------------------------------------------------------------------------------
 */

static const char *sink_where(enum nest__sink_stream stream) {
    const char *where =
        stream == NEST__SINK_OF_ACCESS ? nest__config.access_log : nest__config.error_log;
    return where == NULL ? "stderr" : where;
}

static bool sink_same(void) {
    return strcmp(sink_where(NEST__SINK_OF_ACCESS), sink_where(NEST__SINK_OF_ERRORS)) == 0;
}

/* 0, or -errno with a message; `then`: what becomes of it. */
static int sink_open(struct nest__sink_targets *to, const char *then) {
    for (int i = 0; i < NEST__SINK_STREAMS; i++) {
        const char *where = sink_where((enum nest__sink_stream)i);
        int error = nest__sink_open(sink.home, where, &to->of[i]);
        if (error != 0) {
            nest__say("cannot open the log %s: %s%s", where, strerror(-error), then);
            if (i > 0 && to->of[0].kind != NEST__SINK_STDERR) {
                close(to->of[0].fd);
            }
            return error;
        }
    }
    to->same = sink_same();
    return 0;
}

/* Whether it could be opened. Makes no file. */
static int sink_try(const char *where) {
    struct nest__sink_target target;
    char folder[4096];
    if (strchr(where, '/') == NULL) {
        int error = nest__sink_open(AT_FDCWD, where, &target);
        if (error == 0 && target.kind != NEST__SINK_STDERR) {
            close(target.fd);
        }
        return error;
    }
    int fd = open(where, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = fd == -1 ? -errno : 0;
    if (fd != -1) {
        close(fd);
    }
    size_t n = (size_t)(strrchr(where, '/') - where) + 1;
    if (error == -ENOENT && n < sizeof folder) {
        memcpy(folder, where, n);
        folder[n] = '\0';
        error = faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0 ? 0 : -errno;
    }
    return error;
}

int nest__sink_check(void) {
    for (int i = 0; i < NEST__SINK_STREAMS; i++) {
        const char *where = sink_where((enum nest__sink_stream)i);
        int error = sink_try(where);
        if (error != 0) {
            nest__say("cannot open the log %s: %s", where, strerror(-error));
            return error;
        }
    }
    return 0;
}

static void sink_ask(int signal) {
    (void)signal;
    sink_usr1 = 1;
    nest__supervisor_wake();
}

static void sink_close_pair(int pair[2]) {
    close(pair[0]);
    close(pair[1]);
}

int nest__sink_start(void) {
    struct sigaction usr1 = {.sa_handler = sink_ask, .sa_flags = SA_RESTART};
    sink.home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (sink.home == -1) {
        sink.home = AT_FDCWD;
    }
    if (pipe2(sink.pipe, O_NONBLOCK | O_CLOEXEC) == -1 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sink.handover) == -1) {
        int error = -errno;
        nest__say("cannot start: no pipe for the log: %s", strerror(-error));
        return error;
    }
    (void)fcntl(sink.pipe[1], F_SETPIPE_SZ, SINK_PIPE); /* a smaller one does as well */
    sigaction(SIGUSR1, &usr1, NULL);
    return sink_open(&sink.targets, "");
}

/* -- the supervisor ------------------------------------------------------------------------------
 */

/* A descriptor for each, also for stderr, so that the message has always as many. */
static void sink_hand_over(const struct nest__sink_targets *targets) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(NEST__SINK_STREAMS * sizeof(int))];
    } control = {0};
    int fds[NEST__SINK_STREAMS];
    struct nest__sink_targets told = *targets;
    struct iovec from = {&told, sizeof told};
    struct msghdr message = {.msg_iov = &from,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    for (int i = 0; i < NEST__SINK_STREAMS; i++) {
        fds[i] = targets->of[i].fd;
    }
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(rights), fds, sizeof fds);
    char older[sizeof told]; /* not received yet: it would only fill the queue */
    while (recv(sink.handover[1], older, sizeof older, MSG_DONTWAIT) > 0) {
    }
    (void)sendmsg(sink.handover[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* False after a message: the targets are those of before. */
static bool sink_renew(void) {
    struct nest__sink_targets opened;
    if (sink_open(&opened, "; the log stays where it is") != 0) {
        return false;
    }
    sink_hand_over(&opened);
    nest__sink_leave(&sink.targets);
    sink.targets = opened; /* what a new service process has */
    return true;
}

void nest__sink_reloaded(void) {
    if (!sink_renew()) {
        nest__config_refuse(&nest__config.access_log);
        nest__config_refuse(&nest__config.error_log);
    }
}

unsigned nest__sink_mind(void) {
    if (!sink.on) {
        sink.on = true;
        nest__log_put = nest__sink_tell;
    }
    if (sink_usr1 != 0) {
        sink_usr1 = 0;
        if (sink_renew()) {
            nest__say("the log was opened anew");
        }
    }
    return 0;
}

/* What a service process that is gone has left. */
void nest__sink_close(void) {
    if (nest__supervises()) {
        nest__log_put = NULL;
        sink.on = false;
        (void)nest__sink_drain(sink.pipe[0], &sink.targets, true);
        nest__sink_leave(&sink.targets);
        sink_close_pair(sink.pipe);
        sink_close_pair(sink.handover);
    }
}

/* -- a worker, or the service process ------------------------------------------------------------
 */

int nest__sink_serve(void) {
    if (nest__supervisor() == 0) { /* inetd's connection: nobody would empty the pipe */
        return 0;
    }
    sink.on = true;
    nest__log_put = nest__sink_tell;
    close(sink.handover[0]);
    sink.serves = nest__report_own(0) == NULL;
    if (!sink.serves) {
        close(sink.pipe[0]);
        close(sink.handover[1]);
        nest__sink_leave(&sink.targets);
    }
    return 0;
}
