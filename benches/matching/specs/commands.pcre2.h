/* commands.pcre2.h: commands of a line: which, by its mark, and its argument with the blank before it.
 */
enum { FLAGS = PCRE2_ANCHORED };
static const char *const patterns[] = {
    "(?i)(?:(*FAIL)"
@verb     "|VERB(*MARK:MARK)"
    ")((?: [^\\r\\n\\0]*+)?+)\\r\\n",
};

static inline unsigned take(unsigned pattern, pcre2_match_data *match, const PCRE2_SIZE *found,
                            size_t from) {
    (void)from;
    bench_part((unsigned)pcre2_get_mark(match)[0] - '0', found[2], found[3]);
    return pattern;
}
