/* config.c: reads settings from the option table, config.nest, the environment and the arguments.
 *
 * Called by main before anything else, and by reload.c. State, per process: the settings, their
 * origins, and the locations of the sources. Settings take effect only if none of them is wrong.
 * Must not know what options are for, except that serverPort and listen exclude each other. */
#include "config.h"
#include "../listener/endpoint.h"
#include "../platform/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { CONFIG_LINE = 4096 };

struct nest__setting *nest__settings;

static struct nest__setting *config_next; /* the settings that are being read */
static unsigned config_faults;            /* errors reported so far for them */
static struct {                           /* as they were at the start */
    int count;
    char **arguments;
    const char *name; /* of the file, as given by the user */
    char *file;       /* absolute, because start-up code may change the directory */
    bool required;
} config_from;

/* The number of edits that turn one name into the other, ignoring case; for "did you mean". */
static unsigned config_distance(const char *a, const char *b) {
    unsigned row[64];
    size_t n = strlen(b);
    if (n >= 63 || strlen(a) >= 63) {
        return 63;
    }
    for (unsigned j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; *a != '\0'; i++, a++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned change = diagonal + ((*a | 32) != (b[j - 1] | 32));
            diagonal = row[j];
            row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < row[j] ? change : row[j];
        }
    }
    return row[n];
}

static bool config_same(const char *name, const char *text, bool any_case) {
    while (*name != '\0' && (*name == *text || (any_case && ((*name & ~32) == (*text & ~32) ||
                                                             (*name == '.' && *text == '_'))))) {
        name++;
        text++;
    }
    return *name == *text;
}

static void config_unknown(const char *place, const char *name) {
    unsigned nearest = 4;
    const char *meant = NULL;
    for (unsigned i = 0; i < nest__option_count; i++) {
        unsigned distance = config_distance(name, nest__options[i].name);
        if (distance < nearest) {
            nearest = distance;
            meant = nest__options[i].name;
        }
    }
    size_t n = strlen(name);
    config_faults++;
    if (n > 6 && strcmp(name + n - 6, "Server") == 0) {
        nest__say("%s: '%.60s' can only be set in the specification; the number of clients is "
                  "maxClients",
                  place, name);
    } else if (meant != NULL) {
        nest__say("%s: there is no option '%.60s'; did you mean '%s'?", place, name, meant);
    } else {
        nest__say("%s: there is no option '%.60s'; --help lists all", place, name);
    }
}

static void config_set(const char *place, const char *name, const char *value, bool any_case) {
    char reason[NEST__VALUE_REASON];
    for (unsigned i = 0; i < nest__option_count; i++) {
        if (config_same(nest__options[i].name, name, any_case)) {
            if (nest__value_read(&nest__options[i], value, &config_next[i].value, reason) != 0) {
                config_faults++;
                nest__say("%s: %s: %s", place, nest__options[i].name, reason);
            } else {
                nest_strlcpy(config_next[i].origin, place, sizeof config_next[i].origin);
            }
            return;
        }
    }
    config_unknown(place, name);
}

/* Reads one line of a file without its newline: "name value", "# comment", or nothing. */
static void config_line(const char *place, char *line) {
    for (char *p = line; *p != '\0'; p++) {
        if (*p == '#' && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
            *p = '\0';
            break;
        }
    }
    line += strspn(line, " \t");
    size_t end = strlen(line);
    while (end > 0 && strchr(" \t\r", line[end - 1]) != NULL) {
        line[--end] = '\0';
    }
    if (end == 0) {
        return;
    }
    char *value = line + strcspn(line, " \t=");
    size_t name = (size_t)(value - line);
    const char *behind = value + strspn(value, " \t");
    if (strncmp(line, "%option", name) == 0 && name == 7) { /* a line copied from a specification */
        config_faults++;
        nest__say("%s: write '%.60s'; %%option is only for specifications", place, behind);
        return;
    }
    if (*behind == '=') { /* "name = value", as in other configuration files */
        behind++;
        config_faults++;
        nest__say("%s: write '%.*s %.60s'; a line is a name, a blank and a value", place,
                  (int)(name < 60 ? name : 60), line, behind + strspn(behind, " \t"));
        return;
    }
    if (*value == '\0') {
        config_faults++;
        nest__say("%s: '%.60s' has no value; a line is a name, a blank and a value", place, line);
        return;
    }
    *value++ = '\0';
    config_set(place, line, value + strspn(value, " \t"), false);
}

