/* sizes.h: the sizes of a specification of four rules (small.c). Included before seam.h. */
#ifndef NEST_SIMULATE_SIZES_H
#define NEST_SIMULATE_SIZES_H

#define NEST__RULES 4
#define NEST__CONDITIONS 1
#define NEST__STANDALONE 4
#include "../features.h"
#define NEST__LOSSY 0
#define NEST__PARTS 3
#define NEST__THREAD_WORDS 96
#define NEST__NFA_STATES 48
#define NEST__TIMERS 0
#define NEST__MESSAGES 0

#endif
