/* The BPF object: all its parts in one translation unit, and what the loader sets.
 *
 * Must not know: anything else. */
#include "types.h"

#include "connections.c"

#include "answers.c"
#include "requests.c"
#include "singles.c"

const volatile __u32 nest_port = 0;
const volatile __u32 nest_net = 0;
const volatile __u32 nest_logs = 0;
const volatile __u64 nest_magic = 0;

char nest_license[] SECTION("license") = "Dual MIT/GPL";