/* Reads a line without its newline. Returns its length, -1 at the end of the file, or CONFIG_LINE
 * if it is longer than that. */
static int config_read(FILE *file, char line[CONFIG_LINE]) {
    int n = 0, c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (n == CONFIG_LINE - 1) {
            return CONFIG_LINE;
        }
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return n == 0 && c == EOF ? -1 : n;
}

static void config_file(void) {
    const char *path = config_from.name;
    char line[CONFIG_LINE];
    unsigned number = 0;
    int n;
    FILE *file = nest__copy_open(config_from.file);
    if (file == NULL) {
        if (config_from.required || errno != ENOENT) {
            config_faults++;
            nest__say("cannot read %s: %s", path, strerror(errno));
        }
        return;
    }
    while ((n = config_read(file, line)) != -1) {
        char place[96];
        snprintf(place, sizeof place, "%.80s:%u", path, ++number);
        if (n == CONFIG_LINE || memchr(line, '\0', (size_t)n) != NULL) {
            config_faults++;
            nest__say("%s: %s; this is not a configuration file", place,
                      n == CONFIG_LINE ? "a line of more than 4,095 bytes" : "a NUL byte");
            break;
        }
        config_line(place, line);
    }
    if (ferror(file)) {
        config_faults++;
        nest__say("cannot read %s: %s", path, strerror(errno));
    }
    fclose(file);
}

/* The destinations of a trace and of marks of branches; the time of day and the client's address in
 * a script, and whether it stands for encrypted connections: no options of the server. */
static bool config_meant_for_others(const char *name) {
    return strcmp(name, "TRACE") == 0 || strcmp(name, "TRACE_FD") == 0 ||
           strcmp(name, "RECORD_FD") == 0 || strcmp(name, "BRANCHES") == 0 ||
           strcmp(name, "CLOCK") == 0 || strcmp(name, "PEER") == 0 ||
           strcmp(name, "ENCRYPTED") == 0;
}

static void config_environment(void) {
    /* NULL if start-up code has cleared it */
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        char name[64], place[96];
        const char *equal = strchr(*entry, '=');
        if (strncmp(*entry, "NEST_", 5) != 0 || equal == NULL) {
            continue;
        }
        size_t n = (size_t)(equal - *entry) - 5;
        nest_strlcpy(name, *entry + 5, n < sizeof name ? n + 1 : sizeof name);
        if (config_meant_for_others(name)) {
            continue;
        }
        snprintf(place, sizeof place, "environment variable NEST_%s", name);
        config_set(place, name, equal + 1, true);
    }
}

static void config_wrong(const char *argument, const char *what) {
    config_faults++;
    nest__say("argument %.100s: %s", argument, what);
}

static void config_set_argument(const char *text) {
    char place[96], name[64];
    const char *equal = strchr(text, '=');
    if (equal == NULL || equal == text || (size_t)(equal - text) >= sizeof name) {
        snprintf(place, sizeof place, "--set %.80s", text);
        config_wrong(place, "write --set name=value");
        return;
    }
    nest_strlcpy(name, text, (size_t)(equal - text) + 1);
    snprintf(place, sizeof place, "argument --set %.70s", text);
    config_set(place, name, equal + 1, false);
}

/* If *at is `option`, returns its value, which follows "=" or is the next argument; "" if there is
 * no value. */
