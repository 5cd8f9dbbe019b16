/* main.c: feeds an input to the matcher that is linked with it, and measures what a pass takes.
 *
 * usage: PROGRAM INPUT PIECE (SECONDS | =PASSES)
 * PIECE is 0 for all at once. With =PASSES it makes so many passes and measures nothing, for a tool
 * that counts instructions. Writes one line of JSON. Must not know tasks or matchers. */
#define _GNU_SOURCE
#include "bench.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 100000, BEHIND = 64 };
static const double SAMPLE = 1e-3; /* seconds at least, so that reading the clock costs nothing */

struct bench_sums bench_sums[BENCH_KINDS];

static struct {
    uint8_t *bytes;
    size_t n, piece;
} input;

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void read_input(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        die("cannot read the input");
    }
    input.n = (size_t)ftell(file);
    rewind(file);
    input.bytes = calloc(1, input.n + BEHIND);
    if (input.bytes == NULL || fread(input.bytes, 1, input.n, file) != input.n) {
        die("cannot read the input");
    }
    fclose(file);
}

/* All of the input once. */
static void pass(void) {
    uint8_t *at = input.bytes, *end = at + input.n;
    bool right = true;
    bench_begin(at);
    if (input.piece == 0) {
        right = bench_feed(at, input.n);
    } else {
        for (; right && at < end; at += input.piece) {
            size_t left = (size_t)(end - at);
            right = bench_feed(at, left < input.piece ? left : input.piece);
        }
    }
    if (!right || !bench_end(end)) {
        die("the matcher refuses the input");
    }
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A counter of the processor, in user mode; -1 where there is none. */
static int counter(uint64_t what) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = what;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static uint64_t counted(int fd) {
    uint64_t value = 0;
    return fd >= 0 && read(fd, &value, sizeof value) == (ssize_t)sizeof value ? value : 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Processor time of this thread: what others do on the core is no part of it. */
static double timed(unsigned passes) {
    double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < passes; i++) {
        pass();
    }
    return seconds(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* The median of a pass within so many seconds. */
static void measure(double budget) {
    static double samples[SAMPLES];
    unsigned passes = 1;
    size_t count = 0;
    while (timed(passes) < SAMPLE) {
        passes *= 2;
    }
    double end = seconds(CLOCK_MONOTONIC) + budget;
    while (count < SAMPLES && (count == 0 || seconds(CLOCK_MONOTONIC) < end)) {
        samples[count++] = timed(passes) / passes;
    }
    qsort(samples, count, sizeof samples[0], ascending);
    int instructions = counter(PERF_COUNT_HW_INSTRUCTIONS);
    int cycles = counter(PERF_COUNT_HW_CPU_CYCLES);
    uint64_t before[2] = {counted(instructions), counted(cycles)};
    for (unsigned i = 0; i < passes; i++) {
        pass();
    }
    uint64_t after[2] = {counted(instructions), counted(cycles)};
    printf("\"seconds\": %.9g, \"samples\": %zu, ", samples[count / 2], count);
    if (instructions >= 0 && cycles >= 0) {
        printf("\"instructions\": %.1f, \"cycles\": %.1f, ",
               (double)(after[0] - before[0]) / passes, (double)(after[1] - before[1]) / passes);
    }
}

static void print_sums(void) {
    const char *between = "";
    memset(bench_sums, 0, sizeof bench_sums);
    pass();
    printf("\"sums\": {");
    for (unsigned kind = 0; kind < BENCH_KINDS; kind++) {
        if (bench_sums[kind].ends != 0) {
            printf("%s\"%u\": [%llu, %llu]", between, kind,
                   (unsigned long long)bench_sums[kind].starts,
                   (unsigned long long)bench_sums[kind].ends);
            between = ", ";
        }
    }
    printf("}}\n");
}

int main(int argc, char **argv) {
    if (argc != 4) {
        die("usage: PROGRAM INPUT PIECE (SECONDS | =PASSES)");
    }
    read_input(argv[1]);
    input.piece = strtoul(argv[2], NULL, 10);
    double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (!bench_setup()) {
        die("the matcher cannot be set up");
    }
    double setup = seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    printf("{\"bytes\": %zu, \"setup\": %.9g, \"code\": %zu, ", input.n, setup, bench_code());
    if (argv[3][0] == '=') {
        for (unsigned long left = strtoul(argv[3] + 1, NULL, 10); left > 0; left--) {
            pass();
        }
    } else {
        measure(strtod(argv[3], NULL));
    }
    print_sums();
    return 0;
}
