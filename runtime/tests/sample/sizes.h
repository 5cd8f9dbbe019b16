/* sizes.h: what the generated part defines before seam.h, for programs that have no generated part.
 */
#define NEST__RULES 1
#define NEST__CONDITIONS 1
#define NEST__STANDALONE 1
#include "../features.h"
#define NEST__PARTS 1
#define NEST__THREAD_WORDS 1
#define NEST__NFA_STATES 1
#define NEST__TIMERS 0
#define NEST__MESSAGES 0
#define NEST__LOSSY 1
#include "../../seam.h"
