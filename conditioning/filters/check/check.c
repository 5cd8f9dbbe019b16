/* check: refuses malformed and suspicious HTTP requests before a server parses them, and simplifies
 * paths. Must not know: how requests are read and passed on. */
#define _GNU_SOURCE
#include "ccfhttp.h"
#include "path.h"

#include <stdlib.h>
#include <string.h>

enum slashes { FOLD, REFUSE, ALLOW };
enum { RUN = 8 }; /* slashes in a row that no honest client sends */

static const char *methods = "GET+HEAD+POST+PUT+DELETE+OPTIONS+PATCH";
static long target_most = 2048, headers_most = 100, line_most = 8192, slashes, strip, host = 1,
            paths = 1;

static const struct ccf_option options[] = {
    {"methods", CCF_TEXT, &methods, 0, 0, NULL,
     "allowed methods, separated by '+'; default GET+HEAD+POST+PUT+DELETE+OPTIONS+PATCH"},
    {"target", CCF_SIZE, &target_most, 1, 32000, NULL, "longest target, default 2048"},
    {"line", CCF_SIZE, &line_most, 16, 32000, NULL, "longest line, default 8k"},
    {"headers", CCF_NUMBER, &headers_most, 1, 1000, NULL,
     "maximum number of header lines, default 100"},
    {"slashes", CCF_CHOICE, &slashes, 0, 0, "fold|refuse|allow",
     "repeated slashes become one, or eight in a row are refused; default fold"},
    {"strip", CCF_NUMBER, &strip, 0, 64, NULL, "leading parts removed from a path, default 0"},
    {"host", CCF_CHOICE, &host, 0, 0, "any|one", "HTTP/1.1 needs one Host header; default one"},
    {"paths", CCF_CHOICE, &paths, 0, 0, "any|safe",
     "refuse paths that lead above the root, or have \\ or %00; default safe"},
    {0}};

static struct ccf_filter check;

static const char *check_options(void) {
    if (slashes == FOLD || strip > 0)
        check.traits |= CCF_CHANGES;
    for (const char *p = methods; *p != '\0'; p++)
        if (!((*p >= 'A' && *p <= 'Z') || *p == '+' || *p == '-'))
            return "methods must be names in capitals, separated by '+', such as GET+HEAD";
    return NULL;
}

static bool allowed(const char *method, size_t size) {
    for (const char *p = methods; *p != '\0';) {
        size_t n = strcspn(p, "+");
        if (n == size && memcmp(p, method, n) == 0)
            return true;
        p += n + (p[n] == '+');
    }
    return false;
}

/* Returns the reason to refuse a request with this head, or NULL. *answer is what the client gets
 * if it is refused. */
static const char *judge(const char *head, size_t length, struct ccf_http *http,
                         const char **answer) {
    *answer = CCF_HTTP_ANSWER("400 Bad Request");
    if (head == NULL || ccf_http_head(head, length, http) != 1)
        return "malformed";
    if (http->bare)
        return "bare line feed";
    if (host == 1 && (http->hosts > 1 || (http->minor == 1 && http->hosts == 0)))
        return "host";
    if (http->headers > (size_t)headers_most || http->longest > (size_t)line_most) {
        *answer = CCF_HTTP_ANSWER("431 Request Header Fields Too Large");
        return "headers";
    }
    if (http->target_size > (size_t)target_most) {
        *answer = CCF_HTTP_ANSWER("414 URI Too Long");
        return "target too long";
    }
    if (!allowed(head + http->start, http->method)) {
        *answer = CCF_HTTP_ANSWER("501 Not Implemented");
        return "method";
    }
    return NULL;
}

static void arrive(struct ccf_bundle *bundle) {
    struct ccf_http http;
    const char *answer;
    size_t length, start, size;
    const char *head = ccf_head(bundle, &length);
    const char *reason = judge(head, length, &http, &answer);
    if (reason == NULL && path_in(head + http.target, http.target_size, &start, &size)) {
        const char *path = head + http.target + start;
        if (paths == 1)
            reason = path_suspicious(path, size);
        if (reason == NULL && slashes == REFUSE && path_slashes(path, size) >= RUN)
            reason = "slashes";
        bool fold = slashes == FOLD && path_slashes(path, size) > 1;
        if (reason == NULL && (fold || strip > 0)) {
            /* Replaces the head up to the end of the path. */
            size_t before = http.target + start;
            char *changed = malloc(before + size + 1);
            if (changed != NULL) {
                memcpy(changed, head, before);
                size_t n = path_simplify(path, size, strip, fold, changed + before);
                if (!ccf_replace(bundle, before + size, changed, before + n))
                    reason = "no memory";
            } else {
                reason = "no memory";
            }
            free(changed);
        }
    }
    if (reason != NULL)
        ccf_refuse(bundle, reason, answer);
    else
        ccf_pass(bundle);
}

static struct ccf_filter check = {
    .name = "check",
    .about = "refuses malformed and suspicious HTTP requests, simplifies paths",
    .options = options,
    .needs = CCF_REQUESTS,
    .gives = CCF_REQUESTS,
    .check = check_options,
    .arrive = arrive,
};

int main(int argc, char **argv) {
    return ccf_main(&check, argc, argv);
}
