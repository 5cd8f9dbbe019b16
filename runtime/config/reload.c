/* reload.c: on SIGHUP, reads the configuration again and applies it to the running server.
 *
 * Called by the worker models, from one thread. If there is an error, nothing changes. State: the
 * settings of the process. Must not know what options are for. */
#include "../platform/platform.h"
#include "config.h"

#include <errno.h>
#include <string.h>

/* "idleTimeout 10s (was 5m)" */
static void reload_show(struct nest__line *line, const struct nest__option *option,
                        const struct nest__value *now, const struct nest__value *before) {
    char room[32];
    const char *text = nest__value_text(option, now, room);
    nest__line_add(line, option->name);
    nest__line_char(line, ' ');
    nest__line_add(line, text[0] != '\0' ? text : "default");
    text = nest__value_text(option, before, room);
    nest__line_add(line, " (was ");
    nest__line_add(line, text[0] != '\0' ? text : "not set");
    nest__line_char(line, ')');
}

/* Does everything that can fail. Returns 0 or -ENOMEM. */
static int reload_prepare(const struct nest__setting *read) {
    int error = 0;
    for (unsigned i = 0; i < nest__option_count && error == 0; i++) {
        error = nest__options[i].reload ? nest__value_keep(&nest__options[i], &read[i].value) : 0;
    }
    return error;
}

/* Applies the options that a running server can change. The others keep their values and are
 * reported. */
static void reload_use(struct nest__setting *read, struct nest__line *line) {
    unsigned changed = 0;
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        struct nest__setting *now = &nest__settings[i];
        if (!option->reload || nest__value_same(option, &read[i].value, &now->value)) {
            continue;
        }
        nest__value_use(option, &read[i].value);
        nest__line_add(line, changed++ == 0 ? ": " : ", ");
        reload_show(line, option, &read[i].value, &now->value);
        struct nest__setting before = *now;
        *now = read[i];
        read[i] = before; /* freed by the caller */
    }
    if (changed == 0) {
        nest__line_add(line, ": no changes");
    }
}

static void reload_postponed(const struct nest__setting *read, struct nest__line *line) {
    unsigned postponed = 0;
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        const struct nest__value *now = &nest__settings[i].value;
        if (!option->reload && !nest__value_same(option, &read[i].value, now)) {
            nest__line_add(line, postponed++ == 0 ? "; after a restart: " : ", ");
            reload_show(line, option, &read[i].value, now);
        }
    }
}

void nest__config_follow(void) {
    char text[1];
    struct nest__line unread = {text, 0, 0};
    nest__muted = true;
    struct nest__setting *read = nest__settings_read();
    if (read != NULL && reload_prepare(read) == 0) {
        reload_use(read, &unread);
    }
    if (read != NULL) {
        nest__settings_free(read);
    }
    nest__muted = false;
    nest__on_renewed();
}

static char reload_text[1000]; /* what is to be reported */

void nest__config_apply(void) {
    char state[64];
    struct nest__line line = {reload_text, 0, sizeof reload_text - 1};
    struct nest__line reloading = {state, 0, sizeof state - 1};
    nest__line_add(&reloading, "RELOADING=1\nMONOTONIC_USEC=");
    nest__line_number(&reloading, nest__clock_us());
    state[reloading.n] = '\0';
    nest__notify(state);
    struct nest__setting *read = nest__settings_read();
    if (read == NULL) {
        nest__line_add(&line,
                       "the configuration was read again and has errors: nothing was changed");
    } else if (reload_prepare(read) != 0) {
        nest__line_add(
            &line, "the configuration was read again, but memory is short: nothing was changed");
        nest__settings_free(read);
    } else {
        nest__line_add(&line, "the configuration was read again");
        reload_use(read, &line);
        reload_postponed(read, &line);
        nest__settings_free(read);
    }
    reload_text[line.n] = '\0';
    nest__on_renewed();
}

void nest__config_applied(bool all) {
    nest__say("%s%s", reload_text, all ? "" : "; not every worker has followed yet");
    nest__notify("READY=1");
}

void nest__config_reload(void) {
    nest__config_apply();
    nest__config_applied(true);
}
