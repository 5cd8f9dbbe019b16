/* Plans: which filters a chain has, in which order. A plan is checked as a whole before any filter
 * starts: each filter judges its options, and the order must make sense. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void plan_free(struct plan *plan) {
    for (int i = 0; plan != NULL && i < plan->count; i++) {
        free(plan->spec[i].text);
        free(plan->spec[i].path);
    }
    free(plan);
}

/* Splits "NAME,key=value" into a program and its arguments. */
static bool split(struct spec *spec, const char *text, char *why, size_t room) {
    enum { MOST = sizeof spec->argv / sizeof spec->argv[0] - 1 };
    spec->text = strdup(text);
    if (spec->text == NULL)
        return false;
    int count = 0;
    char *rest = spec->text, *piece;
    while ((piece = strsep(&rest, ",")) != NULL) {
        if (*piece == '\0' || count == MOST) {
            snprintf(why, room, "'%s' is not NAME[,key=value]...", text);
            return false;
        }
        spec->argv[count++] = piece;
    }
    spec->path = program_path(spec->argv[0]);
    return spec->path != NULL;
}

/* Runs a program and reads what it prints. Its messages get into a file, unless that is -1. Returns
 * its status as of waitpid, or -1. */
static int run(const struct spec *spec, char *out, size_t room, int messages) {
    char *argv[40] = {spec->argv[0], (char *)"--check"};
    for (int i = 1; spec->argv[i] != NULL; i++)
        argv[i + 1] = spec->argv[i];
    int ends[2], status = -1;
    if (pipe(ends) == -1)
        return -1;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        if (messages != -1)
            dup2(messages, 2);
        cc__close_from(3, INT_MAX);
        if (peek)
            setenv("CC_PEEK", "1", 1);
        else
            unsetenv("CC_PEEK");
        program_run(spec->path, argv, self);
        _exit(127);
    }
    close(ends[1]);
    size_t have = 0;
    ssize_t got = 1;
    while (pid > 0 && have + 1 < room && (got = read(ends[0], out + have, room - 1 - have)) != 0) {
        if (got == -1 && errno != EINTR)
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    out[have] = '\0';
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
        continue;
    return status;
}

static enum ccf_stage stage_of(const char *word) {
    return strcmp(word, "connections") == 0 ? CCF_CONNECTIONS
           : strcmp(word, "requests") == 0  ? CCF_REQUESTS
                                            : CCF_ANY;
}

/* Takes the reason of a refusal out of a filter's messages: its first line. Others, and all if
 * `why` is NULL, are written to standard error. Closes the file. */
static void read_messages(int messages, char *why, size_t room) {
    char text[4096] = "";
    ssize_t got = messages != -1 ? pread(messages, text, sizeof text, 0) : 0;
    size_t have = got > 0 ? (size_t)got : 0, line = 0;
    if (why != NULL) {
        while (line < have && text[line] != '\n')
            line++;
        snprintf(why, room, "%.*s", (int)line, text);
        line += line < have;
    }
    fwrite(text + line, 1, have - line, stderr);
    if (messages != -1)
        close(messages);
}

/* Asks a filter what it is. */
static bool ask(struct spec *spec, char *why, size_t room) {
    char out[200], needs[16], gives[16];
    int messages = memfd_create("messages", MFD_CLOEXEC);
    int status = run(spec, out, sizeof out, messages);
    bool refused = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == WRONG_CALL;
    const char *missing = program_check(spec->path);
    read_messages(messages, refused ? why : NULL, room);
    if (missing != NULL) {
        snprintf(why, room, "there is no filter %s: %s: %s", spec->argv[0], spec->path, missing);
        return false;
    }
    if (refused) {
        if (*why == '\0')
            snprintf(why, room, "%s has refused its options", spec->argv[0]);
        return false;
    }
    if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        snprintf(why, room, "cannot start %s", spec->path);
        return false;
    }
    if (sscanf(out, "%15s %15s %u", needs, gives, &spec->traits) != 3) {
        snprintf(why, room, "%s is not a filter: it does not answer --check", spec->path);
        return false;
    }
    spec->needs = stage_of(needs);
    spec->gives = stage_of(gives);
    return true;
}

