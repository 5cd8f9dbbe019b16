/* value.c: parses and prints the value of one option, and applies it.
 *
 * Called by config.c and reload.c. State, per process: every text that has ever been applied. Must
 * not know where a value comes from. */
#include "config.h"
#include "value.h"
#include "../platform/platform.h"
#include "../listener/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct value_kept {
    struct value_kept *next;
    char text[];
} * value_texts;

void nest__size_text(uint32_t value, char to[32]) {
    static const char units[] = {'G', 'M', 'K'};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t unit = 1u << (30 - 10 * i);
        if (value >= unit && value % unit == 0) {
            snprintf(to, 32, "%u%c", (unsigned)(value / unit), units[i]);
            return;
        }
    }
    snprintf(to, 32, "%u", (unsigned)value);
}

static const struct {
    const char *name;
    uint32_t ms;
} value_units[] = {{"h", 60 * 60 * 1000}, {"m", 60 * 1000}, {"s", 1000}, {"ms", 1}};

void nest__duration_text(uint32_t ms, char to[32]) {
    unsigned i = 0;
    if (ms == 0) {
        nest_strlcpy(to, "none", 32);
        return;
    }
    while (ms % value_units[i].ms != 0) {
        i++;
    }
    snprintf(to, 32, "%u%s", (unsigned)(ms / value_units[i].ms), value_units[i].name);
}

static bool value_is_text(const struct nest__option *option) {
    return option->kind == NEST__TEXT || option->kind == NEST__ADDRESSES ||
           option->kind == NEST__LOG;
}

/* The word with this number, of `words`; `n` is its length. NULL: there is none. */
static const char *value_word(const struct nest__option *option, uint32_t number, size_t *n) {
    const char *word = option->words;
    for (; number > 0 && word != NULL; number--) {
        word = strchr(word, '|');
        word += word != NULL;
    }
    *n = word == NULL ? 0 : strcspn(word, "|");
    return word;
}

const char *nest__value_text(const struct nest__option *option, const struct nest__value *value,
                             char to[32]) {
    if (value_is_text(option)) {
        return value->text != NULL ? value->text : "";
    }
    if (option->kind == NEST__SIZE) {
        nest__size_text(value->number, to);
    } else if (option->kind == NEST__WORD) {
        size_t n;
        const char *word = value_word(option, value->number, &n);
        snprintf(to, 32, "%.*s", (int)n, word);
    } else if (option->kind == NEST__DURATION) {
        nest__duration_text(value->number, to);
    } else if (option->kind == NEST__COUNT && value->number == 0) {
        nest_strlcpy(to, "auto", 32);
    } else {
        snprintf(to, 32, "%u", (unsigned)value->number);
    }
    return to;
}

static void value_range(const struct nest__option *option, char least[32], char most[32]) {
    if (option->kind == NEST__SIZE) {
        nest__size_text(option->least, least);
        nest__size_text(option->most, most);
    } else {
        snprintf(least, 32, "%u", (unsigned)option->least);
        snprintf(most, 32, "%u", (unsigned)option->most);
    }
}

/* Parses digits, followed by K, M or G for a size. */
static int value_number(const struct nest__option *option, const char *text, uint32_t *to,
                        char reason[NEST__VALUE_REASON]) {
    char least[32], most[32];
    uint64_t number = 0;
    bool size = option->kind == NEST__SIZE, huge = false;
    const char *p = text;
    value_range(option, least, most);
    if (option->kind == NEST__COUNT && strcmp(text, "auto") == 0) {
        *to = 0;
        return 0;
    }
    while (*p >= '0' && *p <= '9') {
        number = number * 10 + (uint64_t)(*p++ - '0');
        huge = huge || number > UINT32_MAX;
        number = huge ? 0 : number;
    }
    bool digits = p != text;
    if (digits && size && *p != '\0') {
        static const char units[] = "KMG";
        const char *unit = strchr(units, toupper((unsigned char)*p));
        if (unit != NULL) {
            number <<= 10 * (unit - units + 1);
            p++;
        }
    }
    if (text[0] == '\0') {
        nest_strlcpy(reason, "a value is missing", NEST__VALUE_REASON);
        return -EINVAL;
    }
    if (!digits || *p != '\0') {
        snprintf(reason, NEST__VALUE_REASON, "'%.40s' is not a %s; write %s", text,
                 size ? "size" : "number",
                 size ? "a number of bytes, or a number with K, M or G such as 8K"
                 : option->kind == NEST__COUNT ? "digits only, or auto"
                                               : "digits only");
        return -EINVAL;
    }
    if (huge || number < option->least || number > option->most) {
        snprintf(reason, NEST__VALUE_REASON,
                 "%.40s is out of range; the minimum is %s, the maximum %s", text, least, most);
        return -EINVAL;
    }
    *to = (uint32_t)number;
    return 0;
}

