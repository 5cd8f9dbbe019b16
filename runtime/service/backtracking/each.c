/* each.c: every client has a worker of its own, and so a stack of libpcre2. */
#include "backtracking.h"

const bool nest__backtracking_shared = false;
