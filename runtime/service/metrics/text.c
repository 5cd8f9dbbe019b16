/* text.c: the counts as text for Prometheus, in its own format or in OpenMetrics.
 *
 * Called by the service process. No state. Sources: "Exposition formats" of Prometheus (text format
 * 0.0.4); OpenMetrics 1.0.0. No number is printed by printf's floating point, because start-up code
 * may have chosen a locale with another decimal point. */
#include "../../platform/platform.h"
#include "counts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST = 16 * 1024, TEXT_LEAST_POWER = 2 /* of coarse buckets: 1024 ns */ };

struct text_family {
    const char *name, *help;
    enum { TEXT_GAUGE, TEXT_COUNTER, TEXT_HISTOGRAM, TEXT_INFO } type;
    const char *unit; /* NULL: none; else the last part of the name */
};

static bool text_room(struct nest__metrics_text *text, size_t more) {
    if (text->size - text->n > more) {
        return true;
    }
    size_t size = 2 * (text->n + more) + TEXT_FIRST;
    char *p = text->failed ? NULL : realloc(text->p, size);
    if (p == NULL) {
        text->failed = true;
        return false;
    }
    text->p = p;
    text->size = size;
    return true;
}

void nest__metrics_put(struct nest__metrics_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0 || !text_room(text, (size_t)n)) {
        return;
    }
    va_start(arguments, format);
    text->n += (size_t)vsnprintf(text->p + text->n, text->size - text->n, format, arguments);
    va_end(arguments);
}

void nest__metrics_quote(struct nest__metrics_text *text, const char *value) {
    nest__metrics_put(text, "\"");
    for (; *value != '\0'; value++) {
        switch (*value) {
        case '"':
        case '\\':
            nest__metrics_put(text, "\\%c", *value);
            break;
        case '\n':
            nest__metrics_put(text, "\\n");
            break;
        default:
            nest__metrics_put(text, "%c", *value);
        }
    }
    nest__metrics_put(text, "\"");
}

void nest__metrics_seconds(struct nest__metrics_text *text, uint64_t ns) {
    char digits[16];
    snprintf(digits, sizeof digits, "%09llu", (unsigned long long)(ns % 1000000000));
    size_t n = 9;
    while (n > 0 && digits[n - 1] == '0') {
        digits[--n] = '\0';
    }
    nest__metrics_put(text, "%llu%s%s", (unsigned long long)(ns / 1000000000), n > 0 ? "." : "",
                      digits);
}

static void text_head(struct nest__metrics_text *text, enum nest__metrics_format format,
                      const struct text_family *family) {
    static const char *const types[] = {"gauge", "counter", "histogram", "info"};
    bool open = format == NEST__METRICS_OPEN;
    const char *suffix = open                           ? ""
                         : family->type == TEXT_COUNTER ? "_total"
                         : family->type == TEXT_INFO    ? "_info"
                                                        : "";
    const char *type = !open && family->type == TEXT_INFO ? types[TEXT_GAUGE] : types[family->type];
    nest__metrics_put(text, "# HELP %s%s %s\n", family->name, suffix, family->help);
    nest__metrics_put(text, "# TYPE %s%s %s\n", family->name, suffix, type);
    if (open && family->unit != NULL) {
        nest__metrics_put(text, "# UNIT %s %s\n", family->name, family->unit);
    }
}

static void text_number(struct nest__metrics_text *text, enum nest__metrics_format format,
                        struct text_family family, uint64_t value) {
    text_head(text, format, &family);
    nest__metrics_put(text, "%s%s %llu\n", family.name, family.type == TEXT_COUNTER ? "_total" : "",
                      (unsigned long long)value);
}

void nest__metrics_number(struct nest__metrics_text *text, enum nest__metrics_format format,
                          const char *name, const char *help, bool counter, uint64_t value) {
    struct text_family family = {name, help, counter ? TEXT_COUNTER : TEXT_GAUGE, NULL};
    text_number(text, format, family, value);
}

void nest__metrics_family(struct nest__metrics_text *text, enum nest__metrics_format format,
                          const char *name, const char *help, bool counter, const char *unit) {
    text_head(text, format,
              &(struct text_family){name, help, counter ? TEXT_COUNTER : TEXT_GAUGE, unit});
}

