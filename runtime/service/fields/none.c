/* none.c: stands for the fields in servers whose lines have none of their own. */
#include "fields.h"

bool nest__fields_next(const nest_session *s, uint32_t *at, struct nest__field *field) {
    (void)s, (void)at, (void)field;
    return false;
}

bool nest__fields_find(const nest_session *s, const char *name, struct nest__field *field) {
    (void)s, (void)name, (void)field;
    return false;
}

bool nest__fields_cut(const nest_session *s) {
    (void)s;
    return false;
}

bool nest__fields_request(const nest_session *s) {
    (void)s;
    return false;
}

void nest__fields_clear(nest_session *s) {
    (void)s;
}
