/* profile.c: prints what was counted, as a table, when the server ends.
 *
 * Called by the supervisor. No state. */
#include "counts.h"

#include <stdio.h>

/* ns in a unit that leaves at most four digits before the point. */
static void profile_time(uint64_t ns, char to[24]) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    unsigned unit = 0;
    uint64_t whole = ns, part = 0;
    while (whole >= 10000 && unit < 3) {
        part = whole % 1000 / 100;
        whole /= 1000;
        unit++;
    }
    snprintf(to, 24, "%llu.%llu %s", (unsigned long long)whole, (unsigned long long)part,
             units[unit]);
}

/* The time that this share of all did not exceed, in ns. `part` of 1000. */
static uint64_t profile_quantile(const struct nest__metrics_times *times, uint64_t part) {
    uint64_t all = 0, n = 0;
    for (unsigned i = 0; i < NEST__METRICS_BUCKETS; i++) {
        all += atomic_load(&times->buckets[i]);
    }
    for (unsigned i = 0; i < NEST__METRICS_BUCKETS; i++) {
        n += atomic_load(&times->buckets[i]);
        if (n > 0 && n * 1000 >= all * part) {
            return nest__metrics_edge(i);
        }
    }
    return 0;
}

static void profile_quantiles(const char *what, const struct nest__metrics_times *times) {
    static const unsigned parts[] = {500, 900, 990, 999};
    printf("  %-28s", what);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char text[24];
        profile_time(profile_quantile(times, parts[i]), text);
        printf(" %13s", text);
    }
    printf("\n");
}

static void profile_rule(const char *name, const struct nest__metrics_rule *rule) {
    uint64_t messages = atomic_load(&rule->messages), ns = atomic_load(&rule->ns);
    char mean[24], sum[24];
    profile_time(messages > 0 ? ns / messages : 0, mean);
    profile_time(ns, sum);
    printf("  %-28s %13llu %13llu %13s %13s\n", name, (unsigned long long)messages,
           (unsigned long long)atomic_load(&rule->bytes), mean, sum);
}

void nest__metrics_profile(void) {
    static struct nest__metrics_counts counts; /* larger than a stack should bear */
    nest__metrics_read(&counts);
    printf("%s: profile: %llu bytes received, %llu replied, %llu waits\n", nest__spec_name,
           (unsigned long long)atomic_load(&counts.received),
           (unsigned long long)atomic_load(&counts.replied),
           (unsigned long long)atomic_load(&counts.waits));
    printf("  %-28s %13s %13s %13s %13s\n", "rule", "messages", "bytes", "mean", "all");
    for (unsigned i = 0; i < NEST__RULES + NEST__TIMERS; i++) {
        if (atomic_load(&counts.rules[i].messages) > 0) {
            profile_rule(i < NEST__RULES ? nest__rules[i].name : nest__timers[i - NEST__RULES].name,
                         &counts.rules[i]);
        }
    }
    printf("  %-28s %13s %13s %13s %13s\n", "time, at most, of", "50 %", "90 %", "99 %", "99.9 %");
    profile_quantiles("an action", &counts.messages);
    profile_quantiles("a connection", &counts.connections);
    fflush(stdout);
}