static void text_info(struct nest__metrics_text *text, enum nest__metrics_format format) {
    struct text_family family = {"nest_server", "The server.", TEXT_INFO, NULL};
    text_head(text, format, &family);
    nest__metrics_put(text, "nest_server_info{name=");
    nest__metrics_quote(text, nest__spec_name);
    nest__metrics_put(text, ",model=");
    nest__metrics_quote(text, nest__model_name);
    nest__metrics_put(text, ",version=");
    nest__metrics_quote(text, nest__tool_version);
    nest__metrics_put(text, "} 1\n");
}

static void text_ends(struct nest__metrics_text *text, enum nest__metrics_format format,
                      const struct nest__metrics_counts *counts) {
    struct text_family family = {
        "nest_connections_ended",
        "Connections that have ended, by reason; crash: with their worker.", TEXT_COUNTER, NULL};
    text_head(text, format, &family);
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        nest__metrics_put(text, "nest_connections_ended_total{reason=\"%s\"} %llu\n",
                          nest__reason_word((enum nest_reason)reason),
                          (unsigned long long)atomic_load(&counts->ended[reason]));
    }
}

static void text_queues(struct nest__metrics_text *text, enum nest__metrics_format format) {
    static const struct text_family families[] = {
        {"nest_listen_queue", "Connections that wait to be accepted.", TEXT_GAUGE, NULL},
        {"nest_listen_queue_limit", "The most that the system keeps.", TEXT_GAUGE, NULL}};
    const struct nest__metrics_queue *queues;
    unsigned n = nest__metrics_queues(&queues);
    for (unsigned which = 0; which < 2 && n > 0; which++) {
        text_head(text, format, &families[which]);
        for (unsigned i = 0; i < n; i++) {
            if (queues[i].most > 0) {
                nest__metrics_put(text, "%s{address=", families[which].name);
                nest__metrics_quote(text, queues[i].name);
                nest__metrics_put(text, "} %u\n",
                                  (unsigned)(which == 0 ? queues[i].waits : queues[i].most));
            }
        }
    }
}

/* -- rules ---------------------------------------------------------------------------------------
 */

struct text_rule {
    const char *name, *file;
    uint32_t line;
};

static struct text_rule text_rule(unsigned i) {
    if (i < NEST__RULES) {
        return (struct text_rule){nest__rules[i].name, nest__rules[i].file, nest__rules[i].line};
    }
    const struct nest__timer *timer = &nest__timers[i - NEST__RULES];
    return (struct text_rule){timer->name, timer->file, timer->line};
}

/* Rules without a name that stand on one line cannot be told apart by their labels. */
static bool text_same(unsigned i, unsigned j) {
    struct text_rule a = text_rule(i), b = text_rule(j);
    return a.line == b.line && strcmp(a.name, b.name) == 0 && strcmp(a.file, b.file) == 0;
}

static uint64_t text_of_rule(const struct nest__metrics_rule *rule, unsigned which) {
    return which == 0   ? atomic_load(&rule->messages)
           : which == 1 ? atomic_load(&rule->bytes)
                        : atomic_load(&rule->ns);
}

static void text_rules(struct nest__metrics_text *text, enum nest__metrics_format format,
                       const struct nest__metrics_counts *counts) {
    static const struct text_family families[] = {
        {"nest_rule_messages", "Messages, by the rule that was selected.", TEXT_COUNTER, NULL},
        {"nest_rule_bytes", "Bytes of these messages, and of what their actions read.",
         TEXT_COUNTER, "bytes"},
        {"nest_rule_seconds", "Time of the actions of these messages, with their waits.",
         TEXT_COUNTER, "seconds"}};
    unsigned n = NEST__RULES + NEST__TIMERS;
    for (unsigned which = 0; which < 3; which++) {
        text_head(text, format, &families[which]);
        for (unsigned i = 0, next; i < n; i = next) {
            struct text_rule rule = text_rule(i);
            uint64_t value = 0;
            for (next = i; next < n && text_same(i, next); next++) {
                value += text_of_rule(&counts->rules[next], which);
            }
            nest__metrics_put(text, "%s_total{rule=", families[which].name);
            nest__metrics_quote(text, rule.name);
            nest__metrics_put(text, ",at=");
            char at[256];
            snprintf(at, sizeof at, "%.230s:%u", rule.file, (unsigned)rule.line);
            nest__metrics_quote(text, at);
            nest__metrics_put(text, "} ");
            if (which == 2) {
                nest__metrics_seconds(text, value);
            } else {
                nest__metrics_put(text, "%llu", (unsigned long long)value);
            }
            nest__metrics_put(text, "\n");
        }
    }
}

