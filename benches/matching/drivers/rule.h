/* rule.h: for nest.c: what is reported of each rule, in the order of the specification.
 */
enum { BENCH_START = 1, BENCH_DEFAULT = 2, BENCH_FIRST = 4, BENCH_SECOND = 8 }; /* states */
struct bench_rule {
    unsigned states; /* that hold behind it */
    unsigned count;
    struct {
        unsigned part, kind; /* part 0: all of the message */
    } parts[4];
};
