/* A table of networks: a prefix of an address, and what a filter keeps about it. */
#ifndef CCF_NETS_H
#define CCF_NETS_H

#include "ccfilter.h"

struct ccf_net {
    struct ccf_net *chain;   /* in the table */
    struct ccf_address from; /* its first `bits` bits */
    unsigned bits;
    long count; /* the filter's */
    uint64_t time;
    struct ccf_list waiting;
};

/* Finds a network, or makes it with zeroes. NULL: no memory. */
struct ccf_net *ccf_net(const struct ccf_address *from, unsigned bits);
void ccf_net_forget(struct ccf_net *net);
size_t ccf_nets(void);
/* Forgets networks for which `useless` is true. */
void ccf_net_sweep(bool (*useless)(const struct ccf_net *net));

#endif
