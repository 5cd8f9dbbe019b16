/* format.c: writes what a line about a client says, in the format that the configuration names.
 *
 * Called by log.c. State: the text of the current second. A line has at most NEST__SINK_RECORD
 * bytes: a value that does not fit is shortened, and the line says so, with cut=1 or, in the
 * formats of web servers, by three dots behind the value. Must not know where a line goes. */
#include "../../platform/platform.h"
#include "../fields/fields.h"
#include "record.h"

#include <string.h>
#include <time.h>

enum {
    FORMAT_END = 16,    /* bytes that are kept free for what ends a line */
    FORMAT_VALUE = 1000 /* and in the formats of web servers for each value that comes next */
};

enum format_style { FORMAT_PLAIN, FORMAT_LOGFMT, FORMAT_JSON, FORMAT_JOURNAL };

/* -- values --------------------------------------------------------------------------------------
 */

static bool format_is_plain(const char *value, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = value[i];
        if (c <= ' ' || c > '~' || c == '"' || c == '=' || c == '\\') {
            return false;
        }
    }
    return n > 0;
}

static void format_unicode(struct nest__line *line, unsigned point) {
    nest__line_add(line, "\\u");
    for (int shift = 12; shift >= 0; shift -= 4) {
        nest__line_char(line, "0123456789abcdef"[point >> shift & 15]);
    }
}

/* RFC 8259. Controls are escaped, and what is not UTF-8 becomes U+FFFD, a byte each. */
static void format_json(struct nest__line *line, const char *value, size_t n) {
    nest__line_char(line, '"');
    while (n > 0) {
        uint32_t point;
        size_t length = nest__utf8(value, n, &point);
        if (length == 0) {
            format_unicode(line, 0xfffd);
            length = 1;
        } else if (point == '"' || point == '\\') {
            nest__line_char(line, '\\');
            nest__line_char(line, (char)point);
        } else if (!nest__shows(point)) { /* all of them have four digits */
            format_unicode(line, point);
        } else {
            nest__line_bytes(line, value, length);
        }
        value += length;
        n -= length;
    }
    nest__line_char(line, '"');
}

static void format_value(struct nest__line *line, enum format_style style, const char *value,
                         size_t n, bool number) {
    if (number) {
        nest__line_bytes(line, value, n);
    } else if (style == FORMAT_JSON) {
        format_json(line, value, n);
    } else if (style == FORMAT_JOURNAL) {
        nest__line_text(line, value, n);
    } else if (format_is_plain(value, n)) {
        nest__line_bytes(line, value, n);
    } else if (style == FORMAT_LOGFMT) { /* its readers know the escapes of JSON alone */
        format_json(line, value, n);
    } else {
        nest__line_quote(line, value, n);
    }
}

/* The length of a shorter text, which ends with a whole character if it is UTF-8. */
static size_t format_shorter(const char *value, size_t n) {
    size_t half = n / 2;
    for (size_t back = 0; back < 3 && back < half; back++) {
        uint32_t point;
        if (nest__utf8(value + half - back, n - half + back, &point) > back) {
            return half - back;
        }
    }
    return half;
}

/* -- fields --------------------------------------------------------------------------------------
 */

static bool format_is(const struct nest__field *field, const char *name, size_t n) {
    return field->name_n == n && memcmp(field->name, name, n) == 0;
}

static bool format_find(const struct nest__record *record, const char *name,
                        struct nest__field *field) {
    const struct nest__outside *outside = record->outside;
    if (outside == NULL) {
        return nest__fields_find(record->session, name, field);
    }
    for (unsigned i = 0; i < outside->count; i++) {
        *field = outside->fields[i];
        if (format_is(field, name, strlen(name))) {
            return true;
        }
    }
    return false;
}

static bool format_next(const struct nest__record *record, uint32_t *at,
                        struct nest__field *field) {
    const struct nest__outside *outside = record->outside;
    if (outside == NULL) {
        return nest__fields_next(record->session, at, field);
    }
    if (*at >= outside->count) {
        return false;
    }
    *field = outside->fields[(*at)++];
    return true;
}

/* -- pairs ---------------------------------------------------------------------------------------
 */

