/* sizes.h: what the generated part defines before seam.h, for programs that have no generated part.
 */
#define NEST__RULES 1
#define NEST__CONDITIONS 1
#define NEST__STANDALONE 1
#define NEST__EARLY 0
#define NEST__TAGS 1
#define NEST__REGISTERS 1
#define NEST__PARTS 1
#define NEST__THREAD_WORDS 1
#define NEST__NFA_STATES 1
#define NEST__TIMERS 0
#define NEST__PIPES 0
#define NEST__SPLICES 0
#define NEST__FALLBACK 0
#define NEST__MESSAGES 0
#define NEST__LOSSY 1
#define NEST__TLS 0
#define NEST__DECODES 0
#define NEST__ENCODES 0
#define NEST__PROXIED 0
#define NEST__RETURNS 0
#define NEST__PROCESSORS 0
#include "../../seam.h"
