/* The programs that a server with filters inside contains: cc-chain, and its filters.
 * Must not know: which filters these are. */
#ifndef CC_INSIDE_H
#define CC_INSIDE_H

/* cc-chain's main. Call it in a child that has one thread and no descriptors but 0, 1, 2 and the
 * socket that --serve names, and end the child with its result by _exit. */
int ccc__main(int argc, char **argv);

struct ccc__program {
    const char *name;
    int (*main)(int argc, char **argv);
};
extern const struct ccc__program ccc__programs[]; /* ends with a name of NULL */

#endif
