/* signals.h: %signal: code that the server runs when it gets a signal. */
#ifndef NEST_SERVICE_SIGNALS_H
#define NEST_SERVICE_SIGNALS_H

#include "../../seam.h"
#include "../../workers/service_process.h"

/* -- generated: actions.c */
struct nest__signal {
    int number;
    void (*run)(void);
    const char *file;
    uint32_t line;
};
extern const struct nest__signal nest__spec_signals[]; /* at most 64, of different numbers */
extern const unsigned nest__spec_signals_count;

/* -- signals.c */
int nest__signals_start(void);
extern const struct nest__task nest__signals_task;

#endif
