/* said.c: with -v, what the runtime says to operators is a comment among the commands.
 *
 * Included by the files that have nest__say. No state. */
#include <stdarg.h>
#include <stdio.h>

static void sim_said(const char *format, va_list arguments) {
    if (sim.verbose) {
        printf("# ");
        vprintf(format, arguments);
        printf("\n");
    }
}