static const char *config_argument(int argc, char **argv, int *at, const char *option) {
    size_t n = strlen(option);
    if (strncmp(argv[*at], option, n) != 0) {
        return NULL;
    }
    if (argv[*at][n] == '=') {
        return argv[*at] + n + 1;
    }
    if (argv[*at][n] != '\0') {
        return NULL;
    }
    if (*at + 1 < argc) {
        return argv[++*at];
    }
    return "";
}

/* Reports an unknown argument. */
static void config_stray(const char *argument) {
    static const char *const known[] = {"--set",  "--port",    "--config",
                                        "--help", "--version", "--check-config"};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (config_distance(argument, known[i]) < 3) {
            char what[48];
            snprintf(what, sizeof what, "unknown; did you mean %s?", known[i]);
            config_wrong(argument, what);
            return;
        }
    }
    config_wrong(argument, "unknown; --help lists all arguments");
}

/* Reads the arguments in two passes. The first finds the configuration file, which is read before
 * the environment; the second sets options. */
static void config_arguments(int argc, char **argv, enum nest__request *request,
                             const char **file) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value;
        bool setting = file == NULL;
        if ((value = config_argument(argc, argv, &i, "--set")) != NULL) {
            if (setting) {
                config_set_argument(value);
            }
        } else if ((value = config_argument(argc, argv, &i, "--port")) != NULL) {
            if (setting) {
                config_set("argument --port", "serverPort", value, false);
            }
        } else if ((value = config_argument(argc, argv, &i, "--config")) != NULL) {
            if (setting && value[0] == '\0') {
                config_wrong("--config", "the name of a file must follow");
            } else if (!setting) {
                *file = value[0] != '\0' ? value : *file;
            }
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            *request = NEST__HELP;
        } else if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0) {
            *request = NEST__VERSION;
        } else if (strcmp(argv[i], "--check-config") == 0) {
            *request = NEST__CHECK;
        } else if (setting) {
            config_stray(argv[i]);
        }
    }
}

/* What the option will be whose value is there; NULL: the server does not have it. */
static const struct nest__setting *config_next_of(const void *value) {
    for (unsigned i = 0; i < nest__option_count; i++) {
        if (nest__options[i].value == value) {
            return &config_next[i];
        }
    }
    return NULL;
}

/* A port given at run time would have no effect if there are addresses. */
static void config_exclude(void) {
    const struct nest__setting *port = config_next_of(&nest__config.server_port);
    const struct nest__setting *listen = config_next_of(&nest__config.listen);
    if (port == NULL || listen == NULL || port->origin[0] == '\0' || listen->value.text == NULL) {
        return;
    }
    struct nest__endpoint all[NEST__LISTEN_MAX];
    char reason[NEST__ENDPOINT_REASON];
    int count = nest__endpoints(listen->value.text, 0, all, reason);
    for (int i = 0; i < count; i++) {
        if (!all[i].systemd && all[i].kind != NEST__UNIX &&
            ntohs(all[i].kind == NEST__TCP4 ? all[i].socket.four.sin_port
                                            : all[i].socket.six.sin6_port) == port->value.number) {
            return; /* they do not conflict */
        }
    }
    config_faults++;
    nest__say("%s: serverPort cannot be combined with listen, which is '%.200s' (%s); set only one",
              port->origin, listen->value.text,
              listen->origin[0] != '\0' ? listen->origin : "built in");
}

/* Without a certificate an address that says tls could not be served. */
static void config_encrypted(void) {
    const struct nest__setting *tls = config_next_of(&nest__config.tls);
    const struct nest__setting *listen = config_next_of(&nest__config.listen);
    if (tls == NULL || listen == NULL || listen->value.text == NULL ||
        (tls->value.text != NULL && strcmp(tls->value.text, "none") != 0)) {
        return;
    }
    struct nest__endpoint all[NEST__LISTEN_MAX];
    char reason[NEST__ENDPOINT_REASON];
    int count = nest__endpoints(listen->value.text, 0, all, reason);
    for (int i = 0; i < count; i++) {
        if (all[i].encrypted) {
            config_faults++;
            nest__say("%s: listen %.100s tls needs a certificate, but option tls is none; set "
                      "tls to CERT KEY",
                      listen->origin[0] != '\0' ? listen->origin : "built in", all[i].name);
            return;
        }
    }
}

