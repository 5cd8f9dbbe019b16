/* report.c: the load generator's result, as one JSON object. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load.h"

enum { READ_MOST = 64 * 1024 };

static char *texts[2][READS_MOST];
static struct rusage used[2];

void report_read(unsigned when) {
    for (unsigned i = 0; i < options.read_count; i++) {
        char *text = calloc(1, READ_MOST);
        ssize_t n = text == NULL ? -1 : pread(options.reads[i], text, READ_MOST - 1, 0);
        if (n == -1) {
            perror("load: --read");
            exit(1);
        }
        texts[when][i] = text;
    }
    getrusage(RUSAGE_SELF, &used[when]);
}

static void report_text(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            fputs("\\n", stdout);
        } else if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ') {
            printf("\\u%04x", (unsigned char)*text);
        } else {
            putchar(*text);
        }
    }
    putchar('"');
}

static double seconds(struct timeval a, struct timeval b) {
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_usec - a.tv_usec) / 1e6;
}

/* How evenly the answers are spread (Jain): (sum x)^2 / (n sum x^2); 1 is all alike. */
static void report_fairness(const struct client *clients) {
    double sum = 0, squares = 0;
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < options.clients; i++) {
        uint64_t n = clients[i].answers;
        sum += (double)n;
        squares += (double)n * (double)n;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    printf("\"jain\":%.6f,\"least\":%lu,\"most\":%lu,",
           squares > 0 ? sum * sum / (options.clients * squares) : 0, least, most);
}

static void report_latency(const char *name, const struct histogram *h) {
    printf("\"%s\":{\"mean\":%.1f,\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,"
           "\"most\":%.1f},",
           name, histogram_mean(h) / 1e3, histogram_at(h, .5) / 1e3, histogram_at(h, .9) / 1e3,
           histogram_at(h, .99) / 1e3, histogram_at(h, .999) / 1e3, (double)h->most / 1e3);
}

void report(const struct client *clients, const struct client *crowd, uint64_t unserved) {
    static const char *const names[FAULTS] = {"connect", "reset",     "closed", "status",
                                              "length",  "malformed", "timeout"};
    double time = (double)(counts.end - counts.begin) / 1e9;
    unsigned alive = 0;
    for (unsigned i = 0; i < options.idle; i++) {
        alive += crowd[i].state == RESTING;
    }
    printf("{\"seconds\":%.6f,\"answers\":%lu,\"ended\":%lu,\"bytes\":%lu,\"connects\":%lu,", time,
           counts.answers, counts.ended, counts.bytes, counts.connects);
    printf("\"reopened\":%lu,\"unserved\":%lu,\"idle\":%u,\"load_cpu\":%.4f,", counts.reopened,
           unserved, alive,
           seconds(used[0].ru_utime, used[1].ru_utime) +
               seconds(used[0].ru_stime, used[1].ru_stime));
    report_fairness(clients);
    report_latency("us", &counts.latency);
    report_latency("later_us", &counts.later);
    fputs("\"faults\":{", stdout);
    for (int i = 0; i < FAULTS; i++) {
        printf("%s\"%s\":%lu", i > 0 ? "," : "", names[i], counts.faults[i]);
    }
    fputs("},\"reads\":[", stdout);
    for (unsigned i = 0; i < options.read_count; i++) {
        fputs(i > 0 ? ",[" : "[", stdout);
        report_text(texts[0][i]);
        putchar(',');
        report_text(texts[1][i]);
        putchar(']');
    }
    puts("]}");
}
