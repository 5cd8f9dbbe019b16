/* A table of networks. nets.h has the interface. */
#define _GNU_SOURCE
#include "nets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct ccf_net **table;
static size_t room, used;
static uint64_t seed;

/* The seed keeps clients from choosing addresses that meet in one chain. */
static size_t hash(const struct ccf_address *from, unsigned bits) {
    uint64_t words[2];
    memcpy(words, from->bytes, sizeof words);
    uint64_t h = seed ^ (words[0] + bits) ^ ((uint64_t)from->family << 56);
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    h = ((h ^ (h >> 29)) + words[1]) * 0xbf58476d1ce4e5b9u;
    return (size_t)(h ^ (h >> 32));
}

static bool grow(void) {
    size_t more = room > 0 ? 2 * room : 256;
    struct ccf_net **grown = calloc(more, sizeof(struct ccf_net *));
    if (grown == NULL)
        return room > 0;
    if (room == 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = ccf_now();
    for (size_t i = 0; i < room; i++) {
        for (struct ccf_net *net = table[i], *after; net != NULL; net = after) {
            after = net->chain;
            size_t at = hash(&net->from, net->bits) & (more - 1);
            net->chain = grown[at];
            grown[at] = net;
        }
    }
    free(table);
    table = grown;
    room = more;
    return true;
}

static struct ccf_address prefix(const struct ccf_address *from, unsigned bits) {
    struct ccf_address net = {.family = from->family};
    unsigned whole = bits / 8, rest = bits % 8;
    memcpy(net.bytes, from->bytes, whole);
    if (rest > 0)
        net.bytes[whole] = from->bytes[whole] & (uint8_t)(0xff00u >> rest);
    return net;
}

struct ccf_net *ccf_net(const struct ccf_address *from, unsigned bits) {
    struct ccf_address key = prefix(from, bits);
    if (used >= room && !grow())
        return NULL;
    size_t at = hash(&key, bits) & (room - 1);
    struct ccf_net *net = table[at];
    while (net != NULL && (net->bits != bits || memcmp(&net->from, &key, sizeof key) != 0))
        net = net->chain;
    if (net != NULL)
        return net;
    net = calloc(1, sizeof *net);
    if (net == NULL)
        return NULL;
    net->from = key;
    net->bits = bits;
    net->chain = table[at];
    table[at] = net;
    used++;
    return net;
}

void ccf_net_forget(struct ccf_net *net) {
    struct ccf_net **at = &table[hash(&net->from, net->bits) & (room - 1)];
    while (*at != net)
        at = &(*at)->chain;
    *at = net->chain;
    free(net);
    used--;
}

size_t ccf_nets(void) {
    return used;
}

void ccf_net_sweep(bool (*useless)(const struct ccf_net *net)) {
    for (size_t i = 0; i < room; i++) {
        for (struct ccf_net *net = table[i], *after; net != NULL; net = after) {
            after = net->chain;
            if (useless(net))
                ccf_net_forget(net);
        }
    }
}
