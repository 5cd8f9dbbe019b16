/* The counters of filters, as a table and as OpenMetrics text.
 * Must not know: who reads them. */
#define _GNU_SOURCE
#include "chain.h"

#include <string.h>
#include <unistd.h>

uint64_t show_began;

static uint64_t accepted(const struct stage *s) {
    return __atomic_load_n(&s->counters->accepted, __ATOMIC_ACQUIRE);
}
/* It is read before `accepted`, which then is no smaller. */
static uint64_t passed(const struct stage *s) {
    return __atomic_load_n(&s->counters->passed, __ATOMIC_ACQUIRE);
}

void show_table(FILE *out) {
    uint64_t now = now_ms();
    fprintf(out, "chain %d, for %.1fs, restarted %lu times\n", (int)getpid(),
            (double)(now - show_began) / 1000, restarts);
    fprintf(out, "%-12s %8s %10s %10s %10s %8s %8s %6s\n", "filter", "process", "accepted",
            "passed", "refused", "held", "oldest", "deaths");
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        for (struct chain *c = l->chains; c != NULL; c = c->next) {
            fprintf(out, "%s%s\n", l->name, c->leaving ? " (leaving)" : "");
            for (int i = 0; i < c->plan->count; i++) {
                const struct stage *s = &c->stage[i];
                const struct ccf__counters *n = s->counters;
                uint64_t went = passed(s), came = accepted(s);
                uint64_t refused = 0, oldest = n->oldest;
                for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++)
                    refused += n->refused[r].count;
                fprintf(out, "%-12s %8d %10llu %10llu %10llu %8llu %7.1fs %6llu\n",
                        s->spec->argv[0], (int)s->pid, (unsigned long long)came,
                        (unsigned long long)went, (unsigned long long)refused,
                        (unsigned long long)n->held,
                        oldest != 0 && oldest < now ? (double)(now - oldest) / 1000 : 0.0,
                        (unsigned long long)n->deaths);
                for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++) {
                    char reason[4 * CCF__REASON_NAME + 1];
                    shown(reason, sizeof reason, n->refused[r].name, CCF__REASON_NAME);
                    fprintf(out, "    %-23s %10llu\n", reason,
                            (unsigned long long)n->refused[r].count);
                }
            }
        }
    }
}

struct metric {
    const char *name, *type, *help;
    uint64_t (*value)(const struct stage *stage);
};

static uint64_t held(const struct stage *s) {
    return s->counters->held;
}
static uint64_t deaths(const struct stage *s) {
    return s->counters->deaths;
}

static const struct metric metrics_list[] = {
    {"cc_passed", "counter", "Connections and requests that a filter passed on.", passed},
    {"cc_accepted", "counter", "Connections and requests that arrived at a filter.", accepted},
    {"cc_deaths", "counter", "How often a filter died and was started again.", deaths},
    {"cc_held", "gauge", "Connections that a filter holds.", held},
};

static void labels(FILE *out, const struct listener *l, const struct chain *c, int place) {
    fprintf(out, "listen=\"%s\",socket=\"%u\",place=\"%d\",filter=\"%s\"", l->name, l->number,
            place, c->plan->spec[place].argv[0]);
}

/* A reason as a label's value: a filter may have written anything. */
static void label(FILE *out, const char *text) {
    for (int i = 0; i < CCF__REASON_NAME && text[i] != '\0'; i++) {
        bool plain = text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\';
        fputc(plain ? text[i] : '_', out);
    }
}

static void head(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

void show_metrics(FILE *out) {
    uint64_t now = now_ms();
    for (size_t m = 0; m < sizeof metrics_list / sizeof metrics_list[0]; m++) {
        const struct metric *metric = &metrics_list[m];
        head(out, metric->name, metric->type, metric->help);
        for (struct listener *l = listeners; l != NULL; l = l->next)
            for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
                fprintf(out, "%s%s{", metric->name,
                        strcmp(metric->type, "counter") == 0 ? "_total" : "");
                labels(out, l, l->chains, i);
                fprintf(out, "} %llu\n", (unsigned long long)metric->value(&l->chains->stage[i]));
            }
    }
    head(out, "cc_oldest_seconds", "gauge", "Age of the oldest connection that a filter holds.");
    fprintf(out, "# UNIT cc_oldest_seconds seconds\n");
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
            uint64_t oldest = l->chains->stage[i].counters->oldest;
            fprintf(out, "cc_oldest_seconds{");
            labels(out, l, l->chains, i);
            fprintf(out, "} %.3f\n",
                    oldest != 0 && oldest < now ? (double)(now - oldest) / 1000 : 0.0);
        }
    head(out, "cc_refused", "counter", "Connections that a filter refused.");
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (int i = 0; l->chains != NULL && i < l->chains->plan->count; i++) {
            const struct ccf__counters *n = l->chains->stage[i].counters;
            for (uint64_t r = 0; r < n->reasons && r < CCF__REASONS; r++) {
                fprintf(out, "cc_refused_total{");
                labels(out, l, l->chains, i);
                fprintf(out, ",reason=\"");
                label(out, n->refused[r].name);
                fprintf(out, "\"} %llu\n", (unsigned long long)n->refused[r].count);
            }
        }
    head(out, "cc_chain_restarts", "counter", "How often the chain died and was started again.");
    fprintf(out, "cc_chain_restarts_total %lu\n", restarts);
    head(out, "cc_chain_uptime_seconds", "gauge", "How long the chain has run.");
    fprintf(out, "# UNIT cc_chain_uptime_seconds seconds\ncc_chain_uptime_seconds %.3f\n# EOF\n",
            (double)(now - show_began) / 1000);
}
