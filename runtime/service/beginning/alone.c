/* alone.c: %worker in a server without sockets: the process is the worker. No state. */
#include "beginning.h"

int nest__beginning_start(void) {
    nest__spec_beginning();
    return 0;
}
