/* systemd.c, without sockets: nothing can be passed on. No state. */
#include "../listener/listener.h"

int nest__systemd_begin(void) {
    return 0;
}
