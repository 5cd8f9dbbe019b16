/* simulate.c: how a trace fares with policies of fileCache. `nest cache-sim` compiles it with
 * policy.c of the runtime, and reads what it prints.
 *
 * usage: simulate TRACE LARGEST POLICY:SIZE …
 * The policy `custom` is that of value.c, which is compiled with it if a specification has %cache.
 * TRACE begins with the number of objects; "OBJECT BYTES" follows for each access. A line
 * "HITS HIT-BYTES" is printed for each POLICY:SIZE. Must not know logs. */
#include "policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Nothing is linked for it where no policy is `custom`. */
__attribute__((weak)) nest__policy_value nest__spec_cache;

struct access {
    uint32_t object;
    uint64_t bytes;
};

static struct access *accesses;
static size_t count, room;
static uint32_t objects;

static int read_trace(const char *path) {
    struct access next;
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%" SCNu32, &objects) != 1) {
        return -1;
    }
    while (fscanf(file, "%" SCNu32 " %" SCNu64, &next.object, &next.bytes) == 2) {
        if (count == room) {
            room = room == 0 ? 65536 : room * 2;
            accesses = realloc(accesses, room * sizeof *accesses);
            if (accesses == NULL) {
                return -1;
            }
        }
        accesses[count++] = next;
    }
    return fclose(file);
}

/* An object with another size than before has changed: what was cached is of no use. */
static int simulate(unsigned policy, uint64_t size, uint64_t largest) {
    struct nest__policy *p =
        nest__policy_make((enum nest__policy_kind)policy, size, largest, objects, nest__spec_cache);
    uint64_t *sizes = calloc(objects, sizeof *sizes); /* plus 1; 0: not cached */
    uint64_t hits = 0, hit_bytes = 0, used = 0;
    if (p == NULL || sizes == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t object = accesses[i].object;
        uint64_t bytes = accesses[i].bytes;
        if (sizes[object] == bytes + 1) {
            nest__policy_hit(p, object);
            hits++;
            hit_bytes += bytes;
            continue;
        }
        if (sizes[object] != 0) {
            nest__policy_leave(p, object, false);
            used -= sizes[object] - 1;
            sizes[object] = 0;
        }
        if (!nest__policy_takes(p, bytes)) {
            continue;
        }
        while (used + bytes > size) {
            uint32_t victim = nest__policy_victim(p, bytes);
            nest__policy_leave(p, victim, true);
            used -= sizes[victim] - 1;
            sizes[victim] = 0;
        }
        nest__policy_enter(p, object, object, bytes);
        used += bytes;
        sizes[object] = bytes + 1;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", hits, hit_bytes);
    nest__policy_free(p);
    free(sizes);
    return 0;
}

int main(int argc, char **argv) {
    unsigned policy;
    uint64_t size;
    if (argc < 3 || read_trace(argv[1]) != 0) {
        return EXIT_FAILURE;
    }
    uint64_t largest = strtoull(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) {
        if (sscanf(argv[i], "%u:%" SCNu64, &policy, &size) != 2 || policy >= NEST__POLICIES ||
            simulate(policy, size, largest) != 0) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
