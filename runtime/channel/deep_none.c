/* deep_none.c: deep.h in models where each thread has one stack, of sufficient size. No state. */
#include "deep.h"

int nest__deep_prepare(void) {
    return 0;
}

int64_t nest__deep(int64_t (*work)(void *), void *arg) {
    return work(arg);
}
