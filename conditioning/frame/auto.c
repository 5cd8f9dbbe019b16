/* A framer that follows an automaton. ccfauto.h has the interface.
 *
 * A message ends where the automaton last could end one before nothing could follow. So `end` of a
 * frame is the length of the longest message so far, 0 if there is none, `total` the number of
 * bytes that were followed, and `phase` the state. */
#include "ccfauto.h"

enum { DEAD, DONE };

/* The request ends at `end`, which may be before the first byte of the buffer. */
static enum ccf_need ended(struct ccf_frame *frame, size_t followed) {
    uint64_t behind = frame->total - frame->end;
    frame->fed = followed > behind ? followed - (size_t)behind : 0;
    return CCF_WHOLE;
}

static enum ccf_need refuse(struct ccf_frame *frame, const char *reason) {
    frame->reason = reason;
    return CCF_BAD;
}

enum ccf_need ccf_auto_feed(const struct ccf_automaton *automaton, struct ccf_frame *frame,
                            const char *bytes, size_t n) {
    unsigned state = frame->total > 0 ? (unsigned)frame->phase : automaton->start;
    for (size_t at = frame->fed; at < n; at++) {
        unsigned class = automaton->class_of[(unsigned char)bytes[at]];
        state = automaton->next[(size_t)state * automaton->classes + class];
        frame->total++;
        if (state != DEAD && state < automaton->silent)
            frame->end = frame->total;
        if (state <= DONE) {
            if (frame->end == 0)
                return refuse(frame, "malformed");
            return ended(frame, at + 1);
        }
        if (frame->total >= (uint64_t)automaton->most)
            return refuse(frame, "oversized");
    }
    frame->phase = (int)state;
    frame->fed = n;
    frame->body = true;
    return automaton->at_once && frame->end > 0 ? ended(frame, n) : CCF_MORE;
}

bool ccf_auto_end(struct ccf_frame *frame) {
    if (frame->end == 0)
        return false;
    ended(frame, frame->fed);
    return true;
}

bool ccf_auto_matches(const struct ccf_automaton *automaton, const char *bytes, size_t n) {
    struct ccf_frame frame = {.fed = 0};
    enum ccf_need need = ccf_auto_feed(automaton, &frame, bytes, n);
    return need != CCF_BAD && frame.end == n;
}