static void config_initial(void) {
    char reason[NEST__VALUE_REASON];
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        if (option->initial != NULL &&
            nest__value_read(option, option->initial, &config_next[i].value, reason) != 0) {
            config_faults++;
            nest__say("%s: option %s: %s", nest__spec_file, option->name, reason);
        }
    }
}

struct nest__setting *nest__settings_read(void) {
    enum nest__request request; /* reported at the start */
    struct nest__setting *read = calloc(nest__option_count, sizeof *read);
    if (read == NULL) {
        nest__say("out of memory");
        return NULL;
    }
    config_next = read;
    config_faults = 0;
    config_initial();
    config_file();
    config_environment();
    config_arguments(config_from.count, config_from.arguments, &request, NULL);
    if (config_faults == 0) {
        config_exclude();
        config_encrypted();
    }
    config_next = NULL;
    if (config_faults > 0) {
        nest__settings_free(read);
        return NULL;
    }
    return read;
}

void nest__settings_free(struct nest__setting *settings) {
    for (unsigned i = 0; i < nest__option_count; i++) {
        free(settings[i].value.text);
    }
    free(settings);
}

/* Saves the arguments, because start-up code gets them and may reorder them. Returns 0 or -ENOMEM.
 */
static int config_remember(int argc, char **argv, const char *file) {
    char here[4096];
    const char *name = file != NULL ? file : "config.nest";
    size_t n = (size_t)argc * sizeof *argv;
    config_from.name = name;
    config_from.required = file != NULL;
    config_from.count = argc;
    config_from.arguments = malloc(n + 1);
    if (name[0] != '/' && getcwd(here, sizeof here) != NULL) {
        size_t size = strlen(here) + strlen(name) + 2;
        config_from.file = malloc(size);
        if (config_from.file != NULL) {
            snprintf(config_from.file, size, "%s/%s", here, name);
        }
    } else {
        config_from.file = strdup(name);
    }
    if (config_from.arguments == NULL || config_from.file == NULL) {
        return -ENOMEM;
    }
    memcpy(config_from.arguments, argv, n);
    return 0;
}

int nest__config_read(int argc, char **argv, enum nest__request *request) {
    const char *file = NULL;
    int error = 0;
    *request = NEST__SERVE;
    config_arguments(argc, argv, request, &file);
    if (*request == NEST__HELP || *request == NEST__VERSION) {
        return 0;
    }
    error = config_remember(argc, argv, file);
    if (error == 0 && (nest__settings = nest__settings_read()) == NULL) {
        return -EINVAL; /* already reported */
    }
    for (unsigned i = 0; i < nest__option_count && error == 0; i++) {
        error = nest__value_keep(&nest__options[i], &nest__settings[i].value);
    }
    if (error != 0) {
        nest__say("out of memory");
        return error;
    }
    for (unsigned i = 0; i < nest__option_count; i++) {
        nest__value_use(&nest__options[i], &nest__settings[i].value);
    }
    return 0;
}

int nest__config_share(void) {
    int error = nest__copy_begin(config_from.file);
    if (error != 0) {
        nest__say("cannot start: out of memory");
    }
    return error;
}

void nest__config_print(void) {
    for (unsigned i = 0; i < nest__option_count; i++) {
        char room[32];
        const struct nest__setting *setting = &nest__settings[i];
        const char *text = nest__value_text(&nest__options[i], &setting->value, room);
        printf(text[0] != '\0' ? "%s %s  # %s\n" : "# %s is not set%s: %s\n", nest__options[i].name,
               text, setting->origin[0] != '\0' ? setting->origin : "built in");
    }
}