bool nest__duration_read(const char *text, uint64_t *ms) {
    const char *p = text;
    unsigned i = 0, units = sizeof value_units / sizeof value_units[0];
    *ms = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        *ms = *ms > UINT32_MAX ? *ms : *ms * 10 + (uint64_t)(*p - '0');
    }
    while (i < units && strcmp(p, value_units[i].name) != 0) {
        i++;
    }
    if (p == text || i == units) {
        return false;
    }
    *ms *= value_units[i].ms;
    return true;
}

/* Parses "none", or digits and a unit. */
static int value_duration(const struct nest__option *option, const char *text, uint32_t *to,
                          char reason[NEST__VALUE_REASON]) {
    char least[32], most[32];
    uint64_t ms;
    if (strcmp(text, "none") == 0) {
        *to = 0;
        return 0;
    }
    if (text[0] == '\0') {
        nest_strlcpy(reason, "a value is missing", NEST__VALUE_REASON);
        return -EINVAL;
    }
    if (!nest__duration_read(text, &ms)) {
        snprintf(reason, NEST__VALUE_REASON,
                 "'%.40s' is not a duration; write 500ms, 30s, 5m, 1h, or none", text);
        return -EINVAL;
    }
    if (ms < option->least || ms > option->most) {
        nest__duration_text(option->least, least);
        nest__duration_text(option->most, most);
        snprintf(reason, NEST__VALUE_REASON,
                 "%.40s is out of range; the minimum is %s, the maximum %s, or none", text, least,
                 most);
        return -EINVAL;
    }
    *to = (uint32_t)ms;
    return 0;
}

/* "write this, that …, not 'text'". */
static void value_refuse(const struct nest__option *option, const char *text, const char *more,
                         char reason[NEST__VALUE_REASON]) {
    struct nest__line line = {reason, 0, NEST__VALUE_REASON - 1};
    size_t n;
    const char *word;
    nest__line_add(&line, "write ");
    for (uint32_t i = 0; (word = value_word(option, i, &n)) != NULL; i++) {
        nest__line_add(&line, i == 0 ? "" : ", ");
        nest__line_bytes(&line, word, n);
    }
    nest__line_add(&line, more);
    nest__line_add(&line, ", not '");
    nest__line_text(&line, text, strlen(text) < 40 ? strlen(text) : 40);
    nest__line_char(&line, '\'');
    reason[line.n] = '\0';
}

/* The number of the word that the text is. False: it is none. */
static bool value_is_word(const struct nest__option *option, const char *text, uint32_t *number) {
    size_t n;
    const char *word;
    for (*number = 0; (word = value_word(option, *number, &n)) != NULL; (*number)++) {
        if (strlen(text) == n && memcmp(word, text, n) == 0) {
            return true;
        }
    }
    return false;
}

static int value_choice(const struct nest__option *option, const char *text, uint32_t *to,
                        char reason[NEST__VALUE_REASON]) {
    uint32_t number;
    if (!value_is_word(option, text, &number)) {
        value_refuse(option, text, "", reason);
        return -EINVAL;
    }
    if (number > option->most) {
        snprintf(reason, NEST__VALUE_REASON,
                 "'%.40s' needs a server that is built for it; add '%%option %s %.40s' to the "
                 "specification",
                 text, option->name, text);
        return -EINVAL;
    }
    *to = number;
    return 0;
}

