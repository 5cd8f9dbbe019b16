/* lines.pcre2.h: lines, and what they hold. A search for their end, for which the JIT has
 * vectors; a match of the whole line has none. */
enum { FLAGS = 0 };
static const char *const patterns[] = {"\\r\\n"};

static inline unsigned take(unsigned pattern, pcre2_match_data *match, const PCRE2_SIZE *found,
                            size_t from) {
    (void)match;
    bench_part(0, from, found[0]);
    return pattern;
}
