/* --check: what is printed.
 * Must not know: how it was found. */
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void print_calls(const char *what, unsigned bits) {
    printf("    %s", what);
    for (int i = 0; call_name(i) != NULL; i++)
        if (bits & 1u << i)
            printf(" %s%s", call_name(i), bits >> i == 1 ? "" : ",");
    printf("%s\n", bits == 0 ? " nothing" : "");
}

static void print_socket(const struct seen *of) {
    if (of->type == SOCK_DGRAM)
        printf("UDP %s\n    filters are for TCP: its clients reach the server directly\n",
               of->address);
    if (of->gate == NULL)
        return;
    bool fixed = look_static(of->program);
    printf("TCP %s\n    %s is linked %s\n", of->address, of->program,
           fixed ? "statically" : "dynamically");
    print_calls("made by", of->made);
    print_calls("used by", of->used);
    if (of->accepted != NULL)
        printf("    %s returned a client\n", of->accepted);
    else
        printf("    no call returned a client\n");
}

/* Says why it does not work. `served`: each socket has had a client, and this is one of them. */
static void print_reason(const char *name, const struct seen *refused, const struct seen *served,
                         bool datagrams) {
    char end[END_TEXT] = "";
    bool good = WIFEXITED(server_status) && WEXITSTATUS(server_status) == 0;
    if (trial_ended)
        end_text(end);
    if (trial_background)
        say("%s goes to the background: run it in the foreground", name);
    else if (trial_ended && served != NULL && (good || seen_asked == -1 || options))
        say("%s cannot run behind filters: it %s after it had accepted the client of this check at "
            "%s, which sends nothing; it must go on accepting clients%s",
            name, end, served->address, good ? ": let it serve them in a loop" : "");
    else if (trial_ended && seen_asked != -1 && !options)
        say("%s cannot run behind filters: it %s after it had called %s; try --options", name, end,
            call_name(seen_asked));
    else if (trial_ended)
        say("%s cannot run behind filters: it %s%s", name, end,
            refused != NULL ? "" : " before it listened");
    else if (refused != NULL)
        say("%s cannot run behind filters: it has accepted no client at %s in %ld s%s", name,
            refused->address, wait_seconds, *seen_ring != '\0' ? "; it may need io_uring" : "");
    else
        say("%s cannot run behind filters: it has not listened on a TCP port in %ld s%s", name,
            wait_seconds, datagrams ? ", only on UDP" : "");
}

int check_report(const char *name) {
    const struct seen *refused = NULL, *served = NULL;
    bool listens = false, datagrams = false, asks = false;
    for (size_t i = 0; i < seen_count; i++) {
        const struct seen *of = &seen[i];
        print_socket(of);
        listens = listens || of->gate != NULL;
        datagrams = datagrams || of->type == SOCK_DGRAM;
        if (of->gate != NULL && of->accepted == NULL)
            refused = of;
        if (of->accepted != NULL)
            served = of;
    }
    asks = seen_asked != -1 && !options;
    if (*seen_ring != '\0')
        printf("io_uring\n    %s called io_uring_setup; it fails behind filters\n", seen_ring);
    else
        printf("io_uring is not used\n");
    bool never_ran = WIFEXITED(server_status) && WEXITSTATUS(server_status) >= NOT_EXECUTABLE;
    if (!listens && never_ran)
        return WEXITSTATUS(server_status); /* a message says why */
    if (!listens || refused != NULL || trial_ended) {
        fflush(stdout);
        print_reason(name, refused, refused == NULL ? served : NULL, datagrams);
        return UNAVAILABLE;
    }
    if (asks)
        printf("    it called %s on its listening socket: use --options\n", call_name(seen_asked));
    printf("%s can run behind filters\n", name);
    return 0;
}
