/* life.c: the runs of a simulation: each is a server's whole life in a process of its own.
 *
 *     PROGRAM [--seed N] [--runs N] [--conversations N] [-v]
 *
 * Seeds are N, N + 1, … Exit status 0: nothing was found. Included by each program, which supplies
 * `run`: it returns the exit status of a life. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A server that hangs is a failure as well. A busy machine may give it little processor time for
 * long, so one that waits has longer than one that runs. */
static void limit(void) {
    const struct rlimit seconds = {.rlim_cur = 60, .rlim_max = 60};
    alarm(300);
    if (setrlimit(RLIMIT_CPU, &seconds) == -1) {
        perror("simulate: setrlimit");
    }
}

int main(int argc, char **argv) {
    uint64_t seed = 1, runs = 1;
    uint32_t conversations = 1000;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "-v") == 0) {
            verbose = true;
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--runs") == 0) {
            runs = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--conversations") == 0) {
            conversations = (uint32_t)strtoul(value, NULL, 10);
            i++;
        } else {
            fprintf(stderr, "simulate: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    for (uint64_t i = 0; i < runs; i++) {
        pid_t child = runs == 1 ? 0 : fork();
        int status;
        if (child == 0) {
            limit();
            return run(seed + i, conversations, verbose);
        }
        if (child == -1 || waitpid(child, &status, 0) != child) {
            perror("simulate");
            return 1;
        }
        if (status != 0) {
            fprintf(stderr, "seed %llu failed (status %x)\n", (unsigned long long)(seed + i),
                    (unsigned)status);
            return 9;
        }
    }
    return 0;
}
