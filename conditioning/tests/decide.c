/* Feeds standard input to a generated automaton, in pieces of every size, and prints the decision:
 * `whole LENGTH`, `REASON`, or `more`, followed by what the end of the client's input makes of it.
 */
#include <stdio.h>
#include <string.h>
#include "protocol.h"

enum { MOST = 1 << 16 };

static void decide(const char *bytes, size_t n, size_t piece, char *said, size_t room) {
    struct ccf_frame frame = {.fed = 0};
    enum ccf_need need = CCF_MORE;
    for (size_t have = 0; need == CCF_MORE && have < n;) {
        have = have + piece < n ? have + piece : n;
        need = ccf_auto_feed(&ccf_protocol.automaton, &frame, bytes, have);
    }
    if (need == CCF_WHOLE)
        snprintf(said, room, "whole %zu", frame.fed);
    else if (need == CCF_BAD)
        snprintf(said, room, "%s", frame.reason);
    else if (ccf_auto_end(&frame))
        snprintf(said, room, "more, then whole %zu", frame.fed);
    else
        snprintf(said, room, "more, then aborted");
}

int main(void) {
    static char bytes[MOST];
    char first[80], said[80];
    size_t n = fread(bytes, 1, sizeof bytes, stdin);
    /* Where a message ends with what is there, the size of the pieces matters. */
    size_t pieces = ccf_protocol.automaton.at_once ? 1 : n;
    decide(bytes, n, n > 0 ? n : 1, first, sizeof first);
    for (size_t piece = 1; piece < pieces; piece++) {
        decide(bytes, n, piece, said, sizeof said);
        if (strcmp(first, said) != 0) {
            printf("%s, but in pieces of %zu: %s\n", first, piece, said);
            return 1;
        }
    }
    printf("%s\n", first);
    return 0;
}
