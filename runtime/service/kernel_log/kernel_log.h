/* kernel_log.h: lines of the log for requests that the kernel answered (option kernelCache).
 *
 * nest accelerate tells them through a pipe, which never makes it wait; the service process writes
 * the lines. In servers without a log none.c stands for what service/kernel/ calls. */
#ifndef NEST_SERVICE_KERNEL_LOG_H
#define NEST_SERVICE_KERNEL_LOG_H

#include "../../seam.h"

/* -- for service/kernel, in the supervisor: where nest accelerate writes; -1: nothing is logged. It
 * stays the callee's. */
int nest__kernel_log_pipe(void);

/* -- join points */
int nest__kernel_log_start(void);
int nest__kernel_log_serve(void);
void nest__kernel_log_reloaded(void);
void nest__kernel_log_close(void);
extern const struct nest__task nest__kernel_log_task; /* workers/service_process.h */

#endif
