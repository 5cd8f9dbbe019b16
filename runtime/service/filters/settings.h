/* settings.h: the options of filters, which are options of the server.
 *
 * Included by the generated server, settings.c and filters.c, in servers with `%filter` alone. */
#ifndef NEST_SERVICE_FILTERS_SETTINGS_H
#define NEST_SERVICE_FILTERS_SETTINGS_H

#include "filters.h"

#include "../../../conditioning/frame/ccfilter.h"

/* -- generated */
/* An option of a filter, which is an option of the server, too. */
struct nest__filter_setting {
    unsigned filter; /* of nest__spec_filters */
    struct ccf_option option;
};
extern const struct nest__filter_setting nest__spec_filter_settings[];
extern const char *_Atomic nest__filter_values[]; /* of these; NULL: the filter's default */
extern const unsigned nest__spec_filter_setting_count;
/* The function that judges a setting's text, for the table of options. */
#define NEST__FILTER_VALID(n)                                                                      \
    static int nest__filter_valid_##n(const char *text, char *reason) {                            \
        return nest__filters_valid(n, text, reason);                                               \
    }

/* -- settings.c */
enum { NEST__FILTER_TEXT = 2048 }; /* of a filter, with its options */
/* Whether the text is a value of the setting with this number. 0, or -EINVAL and the reason. */
int nest__filters_valid(unsigned setting, const char *text, char *reason);
/* "request,timeout=5s": a filter as cc-chain takes it, with the settings of now. */
void nest__filters_text(unsigned filter, char to[NEST__FILTER_TEXT]);
/* No setting changes: what HUP has read is not used. */
void nest__filters_refuse(void);

#endif
