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

/* As nest_file_write, for bytes that stay where they are until it returns, and are not of the
 * message: many of them are written without a copy. */
int nest__uploads_write(nest_session *, nest_upload *, const uint8_t *p, size_t n);

#endif
