/* actions.c: the sample's actions, as the compiler would write them. Uses nest.h alone. */
#include "../../nest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample_vars {
    char name[32];
    unsigned asked;
};
const size_t nest__spec_vars_size = sizeof(struct sample_vars);
void nest__spec_vars_init(nest_session *, void *);
void nest__spec_act(nest_session *, void *, int);
int nest__spec_startup(int, char **);

enum { STATE_NAMED = 2, STATE_DEAD = 3 };

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

void nest__spec_act(nest_session *s, void *memory, int rule) {
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
    case 7:
        nest_clear_all(s);
        nest_seen(s, STATE_DEAD);
        break;
    case 8:
        keep(s);
        break;
    case 9:
        nest_replyf(s, "data %zu\r\n", nest_length(s, 3));
        break;
    default:
        break;
    }
}

int nest__spec_startup(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return -1;
}
