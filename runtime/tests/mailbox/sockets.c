/* sockets.c: mail to workers that block, tried. usage: sockets SEED KILLS */
#include "../sample/sizes.h"

#include "../../workers/mailbox_sockets.c"

#include <string.h>

#include "mail.h"

static void garbage(uint32_t seed) {
    uint8_t bytes[2 * NEST__MAIL_MOST];
    state = seed;
    for (int turn = 0; turn < 300; turn++) {
        uint32_t n = draw(sizeof bytes);
        for (uint32_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)draw(256);
        }
        (void)send(sockets_all[RECEIVER].send, bytes, n, MSG_DONTWAIT);
    }
}

int main(int argc, char **argv) {
    return run(argc, argv);
}
