/* settings.c: the options of filters, which are options of the server: `request.timeout`.
 *
 * Called by config/, when it reads a value, and by filters.c. State: none; the values are
 * generated, and HUP changes them. Which options there are, the filters say
 * (conditioning/inside.rs). Must not know how filters are started. */
#include "../../platform/platform.h"
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SETTINGS_REASON = 256, SETTINGS_LONGEST = 1024 /* so that all fit into one text */ };

int nest__filters_valid(unsigned setting, const char *text, char *reason) {
    const struct ccf_option *option = &nest__spec_filter_settings[setting].option;
    long value;
    if (text[0] == '\0' || !ccf_takes(option, text, &value) || strpbrk(text, ", \t") != NULL ||
        strlen(text) > SETTINGS_LONGEST) {
        snprintf(reason, SETTINGS_REASON, "write %s, not '%.40s'", option->about, text);
        return -EINVAL;
    }
    return 0;
}

void nest__filters_text(unsigned filter, char to[NEST__FILTER_TEXT]) {
    const struct nest__filter *from = &nest__spec_filters[filter];
    struct nest__line line = {to, 0, NEST__FILTER_TEXT - 1};
    nest__line_add(&line, from->name);
    if (from->clients != NULL) { /* first, because a setting is to replace it */
        nest__line_char(&line, ',');
        nest__line_add(&line, from->clients);
        nest__line_char(&line, '=');
        nest__line_number(&line, nest__config.max_clients);
    }
    for (unsigned i = 0; i < nest__spec_filter_setting_count; i++) {
        const struct nest__filter_setting *setting = &nest__spec_filter_settings[i];
        const char *value = atomic_load_explicit(&nest__filter_values[i], memory_order_acquire);
        if (setting->filter == filter && value != NULL) {
            nest__line_char(&line, ',');
            nest__line_add(&line, setting->option.name);
            nest__line_char(&line, '=');
            nest__line_add(&line, value);
        }
    }
    to[line.n] = '\0';
}

void nest__filters_refuse(void) {
    for (unsigned i = 0; i < nest__spec_filter_setting_count; i++) {
        nest__config_refuse(&nest__filter_values[i]);
    }
}
