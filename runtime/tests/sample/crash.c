/* crash.c: the sample's actions, and some that crash: BIG with certain numbers, the TIMEOUT rule of
 * HUSH. */
#define nest__spec_act sample_act
#include "actions.c"
#undef nest__spec_act

/* Each frame is used after the call, and its place is known to it: no compiler folds them. */
static int overflow(const volatile char *above) {
    volatile char frame[4096];
    frame[0] = above[0];
    return above[0] == 'x' ? 0 : overflow(frame) + frame[0];
}

void nest__spec_act(nest_session *s, void *memory, int rule, const struct nest_message *message) {
    (void)message;
    volatile int *volatile nowhere = NULL;
    if (rule == -7) { /* the last of four TIMEOUT rules */
        abort();
    }
    switch (rule == 2 ? strtoul(nest_part(s, 2), NULL, 10) : 0) {
    case 990:
        *nowhere = 1;
        break;
    case 991:
        overflow("");
        break;
    case 992:
        abort();
    case 993:
        for (volatile int i = 0;; i = !i) { /* never ends */
        }
    case 994:
        nest_replyf(s, "%s %s\r\n", nest_peer(s), nest_date());
        nest_log(s, NEST_WARN, "a line\nand %s", "another\n\x1b");
        break;
    default:
        sample_act(s, memory, rule, message);
    }
}
