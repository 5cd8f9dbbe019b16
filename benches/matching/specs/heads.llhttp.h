/* heads.llhttp.h: a head, by what llhttp reports: method, target, version; name, value. */

/* A span comes in pieces if the input does: what goes on is put together again. */
static inline int spanned(unsigned kind, const char *at, size_t n) {
    static size_t last[5];
    size_t start = (size_t)((const uint8_t *)at - driver_input);
    if (start == last[kind] && start > 0) {
        bench_sums[kind].starts -= start;
        bench_sums[kind].ends -= start;
    }
    last[kind] = start + n;
    bench_part(kind, start, start + n);
    return 0;
}

static int on_method(llhttp_t *parser, const char *at, size_t n) {
    (void)parser;
    return spanned(0, at, n);
}

static int on_url(llhttp_t *parser, const char *at, size_t n) {
    (void)parser;
    return spanned(1, at, n);
}

static int on_version(llhttp_t *parser, const char *at, size_t n) {
    (void)parser;
    return spanned(2, at, n);
}

static int on_name(llhttp_t *parser, const char *at, size_t n) {
    (void)parser;
    return spanned(3, at, n);
}

static int on_value(llhttp_t *parser, const char *at, size_t n) {
    (void)parser;
    return spanned(4, at, n);
}

static const llhttp_settings_t settings = {
    .on_method = on_method,
    .on_url = on_url,
    .on_version = on_version,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
};
