/* heads.pcre2.h: a head, line by line: method, target, version; name, value. */
enum { FLAGS = PCRE2_ANCHORED };
static const char *const patterns[] = {
    "([A-Z]++) ([!-~]++) HTTP/([0-9]\\.[0-9])\\r\\n",
    "(?:([-!#$%&'*+.^_`|~0-9A-Za-z]++):[ \\t]*+((?:[!-~\\x80-\\xff][\\t -~\\x80-\\xff]*+)?+))?+\\r\\n",
};

static inline unsigned take(unsigned pattern, pcre2_match_data *match, const PCRE2_SIZE *found,
                            size_t from) {
    (void)from;
    (void)match;
    if (pattern == 0) {
        bench_part(0, found[2], found[3]);
        bench_part(1, found[4], found[5]);
        bench_part(2, found[6], found[7]);
        return 1;
    }
    if (found[1] - found[0] == 2) { /* the empty line */
        return 0;
    }
    bench_part(3, found[2], found[3]);
    bench_part(4, found[4], found[5]);
    return 1;
}
