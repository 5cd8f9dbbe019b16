/* broken.c: ends a life in which something was found, with its seed.
 *
 * Included by programs without conversations that could be shown; BROKEN_MS is their time. */
#include "simulate.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

_Noreturn void sim_broken(const struct sim_talk *talk, const char *format, ...) {
    va_list arguments;
    (void)talk;
    fflush(stdout);
    fprintf(stderr, "broken: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n  seed %llu, after %u conversations, at %llu ms\n",
            (unsigned long long)sim.seed, (unsigned)sim.opened, (unsigned long long)BROKEN_MS);
    _exit(9);
}