static void format_name(struct nest__line *line, enum format_style style, const char *name,
                        size_t n) {
    if (style == FORMAT_JOURNAL) {
        nest__line_add(line, "NEST_");
        for (; n > 0; n--, name++) {
            nest__line_char(line, (char)(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name));
        }
        nest__line_char(line, '=');
    } else if (style == FORMAT_JSON) {
        nest__line_char(line, line->n > 1 ? ',' : '{'); /* 1: the tag */
        nest__line_char(line, '"');
        nest__line_bytes(line, name, n);
        nest__line_add(line, "\":");
    } else {
        if (line->n > 1) {
            nest__line_char(line, ' ');
        }
        nest__line_bytes(line, name, n);
        nest__line_char(line, '=');
    }
}

/* Adds a pair. False: there was room for a part of the value, or for nothing. */
static bool format_pair(struct nest__line *line, enum format_style style, const char *name,
                        size_t name_n, const char *value, size_t n, bool number) {
    size_t before = line->n;
    for (size_t most = n;; most = format_shorter(value, most)) {
        format_name(line, style, name, name_n);
        format_value(line, style, value, most, number);
        if (style == FORMAT_JOURNAL) {
            nest__line_char(line, '\n');
        }
        if (line->n <= line->size - FORMAT_END) {
            return most == n;
        }
        line->n = before;
        if (number || most <= 1) {
            return false;
        }
    }
}

static uint64_t format_id(const struct nest__record *record) {
    return nest_id((nest_session *)(uintptr_t)record->session);
}

/* A pair of the record. A field of the specification with the same name takes its place. */
static void format_own(struct nest__line *line, enum format_style style,
                       const struct nest__record *record, const char *name, const char *value,
                       bool number) {
    struct nest__field field;
    if (!format_find(record, name, &field)) {
        (void)format_pair(line, style, name, strlen(name), value, strlen(value), number);
    }
}

static void format_number(struct nest__line *line, enum format_style style,
                          const struct nest__record *record, const char *name, uint64_t number) {
    char digits[24];
    struct nest__line text = {digits, 0, sizeof digits - 1};
    nest__line_number(&text, number);
    digits[text.n] = '\0';
    format_own(line, style, record, name, digits, true);
}

static bool format_given(struct nest__line *line, enum format_style style,
                         const struct nest__field *field) {
    return format_pair(line, style, field->name, field->name_n, field->value, field->n,
                       field->number);
}

/* A field that is itself named cut comes last, and only where nothing is. */
static void format_fields(struct nest__line *line, enum format_style style,
                          const struct nest__record *record) {
    struct nest__field field;
    uint32_t at = 0;
    bool cut = record->outside == NULL && nest__fields_cut(record->session);
    while (format_next(record, &at, &field)) {
        if (!format_is(&field, "cut", strlen("cut"))) {
            cut = !format_given(line, style, &field) || cut;
        }
    }
    if (!cut && format_find(record, "cut", &field)) {
        cut = !format_given(line, style, &field);
    }
    if (cut) {
        line->size += FORMAT_END; /* for this pair there is room */
        (void)format_pair(line, style, "cut", strlen("cut"), "1", 1, true);
        line->size -= FORMAT_END;
    }
}

/* What a record says, as pairs. */
static void format_pairs(struct nest__line *line, enum format_style style,
                         const struct nest__record *record) {
    if (record->outside == NULL) {
        format_number(line, style, record, "id", format_id(record));
    }
    if (record->rule != NULL) {
        format_own(line, style, record, "event", "message", false);
        format_own(line, style, record, "rule", record->rule, false);
    } else {
        format_own(line, style, record, "event", "end", false);
        format_own(line, style, record, "reason", record->reason, false);
    }
    format_own(line, style, record, "peer", record->peer, false);
    if (record->rule == NULL) {
        format_number(line, style, record, "messages", record->messages);
    }
    if (record->outside == NULL) {
        format_number(line, style, record, "in", record->in);
    }
    format_number(line, style, record, "out", record->out);
    if (record->outside == NULL) {
        format_number(line, style, record, "us", record->us);
    }
    format_fields(line, style, record);
}

