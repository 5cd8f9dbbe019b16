/* counted_none.c: a server that nobody asks for the counts of its filters. No state. */
#include "filters.h"

int nest__filters_count(unsigned listener) {
    (void)listener;
    return -1;
}
