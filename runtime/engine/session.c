/* session.c: a session's life: START, read points, actions, END.
 *
 * Called by io and worker models. State: the session's record. Makes no system call, and enters the
 * layer below nowhere but in a wait (wait.c). Must not know where bytes come from. */
#include "../channel/encodes.h"
#include "../channel/stages.h"
#include "../service/filters/returns.h"
#include "../service/proxied/proxied.h"
#include "engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

int nest__current_rule(void) {
    const struct nest__worker *worker = nest__worker();
    const struct nest__action *action = worker == NULL ? NULL : worker->action;
    return action == NULL ? NEST__ACT_NONE : action->rule;
}

nest_session *nest__current_session(void) {
    const struct nest__worker *worker = nest__worker();
    const struct nest__action *action = worker == NULL ? NULL : worker->action;
    return action == NULL ? NULL : action->session;
}

struct nest__action *nest__action_take(void) {
    struct nest__worker *worker = nest__worker();
    struct nest__action *action = worker->action;
    worker->action = NULL;
    return action;
}

void nest__action_put(struct nest__action *action) {
    nest__worker()->action = action;
}

/* Runs one action to its end, however often it waits; `tags`: of its rule, which has some. True: it
 * has taken unread input. */
static bool session_act(nest_session *s, struct nest__window *window, int rule, const uint8_t *p,
                        uint32_t n, const uint32_t *tags) {
    struct nest__action action; /* ends and copies are filled when they are asked for */
    action.session = s;
    action.window = window;
    action.rule = rule;
    action.message.p = p;
    action.message.n = n;
    action.message.tags = action.tags;
    action.parsed = false;
    action.copied = false;
    action.lost = false;
    action.took = 0;
    s->phase = NEST__ACTING;
    nest__worker()->action = &action;
    nest__on_act(s);
    if (rule >= 0) {
        memcpy(action.tags, tags, sizeof action.tags);
        nest__on_take(s, &nest__rules[rule], p, n);
    } else if (NEST__TIMERS > 0 && rule <= NEST__ACT_TIMER) {
        nest__on_timer(s, &nest__timers[NEST__ACT_TIMER - rule]);
    }
    if (NEST__PROCESSORS) {
        nest__processors_act(s, nest__vars(s), rule, &action.message);
    } else {
        nest__spec_act(s, nest__vars(s), rule, &action.message);
    }
    if (s->work != NULL) {
        nest__on_leave(s);
    }
    nest__worker()->action = NULL;
    s->phase = NEST__READING;
    s->flags &= (uint8_t)~NEST__CUT;
    s->clock = NEST__CLOCK_NONE;
    if (action.lost) {
        s->c0.state |= NEST__CHAN_GONE;
    }
    if (s->work != NULL) {
        nest__arena_clear(s->work);
    }
    nest__on_acted(s, action.took);
    return action.took > 0;
}

static unsigned session_wants(nest_session *s) {
    unsigned wants = s->phase == NEST__ENDED ? NEST__WANT_END : NEST__WANT_READ;
    if (nest__out_queued(s, &s->c0) > 0) {
        wants |= NEST__WANT_WRITE;
    }
    nest__settle(s);
    return wants;
}

