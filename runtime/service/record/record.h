/* record.h: what clients send, for `nest run --record`. */
#ifndef NEST_SERVICE_RECORD_H
#define NEST_SERVICE_RECORD_H

#include "../../seam.h"

void nest__record_open(nest_session *);
void nest__record_take(nest_session *, const struct nest__rule *, const uint8_t *, uint32_t);
void nest__record_read(nest_session *, const uint8_t *, uint32_t);
void nest__record_replied(nest_session *, size_t items, uint64_t n);
void nest__record_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__record_end(nest_session *);

#endif
