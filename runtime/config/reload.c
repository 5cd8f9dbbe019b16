/* reload.c: on SIGHUP, reads the configuration again and applies it to the running server.
 *
 * Called by the worker models, from one thread. If there is an error, nothing changes. State: the
 * settings of the process, and until it is reported what they were. Must not know what options are
 * for. */
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

/* What the last reload has replaced, and what it has read of options that need a restart. NULL:
 * nothing, or it has been reported. */
static struct nest__setting *reload_before;
static const char *reload_failed; /* why nothing was changed; NULL: it was */

static void reload_forget(void) {
    if (reload_before != NULL) {
        nest__settings_free(reload_before);
        reload_before = NULL;
    }
}

static void reload_swap(unsigned i, struct nest__setting *read) {
    struct nest__setting *now = &nest__settings[i], before = *now;
    nest__value_use(&nest__options[i], &read[i].value);
    *now = read[i];
    read[i] = before;
}

/* Applies the options that a running server can change. The others keep their values. `read` gets
 * the values from before. */
static void reload_use(struct nest__setting *read) {
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        if (option->reload && !nest__value_same(option, &read[i].value, &nest__settings[i].value)) {
            reload_swap(i, read);
        }
    }
}

void nest__config_refuse(const void *value) {
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        if (option->value == value && option->reload && reload_before != NULL &&
            !nest__value_same(option, &reload_before[i].value, &nest__settings[i].value)) {
            reload_swap(i, reload_before);
            reload_before[i].refused = true;
        }
    }
}

/* ": idleTimeout 10s (was 5m), accessLog is still ./log" */
static void reload_changes(struct nest__line *line) {
    unsigned shown = 0;
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        const struct nest__setting *before = &reload_before[i];
        const struct nest__value *now = &nest__settings[i].value;
        if (!option->reload || nest__value_same(option, &before->value, now)) {
            continue;
        }
        nest__line_add(line, shown++ == 0 ? ": " : ", ");
        if (before->refused) {
            char room[32];
            const char *text = nest__value_text(option, now, room);
            nest__line_add(line, option->name);
            nest__line_add(line, " is still ");
            nest__line_add(line, text[0] != '\0' ? text : "default");
        } else {
            reload_show(line, option, now, &before->value);
        }
    }
    if (shown == 0) {
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

/* Reads the configuration and applies it. Returns why nothing was changed; NULL: it was. */
static const char *reload_read(void) {
    reload_forget();
    struct nest__setting *read = nest__settings_read();
    if (read == NULL) {
        return " and has errors: nothing was changed";
    }
    if (reload_prepare(read) != 0) {
        nest__settings_free(read);
        return ", but memory is short: nothing was changed";
    }
    reload_use(read);
    reload_before = read;
    return NULL;
}

void nest__config_follow(void) {
    nest__muted = true;
    reload_failed = reload_read();
    nest__muted = false;
    nest__on_renewed();
    reload_forget();
}

void nest__config_apply(void) {
    char state[64];
    struct nest__line reloading = {state, 0, sizeof state - 1};
    nest__line_add(&reloading, "RELOADING=1\nMONOTONIC_USEC=");
    nest__line_number(&reloading, nest__clock_us());
    state[reloading.n] = '\0';
    nest__notify(state);
    reload_failed = reload_read();
    nest__on_renewed();
}

void nest__config_applied(bool all) {
    char text[1000];
    struct nest__line line = {text, 0, sizeof text - 1};
    if (reload_failed != NULL) {
        nest__line_add(&line, reload_failed);
    } else if (reload_before != NULL) {
        reload_changes(&line);
        reload_postponed(reload_before, &line);
    }
    text[line.n] = '\0';
    reload_forget();
    nest__say("the configuration was read again%s%s", text,
              all ? "" : "; not every worker has followed yet");
    nest__notify("READY=1");
}

void nest__config_reload(void) {
    nest__config_apply();
    nest__config_applied(true);
}
