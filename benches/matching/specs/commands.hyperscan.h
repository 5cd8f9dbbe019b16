/* commands.hyperscan.h: commands of a line: which, and its argument with the blank before it. Short
 * patterns, of the verb and of the line's end, suit this library far better than one for all the line.
 */
static const struct pattern patterns[] = {
@verb     {"^VERB[ \\r]", HS_FLAG_MULTILINE | HS_FLAG_CASELESS, KIND},
    {"\\r\\n", 0, BENCH_KINDS},
};
static unsigned verb = BENCH_KINDS;
static size_t argument;

/* A line without a verb has no part, and the sums show it. */
static inline bool take(unsigned id, size_t from, size_t to) {
    (void)from;
    if (id < BENCH_KINDS) {
        verb = id;
        argument = to - 1;
        return false;
    }
    if (verb < BENCH_KINDS) {
        bench_part(verb, argument, to - 2);
    }
    verb = BENCH_KINDS;
    return true;
}
