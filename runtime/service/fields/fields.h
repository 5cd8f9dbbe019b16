/* fields.h: $logField and $logRequest: what a specification adds to a line about its client.
 *
 * Fields stay with the session until a line has been written. */
#ifndef NEST_SERVICE_FIELDS_H
#define NEST_SERVICE_FIELDS_H

#include "../../seam.h"

enum {
    NEST__FIELDS = 2048,      /* bytes of all fields of a session, with NEST__FIELD_HEAD for each */
    NEST__FIELD_VALUE = 1024, /* bytes; a longer value is cut */
    NEST__FIELD_NAME = 32     /* bytes; a longer name is cut */
};
struct nest__fields_state {
    uint16_t n;   /* bytes that are used */
    bool request; /* $logRequest was called */
    bool cut;     /* a value, or a field, did not fit */
    uint8_t bytes[NEST__FIELDS];
};
struct nest__field {
    const char *name, *value; /* without a NUL */
    uint32_t name_n, n;
    bool number; /* the value is decimal digits, with a sign if it is negative */
};

/* The field at *at, which begins as 0, and *at is that of the next one. False: there is none. */
bool nest__fields_next(const nest_session *, uint32_t *at, struct nest__field *);
bool nest__fields_find(const nest_session *, const char *name, struct nest__field *);
bool nest__fields_cut(const nest_session *);
bool nest__fields_request(const nest_session *); /* the action ends a request */
void nest__fields_clear(nest_session *);

/* -- join points */
struct nest__need nest__fields_need(void);
bool nest__fields_holds(const struct nest__work *);
void nest__fields_drop(struct nest__work *);

#endif