/* Whether a filter of the same name is before it. */
static bool twice(const struct plan *plan, int at) {
    int i = 0;
    while (strcmp(plan->spec[i].argv[0], plan->spec[at].argv[0]) != 0)
        i++;
    return i < at;
}

/* Judges the order. Returns false with the reason. */
static bool sensible(const struct plan *plan, char *why, size_t room) {
    enum ccf_stage have = CCF_CONNECTIONS;
    const char *judge = NULL, *last = NULL, *splits = NULL;
    int leases = 0;
    for (int i = 0; i < plan->count; i++) {
        const struct spec *spec = &plan->spec[i];
        const char *name = spec->argv[0];
        if (peek && !returns && (spec->traits & CCF_SPLITS)) {
            snprintf(why, room,
                     "%s needs a server that uses the library: an unmodified one reads "
                     "the next requests itself",
                     name);
        } else if (peek && (spec->traits & CCF_CHANGES)) {
            snprintf(why, room,
                     "%s would change requests, but an unmodified server reads what its "
                     "client has sent%s",
                     name, strcmp(name, "check") == 0 ? ": add slashes=refuse, without strip" : "");
        } else if (peek && !follow && (spec->traits & CCF_LEASES)) {
            snprintf(why, room,
                     "%s needs a server that uses the library: this kernel does not say "
                     "when an unmodified one has finished with a connection",
                     name);
        } else if (last != NULL) {
            snprintf(why, room, "%s must be the last filter: its output is for the server", last);
        } else if (spec->needs == CCF_REQUESTS && have == CCF_CONNECTIONS) {
            snprintf(why, room, "%s needs complete requests: put request before it", name);
        } else if (spec->needs == CCF_CONNECTIONS && have == CCF_REQUESTS && twice(plan, i)) {
            snprintf(why, room, "%s is there twice: remove one of the two", name);
        } else if (spec->needs == CCF_CONNECTIONS && have == CCF_REQUESTS) {
            snprintf(why, room,
                     "%s needs connections whose request has not been read: put it before %s", name,
                     i > 0 ? plan->spec[i - 1].argv[0] : "");
        } else if ((spec->traits & CCF_SPLITS) && splits != NULL) {
            snprintf(why, room, "%s after %s has nothing to split", name, splits);
        } else if ((spec->traits & CCF_SPLITS) && judge != NULL) {
            snprintf(why, room,
                     "%s before %s would see only the first request of a connection: put it "
                     "after %s",
                     judge, name, name);
        } else if ((spec->traits & CCF_LEASES) && ++leases > CCF_MAX_LEASES) {
            snprintf(why, room, "more than %d filters follow a connection to its end",
                     CCF_MAX_LEASES);
        } else {
            if (spec->needs == CCF_REQUESTS && !(spec->traits & CCF_SPLITS))
                judge = name;
            if (spec->traits & CCF_SPLITS)
                splits = name;
            if (spec->traits & CCF_LAST)
                last = name;
            if (spec->gives != CCF_ANY)
                have = spec->gives;
            continue;
        }
        return false;
    }
    return true;
}

struct plan *plan_new(char *const *texts, int count, char *why, size_t room) {
    snprintf(why, room, "out of memory");
    if (count < 1 || count > MOST_FILTERS) {
        snprintf(why, room, "a chain has 1 to %d filters, not %d", MOST_FILTERS, count);
        return NULL;
    }
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        plan->count = i + 1;
        good = split(&plan->spec[i], texts[i], why, room) && ask(&plan->spec[i], why, room);
    }
    if (!good || !sensible(plan, why, room)) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}

struct plan *plan_read(const char *file, char *why, size_t room) {
    char *texts[MOST_FILTERS + 1], line[1024];
    int count = 0;
    FILE *in = fopen(file, "re");
    if (in == NULL) {
        snprintf(why, room, "%s: %s", file, strerror(errno));
        return NULL;
    }
    while (count <= MOST_FILTERS && fgets(line, sizeof line, in) != NULL) {
        char *text = line + strspn(line, " \t");
        text[strcspn(text, " \t\r\n#")] = '\0';
        if (*text != '\0' && (texts[count] = strdup(text)) != NULL)
            count++;
    }
    fclose(in);
    struct plan *plan = plan_new(texts, count, why, room);
    for (int i = 0; i < count; i++)
        free(texts[i]);
    return plan;
}
