/* size.c: the value of option sharedSize: how much memory %shared has.
 *
 * Called by config/, by region.c and at a join point. No state. Must not know where the memory is.
 */
#include "heap.h"
#include "region.h"
#include "../../platform/platform.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SIZE_REASON = 256 };
#define SIZE_MOST (UINT64_C(1) << 40) /* as in the compiler, for the size behind %shared */

/* "64M". Returns 0 if it is no size, or too large. */
static uint64_t size_read(const char *text) {
    static const char units[] = "KMG";
    uint64_t size = 0;
    int shift = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && size <= SIZE_MOST; p++) {
        size = size * 10 + (uint64_t)(*p - '0');
    }
    if (p != text && *p != '\0') {
        const char *unit = strchr(units, toupper((unsigned char)*p));
        shift = unit == NULL ? 0 : 10 * (int)(unit - units + 1);
        p += unit != NULL;
    }
    return *p != '\0' || size > SIZE_MOST >> shift ? 0 : size << shift;
}

int nest__region_valid(const char *text, char *reason) {
    uint64_t size = size_read(text), lists = nest__heap_least();
    if (size == 0) {
        snprintf(reason, SIZE_REASON,
                 "'%.40s' is not a size; write a number of bytes, or a number with K, M or G such "
                 "as 64K, up to 1024G",
                 text);
        return -EINVAL;
    }
    if (size < nest__spec_shared_size + lists) {
        snprintf(reason, SIZE_REASON, "%.40s is too small; the variables of %%shared%s need %llu",
                 text, lists > 0 ? " and the lists of $alloc" : "",
                 (unsigned long long)(nest__spec_shared_size + lists));
        return -EINVAL;
    }
    return 0;
}

uint64_t nest__region_size(void) {
    return size_read(nest__config.shared_size);
}

int nest__region_check(void) {
    char there[32];
    uint64_t most = nest__memory_most();
    if (nest__region_size() <= most) {
        return 0;
    }
    nest__memory_text(most, there);
    nest__say("cannot start: sharedSize is %s, but this machine or its control group has %s of "
              "memory",
              nest__config.shared_size, there);
    return -ENOMEM;
}
