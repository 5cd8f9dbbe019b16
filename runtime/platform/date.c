/* date.c: dates in the format of HTTP. The current date is formatted once a second per thread.
 *
 * Called by actions. State: one text per thread. Must not know sessions. The only system call is
 * the clock, which the vdso answers. Does not depend on locale or time zone. */
#include "platform.h"

#include <time.h>

static _Thread_local struct {
    time_t second;
    char text[NEST_DATE];
} date_cache;

static void date_two(char *to, int number) {
    to[0] = (char)('0' + number / 10 % 10);
    to[1] = (char)('0' + number % 10);
}

const char *nest_date_of(time_t when, char text[NEST_DATE]) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm utc;
    nest_strlcpy(text, "Thu, 01 Jan 1970 00:00:00 GMT", NEST_DATE);
    if (gmtime_r(&when, &utc) == NULL) {
        return text;
    }
    for (int i = 0; i < 3; i++) {
        text[i] = days[utc.tm_wday * 3 + i];
        text[8 + i] = months[utc.tm_mon * 3 + i];
    }
    date_two(text + 5, utc.tm_mday);
    date_two(text + 12, (utc.tm_year + 1900) / 100);
    date_two(text + 14, utc.tm_year + 1900);
    date_two(text + 17, utc.tm_hour);
    date_two(text + 20, utc.tm_min);
    date_two(text + 23, utc.tm_sec);
    return text;
}

const char *nest_date(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (date_cache.text[0] == '\0' || date_cache.second != now.tv_sec) {
        nest_date_of(now.tv_sec, date_cache.text);
        date_cache.second = now.tv_sec;
    }
    return date_cache.text;
}
