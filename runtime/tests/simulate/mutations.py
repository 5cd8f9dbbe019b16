"""Small bugs, each of which the simulation must find.

(name, file beneath runtime/, its text, the text in its place[, specification]). A text that is no
longer there exactly once is a failure: then the bug has to be planted elsewhere.
"""

MUTATIONS = [
    # -- a session's life
    ("mark-left", "engine/session.c", "    s->flags &= (uint8_t)~NEST__CUT;\n", ""),
    ("counted-twice", "engine/session.c", "&nest__ended[reason], 1,", "&nest__ended[reason], 2,"),
    ("rest-left-at-end", "engine/session.c", "        s->work->rest_n = 0;\n", ""),
    ("timeout-forgotten", "engine/session.c", "        return NEST_TIMEOUT;\n", "        return NEST_GONE;\n"),
    ("stop-cuts-a-message", "engine/session.c",
     "return s->work != NULL && s->work->matching ? NEST_OPEN : NEST_SHUTDOWN;",
     "return NEST_SHUTDOWN;"),
    ("stop-after-the-next", "engine/session.c",
     "        if ((s->flags & (NEST__CLOSING | NEST__STOPPING | NEST__EXPIRED)) != 0 ||",
     "        if ((s->flags & (NEST__CLOSING | NEST__EXPIRED)) != 0 ||"),
    ("reset-unheard", "engine/session.c",
     "    case NEST__EVENT_RESET:\n        s->c0.state |= NEST__CHAN_GONE;\n",
     "    case NEST__EVENT_RESET:\n"),
    ("kept-too-long", "engine/session.c", "        nest__kept_free(s->work);\n", ""),
    ("stuck-with-timer", "engine/session.c",
     "        if (count == 0 && (NEST__TIMERS == 0 || nest__spec_timer(s->states, s->last) < 0)) {",
     "        if (count == 0) {"),
    ("timer-in-message", "engine/session.c",
     "        s->work->since += nest__now() - begun; /* nothing was read meanwhile */\n", ""),
    # -- memory of a session
    ("message-lost", "engine/work.c", "        memcpy(work->rest, action->p, message);\n", ""),
    ("rest-from-its-front", "engine/work.c", "        work->rest_at = message;\n        work->rest_n",
     "        work->rest_at = 0;\n        work->rest_n"),
    ("message-elsewhere", "engine/work.c", "    if (message > 0) {\n        action->p = work->rest;\n    }\n",
     ""),
    ("settled-early", "engine/work.c", "        work->matching || work->kept != NULL) {",
     "        work->matching) {"),
    ("never-settled", "engine/work.c", "    carrier->spares++;\n}", "    carrier->spares += 2;\n}"),
    ("keep-counts-wrong", "engine/work.c", "    work->kept = NULL;\n    work->kept_n = 0;\n",
     "    work->kept = NULL;\n"),
    # -- output
    ("moved-without-its-start", "engine/output.c",
     "        memmove(work->out, work->out + work->out_at, work->out_n);\n        work->out_at = 0;\n",
     "        memmove(work->out, work->out + work->out_at, work->out_n);\n"),
    ("message-moved", "engine/output.c",
     "out_source(action, message, items[i].p) + done, (size_t)room);",
     "(const uint8_t *)items[i].p + done, (size_t)room);"),
    ("batch-not-renewed", "engine/output.c", "        work->out_since = nest__now();\n", ""),
    ("queue-over-limit", "engine/output.c",
     "    size_t room = work->out_n < limit ? limit - work->out_n : 0;",
     "    size_t room = work->out_n <= limit ? limit + 1 - work->out_n : 0;"),
    # -- time
    ("idle-in-message", "engine/clock.c", "    } else if (!matching) {", "    } else {"),
    ("read-limit-renewed", "engine/clock.c",
     "nest__after(s->work->since, nest__config.read_timeout);",
     "nest__after(now, nest__config.read_timeout);"),
    ("pause-counts", "engine/clock.c", "        s->work->since += nest__now() - s->work->paused;\n", ""),
    ("begins-late", "engine/session.c",
     "        s->clock = NEST__CLOCK_NONE; /* output that waited", "        ; /* output that waited"),
    ("idle-after-bytes", "engine/session.c", "            nest__clock_bytes(s);\n", ""),
    # -- waits
    ("action-not-restored", "engine/wait.c",
     "    nest__carrier()->action = action; /* other", "    (void)action; /* other"),
    ("short-pause", "engine/wait.c", "        ms = until - now < ms ? ms - (until - now) : 0;",
     "        ms = 0;"),
    ("unsent-forever", "engine/wait.c", "            return wait_unsent(s);\n        }\n    }\n}\n\nint64_t",
     "            continue;\n        }\n    }\n}\n\nint64_t"),
    ("failure-unmarked", "engine/wait.c", "    s->flags |= NEST__CUT;\n", ""),
    # -- input
    ("line-too-long", "engine/input.c", "return line - cr > most ?", "return line > most + 2 ?"),
    ("read-without-end", "engine/input.c", "        text[n] = '\\0';\n", ""),
    ("read-renewed", "engine/input.c", "    if (end != NULL && *end == 0 && work->rest_n > 0",
     "    if (end != NULL && work->rest_n > 0"),
    ("line-looked-at-once", "engine/input.c", "        looked = n;\n", "        looked = n + 1;\n"),
    ("skip-too-many", "engine/input.c",
     "        unread = unread < n - done ? unread : (uint32_t)(n - done);\n        nest__input_taken",
     "        nest__input_taken"),
    ("rest-not-dropped", "engine/session.c",
     "        nest__unread_bytes(s, window, &n);\n        nest__consume(s, window, n);\n", "",
     "message"),
    # -- the match
    ("first-of-equals", "engine/matcher.c", "match->fed = to;", "match->fed = to - (to > 3);"),
    ("overflow-late", "engine/matcher.c", "    if (match->fed >= most) {", "    if (match->fed > most) {"),
    ("part-start", "engine/directives.c", "uint32_t start = n == 1 ? 0 : action->ends[n - 2];",
     "uint32_t start = n <= 2 ? 0 : action->ends[n - 2];"),
    # -- the wheel
    ("wheel-list", "io/wheel.c", "        nest__slot_at(s->wheel_next)->wheel_prev = s->self.slot;\n", ""),
    ("wheel-later", "io/wheel.c", "old != 0 && (int32_t)(deadline - old) >= 0)",
     "old != 0 && (int32_t)(deadline - old) <= 0)"),
    ("wheel-not-unlinked", "io/wheel.c",
     "    s->deadline = 0;\n    if (s->wheel_prev != NEST__NO_SLOT) {\n        wheel_unlink(s);\n    }\n",
     "    s->deadline = 0;\n"),
    ("wheel-no-wrap", "io/wheel.c", "        wheel.first[level][digit] = after;\n        if (after == NEST__NO_SLOT) {",
     "        wheel.first[level][digit] = after;\n        if (after != NEST__NO_SLOT) {"),
    # -- the loop
    ("same-generation", "crew/loops.c", "    s->self.gen += used;\n", ""),
    ("waiter-left", "crew/loops.c", "    s->flags &= (uint8_t)~NEST__WAITING;\n", ""),
    ("slot-count", "crew/loops.c", "    loops_free = s->self.slot;\n    loops_taken--;\n",
     "    loops_free = s->self.slot;\n"),
]

# a handful that covers the parts, for every check
FEW = {"mark-left", "stop-cuts-a-message", "message-elsewhere", "read-limit-renewed",
       "action-not-restored", "wheel-later"}
