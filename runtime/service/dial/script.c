/* script.c: scripts have no network: actions cannot open connections, and are told so.
 *
 * Called by actions. State: why the last one failed, in the work block. */
#include "../../engine/engine.h"

#include <errno.h>

int nest__dial_start(void) {
    return 0;
}

struct nest__need nest__dial_need(void) {
    return (struct nest__need){"input of second connections", "inputBuffer", 0, 0};
}

static int script_none(int error) {
    errno = error;
    return -1;
}

int nest_dial(nest_session *s, const char *address, uint32_t ms) {
    struct nest__work *work = nest__borrow(s);
    (void)address, (void)ms;
    if (work != NULL) {
        nest_strlcpy(work->services.dial.error, "a script has no network",
                     sizeof work->services.dial.error);
    }
    return script_none(ENETUNREACH);
}

const char *nest_dial_error(nest_session *s) {
    return s->work == NULL ? "" : s->work->services.dial.error;
}

int nest_reply_to(nest_session *s, int handle, const char *text) {
    (void)s, (void)handle, (void)text;
    return script_none(EBADF);
}

int nest_replyf_to(nest_session *s, int handle, const char *format, ...) {
    (void)s, (void)handle, (void)format;
    return script_none(EBADF);
}

int nest_vreplyf_to(nest_session *s, int handle, const char *format, va_list arguments) {
    (void)s, (void)handle, (void)format, (void)arguments;
    return script_none(EBADF);
}

int nest_reply_bytes_to(nest_session *s, int handle, const void *p, size_t n) {
    (void)s, (void)handle, (void)p, (void)n;
    return script_none(EBADF);
}

int nest_reply_to_list(nest_session *s, int handle, size_t count, const nest_bytes items[]) {
    (void)s, (void)handle, (void)count, (void)items;
    return script_none(EBADF);
}

int nest_flush_to(nest_session *s, int handle) {
    (void)s, (void)handle;
    return script_none(EBADF);
}

int nest_end_to(nest_session *s, int handle) {
    (void)s, (void)handle;
    return script_none(EBADF);
}

char *nest_read_from(nest_session *s, int handle, size_t n) {
    (void)s, (void)handle, (void)n, (void)script_none(EBADF);
    return NULL;
}

char *nest_read_line_from(nest_session *s, int handle, size_t max) {
    (void)s, (void)handle, (void)max, (void)script_none(EBADF);
    return NULL;
}

long nest_read_into_from(nest_session *s, int handle, void *to, size_t n) {
    (void)s, (void)handle, (void)to, (void)n;
    return script_none(EBADF);
}

long nest_read_some_from(nest_session *s, int handle, void *to, size_t n) {
    (void)s, (void)handle, (void)to, (void)n;
    return script_none(EBADF);
}

void nest_cancel_on_end(nest_session *s) {
    (void)s;
}

int nest_timeout_of(nest_session *s, int handle, uint32_t ms) {
    (void)s, (void)handle, (void)ms;
    return script_none(EBADF);
}

int nest_close_to(nest_session *s, int handle, unsigned flags) {
    (void)s, (void)handle, (void)flags;
    return script_none(EBADF);
}

int nest_relay(nest_session *s, int a, int b, uint32_t ms) {
    (void)s, (void)a, (void)b, (void)ms;
    return script_none(EBADF);
}

int nest_read_any_list(nest_session *s, size_t count, const int handles[]) {
    (void)s, (void)count, (void)handles;
    return script_none(EBADF);
}

int nest_listen(nest_session *s, const char *range, unsigned flags) {
    (void)s, (void)range, (void)flags;
    return script_none(ENETUNREACH);
}

int nest_accept(nest_session *s, int handle, uint32_t ms) {
    (void)s, (void)handle, (void)ms;
    return script_none(EBADF);
}

int nest_port_of(nest_session *s, int handle) {
    (void)s, (void)handle;
    return script_none(EBADF);
}

const char *nest_address_of(nest_session *s, int handle) {
    (void)s, (void)handle, (void)script_none(EBADF);
    return NULL;
}

int nest_wait_for(nest_session *s, int fd, unsigned events, uint32_t ms) {
    (void)s, (void)fd, (void)events, (void)ms;
    return script_none(ENETUNREACH);
}
