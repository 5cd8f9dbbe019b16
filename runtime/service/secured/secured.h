/* secured.h: $startTLSOn: second connections are encrypted. */
#ifndef NEST_SERVICE_SECURED_H
#define NEST_SERVICE_SECURED_H

#include "../../seam.h"

int nest__secured_start(void);
struct nest__need nest__secured_need(void);

#endif
