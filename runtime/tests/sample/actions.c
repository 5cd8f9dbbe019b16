/* actions.c: the sample's actions, as the compiler would write them. Uses nest.h alone. */
#include "../../nest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample_vars {
    char name[32];
    unsigned asked, ticks;
};
const size_t nest__spec_vars_size = sizeof(struct sample_vars);
void nest__spec_vars_init(nest_session *, void *);
void nest__spec_act(nest_session *, void *, int, const struct nest_message *);
int nest__spec_startup(int, char **);

enum { STATE_NAMED = 2, STATE_DEAD, STATE_TICK, STATE_HUSH };

void nest__spec_vars_init(nest_session *s, void *memory) {
    struct sample_vars *vars = memory;
    (void)s;
    strcpy(vars->name, "nobody");
}

static void big(nest_session *s) {
    size_t n = strtoul(nest_part(s, 2), NULL, 10);
    char *text = malloc(n + 1);
    if (text == NULL) {
        nest_close(s);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)('a' + i % 26);
    }
    if (nest_reply_bytes(s, text, n) == 0) {
        nest_reply(s, "\r\n");
    }
    free(text);
}

static void flood(nest_session *s, struct sample_vars *vars) {
    unsigned long n = strtoul(nest_part(s, 2), NULL, 10);
    for (unsigned long i = 0; i < n; i++) {
        if (nest_replyf(s, "%s %lu of %s\r\n", vars->name, i, nest_part(s, 2)) < 0) {
            break;
        }
    }
}

static void keep(nest_session *s) {
    size_t n = strtoul(nest_part(s, 2), NULL, 10);
    unsigned char *p = nest_keep(s, n);
    if (p == NULL) {
        nest_reply(s, "no\r\n");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            nest_reply(s, "not zeroed\r\n");
            return;
        }
        p[i] = 1;
    }
    nest_reply(s, "kept\r\n");
}

static const char *why(int error) {
    return error == 0 ? "eof" : error == EMSGSIZE ? "size" : "cut";
}

static void answer(nest_session *s, const char *text, size_t n, int error) {
    if (text == NULL) {
        nest_replyf(s, "none: %s\r\n", why(error));
        return;
    }
    /* the message is asked for after a wait that may have moved it */
    nest_bytes items[4] = {nest_text("["), {text, n}, nest_text("] "), nest_part_bytes(s, 0)};
    nest_reply_list(s, 4, items);
}

static void take(nest_session *s, int rule) {
    size_t n = strtoul(nest_part(s, 2), NULL, 10);
    char *text;
    long got;
    errno = 0;
    switch (rule) {
    case 10:
        text = nest_read(s, n);
        answer(s, text, n, errno);
        break;
    case 11:
        text = nest_read_line(s, n);
        answer(s, text, text == NULL ? 0 : strlen(text), errno);
        break;
    case 12:
        text = malloc(n + 1);
        if (text == NULL) {
            nest_close(s);
            return;
        }
        got = nest_read_into(s, text, n);
        answer(s, got < 0 ? NULL : text, got < 0 ? 0 : (size_t)got, errno);
        free(text);
        break;
    default:
        got = nest_skip(s, n);
        nest_replyf(s, "%ld skipped%s\r\n", got, nest_part(s, 3));
        break;
    }
}

static void tick(nest_session *s, struct sample_vars *vars, int timer) {
    switch (timer) {
    case 0:
        nest_replyf(s, "tick %u\r\n", ++vars->ticks);
        if (vars->ticks == 3) {
            nest_close(s);
        }
        break;
    case 1:
        nest_clear(s, STATE_NAMED);
        nest_reply(s, "nameless\r\n");
        nest_sleep(s, 1000);
        break;
    case 3:
        nest_clear(s, STATE_HUSH);
        nest_replyf(s, "hush %ld\r\n", nest_pending(s) ? nest_skip(s, 1) : 0);
        break;
    default:
        abort();
    }
}

void nest__spec_act(nest_session *s, void *memory, int rule, const struct nest_message *message) {
    (void)message;
    struct sample_vars *vars = memory;
    nest_bytes items[3];
    switch (rule) {
    case -1:
        nest_reply(s, "hello\r\n");
        break;
    case -2:
        nest_replyf(s, "bye: %s\r\n", nest_reason_text(s));
        break;
    case 0:
        nest_strlcpy(vars->name, nest_part(s, 2), sizeof vars->name);
        nest_seen(s, STATE_NAMED);
        nest_reply(s, "ok\r\n");
        break;
    case 1:
        nest_replyf(s, "%s %u\r\n", vars->name, ++vars->asked);
        break;
    case 2:
        big(s);
        break;
    case 3:
        nest_close(s);
        nest_reply(s, "closing\r\n");
        break;
    case 4:
        items[0] = nest_text("<");
        items[1] = nest_part_bytes(s, 2);
        items[2] = nest_text(">\r\n");
        nest_reply_list(s, 3, items);
        break;
    case 5:
        nest_replyf(s, "%s|%s|%s|%s|%s|%zu\r\n", nest_part(s, 1), nest_part(s, 2), nest_part(s, 3),
                    nest_part(s, 4), nest_part(s, 5), nest_length(s, 6));
        break;
    case 6:
        flood(s, vars);
        break;
    case 7: { /* with TICK only TIMEOUT rules are left, else none */
        bool ticking = nest_isset(s, STATE_TICK);
        nest_clear_all(s);
        nest_seen(s, STATE_DEAD);
        if (ticking) {
            nest_seen(s, STATE_TICK);
        }
        break;
    }
    case 8:
        keep(s);
        break;
    case 9:
        nest_replyf(s, "data %zu\r\n", nest_length(s, 3));
        break;
    case 10:
    case 11:
    case 12:
    case 13:
        take(s, rule);
        break;
    case 14:
        nest_reply(s, "yawn\r\n");
        nest_sleep(s, (unsigned)strtoul(nest_part(s, 2), NULL, 10));
        nest_replyf(s, "up %s%s\r\n", nest_part(s, 2), nest_draining(s) ? " draining" : "");
        break;
    case 15:
        nest_timeout(s, (unsigned)strtoul(nest_part(s, 2), NULL, 10));
        break;
    case 16:
        nest_reply(s, nest_pending(s) ? "more\r\n" : "nothing\r\n");
        break;
    case 17:
        nest_seen(s, STATE_TICK);
        break;
    case 18:
        nest_seen(s, STATE_HUSH);
        break;
    default:
        tick(s, vars, -4 - rule);
        break;
    }
}

int nest__spec_startup(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return -1;
}
