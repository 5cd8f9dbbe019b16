/* memcached.pcre2.h: command lines of memcached. Keys of one command are one part. */
enum { FLAGS = PCRE2_ANCHORED };
static const char *const patterns[] = {
    "gets? ([!-~]++(?: [!-~]++)*+)\\r\\n"
    "|(?:set|add|replace) ([!-~]++) ([0-9]++) ([0-9]++) ([0-9]++)(?: noreply)?+\\r\\n"
    "|delete ([!-~]++)(?: noreply)?+\\r\\n"
    "|(?:incr|decr) ([!-~]++) ([0-9]++)(?: noreply)?+\\r\\n",
};

static inline unsigned take(unsigned pattern, pcre2_match_data *match, const PCRE2_SIZE *found,
                            size_t from) {
    (void)from;
    (void)match;
    if (found[2] != PCRE2_UNSET) {
        bench_part(0, found[2], found[3]);
    } else if (found[4] != PCRE2_UNSET) {
        bench_part(1, found[4], found[5]);
        bench_part(2, found[6], found[7]);
        bench_part(3, found[8], found[9]);
        bench_part(4, found[10], found[11]);
    } else if (found[12] != PCRE2_UNSET) {
        bench_part(5, found[12], found[13]);
    } else {
        bench_part(6, found[14], found[15]);
        bench_part(7, found[16], found[17]);
    }
    return pattern;
}
