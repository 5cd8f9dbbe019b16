/* A filter's options: key=value, checked before anything starts. One message for the first mistake.
 */
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    long factor;
};

static const struct unit times[] = {{"ms", 1},      {"s", 1000}, {"m", 60000},
                                    {"h", 3600000}, {"", 1000},  {NULL, 0}};
static const struct unit sizes[] = {{"k", 1024}, {"m", 1048576}, {"", 1}, {NULL, 0}};
static const struct unit numbers[] = {{"", 1}, {NULL, 0}};

static bool number(const char *text, const struct unit *unit, long *value) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    long n = strtol(text, &end, 10);
    while (unit->name != NULL && strcmp(unit->name, end) != 0)
        unit++;
    return errno == 0 && unit->name != NULL && !__builtin_mul_overflow(n, unit->factor, value);
}

static bool choice(const char *text, const char *words, long *value) {
    size_t length = strlen(text);
    for (long i = 0; *words != '\0'; i++) {
        size_t word = strcspn(words, "|");
        if (word == length && strncmp(words, text, length) == 0) {
            *value = i;
            return true;
        }
        words += word + (words[word] == '|');
    }
    return false;
}

static const char *form(const struct ccf_option *option) {
    static char text[120];
    switch (option->kind) {
    case CCF_TIME:
        snprintf(text, sizeof text, "a time from %ld to %ld ms, such as 500ms, 5s or 2m",
                 option->least, option->most);
        return text;
    case CCF_SIZE:
        snprintf(text, sizeof text, "a size from %ld to %ld bytes, such as 512, 16k or 1m",
                 option->least, option->most);
        return text;
    case CCF_CHOICE:
        snprintf(text, sizeof text, "one of %s", option->words);
        return text;
    case CCF_NUMBER:
        snprintf(text, sizeof text, "a number from %ld to %ld", option->least, option->most);
        return text;
    default:
        return "text";
    }
}

bool ccf_takes(const struct ccf_option *option, const char *text, long *value) {
    const struct unit *units = option->kind == CCF_TIME   ? times
                               : option->kind == CCF_SIZE ? sizes
                                                          : numbers;
    if (option->kind == CCF_TEXT)
        return *text != '\0';
    if (option->kind == CCF_CHOICE)
        return choice(text, option->words, value);
    return number(text, units, value) && *value >= option->least && *value <= option->most;
}

/* Whether an argument sets the same option as one before it. */
static bool again(char **argv, int at) {
    size_t length = strcspn(argv[at], "=");
    for (int i = 0; i < at; i++)
        if (strcspn(argv[i], "=") == length && strncmp(argv[i], argv[at], length) == 0)
            return true;
    return false;
}

/* Sets one option. */
static bool set(const struct ccf_filter *filter, const char *text) {
    size_t length = strcspn(text, "=");
    const struct ccf_option *option = filter->options;
    while (option != NULL && option->name != NULL &&
           (strlen(option->name) != length || strncmp(option->name, text, length) != 0))
        option++;
    if (option == NULL || option->name == NULL) {
        fprintf(stderr, "%s: there is no option %.*s; see %s --help\n", filter->name, (int)length,
                text, filter->name);
        return false;
    }
    if (text[length] != '=') {
        fprintf(stderr, "%s: the option %s has no value: write %s=VALUE, which must be %s\n",
                filter->name, option->name, option->name, form(option));
        return false;
    }
    const char *value = text + length + 1;
    long n = 0;
    bool good = ccf_takes(option, value, &n);
    if (good && option->kind == CCF_TEXT)
        *(const char **)option->value = value;
    else if (good)
        *(long *)option->value = n;
    if (!good)
        fprintf(stderr, "%s: %s must be %s, not '%s'\n", filter->name, option->name, form(option),
                value);
    return good;
}

bool ccf__options(const struct ccf_filter *filter, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (!set(filter, argv[i]))
            return false;
        if (again(argv, i)) {
            fprintf(stderr, "%s: the option %.*s is given twice\n", filter->name,
                    (int)strcspn(argv[i], "="), argv[i]);
            return false;
        }
    }
    const char *reason = filter->check != NULL ? filter->check() : NULL;
    if (reason != NULL)
        fprintf(stderr, "%s: %s\n", filter->name, reason);
    return reason == NULL;
}

void ccf__help(const struct ccf_filter *filter) {
    printf("%s: %s\n\n", filter->name, filter->about);
    printf("A filter of a connection conditioning chain; cc-chain starts it:\n"
           "    cc-chain [FILTER...] %s%s [FILTER...] -- SERVER [ARGUMENT...]\n",
           filter->name, filter->options != NULL ? "[,OPTION=VALUE...]" : "");
    if (filter->options != NULL)
        printf("\nOptions:\n");
    for (const struct ccf_option *o = filter->options; o != NULL && o->name != NULL; o++)
        printf("  %-12s %s (%s)\n", o->name, o->about, form(o));
}
