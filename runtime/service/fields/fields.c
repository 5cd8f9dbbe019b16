/* fields.c: keeps the fields of a session's next log line.
 *
 * Called by actions, by the log, and at join points. State: the fields, in the session's work
 * block. Each is kind, length of the name, length of the value in two bytes, name, value. Must not
 * know how a line is written. */
#include "fields.h"
#include "../../engine/engine.h"
#include "../../platform/platform.h"

#include <string.h>

enum { FIELDS_HEAD = 4, FIELDS_TEXT = 't', FIELDS_NUMBER = 'n', FIELDS_DIGITS = 24 };

struct nest__need nest__fields_need(void) {
    return (struct nest__need){"$logField", NULL, sizeof(struct nest__fields_state), 0};
}

bool nest__fields_holds(const struct nest__work *work) {
    return work->services.fields.n > 0;
}

void nest__fields_drop(struct nest__work *work) {
    work->services.fields.n = 0;
    work->services.fields.request = work->services.fields.cut = false;
}

/* NULL: there are none. */
static struct nest__fields_state *fields_state(const nest_session *s) {
    return s->work == NULL ? NULL : &s->work->services.fields;
}

/* The field at `p`; returns the next one. */
static const uint8_t *fields_read(const uint8_t *p, struct nest__field *field) {
    field->number = p[0] == FIELDS_NUMBER;
    field->name_n = p[1];
    field->n = (uint32_t)p[2] | (uint32_t)p[3] << 8;
    field->name = (const char *)p + FIELDS_HEAD;
    field->value = field->name + field->name_n;
    return p + FIELDS_HEAD + field->name_n + field->n;
}

bool nest__fields_next(const nest_session *s, uint32_t *at, struct nest__field *field) {
    const struct nest__fields_state *fields = fields_state(s);
    if (fields == NULL || *at >= fields->n) {
        return false;
    }
    *at = (uint32_t)(fields_read(fields->bytes + *at, field) - fields->bytes);
    return true;
}

static bool fields_look(const struct nest__fields_state *fields, const char *name, size_t n,
                        struct nest__field *field) {
    const uint8_t *p = fields->bytes, *end = p + fields->n;
    while (p < end) {
        if (p[1] == n && p[FIELDS_HEAD] == (uint8_t)name[0] &&
            memcmp(p + FIELDS_HEAD, name, n) == 0) {
            fields_read(p, field);
            return true;
        }
        p += FIELDS_HEAD + p[1] + ((size_t)p[2] | (size_t)p[3] << 8);
    }
    return false;
}

bool nest__fields_find(const nest_session *s, const char *name, struct nest__field *field) {
    const struct nest__fields_state *fields = fields_state(s);
    return fields != NULL && fields_look(fields, name, strlen(name), field);
}

bool nest__fields_cut(const nest_session *s) {
    const struct nest__fields_state *fields = fields_state(s);
    return fields != NULL && fields->cut;
}

bool nest__fields_request(const nest_session *s) {
    const struct nest__fields_state *fields = fields_state(s);
    return fields != NULL && fields->request;
}

void nest__fields_clear(nest_session *s) {
    if (s->work != NULL) {
        nest__fields_drop(s->work);
    }
}

/* Names are those of logfmt and of the journal: letters, digits and '_'. */
static char fields_letter(char c) {
    bool fits = (unsigned)(c | 32) - 'a' < 26 || (unsigned)c - '0' < 10;
    return (char)(fits ? c : '_');
}

static void fields_remove(struct nest__fields_state *fields, const struct nest__field *field) {
    uint8_t *begin = (uint8_t *)(uintptr_t)field->name - FIELDS_HEAD;
    uint8_t *end = (uint8_t *)(uintptr_t)field->value + field->n;
    memmove(begin, end, (size_t)(fields->bytes + fields->n - end));
    fields->n = (uint16_t)(fields->n - (end - begin));
}

static void fields_add(nest_session *s, const char *name, uint8_t kind, const char *value,
                       size_t n) {
    char clean[NEST__FIELD_NAME + 1];
    struct nest__field before;
    size_t name_n = strlen(name);
    if (nest__config.logging == 0) {
        return;
    }
    struct nest__work *work = nest__borrow(s);
    if (work == NULL || name_n == 0) {
        return; /* a line without this field, rather than a client without an answer */
    }
    struct nest__fields_state *fields = &work->services.fields;
    fields->cut = fields->cut || n > NEST__FIELD_VALUE || name_n > NEST__FIELD_NAME;
    n = n > NEST__FIELD_VALUE ? NEST__FIELD_VALUE : n;
    name_n = name_n > NEST__FIELD_NAME ? NEST__FIELD_NAME : name_n;
    for (size_t i = 0; i < name_n; i++) {
        clean[i] = fields_letter(name[i]);
    }
    clean[name_n] = '\0';
    if (fields_look(fields, clean, name_n, &before)) {
        fields_remove(fields, &before);
    }
    if (FIELDS_HEAD + name_n + n > (size_t)(NEST__FIELDS - fields->n)) {
        fields->cut = true;
        return;
    }
    uint8_t *p = fields->bytes + fields->n;
    p[0] = kind;
    p[1] = (uint8_t)name_n;
    p[2] = (uint8_t)n;
    p[3] = (uint8_t)(n >> 8);
    memcpy(p + FIELDS_HEAD, clean, name_n);
    memcpy(p + FIELDS_HEAD + name_n, value, n);
    fields->n = (uint16_t)(fields->n + FIELDS_HEAD + name_n + n);
}

void nest_log_text(nest_session *s, const char *name, const char *value) {
    if (value != NULL) {
        fields_add(s, name, FIELDS_TEXT, value, strlen(value));
    }
}

void nest_log_bytes(nest_session *s, const char *name, nest_bytes value) {
    fields_add(s, name, FIELDS_TEXT, value.p, value.n);
}

static void fields_number(nest_session *s, const char *name, bool negative, uint64_t size) {
    char digits[FIELDS_DIGITS];
    struct nest__line line = {digits, 0, sizeof digits};
    if (negative) {
        nest__line_char(&line, '-');
    }
    nest__line_number(&line, size);
    fields_add(s, name, FIELDS_NUMBER, digits, line.n);
}

void nest_log_number(nest_session *s, const char *name, int64_t value) {
    fields_number(s, name, value < 0, value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value);
}

void nest_log_unsigned(nest_session *s, const char *name, uint64_t value) {
    fields_number(s, name, false, value);
}

void nest_log_request(nest_session *s) {
    struct nest__work *work = nest__config.logging == 0 ? NULL : nest__borrow(s);
    if (work != NULL) {
        work->services.fields.request = true;
    }
}
