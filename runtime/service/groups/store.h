/* store.h: the bytes of messages to groups, where all workers that block can read them. */
#ifndef NEST_SERVICE_GROUPS_STORE_H
#define NEST_SERVICE_GROUPS_STORE_H

#include "groups.h"

/* Where a message is. It comes from another process, which may have written anything. */
struct nest__groups_stored {
    uint64_t at; /* in words of 8 bytes, of all that its worker has ever put there */
    uint32_t slot, n;
};

int nest__groups_store_prepare(uint32_t slots); /* 0 or -ENOMEM */
uint64_t nest__groups_store_size(void);         /* bytes for each worker */
void nest__groups_store_open(uint32_t slot);    /* the calling thread puts its messages here */
/* Puts a message over the oldest ones of this worker. */
struct nest__groups_stored nest__groups_store_put(const struct nest__send_text *);
/* Its bytes, until the next call on this thread. NULL: it has been overwritten. */
const uint8_t *nest__groups_store_get(const struct nest__groups_stored *);

#endif
