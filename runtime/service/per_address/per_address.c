/* per_address.c: option perAddress: at most so many clients of one network are served at the same
 * time. Others are turned away.
 *
 * Called at join points. State: the value of the option, parsed; a slab of the places that sessions
 * have. Clients of Unix sockets have no address, and are not counted. Must not know where places
 * are, nor which model runs it. */
#include "per_address.h"
#include "../../platform/platform.h"
#include "../proxied/proxied.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    PER_ADDRESS_MOST = 10000, /* each of them is looked at when one more comes */
    PER_ADDRESS_REASON = 256,
    PER_ADDRESS_FOUR = 96 /* bits before an address of IPv4 */
};
#define PER_ADDRESS_TOLD (1u << 31) /* in the slab: the client of this place is turned away */

struct per_address_value {
    uint32_t most; /* 0: any number */
    uint32_t four, six;
};

/* scope: process, shared by its threads: the text that was parsed last, and what it says */
static _Atomic(const char *) per_address_text;
static _Atomic uint64_t per_address_packed; /* scope: process, as above */
/* scope: process; set once. A slot's place is its session's own; 0: it has none. */
static _Atomic(void *) per_address_slab;

/* A number at *text, which then is behind it. */
static bool per_address_number(const char **text, uint32_t least, uint32_t most, uint32_t *to) {
    const char *p = *text;
    *to = 0;
    while (*p >= '0' && *p <= '9' && *to <= most) {
        *to = *to * 10 + (uint32_t)(*p++ - '0');
    }
    bool fits = p != *text && *to >= least && *to <= most;
    *text = p;
    return fits;
}

/* "/24" behind blanks; *to stays as it is if there is none. */
static bool per_address_prefix(const char **text, uint32_t most, uint32_t *to) {
    const char *p = *text + strspn(*text, " \t");
    if (*p != '/') {
        return *p == '\0';
    }
    *text = p + 1;
    return per_address_number(text, 1, most, to);
}

static bool per_address_parse(const char *text, struct per_address_value *value) {
    *value = (struct per_address_value){0, 32, 64};
    if (strcmp(text, "none") == 0) {
        return true;
    }
    return per_address_number(&text, 1, PER_ADDRESS_MOST, &value->most) &&
           per_address_prefix(&text, 32, &value->four) &&
           per_address_prefix(&text, 128, &value->six) && text[strspn(text, " \t")] == '\0';
}

int nest__per_address_valid(const char *text, char *reason) {
    struct per_address_value value;
    if (per_address_parse(text, &value)) {
        return 0;
    }
    snprintf(reason, PER_ADDRESS_REASON,
             "'%.40s' is not none, nor a number of clients from 1 to %d; the lengths of networks "
             "may follow, as in 20 /24 /64",
             text, (int)PER_ADDRESS_MOST);
    return -EINVAL;
}

/* The text stays where it is: only a changed one has to be parsed. */
static struct per_address_value per_address_now(void) {
    const char *text = atomic_load_explicit(&nest__config.per_address, memory_order_acquire);
    struct per_address_value value;
    if (text != atomic_load(&per_address_text)) {
        (void)per_address_parse(text == NULL ? "none" : text, &value);
        atomic_store(&per_address_packed, (uint64_t)value.most << 16 | value.four << 8 | value.six);
        atomic_store(&per_address_text, text);
    }
    uint64_t packed = atomic_load(&per_address_packed);
    return (struct per_address_value){(uint32_t)(packed >> 16), packed >> 8 & 255, packed & 255};
}

int nest__per_address_start(void) {
    int error = nest__networks_make(nest__config.max_clients);
    if (error < 0) {
        nest__say("cannot start: perAddress: %s", strerror(-error));
    }
    return error;
}

int nest__per_address_serve(void) {
    nest__networks_sweep();
    return 0;
}

/* Keeps the first bits of the address. */
static void per_address_mask(uint8_t network[NEST__NETWORK], uint32_t bits) {
    for (uint32_t i = 0; i < NEST__NETWORK; i++) {
        uint32_t left = bits > i * 8 ? bits - i * 8 : 0;
        network[i] &= (uint8_t)(left >= 8 ? 0xff : 0xff00 >> left);
    }
}

static void per_address_say(const nest_session *s, const struct per_address_value *value) {
    char peer[NEST__ADDRESS_TEXT];
    nest__client_text(s, peer, sizeof peer);
    nest__say("perAddress: %u clients of the network of %s are served, and others are turned away",
              (unsigned)value->most, peer);
}

int nest__per_address_admit(nest_session *s) {
    static const uint8_t four[12] = {[10] = 0xff, [11] = 0xff};
    uint32_t *slab = nest__slab(&per_address_slab, sizeof *slab);
    struct per_address_value value = per_address_now();
    enum nest__admission admission;
    uint8_t network[NEST__NETWORK];
    bool say;
    if (slab == NULL) {
        return NEST__REFUSED;
    }
    if (slab[s->self.slot] != 0) { /* it has been admitted to its handshake */
        bool told = (slab[s->self.slot] & PER_ADDRESS_TOLD) != 0;
        return told ? NEST__TURNED_AWAY : NEST__ADMITTED;
    }
    if (value.most == 0 || !nest__client_bytes(s, network)) {
        return NEST__ADMITTED;
    }
    bool is_four = memcmp(network, four, sizeof four) == 0;
    per_address_mask(network, is_four ? PER_ADDRESS_FOUR + value.four : value.six);
    slab[s->self.slot] =
        nest__networks_take(network, value.most, nest__has_overload, &admission, &say);
    if (slab[s->self.slot] != 0 && admission != NEST__ADMITTED) {
        slab[s->self.slot] |= PER_ADDRESS_TOLD;
    }
    if (say) {
        per_address_say(s, &value);
    }
    return (int)admission;
}

void nest__per_address_release(nest_session *s) {
    uint32_t *slab = atomic_load(&per_address_slab);
    if (slab != NULL && slab[s->self.slot] != 0) {
        nest__networks_give(slab[s->self.slot] & ~PER_ADDRESS_TOLD);
        slab[s->self.slot] = 0;
    }
}

struct nest__need nest__per_address_need(void) {
    enum { PLACE = 32 + sizeof(uint32_t) }; /* and its head */
    return (struct nest__need){"its place, for perAddress", NULL, PLACE + sizeof(uint32_t), 0};
}
