/* rings.c: mail between loops, tried. usage: rings SEED KILLS */
#include "../sample/sizes.h"

#include "../../workers/mailbox_rings.c"

#include "mail.h"

/* Over its rings, their tails, and often over tails alone, so that they come near the truth. */
static void garbage(uint32_t seed) {
    uint8_t *all = (uint8_t *)rings_out(SENDER, 0);
    struct rings_out *out = rings_out(SENDER, RECEIVER);
    state = seed;
    for (int turn = 0; turn < 300; turn++) {
        switch (draw(4)) {
        case 0:
            memset(all, (int)draw(256), rings.out_size);
            break;
        case 1:
            atomic_fetch_add(&out->tail, draw(2 * RINGS_BYTES));
            break;
        case 2:
            atomic_store(&out->tail, draw(UINT32_MAX));
            break;
        default:
            for (uint32_t i = 0; i < 512; i++) {
                out->bytes[draw(RINGS_BYTES)] = (uint8_t)draw(256);
            }
            (void)send_number(draw(1000), LIFE);
        }
    }
}

int main(int argc, char **argv) {
    return run(argc, argv);
}
