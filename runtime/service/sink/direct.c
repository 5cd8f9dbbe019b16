/* direct.c: log lines that go to stderr at once, and the count of those that were lost.
 *
 * For scripts, and for servers without a supervisor. State: declared below. If the reader is too
 * slow, lines are dropped and counted, and the server does not wait. */
#include "../../platform/platform.h"
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* scope: server; dropped lines, not reported yet. NULL: no shared memory, so not counted. */
static _Atomic uint64_t *direct_dropped;
/* Stderr, opened a second time, so that it can be nonblocking for the log only; -1: impossible. */
/* scope: process, set before workers are made. */
static int direct_fd = -1;
/* scope: process, set before workers are made; stderr is a socket. */
static bool direct_socket;

void nest__sink_direct_prepare(void) {
    struct stat file;
    void *shared = mmap(NULL, sizeof *direct_dropped, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    direct_dropped = shared == MAP_FAILED ? NULL : shared;
    if (fstat(STDERR_FILENO, &file) == -1) {
        return;
    }
    direct_socket = S_ISSOCK(file.st_mode);
    if (S_ISFIFO(file.st_mode)) { /* another process may fill the pipe after poll */
        direct_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC);
    }
}

static bool direct_put(const char *bytes, size_t n) {
    int saved = errno;
    ssize_t put;
    if (nest__syslogs() || (direct_fd == -1 && !direct_socket)) {
        return nest__tell(STDERR_FILENO, bytes, n);
    }
    if (direct_socket) {
        put = send(STDERR_FILENO, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        put = write(direct_fd, bytes, n);
    }
    bool done =
        put != -1 || (errno != EAGAIN && errno != ENOBUFS); /* a broken stderr is not slow */
    errno = saved;
    return done;
}

void nest__sink_drop(uint64_t lines) {
    if (direct_dropped != NULL) {
        atomic_fetch_add(direct_dropped, lines);
    }
}

uint64_t nest__sink_dropped(void) {
    return direct_dropped != NULL && atomic_load(direct_dropped) > 0
               ? atomic_exchange(direct_dropped, 0)
               : 0;
}

size_t nest__sink_drop_text(char to[NEST__SINK_DROP_TEXT], uint64_t lines) {
    struct nest__line line = {to, 0, NEST__SINK_DROP_TEXT};
    nest__line_time(&line);
    nest__line_add(&line, " warn ");
    nest__line_number(&line, lines);
    nest__line_add(&line, lines == 1 ? " line was" : " lines were");
    nest__line_add(&line, " dropped: the log could not take them\n");
    return line.n;
}

void nest__sink_direct(const char *text, size_t n) {
    char told[NEST__SINK_DROP_TEXT];
    uint64_t dropped = nest__sink_dropped();
    if (dropped > 0 && direct_put(told, nest__sink_drop_text(told, dropped))) {
        dropped = 0;
    }
    if (dropped > 0 || !direct_put(text, n)) { /* keep the order: drop later lines, too */
        nest__sink_drop(dropped + 1);
    }
}