/* -- histograms ----------------------------------------------------------------------------------
 */

static void text_times(struct nest__metrics_text *text, enum nest__metrics_format format,
                       struct text_family family, const struct nest__metrics_times *times,
                       bool fine) {
    uint64_t n = 0;
    text_head(text, format, &family);
    for (unsigned bucket = 0; bucket + 1 < NEST__METRICS_BUCKETS; bucket++) {
        unsigned power = (bucket + 1) / NEST__METRICS_PARTS;
        bool coarse = (bucket + 1) % NEST__METRICS_PARTS == 0 && power >= TEXT_LEAST_POWER;
        n += atomic_load(&times->buckets[bucket]);
        if (fine || coarse) {
            nest__metrics_put(text, "%s_bucket{le=\"", family.name);
            nest__metrics_seconds(text, nest__metrics_edge(bucket));
            nest__metrics_put(text, "\"} %llu\n", (unsigned long long)n);
        }
    }
    n += atomic_load(&times->buckets[NEST__METRICS_BUCKETS - 1]);
    nest__metrics_put(text, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", family.name,
                      (unsigned long long)n, family.name);
    nest__metrics_seconds(text, atomic_load(&times->sum));
    nest__metrics_put(text, "\n%s_count %llu\n", family.name, (unsigned long long)n);
}

void nest__metrics_expose(struct nest__metrics_text *text, enum nest__metrics_format format,
                          bool fine) {
    static struct nest__metrics_counts counts; /* larger than a stack should bear */
    nest__metrics_read(&counts);
    uint64_t ended = nest__metrics_ended(&counts);
    uint64_t opened = atomic_load(&counts.opened);
    uint64_t waits = atomic_load(&counts.waits), resumed = atomic_load(&counts.resumed);
#define COUNT(name, help, unit, value)                                                             \
    text_number(text, format, (struct text_family){name, help, TEXT_COUNTER, unit}, value)
#define GAUGE(name, help, value)                                                                   \
    text_number(text, format, (struct text_family){name, help, TEXT_GAUGE, NULL}, value)
    text_info(text, format);
    GAUGE("nest_workers", "Worker processes that live.", nest__metrics_told().workers);
    GAUGE("nest_clients_limit", "maxClients.", nest__config.max_clients);
    GAUGE("nest_connections", "Connections that are open.", opened > ended ? opened - ended : 0);
    COUNT("nest_connections_opened", "Connections that were accepted.", NULL, opened);
    text_ends(text, format, &counts);
    text_queues(text, format);
    nest__metrics_shakes(text, format, &counts);
    nest__metrics_filters(text, format);
    COUNT("nest_received_bytes", "Bytes of messages, and of what actions read.", "bytes",
          atomic_load(&counts.received));
    COUNT("nest_replied_bytes", "Bytes that actions replied.", "bytes",
          atomic_load(&counts.replied));
    COUNT("nest_replies", "Items that actions replied.", NULL, atomic_load(&counts.replies));
    COUNT("nest_waits", "Waits of actions.", NULL, waits);
    GAUGE("nest_waiting", "Actions that wait.", waits > resumed ? waits - resumed : 0);
    GAUGE("nest_helper_queue", "Files and blocks that wait for a helper thread.",
          nest__metrics_helper_queues());
#undef COUNT
#undef GAUGE
    nest__metrics_files(text, format);
    nest__metrics_kernel(text, format);
    text_rules(text, format, &counts);
    text_times(text, format,
               (struct text_family){"nest_message_seconds",
                                    "From a complete message to the end of its action.",
                                    TEXT_HISTOGRAM, "seconds"},
               &counts.messages, fine);
    text_times(text, format,
               (struct text_family){"nest_connection_seconds",
                                    "From a connection's first to its last moment.", TEXT_HISTOGRAM,
                                    "seconds"},
               &counts.connections, fine);
    if (format == NEST__METRICS_OPEN) {
        nest__metrics_put(text, "# EOF\n");
    }
}
