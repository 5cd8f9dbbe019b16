/* filtered.c: what filters have done, as text.
 *
 * Called by text.c, in the service process. No state. Must not know where filters count. */
#include "../filters/filters.h"
#include "../../listener/listener.h"
#include "counts.h"

#include <string.h>

enum filtered_which {
    FILTERED_PASSED, /* before those that are accepted, which then are no fewer */
    FILTERED_ACCEPTED,
    FILTERED_DEATHS,
    FILTERED_HELD,
    FILTERED_OLDEST,
    FILTERED_REFUSED,
    FILTERED_FAMILIES
};
static const struct filtered_family {
    const char *name, *help, *unit;
    bool counter;
} filtered_families[FILTERED_FAMILIES] = {
    {"nest_filter_passed", "Connections and messages that a filter passed on.", NULL, true},
    {"nest_filter_accepted", "Connections and messages that arrived at a filter.", NULL, true},
    {"nest_filter_deaths", "How often a filter died and was started again.", NULL, true},
    {"nest_filter_held", "Connections that a filter holds.", NULL, false},
    {"nest_filter_oldest_seconds", "Age of the oldest connection that a filter holds.", "seconds",
     false},
    {"nest_filter_refused", "Connections that a filter refused, by reason.", NULL, true},
};

static void filtered_labels(struct nest__metrics_text *text, const char *family, bool counter,
                            unsigned listener, unsigned filter) {
    nest__metrics_put(text, "%s%s{address=", family, counter ? "_total" : "");
    nest__metrics_quote(text, nest__listeners[listener].name);
    nest__metrics_put(text, ",place=\"%u\",filter=\"%s\"", filter, nest__spec_filters[filter].name);
}

static void filtered_value(struct nest__metrics_text *text, enum filtered_which which,
                           const struct nest__filter_counts *counts) {
    const uint64_t values[] = {counts->passed, counts->accepted, counts->deaths, counts->held};
    nest__metrics_put(text, "} ");
    if (which == FILTERED_OLDEST) {
        nest__metrics_seconds(text, counts->oldest_ms * 1000000);
    } else {
        nest__metrics_put(text, "%llu", (unsigned long long)values[which]);
    }
    nest__metrics_put(text, "\n");
}

void nest__metrics_filters(struct nest__metrics_text *text, enum nest__metrics_format format) {
    struct nest__filter_counts counts;
    for (unsigned which = 0; which < FILTERED_FAMILIES; which++) {
        const struct filtered_family *family = &filtered_families[which];
        nest__metrics_family(text, format, family->name, family->help, family->counter,
                             family->unit);
        for (unsigned place = 0; place < NEST__LISTEN_MAX * nest__spec_filter_count; place++) {
            unsigned listener = place / nest__spec_filter_count;
            unsigned filter = place % nest__spec_filter_count;
            if (!nest__filters_counts(listener, filter, &counts)) {
                continue;
            }
            if (which != FILTERED_REFUSED) {
                filtered_labels(text, family->name, family->counter, listener, filter);
                filtered_value(text, (enum filtered_which)which, &counts);
                continue;
            }
            for (unsigned i = 0; i < counts.reasons; i++) {
                filtered_labels(text, family->name, family->counter, listener, filter);
                nest__metrics_put(text, ",reason=\"%s\"} %llu\n", counts.refused[i].reason,
                                  (unsigned long long)counts.refused[i].count);
            }
        }
    }
}
