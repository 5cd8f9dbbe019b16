/* uploads.h: $fileCreate: a file that a connection writes piece by piece. */
#ifndef NEST_SERVICE_UPLOADS_H
#define NEST_SERVICE_UPLOADS_H

#include "../../seam.h"

/* scope: connection */
struct nest__uploads_state {
    nest_upload *own; /* NULL: none is being written */
};

struct nest__need nest__uploads_need(void);
unsigned nest__uploads_descriptors(bool most);
bool nest__uploads_holds(const struct nest__work *);
void nest__uploads_leave(nest_session *);

/* What else a write may take along. */
struct nest__uploads_more {
    /* Gives the next bytes, in memory of its own, without waiting. How many; <= 0: none now. */
    int64_t (*next)(struct nest__uploads_more *, const uint8_t **p);
};
/* As nest_file_write, for bytes that stay where they are until it returns, and are not of the
 * message: many of them are written without a copy. Behind them it writes what `more` gives, which
 * it asks on the thread that writes, and only after many bytes. */
int nest__uploads_write(nest_session *, nest_upload *, const uint8_t *p, size_t n,
                        struct nest__uploads_more *more);

#endif
