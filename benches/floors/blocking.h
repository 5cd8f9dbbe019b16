/* blocking.h: what a worker of the blocking floors does: accept, then receive and answer.
 *
 * Must not know whether it is a thread or a process, or how often it does it. */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "floor.h"

/* One connection, from its first byte to its last. */
static void blocking_serve(void) {
    char input[FLOOR_INPUT];
    struct floor_client c = {.file = -1};
    int fd = accept4(floor_.listener, NULL, NULL, SOCK_CLOEXEC), done = 2;
    ssize_t n;
    if (fd == -1) {
        return;
    }
    while ((done == 2 || (done == 1 && !floor_.closing)) &&
           (n = recv(fd, input, sizeof input, 0)) > 0) {
        done = floor_serve(fd, &c, input, (size_t)n);
    }
    if (c.file != -1) {
        close(c.file);
    }
    close(fd);
}

#endif
