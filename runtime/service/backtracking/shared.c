/* shared.c: the clients of a loop share its stack of libpcre2. */
#include "backtracking.h"

const bool nest__backtracking_shared = true;
