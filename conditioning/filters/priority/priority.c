/* priority: holds requests and, each time that the server is ready, gives the one of the network
 * that was served least recently. A rare visitor does not wait behind a busy network. */
#include "ccftree.h"

struct mine {
    struct ccf_tree_item item;
    struct ccf_bundle *bundle;
};

static struct ccf_filter priority;
static long remember = 65536;
static struct ccf_tree *tree;

static const struct ccf_option options[] = {
    {"limit", CCF_NUMBER, &priority.limit, 1, 1000000, NULL,
     "requests held, default: as many as descriptors allow"},
    {"remember", CCF_NUMBER, &remember, 0, 10000000, NULL,
     "addresses remembered without a request, default 65536"},
    {0}};

static bool start(void) {
    tree = ccf_tree_new((size_t)remember);
    return tree != NULL;
}

static void arrive(struct ccf_bundle *bundle) {
    struct mine *mine = bundle->own;
    mine->bundle = bundle;
    if (!ccf_tree_add(tree, &mine->item, &bundle->from))
        ccf_refuse(bundle, "no memory", NULL);
}

static struct ccf_bundle *choose(void) {
    struct ccf_tree_item *item = ccf_tree_next(tree);
    return item != NULL ? CCF_OF(item, struct mine, item)->bundle : NULL;
}

/* There is no room: a request of the network that has most of them makes place. */
static bool shed(void) {
    struct ccf_tree_item *item = ccf_tree_heaviest(tree);
    if (item == NULL)
        return false;
    ccf_tree_remove(tree, item);
    ccf_refuse(
        CCF_OF(item, struct mine, item)->bundle, "crowded",
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return true;
}

static struct ccf_filter priority = {
    .name = "priority",
    .about = "serves the network first that was served least recently",
    .options = options,
    .needs = CCF_REQUESTS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS | CCF_CHOOSES,
    .extra = sizeof(struct mine),
    .start = start,
    .arrive = arrive,
    .choose = choose,
    .shed = shed,
};

int main(int argc, char **argv) {
    return ccf_main(&priority, argc, argv);
}