/* -- formats -------------------------------------------------------------------------------------
 */

/* TIME info 17 message greet in=12 out=40 … */
static void format_line(struct nest__line *line, const struct nest__record *record) {
    nest__line_time(line);
    nest__line_add(line, " info ");
    if (record->outside == NULL) {
        nest__line_number(line, format_id(record));
    } else {
        nest__line_char(line, '-');
    }
    if (record->rule != NULL) {
        nest__line_add(line, " message ");
        nest__line_add(line, record->rule);
    } else {
        nest__line_add(line, " end ");
        nest__line_add(line, record->reason);
        format_own(line, FORMAT_PLAIN, record, "peer", record->peer, false);
        format_number(line, FORMAT_PLAIN, record, "messages", record->messages);
    }
    if (record->outside == NULL) {
        format_number(line, FORMAT_PLAIN, record, "in", record->in);
    }
    format_number(line, FORMAT_PLAIN, record, "out", record->out);
    if (record->rule == NULL) {
        format_number(line, FORMAT_PLAIN, record, "ms", record->us / 1000);
    }
    format_fields(line, FORMAT_PLAIN, record);
}

static void format_head(struct nest__line *line, enum format_style style,
                        const struct nest__record *record) {
    char stamp[40];
    struct nest__line text = {stamp, 0, sizeof stamp - 1};
    nest__line_time(&text);
    stamp[text.n] = '\0';
    format_own(line, style, record, "time", stamp, false);
    format_own(line, style, record, "level", "info", false);
}

static void format_logfmt(struct nest__line *line, const struct nest__record *record) {
    format_head(line, FORMAT_LOGFMT, record);
    format_pairs(line, FORMAT_LOGFMT, record);
}

static void format_object(struct nest__line *line, const struct nest__record *record) {
    format_head(line, FORMAT_JSON, record);
    format_pairs(line, FORMAT_JSON, record);
    nest__line_char(line, '}');
}

/* The line stays readable where only messages are shown. */
static void format_journal(struct nest__line *line, const struct nest__record *record) {
    size_t size = line->size;
    line->size = line->n + (size - line->n) / 2;
    nest__line_add(line, "MESSAGE=");
    format_line(line, record);
    line->size = size;
    nest__line_char(line, '\n');
    format_pairs(line, FORMAT_JOURNAL, record);
    line->n--; /* the caller adds the last newline */
}

/* "[06/Nov/1994:08:49:37 +0000]" */
static void format_clock(struct nest__line *line) {
    static _Thread_local struct {
        time_t second;
        char text[40];
    } stamp;
    time_t now = time(NULL);
    struct tm utc;
    if ((now != stamp.second || stamp.text[0] == '\0') && gmtime_r(&now, &utc) != NULL) {
        static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        char form[40]; /* without the locale's names */
        struct nest__line text = {form, 0, sizeof form - 1};
        nest__line_add(&text, "[%d/");
        nest__line_add(&text, months[utc.tm_mon]);
        nest__line_add(&text, "/%Y:%H:%M:%S +0000]");
        form[text.n] = '\0';
        (void)strftime(stamp.text, sizeof stamp.text, form, &utc);
        stamp.second = now;
    }
    nest__line_add(line, stamp.text);
}

/* Without the port. */
static void format_host(struct nest__line *line, const char *peer) {
    const char *port = strrchr(peer, ':');
    size_t n = port == NULL ? strlen(peer) : (size_t)(port - peer);
    if (n > 2 && peer[0] == '[') {
        peer++;
        n -= 2;
    }
    nest__line_bytes(line, peer, n);
}

/* What is known of a request in the formats of web servers, in their order. */
enum {
    FORMAT_USER,
    FORMAT_REQUEST,
    FORMAT_STATUS,
    FORMAT_BYTES,
    FORMAT_REFERER,
    FORMAT_AGENT,
    FORMAT_FIELDS
};