static void session_drop_undeliverable(nest_session *s) {
    if ((s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0) {
        nest__out_drop(s);
    }
}

/* No action of it runs from here on. */
static unsigned session_ended(nest_session *s) {
    session_drop_undeliverable(s);
    nest__on_end(s);
    nest__count((enum nest_reason)s->reason, 1);
    nest__count(NEST_OPEN, UINT64_MAX); /* one less */
    s->phase = NEST__ENDED;
    if (s->work != NULL) {
        nest__on_drop(s->work);
    }
    return session_wants(s);
}

static unsigned session_end(nest_session *s, struct nest__window *window, enum nest_reason reason) {
    if (NEST__DECODES > 0 && reason == NEST_GONE && nest__stages_refused(&s->c0)) {
        reason = NEST_DECODE; /* the client is there, and END may tell it */
        s->c0.state &= (uint8_t)~NEST__CHAN_GONE;
        s->flags |= NEST__UNREAD;
    }
    if (NEST__ENCODES > 0 && reason == NEST_GONE && nest__encodes_failed(&s->c0)) {
        reason = NEST_ENCODE; /* the client is there, and gets no end that looks like one */
        s->c0.state = (s->c0.state & (uint8_t)~NEST__CHAN_GONE) | NEST__CHAN_CUT;
    }
    s->reason = (uint8_t)reason;
    if (window->n > 0 || (s->work != NULL && s->work->rest_n > 0) ||
        (NEST__DECODES > 0 && nest__stages_full(&s->c0))) {
        uint32_t left;
        const uint8_t *unread = nest__unread_bytes(s, window, &left);
        nest__on_read(s, unread, left);
        s->flags |= NEST__UNREAD;
    }
    window->n = 0;
    if (s->work != NULL) {
        s->work->rest_n = 0;
        s->work->matching = false;
    }
    if (reason == NEST_GONE) {
        s->c0.state |= NEST__CHAN_GONE;
    }
    session_drop_undeliverable(s);
    session_act(s, NULL, NEST__ACT_END, NULL, 0, NULL);
    return session_ended(s);
}

/* Keeps an unfinished match, so that no byte is looked at twice. */
static int session_keep_match(nest_session *s, const struct nest__match *match) {
    struct nest__work *work = nest__borrow(s);
    if (work == NULL || (work->apart && !nest__lent_long(s))) {
        return -ENOMEM;
    }
    if (!work->matching) {
        memcpy(&work->match, match, sizeof *match);
        work->matching = true;
        work->since = nest__clock();
        s->clock = NEST__CLOCK_NONE; /* output that waited before is none of this message's time */
    }
    return 0;
}

/* No rule is active that could ever go on. */
static bool session_stuck(const nest_session *s) {
    struct nest__active active;
    return !nest__spec_active(s->states, s->last, &active) &&
           (NEST__TIMERS == 0 || nest__spec_timer(s->states, s->last) < 0);
}

/* Takes one message from the unread bytes and runs its action; or ends the session. DECIDED: an
 * action has run. UNDECIDED: more bytes are needed. Else the session has ended. */
static enum nest__verdict session_message(nest_session *s, struct nest__window *window,
                                          struct nest__worker *worker, uint32_t *taken) {
    struct nest__match *match = &worker->match;
    bool eof = (s->c0.state & NEST__CHAN_EOF) != 0;
    uint32_t n;
    const uint8_t *p = nest__unread_bytes(s, window, &n);
    if (s->work != NULL && s->work->matching) {
        match = &s->work->match;
    } else {
        match->fed = 0;
        if (n == 0) {
            if (session_stuck(s)) {
                session_end(s, window, NEST_STUCK);
                return NEST__NO_MATCH;
            }
            if (!eof) {
                return NEST__UNDECIDED;
            }
        }
    }
    enum nest__verdict verdict =
        nest__match_feed(match, &worker->scratch, s->states, s->last, p, n, eof);
    if (verdict == NEST__UNDECIDED) {
        if (match->fed > 0 && session_keep_match(s, match) < 0) {
            session_end(s, window, NEST_GONE);
            return NEST__NO_MATCH;
        }
        return verdict;
    }
    if (verdict != NEST__DECIDED) {
        session_end(s, window,
                    verdict == NEST__OVERFLOWED ? NEST_OVERFLOW
                    : verdict == NEST__EXCEEDED ? NEST_LIMIT
                    : session_stuck(s)          ? NEST_STUCK
                    : n == 0                    ? NEST_EOF
                                                : NEST_INPUT);
        return verdict;
    }
    uint16_t rule = (uint16_t)match->run.best;
    uint64_t states = s->states;
    uint8_t last = s->last;
    *taken = match->run.best_n;
    if (s->work != NULL) {
        s->work->matching = false;
    }
    nest__consume(s, window, *taken);
    session_act(s, window, rule, p, *taken, match->run.tags);
    if (NEST__MESSAGES) { /* what the match left is dropped */
        nest__unread_bytes(s, window, &n);
        nest__consume(s, window, n);
    }
    if (s->states != states || s->last != last) {
        nest__on_states(s);
    }
    return verdict;
}

/* Why it goes no further, NEST_OPEN if it does: a wait that was cut short says so before all else,
 * as what the action said afterwards is about that. */
static enum nest_reason session_over(const nest_session *s) {
    if ((s->c0.state & NEST__CHAN_GONE) != 0) {
        return NEST_GONE;
    }
    if ((s->flags & NEST__EXPIRED) != 0) {
        return NEST_TIMEOUT;
    }
    if ((s->c0.state & NEST__CHAN_CUT) != 0) { /* drainTimeout is over; or a reply broke off */
        return (s->flags & NEST__STOPPING) != 0 ? NEST_SHUTDOWN : NEST_CLOSED;
    }
    if ((s->flags & NEST__CLOSING) != 0) {
        return NEST_CLOSED;
    }
    /* the server stops: a message that has begun may still be finished */
    return s->work != NULL && s->work->matching ? NEST_OPEN : NEST_SHUTDOWN;
}

/* Its message is answered. If the filter has died, the connection ends here. */
static unsigned session_return(nest_session *s, struct nest__window *window) {
    if (NEST__RETURNS && nest__filters_wait(s)) {
        return session_end(s, window, NEST_RETURNED);
    }
    s->flags |= NEST__UNREAD; /* it may have sent more, which nobody has seen */
    return session_end(s, window, NEST_CLOSED);
}

/* From a read point on: messages, until bytes or budget are used up or the session ends. */
static unsigned session_run(nest_session *s, struct nest__window *window) {
    uint64_t full = nest__config.output_buffer;
    uint64_t bytes = 0;
    if (full > NEST__VISIT_OUT) {
        full = NEST__VISIT_OUT;
    }
    for (unsigned messages = 0;; messages++) {
        uint32_t taken = 0;
        uint32_t unread;
        if ((s->flags & (NEST__CLOSING | NEST__STOPPING | NEST__EXPIRED)) != 0 ||
            (s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0) {
            enum nest_reason reason = session_over(s);
            if (reason != NEST_OPEN) {
                return session_end(s, window, reason);
            }
        }
        if (messages > 0) { /* else it would never go on */
            nest__unread_bytes(s, window, &unread);
            if (NEST__RETURNS && unread == 0) {
                return session_return(s, window);
            }
            if (unread > 0 && (messages >= NEST__VISIT_MESSAGES || bytes >= NEST__VISIT_IN ||
                               nest__out_queued(s, &s->c0) >= full || nest__on_yield(s))) {
                return session_stuck(s) ? session_end(s, window, NEST_STUCK)
                                        : session_wants(s) | NEST__WANT_AGAIN;
            }
        }
        if (session_message(s, window, nest__worker(), &taken) != NEST__DECIDED) {
            return session_wants(s);
        }
        bytes += taken;
    }
}

/* The pattern rules that are active are still these. */
static bool session_same_rules(const nest_session *s, uint64_t states, unsigned last) {
    struct nest__active before, after;
    nest__spec_active(states, last, &before);
    nest__spec_active(s->states, s->last, &after);
    return memcmp(&before, &after, sizeof before) == 0;
}

/* The message that has begun is looked at again, by the rules that are active now. */
static void session_rematch(nest_session *s) {
    s->work->match.fed = 0;
    s->work->matching = s->work->rest_n > 0;
}

static unsigned session_timer(nest_session *s, int timer) {
    struct nest__window none = {NULL, 0, false};
    uint64_t states = s->states;
    uint8_t last = s->last;
    uint32_t begun = nest__now();
    bool took = session_act(s, &none, NEST__ACT_TIMER - timer, NULL, 0, NULL);
    if (s->work != NULL && s->work->matching) {
        s->work->since += nest__clock() - begun; /* nothing was read meanwhile */
        if ((s->flags & NEST__CLOSING) == 0 && (took || !session_same_rules(s, states, last))) {
            session_rematch(s);
        }
    }
    if (s->states != states || s->last != last) {
        nest__on_states(s);
    }
    return session_run(s, &none);
}

/* The time that nest__deadline said may have come. */
static unsigned session_expired(nest_session *s) {
    struct nest__window none = {NULL, 0, false};
    if (nest__out_queued(s, &s->c0) > 0) {
        if (!nest__out_overdue(s)) {
            return session_wants(s);
        }
        s->c0.state |= NEST__CHAN_CUT;
        return session_end(s, &none, NEST_TIMEOUT);
    }
    if (s->clock == NEST__CLOCK_NONE || s->clock == NEST__CLOCK_WRITE || s->until.deadline == 0 ||
        !nest__reached(s->until.deadline, nest__now())) {
        return session_wants(s);
    }
    if (NEST__TIMERS > 0 && s->clock == NEST__CLOCK_TIMER) {
        return session_timer(s, nest__spec_timer(s->states, s->last));
    }
    return session_end(s, &none, NEST_TIMEOUT);
}

/* A session that was begun elsewhere goes on. */
static void session_restore(nest_session *s, const struct nest__restore *restore) {
    s->states = restore->states;
    s->last = restore->last;
    if (nest__spec_vars_size > 0) {
        memcpy(nest__vars(s), restore->vars, nest__spec_vars_size);
    }
}

/* A session's first action. */
static void session_start(nest_session *s) {
    if (nest__has_start) {
        session_act(s, NULL, NEST__ACT_START, NULL, 0, NULL);
    }
    if (s->states == (uint64_t)1 << NEST__START_STATE) {
        s->states |= (uint64_t)1 << NEST__DEFAULT_STATE;
        s->last = NEST__DEFAULT_STATE;
    }
}

/* The server takes no such client now. If the client is told, OVERLOAD runs in place of its
 * conversation; END does not, because START has not. */
static unsigned session_turn_away(nest_session *s, enum nest__admission admission) {
    s->reason = NEST_OVERLOAD;
    s->flags |= NEST__CLOSING;
    if (nest__has_overload && admission == NEST__TURNED_AWAY) {
        s->flags |= NEST__UNREAD; /* most clients have sent their request */
        session_act(s, NULL, NEST__ACT_OVERLOAD, NULL, 0, NULL);
    } else {
        s->c0.state |= NEST__CHAN_CUT;
    }
    return session_ended(s);
}

/* From the point on at which the client's address is known. */
static unsigned session_begin(nest_session *s, bool restored) {
    struct nest__window none = {NULL, 0, false};
    if (!restored) {
        int admission = nest__on_admit(s);
        if (admission != NEST__ADMITTED) {
            return session_turn_away(s, (enum nest__admission)admission);
        }
        session_start(s);
    }
    s->phase = NEST__READING;
    nest__on_states(s);
    return session_run(s, &none);
}

/* -- the header of a proxy, which comes before START */

/* It does not come: the session ends before START. `what`: what is wrong with it; NULL: nothing. */
static unsigned session_headless(nest_session *s, enum nest_reason reason, const char *what) {
    if (NEST__PROXIED && what != NULL) {
        nest__proxied_say(s, what);
    }
    nest__on_open(s);
    s->reason = (uint8_t)reason;
    s->flags |= NEST__CLOSING;
    if (reason == NEST_GONE) {
        s->c0.state |= NEST__CHAN_GONE;
    }
    return session_ended(s);
}

static unsigned session_header(nest_session *s, struct nest__window *window) {
    int verdict = NEST__PROXIED ? nest__proxied_take(s, window) : NEST__HEADED_WRONG;
    uint32_t n = window->n;
    window->n = 0;
    if (verdict == NEST__HEADED_MORE) {
        return session_wants(s);
    }
    if (verdict == NEST__HEADED_WRONG) {
        return session_headless(s, NEST_INPUT, "is malformed");
    }
    if (n > 0 && nest__rest_add(s, window->p, n) < 0) {
        return session_headless(s, NEST_GONE, NULL);
    }
    s->clock = NEST__CLOCK_NONE;
    nest__on_open(s);
    return session_begin(s, false);
}

static unsigned session_header_event(nest_session *s, enum nest__event event) {
    switch (event) {
    case NEST__EVENT_EOF: /* health checks of proxies send nothing */
        return session_headless(
            s, NEST_EOF,
            NEST__PROXIED && nest__proxied_begun(s) ? "ends before it is complete" : NULL);
    case NEST__EVENT_RESET:
        return session_headless(s, NEST_GONE, NULL);
    case NEST__EVENT_DRAIN:
    case NEST__EVENT_CUT:
        return session_headless(s, NEST_SHUTDOWN, NULL);
    case NEST__EVENT_EXPIRED:
        return s->until.deadline != 0 && nest__reached(s->until.deadline, nest__now())
                   ? session_headless(s, NEST_TIMEOUT, "has not arrived in time")
                   : session_wants(s);
    case NEST__EVENT_MAIL:
        break;
    }
    return session_wants(s);
}

unsigned nest__open(nest_session *s, const struct nest__arrival *arrival) {
    bool restored = arrival->restore != NULL;
    s->states = (uint64_t)1 << NEST__START_STATE;
    s->work = NULL;
    s->c0 = (struct nest__chan){
        .fd = arrival->fd, .kind = arrival->kind, .state = NEST__CHAN_MORE, .io = arrival->io};
    s->clock = NEST__CLOCK_NONE;
    s->channels = 0;
    s->last = NEST_NO_STATE;
    s->reason = NEST_OPEN;
    s->flags = 0;
    s->waiter = NULL;
    if (nest__spec_vars_size > 0) {
        memset(nest__vars(s), 0, nest__spec_vars_size);
        nest__spec_vars_init(s, nest__vars(s));
    }
    nest__count(NEST_OPEN, 1);
    if (restored) {
        session_restore(s, arrival->restore);
    }
    if (arrival->n > 0 && nest__rest_add(s, arrival->bytes, arrival->n) < 0) {
        s->c0.state |= NEST__CHAN_GONE; /* what is missing cannot be had again */
    }
    if (NEST__PROXIED && nest__proxied_open(s, arrival) < 0) {
        return session_headless(s, NEST_GONE, NULL);
    }
    if (NEST__PROXIED && arrival->proxied) {
        s->phase = NEST__HEADED;
        return session_wants(s);
    }
    nest__on_open(s);
    return session_begin(s, restored);
}

unsigned nest__pump(nest_session *s, struct nest__chan *chan, struct nest__window *window) {
    (void)chan;
    if (s->phase == NEST__READING) {
        if (window->n > 0) {
            nest__on_input(s, window->n);
            nest__clock_bytes(s);
        }
        if (!window->lent && window->n > 0) { /* received behind the rest */
            s->work->rest_n += window->n;
            window->n = 0;
        } else if (window->lent && s->work != NULL && s->work->rest_n > 0) {
            if (nest__own(s, window) < 0) { /* in_space had no memory, and there is none still */
                return session_end(s, window, NEST_GONE);
            }
        }
        return session_run(s, window);
    }
    if (NEST__PROXIED && s->phase == NEST__HEADED) {
        return window->n > 0 ? session_header(s, window) : session_wants(s);
    }
    return session_wants(s);
}

unsigned nest__event(nest_session *s, enum nest__event event) {
    struct nest__window none = {NULL, 0, false};
    switch (event) {
    case NEST__EVENT_EOF:
        s->c0.state |= NEST__CHAN_EOF;
        break;
    case NEST__EVENT_RESET:
        s->c0.state |= NEST__CHAN_GONE;
        break;
    case NEST__EVENT_DRAIN:
        s->flags |= NEST__STOPPING;
        break;
    case NEST__EVENT_CUT:
        s->flags |= NEST__STOPPING;
        s->c0.state |= NEST__CHAN_CUT;
        break;
    case NEST__EVENT_MAIL:
    case NEST__EVENT_EXPIRED:
        break;
    }
    if (NEST__PROXIED && s->phase == NEST__HEADED) {
        return session_header_event(s, event);
    }
    if (s->phase == NEST__READING) {
        return event == NEST__EVENT_EXPIRED ? session_expired(s) : session_run(s, &none);
    }
    if (s->phase == NEST__ENDED) {
        if (event == NEST__EVENT_EXPIRED && nest__out_overdue(s)) {
            s->c0.state |= NEST__CHAN_CUT;
        }
        session_drop_undeliverable(s);
        return session_wants(s);
    }
    return 0;
}

bool nest__unread(const nest_session *s) {
    if ((s->c0.state & (NEST__CHAN_EOF | NEST__CHAN_GONE)) != 0 || nest__goes_back(s)) {
        return false;
    }
    /* Refused input is seldom all that was sent. An action whose read has expired expected more. */
    return (s->flags & (NEST__UNREAD | NEST__EXPIRED)) != 0 ||
           (s->c0.state & NEST__CHAN_MORE) != 0 || s->reason == NEST_INPUT ||
           s->reason == NEST_OVERFLOW || s->reason == NEST_STUCK || s->reason == NEST_LIMIT;
}
