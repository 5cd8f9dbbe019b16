/* group.h: limits of this process's control group. For files of platform/. */
#ifndef NEST_PLATFORM_GROUP_H
#define NEST_PLATFORM_GROUP_H

#include <stdint.h>
#include <stdio.h>

/* The least limit of the process's control group and its ancestors. `controller`: its name in
 * version 1; `name`: the file of version 2; `old`: that of version 1, in /sys/fs/cgroup/CONTROLLER.
 * `read` reads the limit from the file; UINT64_MAX: there is none. */
uint64_t nest__group_least(const char *controller, const char *name, const char *old,
                           uint64_t (*read)(FILE *));

#endif
