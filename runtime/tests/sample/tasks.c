/* tasks.c: work of the sample's own, for the service process: it writes to a file who does it.
 *
 * One task waits for a descriptor, the other for the time. */
#include "../../workers/service_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int tasks_file = -1, tasks_timer = -1;

static int tasks_write(const char *name) {
    char line[64];
    int n = snprintf(line, sizeof line, "%s %ld\n", name, (long)getpid());
    return write(tasks_file, line, (size_t)n) == n ? 0 : -EIO;
}

static int tasks_open(void) {
    const char *path = getenv("SAMPLE_TASKS");
    tasks_file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return tasks_file == -1 ? -ENOENT : 0;
}

static int beat_begin(void) {
    struct itimerspec every = {.it_interval.tv_nsec = 5000000, .it_value.tv_nsec = 5000000};
    int error = tasks_open();
    tasks_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (error != 0 || tasks_timer == -1) {
        return -ENOENT;
    }
    return timerfd_settime(tasks_timer, 0, &every, NULL) == -1 ? -errno : 0;
}

static unsigned beat_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    waits[0] = (struct pollfd){.fd = tasks_timer, .events = POLLIN};
    return 1;
}

static int beat_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    uint64_t times;
    if (n == 1 && waits[0].revents != 0 && read(tasks_timer, &times, sizeof times) > 0) {
        tasks_write("beat");
    }
    return -1;
}

static int ticks_begin(void) {
    return 0;
}

static unsigned ticks_wait(struct pollfd waits[NEST__TASK_WAITS]) {
    (void)waits;
    return 0;
}

static int ticks_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    (void)waits, (void)n;
    tasks_write("clock");
    return 20;
}

static const struct nest__task tasks_beat = {"beat", beat_begin, beat_waits, beat_step, NULL};
static const struct nest__task tasks_ticks = {"clock", ticks_begin, ticks_wait, ticks_step, NULL};
const struct nest__task *const nest__tasks[] = {&tasks_beat, &tasks_ticks};
const unsigned nest__task_count = 2;
