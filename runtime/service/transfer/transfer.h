/* transfer.h: $fileReplyTo, $fileReceiveFrom, $drainTo: files go to second connections, and come
 * from them. */
#ifndef NEST_SERVICE_TRANSFER_H
#define NEST_SERVICE_TRANSFER_H

#include "../../seam.h"

struct nest__need nest__transfer_need(void);

#endif
