/* date.c: dates are those of the C library.
 *
 * Run by `make date`. The argument is a seed, which a failure prints. Compared are random times of
 * the years 0 to 9999, and the first and last seconds of each of these years. State: the seed. */
#include "sample/sizes.h"

#include "../platform/date.c"

#include <stdio.h>
#include <stdlib.h>

enum { DATE_ROUNDS = 200000 };

static uint64_t state, seed;

static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void expect(time_t when, const char *right) {
    char text[NEST_DATE];
    if (strcmp(nest_date_of(when, text), right) != 0) {
        printf("FAILED: date, seed %llu: %lld is '%s', not '%s'\n", (unsigned long long)seed,
               (long long)when, text, right);
        exit(1);
    }
}

static void compare(time_t when) {
    char right[64], form[64];
    struct tm utc;
    if (gmtime_r(&when, &utc) == NULL) {
        printf("FAILED: date: the C library has no date for %lld\n", (long long)when);
        exit(1);
    }
    snprintf(form, sizeof form, "%%a, %%d %%b %04d %%H:%%M:%%S GMT", utc.tm_year + 1900);
    strftime(right, sizeof right, form, &utc);
    expect(when, right);
}

int main(int argc, char **argv) {
    static const char beyond[] = "Thu, 01 Jan 1970 00:00:00 GMT";
    seed = state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    time_t first = -62167219200, last = 253402300799;
    for (int i = 0; i < DATE_ROUNDS; i++) {
        compare(first + (time_t)(draw() % (uint64_t)(last - first + 1)));
    }
    for (struct tm year = {.tm_year = -1900, .tm_mday = 1}; year.tm_year < 8100; year.tm_year++) {
        struct tm begin = year;
        time_t when = timegm(&begin);
        compare(when);
        compare(when - (when > first));
    }
    expect(first - 1, beyond);
    expect(last + 1, beyond);
    expect(INT64_MIN, beyond);
    expect(INT64_MAX, beyond);
    printf("date: %d random times and the ends of 10,000 years are those of the C library\n",
           DATE_ROUNDS);
    return 0;
}
