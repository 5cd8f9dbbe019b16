/* A tree over addresses. ccftree.h has the interface; section 4.2.1 of "Connection Conditioning"
 * (Park and Pai, 2006) has the algorithm.
 *
 * A subtree with only one address is stored as a leaf at its top. A node's count is the number of
 * items below it. Must not know: what the items are. */
#include "ccftree.h"

#include <stdlib.h>
#include <string.h>

enum { BRANCHES = 16, KEY = 17 };

struct node {
    struct node *up;
    size_t count;
    uint8_t slot; /* in `up` */
    bool leaf;
};

struct inner {
    struct node node;
    struct node *child[BRANCHES];
    uint8_t order[BRANCHES]; /* slots of children, the least recently served first */
};

struct ccf_leaf {
    struct node node;
    uint8_t key[KEY];
    struct ccf_tree_item *first, *last;
    struct ccf_leaf *newer, *older; /* among those without items */
};

struct ccf_tree {
    struct inner root;
    size_t keep, empties;
    struct ccf_leaf *oldest, *newest; /* without items */
};

static void in_order(struct inner *inner) {
    for (unsigned i = 0; i < BRANCHES; i++)
        inner->order[i] = (uint8_t)i;
}

static void served(struct inner *inner, unsigned child) {
    unsigned at = 0;
    while (inner->order[at] != child)
        at++;
    memmove(inner->order + at, inner->order + at + 1, BRANCHES - 1 - at);
    inner->order[BRANCHES - 1] = (uint8_t)child;
}

/* The key: the family, then the address (of IPv6 the first 64 bits) in pieces of 4 bits. */
static void key_of(const struct ccf_address *from, uint8_t key[KEY]) {
    size_t bytes = from->family == 4 ? 4 : from->family == 6 ? 8 : 0;
    memset(key, 0, KEY);
    key[0] = from->family;
    for (size_t i = 0; i < bytes; i++) {
        key[1 + 2 * i] = from->bytes[i] >> 4;
        key[2 + 2 * i] = from->bytes[i] & 15;
    }
}

struct ccf_tree *ccf_tree_new(size_t keep) {
    struct ccf_tree *tree = calloc(1, sizeof *tree);
    if (tree != NULL) {
        tree->keep = keep;
        in_order(&tree->root);
    }
    return tree;
}

static void attach(struct inner *up, unsigned slot, struct node *node) {
    up->child[slot] = node;
    node->up = &up->node;
    node->slot = (uint8_t)slot;
}

static struct ccf_leaf *new_leaf(struct inner *up, unsigned slot, const uint8_t key[KEY]) {
    struct ccf_leaf *leaf = calloc(1, sizeof *leaf);
    if (leaf == NULL)
        return NULL;
    leaf->node.leaf = true;
    memcpy(leaf->key, key, KEY);
    attach(up, slot, &leaf->node);
    return leaf;
}

/* Finds or makes the leaf of a key. */
static struct ccf_leaf *leaf_of(struct ccf_tree *tree, const uint8_t key[KEY]) {
    struct inner *at = &tree->root;
    for (unsigned depth = 0;; depth++) {
        struct node *child = at->child[key[depth]];
        if (child == NULL)
            return new_leaf(at, key[depth], key);
        if (child->leaf) {
            struct ccf_leaf *leaf = (struct ccf_leaf *)child;
            if (memcmp(leaf->key, key, KEY) == 0)
                return leaf;
            struct inner *between = calloc(1, sizeof *between);
            if (between == NULL)
                return NULL;
            between->node.count = child->count;
            in_order(between);
            attach(at, key[depth], &between->node);
            attach(between, leaf->key[depth + 1], child);
            /* The old address may have been served, so the new one comes before it. */
            served(between, leaf->key[depth + 1]);
            child = &between->node;
        }
        at = (struct inner *)child;
    }
}

static void empty_remove(struct ccf_tree *tree, struct ccf_leaf *leaf) {
    *(leaf->older != NULL ? &leaf->older->newer : &tree->oldest) = leaf->newer;
    *(leaf->newer != NULL ? &leaf->newer->older : &tree->newest) = leaf->older;
    tree->empties--;
}

