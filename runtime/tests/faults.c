/* faults.c: lets the allocation number FAULT_AT fail, and all later ones if FAULT_ALL is set.
 *
 * Linked with --wrap by the tests; says on stderr how many allocations there were at exit. */
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_realloc(void *, size_t);

static long faults_done;

static void faults_report(void) {
    fprintf(stderr, "allocations %ld\n", faults_done);
}

static int faults_now(void) {
    const char *at = getenv("FAULT_AT");
    long number = at == NULL ? 0 : strtol(at, NULL, 10);
    if (faults_done == 0) {
        atexit(faults_report);
    }
    faults_done++;
    return number > 0 && (faults_done == number || (getenv("FAULT_ALL") && faults_done > number));
}

void *__wrap_malloc(size_t n) {
    return faults_now() ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n) {
    return faults_now() ? NULL : __real_realloc(p, n);
}