int nest__value_read(const struct nest__option *option, const char *text, struct nest__value *to,
                     char reason[NEST__VALUE_REASON]) {
    struct nest__endpoint all[NEST__LISTEN_MAX];
    if (option->kind == NEST__NUMBER || option->kind == NEST__COUNT || option->kind == NEST__SIZE) {
        return value_number(option, text, &to->number, reason);
    }
    if (option->kind == NEST__DURATION) {
        return value_duration(option, text, &to->number, reason);
    }
    if (option->kind == NEST__WORD) {
        return value_choice(option, text, &to->number, reason);
    }
    uint32_t number;
    if (option->kind == NEST__LOG && strchr(text, '/') == NULL &&
        !value_is_word(option, text, &number)) {
        value_refuse(option, text, ", or a path with a slash such as ./access.log", reason);
        return -EINVAL;
    }
    if (option->kind == NEST__ADDRESSES) {
        int count = text[0] == '\0' ? 0 : nest__endpoints(text, 0, all, reason);
        if (count < 0) {
            return count;
        }
        if (option->most == 1 && count > 0 &&
            (count > 1 || all[0].systemd || all[0].proxied || all[0].encrypted)) {
            snprintf(reason, NEST__VALUE_REASON, "'%.100s' is not one address, such as %s", text,
                     "127.0.0.1:9100, [::1]:9100, *:9100 or unix:/path");
            return -EINVAL;
        }
    } else if (option->most > 0 && strlen(text) > option->most) {
        snprintf(reason, NEST__VALUE_REASON, "the text is too long; the maximum is %u bytes",
                 (unsigned)option->most);
        return -EINVAL;
    }
    if (option->valid != NULL && option->valid(text, reason) < 0) {
        return -EINVAL;
    }
    bool none = text[0] == '\0' && option->kind == NEST__ADDRESSES;
    char *copy = none ? NULL : strdup(text);
    if (copy == NULL && !none) {
        nest_strlcpy(reason, "out of memory", NEST__VALUE_REASON);
        return -ENOMEM;
    }
    free(to->text);
    to->text = copy;
    return 0;
}

bool nest__value_same(const struct nest__option *option, const struct nest__value *a,
                      const struct nest__value *b) {
    if (!value_is_text(option)) {
        return a->number == b->number;
    }
    return a->text == NULL || b->text == NULL ? a->text == b->text : strcmp(a->text, b->text) == 0;
}

/* Returns the permanent copy of a text; NULL if there is none yet. */
static const char *value_kept(const char *text) {
    const struct value_kept *kept = value_texts;
    while (kept != NULL && strcmp(kept->text, text) != 0) {
        kept = kept->next;
    }
    return kept == NULL ? NULL : kept->text;
}

int nest__value_keep(const struct nest__option *option, const struct nest__value *value) {
    if (!value_is_text(option) || value->text == NULL || value_kept(value->text) != NULL) {
        return 0;
    }
    size_t n = strlen(value->text) + 1;
    struct value_kept *kept = malloc(sizeof *kept + n);
    if (kept == NULL) {
        return -ENOMEM;
    }
    memcpy(kept->text, value->text, n);
    kept->next = value_texts;
    value_texts = kept;
    return 0;
}

void nest__value_use(const struct nest__option *option, const struct nest__value *value) {
    if (!value_is_text(option) && option->reload) {
        atomic_store_explicit((_Atomic uint32_t *)option->value, value->number,
                              memory_order_relaxed);
    } else if (!value_is_text(option)) {
        *(uint32_t *)option->value = value->number;
    } else {
        const char *kept = value->text != NULL ? value_kept(value->text) : NULL;
        if (option->reload) { /* readers must see its bytes too */
            atomic_store_explicit((const char *_Atomic *)option->value, kept, memory_order_release);
        } else {
            *(const char **)option->value = kept;
        }
    }
}
