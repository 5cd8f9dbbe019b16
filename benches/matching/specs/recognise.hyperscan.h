/* recognise.hyperscan.h: whole heads, and where they end. */
static const struct pattern patterns[] = {
    {"^[A-Z]+ [!-~]+ HTTP/[0-9]\\.[0-9]\\r\\n"
     "(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[ \\t]*(?:[!-~\\x80-\\xff][\\t -~\\x80-\\xff]*)?\\r\\n)*\\r\\n",
     HS_FLAG_MULTILINE, 0},
};

static inline bool take(unsigned id, size_t from, size_t to) {
    bench_part(id, from, to);
    return true;
}