/* Looks at each field of the record once. Those that it does not have are empty. */
static void format_collect(const struct nest__record *record,
                           struct nest__field found[FORMAT_FIELDS]) {
    static const struct nest__field names[FORMAT_FIELDS] = {
        {.name = "user", .name_n = 4},    {.name = "request", .name_n = 7},
        {.name = "status", .name_n = 6},  {.name = "bytes", .name_n = 5},
        {.name = "referer", .name_n = 7}, {.name = "agent", .name_n = 5},
    };
    struct nest__field field;
    uint32_t at = 0;
    memset(found, 0, FORMAT_FIELDS * sizeof *found);
    while (format_next(record, &at, &field)) {
        for (int i = 0; i < FORMAT_FIELDS; i++) {
            if (found[i].name == NULL && format_is(&field, names[i].name, names[i].name_n)) {
                found[i] = field;
            }
        }
    }
}

/* The value of a field, or `absent` if there is none. `behind`: so many quoted values follow it. */
static void format_bare(struct nest__line *line, const struct nest__field *field, unsigned behind,
                        const char *absent) {
    size_t most = line->size - FORMAT_END - behind * FORMAT_VALUE;
    if (field->name == NULL) {
        nest__line_add(line, absent);
    } else if (format_is_plain(field->value, field->n) && line->n + field->n <= most) {
        nest__line_bytes(line, field->value, field->n);
    } else {
        nest__line_char(line, '-');
    }
}

/* The same in quotes. */
static void format_quoted(struct nest__line *line, const struct nest__field *field, unsigned behind,
                          const char *absent) {
    const char *value = field->name == NULL ? absent : field->value;
    size_t length = field->name == NULL ? strlen(absent) : field->n;
    size_t before = line->n, most = line->size - FORMAT_END - behind * FORMAT_VALUE;
    nest__line_quote(line, value, length);
    for (size_t n = length; line->n > most && n > 0;) {
        n = format_shorter(value, n);
        line->n = before;
        nest__line_quote(line, value, n);
        line->n--;
        nest__line_add(line, "...\"");
    }
}

/* The formats of NCSA's server, and of Apache's with `combined`. */
static void format_common(struct nest__line *line, const struct nest__record *record,
                          bool combined) {
    struct nest__field fields[FORMAT_FIELDS];
    char digits[24];
    struct nest__line out = {digits, 0, sizeof digits - 1};
    nest__line_number(&out, record->out);
    digits[out.n] = '\0';
    format_collect(record, fields);
    format_host(line, record->peer);
    nest__line_add(line, " - ");
    format_bare(line, &fields[FORMAT_USER], 1 + 2 * combined, "-");
    nest__line_char(line, ' ');
    format_clock(line);
    nest__line_char(line, ' ');
    format_quoted(line, &fields[FORMAT_REQUEST], 2 * combined, record->rule);
    nest__line_char(line, ' ');
    format_bare(line, &fields[FORMAT_STATUS], 2 * combined, "-");
    nest__line_char(line, ' ');
    format_bare(line, &fields[FORMAT_BYTES], 2 * combined, digits);
    if (combined) {
        nest__line_char(line, ' ');
        format_quoted(line, &fields[FORMAT_REFERER], 1, "-");
        nest__line_char(line, ' ');
        format_quoted(line, &fields[FORMAT_AGENT], 0, "-");
    }
}

bool nest__record_times(void) {
    uint32_t format = nest__config.log_format;
    return format == NEST__LOG_LOGFMT || format == NEST__LOG_JSON || nest__sink_journals();
}

size_t nest__record_format(const struct nest__record *record, char to[NEST__SINK_RECORD]) {
    struct nest__line line = {to, 0, NEST__SINK_RECORD - 1};
    uint32_t format = nest__config.log_format;
    bool journal = nest__sink_journals();
    nest__line_char(&line, journal ? NEST__SINK_FIELDS : NEST__SINK_ACCESS);
    if (journal) {
        format_journal(&line, record);
    } else if (format == NEST__LOG_LOGFMT) {
        format_logfmt(&line, record);
    } else if (format == NEST__LOG_JSON) {
        format_object(&line, record);
    } else if (format == NEST__LOG_LINE) {
        format_line(&line, record);
    } else if (record->rule == NULL) {
        return 0;
    } else {
        format_common(&line, record, format == NEST__LOG_COMBINED);
    }
    to[line.n] = '\n';
    return line.n + 1;
}
