/* sizes.h: the sizes of a specification of four rules (small.c). Included before seam.h. */
#ifndef NEST_SIMULATE_SIZES_H
#define NEST_SIMULATE_SIZES_H

#define NEST__RULES 4
#define NEST__CONDITIONS 1
#define NEST__STANDALONE 4
#define NEST__EARLY 0
#define NEST__TAGS 1
#define NEST__REGISTERS 1
#define NEST__SPLICES 0
#define NEST__FALLBACK 0
#define NEST__LOSSY 0
#define NEST__TLS 0
#define NEST__DECODES 0
#define NEST__ENCODES 0
#define NEST__PROXIED 0
#define NEST__RETURNS 0
#define NEST__PROCESSORS 0
#define NEST__PARTS 3
#define NEST__THREAD_WORDS 96
#define NEST__NFA_STATES 48
#define NEST__TIMERS 0
#define NEST__PIPES 0
#define NEST__MESSAGES 0

#endif
