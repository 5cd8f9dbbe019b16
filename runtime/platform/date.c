/* date.c: dates in the format of HTTP. The current date is formatted once a second per thread.
 *
 * Called by actions. State: one text per thread. Must not know sessions. The only system call is
 * the clock, which the vdso answers. Does not depend on locale or time zone. */
#include "platform.h"

#include <string.h>
#include <time.h>

static _Thread_local struct {
    time_t second;
    char text[NEST_DATE];
} date_cache;

enum { DATE_DAY = 24 * 60 * 60 };
#define DATE_FIRST INT64_C(-62167219200) /* of year 0 */
#define DATE_LAST INT64_C(253402300799)  /* of year 9999 */

/* A day in UTC. */
struct date_day {
    unsigned year, month, day, weekday; /* month 0: January; weekday 0: Sunday */
};

/* The day that is `days` after 1 January of 1970, from the year 0 on; as in Hinnant, "chrono-
 * compatible low-level date algorithms". Years are counted from March, so a leap day is the last of
 * its year. gmtime_r does the same under a lock that all threads share. */
static struct date_day date_split(int64_t days) {
    enum { ERA = 146097, ERAS_DAY = 719468 }; /* 400 years; days from 1 March of year 0 to 1970 */
    int64_t since = days + ERAS_DAY + ERA;    /* an era more: January and February of year 0 */
    unsigned era = (unsigned)(since / ERA), in_era = (unsigned)(since % ERA);
    unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * in_year + 2) / 153; /* 0: March */
    unsigned next = month >= 10;              /* January and February are of the next year */
    return (struct date_day){
        .year = year + era * 400 - 400 + next,
        .month = next ? month - 10 : month + 2,
        .day = in_year - (153 * month + 2) / 5 + 1,
        .weekday = (unsigned)((since + 3) % 7), /* 1 March of year 0 was a Wednesday */
    };
}

static void date_two(char *to, unsigned number) {
    to[0] = (char)('0' + number / 10 % 10);
    to[1] = (char)('0' + number % 10);
}

const char *nest_date_of(time_t when, char text[NEST_DATE]) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    memcpy(text, "Thu, 01 Jan 1970 00:00:00 GMT", NEST_DATE);
    if (when < DATE_FIRST || when > DATE_LAST) {
        return text;
    }
    int64_t from = when - DATE_FIRST;
    unsigned second = (unsigned)(from % DATE_DAY);
    struct date_day day = date_split(from / DATE_DAY + DATE_FIRST / DATE_DAY);
    memcpy(text, days + day.weekday * 3, 3);
    memcpy(text + 8, months + day.month * 3, 3);
    date_two(text + 5, day.day);
    date_two(text + 12, day.year / 100);
    date_two(text + 14, day.year);
    date_two(text + 17, second / 3600);
    date_two(text + 20, second / 60 % 60);
    date_two(text + 23, second % 60);
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
