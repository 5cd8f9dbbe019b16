/* group.c: finds the limits of this process's control group, in either version.
 *
 * Called by memory.c and processors.c. No state. Must not know what is limited. */
#include "group.h"

#include <string.h>

static uint64_t group_file(const char *path, uint64_t (*read)(FILE *)) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    uint64_t limit = read(file);
    fclose(file);
    return limit;
}

/* The least limit of a control group and its ancestors. Modifies `group`. */
static uint64_t group_walk(const char *mount, const char *controller, char *group, const char *name,
                           uint64_t (*read)(FILE *)) {
    char path[1300];
    uint64_t least = UINT64_MAX;
    for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
        *end = '\0';
        snprintf(path, sizeof path, "%s%s%s/%s", mount, controller, group, name);
        uint64_t limit = group_file(path, read);
        least = limit < least ? limit : least;
    }
    return least;
}

/* Whether a line of /proc/self/cgroup is for the controller: "4:cpu,memory:/group". */
static bool group_is_of(const char *line, const char *group, const char *controller) {
    const char *at = strstr(line, controller);
    size_t n = strlen(controller);
    while (at != NULL && at < group &&
           (at == line || strchr(":,", at[-1]) == NULL || strchr(":,", at[n]) == NULL)) {
        at = strstr(at + 1, controller);
    }
    return at != NULL && at < group;
}

/* "0::/group" is version 2, "4:memory:/group" version 1. */
uint64_t nest__group_least(const char *controller, const char *name, const char *old,
                           uint64_t (*read)(FILE *)) {
    char line[1024], folder[32];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    snprintf(folder, sizeof folder, "/%s", controller);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uint64_t limit = UINT64_MAX;
        char *group = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (group != NULL && strncmp(line, "0::/", 4) == 0) {
            limit = group_walk("/sys/fs/cgroup", "", group, name, read);
        } else if (group != NULL && group_is_of(line, group, controller)) {
            limit = group_walk("/sys/fs/cgroup", folder, group, old, read);
        }
        least = limit < least ? limit : least;
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}
