/* A tree over addresses, 16 branches at each level, 4 bits of an address for each: 8 levels for
 * IPv4, 16 for IPv6, whose last 64 bits a client chooses freely. It finds the network that holds
 * most, and the one that was served least recently. */
#ifndef CCFTREE_H
#define CCFTREE_H

#include "ccfilter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ccf_leaf;

/* Belongs to the caller; its address must not change while it is in the tree. */
struct ccf_tree_item {
    struct ccf_leaf *leaf; /* NULL: not in the tree */
    struct ccf_tree_item *next, *prev;
};

struct ccf_tree;

/* keep: how many addresses without items are remembered, for ccf_tree_next. */
struct ccf_tree *ccf_tree_new(size_t keep);
bool ccf_tree_add(struct ccf_tree *tree, struct ccf_tree_item *item,
                  const struct ccf_address *from);
void ccf_tree_remove(struct ccf_tree *tree, struct ccf_tree_item *item);
/* The oldest item of the heaviest network, or NULL. */
struct ccf_tree_item *ccf_tree_heaviest(struct ccf_tree *tree);
/* Removes the oldest item of the network that was least recently returned here, or returns NULL. */
struct ccf_tree_item *ccf_tree_next(struct ccf_tree *tree);
size_t ccf_tree_count(const struct ccf_tree *tree);
/* Ends a tree without items. */
void ccf_tree_free(struct ccf_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