static void empty_add(struct ccf_tree *tree, struct ccf_leaf *leaf) {
    leaf->newer = NULL;
    leaf->older = tree->newest;
    *(tree->newest != NULL ? &tree->newest->newer : &tree->oldest) = leaf;
    tree->newest = leaf;
    tree->empties++;
}

/* Frees a leaf, and the nodes above that are left without children. */
static void prune(struct ccf_tree *tree, struct ccf_leaf *leaf) {
    struct node *node = &leaf->node;
    while (node != &tree->root.node) {
        struct inner *up = (struct inner *)node->up;
        up->child[node->slot] = NULL;
        free(node);
        for (unsigned i = 0; i < BRANCHES; i++)
            if (up->child[i] != NULL)
                return;
        node = &up->node;
    }
}

bool ccf_tree_add(struct ccf_tree *tree, struct ccf_tree_item *item,
                  const struct ccf_address *from) {
    uint8_t key[KEY];
    key_of(from, key);
    struct ccf_leaf *leaf = leaf_of(tree, key);
    if (leaf == NULL)
        return false;
    bool known = leaf->newer != NULL || leaf->older != NULL || tree->oldest == leaf;
    if (known)
        empty_remove(tree, leaf);
    leaf->newer = leaf->older = NULL;
    item->leaf = leaf;
    item->next = NULL;
    item->prev = leaf->last;
    *(leaf->last != NULL ? &leaf->last->next : &leaf->first) = item;
    leaf->last = item;
    for (struct node *node = &leaf->node; node != NULL; node = node->up)
        node->count++;
    return true;
}

void ccf_tree_remove(struct ccf_tree *tree, struct ccf_tree_item *item) {
    struct ccf_leaf *leaf = item->leaf;
    if (leaf == NULL)
        return;
    *(item->prev != NULL ? &item->prev->next : &leaf->first) = item->next;
    *(item->next != NULL ? &item->next->prev : &leaf->last) = item->prev;
    item->leaf = NULL;
    for (struct node *node = &leaf->node; node != NULL; node = node->up)
        node->count--;
    if (leaf->node.count > 0)
        return;
    empty_add(tree, leaf);
    if (tree->empties > tree->keep) {
        struct ccf_leaf *oldest = tree->oldest;
        empty_remove(tree, oldest);
        prune(tree, oldest);
    }
}

struct ccf_tree_item *ccf_tree_heaviest(struct ccf_tree *tree) {
    struct node *node = &tree->root.node;
    if (node->count == 0)
        return NULL;
    while (!node->leaf) {
        struct inner *inner = (struct inner *)node;
        node = NULL;
        for (unsigned i = 0; i < BRANCHES; i++)
            if (inner->child[i] != NULL && (node == NULL || inner->child[i]->count > node->count))
                node = inner->child[i];
    }
    return ((struct ccf_leaf *)node)->first;
}

struct ccf_tree_item *ccf_tree_next(struct ccf_tree *tree) {
    struct node *node = &tree->root.node;
    if (node->count == 0)
        return NULL;
    while (!node->leaf) {
        struct inner *inner = (struct inner *)node;
        unsigned i = 0;
        while (inner->child[inner->order[i]] == NULL || inner->child[inner->order[i]]->count == 0)
            i++;
        unsigned child = inner->order[i];
        served(inner, child);
        node = inner->child[child];
    }
    struct ccf_tree_item *item = ((struct ccf_leaf *)node)->first;
    ccf_tree_remove(tree, item);
    return item;
}

size_t ccf_tree_count(const struct ccf_tree *tree) {
    return tree->root.node.count;
}

void ccf_tree_free(struct ccf_tree *tree) {
    while (tree->oldest != NULL) {
        struct ccf_leaf *leaf = tree->oldest;
        empty_remove(tree, leaf);
        prune(tree, leaf);
    }
    free(tree);
}
