/* beginning.h: %worker: code that each worker runs when it begins. */
#ifndef NEST_SERVICE_BEGINNING_H
#define NEST_SERVICE_BEGINNING_H

#include "../../seam.h"

void nest__spec_beginning(void); /* generated: actions.c */

int nest__beginning_start(void);
int nest__beginning_serve(void);

#endif
