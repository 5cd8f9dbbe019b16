/* counted.c: the counts of filters, in memory that they share with the server.
 *
 * Called by filters.c, and by service/metrics/ in the service process. State: where the memory is,
 * the same in all processes. cc-chain gets its descriptor with the listening socket; a cc-chain
 * that is started again gets the same one. A filter may have written anything there. Must not know
 * what is done with the counts. */
#include "filters.h"

#include "../../../conditioning/frame/counters.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNTED_MEMORY = CCF__CHAINS * CCF__CHAIN * CCF__PLACE };

_Static_assert((int)NEST__FILTERS_MOST == (int)CCF__CHAIN, "the places of one chain");

_Static_assert(sizeof(struct ccf__counters) <= CCF__PLACE, "one's counters have one place");

static char *counted_memory[NEST__LISTEN_MAX]; /* scope: server; set before workers are made */

int nest__filters_count(unsigned listener) {
    int fd = memfd_create("counts", MFD_CLOEXEC);
    if (fd == -1) {
        return errno == EPERM ? -EACCES : -errno; /* -1 has another meaning */
    }
    void *memory = ftruncate(fd, COUNTED_MEMORY) == -1
                       ? MAP_FAILED
                       : mmap(NULL, COUNTED_MEMORY, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return -ENOMEM;
    }
    counted_memory[listener] = memory;
    return fd;
}

static uint64_t counted_get(const uint64_t *count) {
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* A reason, of which only plain characters are kept. */
static void counted_reason(const char *name, char to[32]) {
    size_t n = strnlen(name, CCF__REASON_NAME);
    for (size_t i = 0; i < n; i++) {
        bool plain = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\';
        to[i] = '_';
        if (plain) {
            to[i] = name[i];
        }
    }
    to[n] = '\0';
}

static void counted_refusals(const char *reason, uint64_t count, struct nest__filter_counts *to) {
    unsigned i = 0, most = sizeof to->refused / sizeof to->refused[0];
    while (i < to->reasons && strcmp(to->refused[i].reason, reason) != 0) {
        i++;
    }
    if (i == most) {
        return;
    }
    if (i == to->reasons) {
        nest_strlcpy(to->refused[to->reasons++].reason, reason, sizeof to->refused[i].reason);
        to->refused[i].count = 0;
    }
    to->refused[i].count += count;
}

/* What one chain's filter has counted, which others may have replaced. */
static void counted_add(const struct ccf__counters *from, struct nest__filter_counts *to) {
    char reason[sizeof to->refused[0].reason];
    uint64_t oldest = counted_get(&from->oldest), now = nest__clock_ms();
    uint64_t reasons = counted_get(&from->reasons);
    uint64_t age = oldest != 0 && oldest < now ? now - oldest : 0;
    to->passed += counted_get(&from->passed); /* first, so that it is not more than are accepted */
    to->accepted += counted_get(&from->accepted);
    to->held += counted_get(&from->held);
    to->deaths += counted_get(&from->deaths);
    to->oldest_ms = age > to->oldest_ms ? age : to->oldest_ms;
    for (unsigned i = 0; i < reasons && i < CCF__REASONS; i++) {
        counted_reason(from->refused[i].name, reason);
        counted_refusals(reason, counted_get(&from->refused[i].count), to);
    }
}

bool nest__filters_counts(unsigned listener, unsigned filter, struct nest__filter_counts *to) {
    if (listener >= NEST__LISTEN_MAX || counted_memory[listener] == NULL ||
        filter >= nest__spec_filter_count || filter >= NEST__FILTERS_MOST) {
        return false;
    }
    *to = (struct nest__filter_counts){.reasons = 0};
    for (size_t chain = 0; chain < CCF__CHAINS; chain++) {
        size_t place = chain * CCF__CHAIN + filter;
        counted_add((void *)(counted_memory[listener] + place * CCF__PLACE), to);
    }
    return true;
}
