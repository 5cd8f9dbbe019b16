/* script_clock.c: the time of day in a script, which a test may set forward.
 *
 * The environment variable NEST_CLOCK says by how many seconds. A test repeats a conversation with
 * another time, to see what in the replies depends on it. These functions replace those of libc,
 * for actions and for the libraries that they call. No state but the seconds. Must not know virtual
 * time, which is that of deadlines. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t clock_ahead(void) {
    static _Atomic int64_t ahead = -1; /* not read yet */
    int64_t seconds = ahead;
    if (seconds == -1) {
        const char *text = getenv("NEST_CLOCK");
        seconds = text == NULL ? 0 : (int64_t)strtoul(text, NULL, 10);
        ahead = seconds;
    }
    return (time_t)seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += clock_ahead();
    }
    return result;
}

time_t time(time_t *to) {
    struct timespec now;
    time_t seconds = clock_gettime(CLOCK_REALTIME, &now) == 0 ? now.tv_sec : -1;
    if (to != NULL) {
        *to = seconds;
    }
    return seconds;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    if (result == 0) {
        *to = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = (suseconds_t)(now.tv_nsec / 1000)};
    }
    return result;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}
