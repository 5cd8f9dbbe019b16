/* limits.c: how many processes and threads the system allows.
 *
 * Called by worker models. No state. Must not know what they run. */
#include "group.h"
#include "platform.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

/* "max", or a number. */
static uint64_t limits_group(FILE *file) {
    unsigned long long limit;
    return fscanf(file, "%llu", &limit) == 1 ? limit : UINT64_MAX;
}

int nest__threads_budget(uint32_t tasks, const char *each) {
    struct rlimit have;
    uint64_t group = nest__group_least("pids", "pids.max", "pids.max", limits_group);
    uint64_t user =
        geteuid() == 0 || getrlimit(RLIMIT_NPROC, &have) == -1 ? UINT64_MAX : have.rlim_cur;
    uint64_t limit = user < group ? user : group;
    if (limit > tasks) {
        return 0;
    }
    nest__say("%u clients need one %s each, but the limit of this %s is %llu; lower maxClients, or "
              "raise the limit (%s)",
              (unsigned)tasks, each, user < group ? "user" : "control group",
              (unsigned long long)limit, user < group ? "ulimit -u" : "pids.max, TasksMax");
    return -EAGAIN;
}
