/* kernel.h: option kernelCache: the kernel answers requests for files, by `nest accelerate`.
 *
 * A child of the supervisor for each TCP port; the server itself does nothing for an answer. In
 * other servers none.c stands for what the supervisor calls. */
#ifndef NEST_SERVICE_KERNEL_H
#define NEST_SERVICE_KERNEL_H

#include "../../seam.h"

#include <sys/types.h>

/* -- for the supervisor: whether the process was one of nest accelerate */
bool nest__kernel_reaped(pid_t, int status);

/* -- for service/metrics, in the service process */
/* What `nest accelerate --counts` writes: 64-bit numbers, in this order. */
struct nest__kernel_counts {
    uint64_t on; /* 1: the kernel answers */
    uint64_t answers, bytes, unchanged;
    uint64_t kept, size;
};
/* The sum of all ports. */
struct nest__kernel_counts nest__kernel_counts(void);

/* -- join points */
int nest__kernel_check(void);
int nest__kernel_serve(void);
void nest__kernel_halt(void);
void nest__kernel_close(void);
void nest__kernel_reloaded(void);
unsigned nest__kernel_mind(void);

#endif
