/* clock.c: the time of a loop with real descriptors, and its alarm.
 *
 * Called by pollers and by the whole server. State: of this process: the time of the running step,
 * the timer. The alarm is a timerfd, so that a poller's sleep needs no time of its own. */
#include "../platform/platform.h"
#include "poller.h"
#include "system.h"

#include <errno.h>
#include <sys/timerfd.h>

static struct {
    int timer;
    uint32_t now; /* of this step, if timed */
    bool timed;
} step;

uint32_t nest__clock(void) {
    step.now = (uint32_t)nest__clock_ms();
    step.timed = true;
    return step.now;
}

uint32_t nest__now(void) {
    return step.timed ? step.now : nest__clock();
}

void nest__clock_step(void) {
    step.timed = false;
}

int nest__clock_start(int *timer) {
    step.timer = *timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return step.timer == -1 ? -errno : 0;
}

void nest__poller_alarm(uint32_t due) {
    int32_t left = (int32_t)(due - nest__now());
    struct itimerspec at = {.it_value = {.tv_nsec = 1}}; /* 0 would be never */
    if (left > 0) {
        at.it_value = (struct timespec){left / 1000, left % 1000 * 1000000L};
    }
    if (timerfd_settime(step.timer, 0, &at, NULL) == -1) { /* the values are in range */
        nest__closed_under();
    }
}
