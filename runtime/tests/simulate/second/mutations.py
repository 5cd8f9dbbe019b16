"""Small bugs that the simulation of second connections must find; as in ../mutations.py."""

_FOUND = [
    # -- $relay
    ("relay-ends-early", "engine/relay.c", "relay_ended(from) && queue->n == 0 && !to->shut", "relay_ended(from) && !to->shut"),
    ("relay-end-kept", "engine/relay.c", "queued > 0 && (last || behind > 0 || queued >= limit)",
     "queued > 0 && (behind > 0 || queued >= limit)"),
    ("relay-twice", "engine/relay.c", "        relay_taken(s, from, some);\n", ""),
    ("relay-without-limit", "engine/relay.c", "room < NEST__VISIT_IN ? (uint32_t)room : NEST__VISIT_IN;",
     "NEST__VISIT_IN;"),
    ("relay-whole-though-reset", "engine/relay.c", "        relay_break(s, sides);\n", ""),
    ("relay-minds-the-end", "engine/relay.c", "    s->c0.state &= (uint8_t)~NEST__CHAN_MINDS; /* the end of a side is handed on */\n", ""),
    ("relay-impatient", "engine/relay.c", "RELAY_SIDES, nest__second_until(idle)) < 0",
     "RELAY_SIDES, nest__second_until(idle / 2)) < 0"),
    ("relay-reads-too-late", "engine/relay.c", "onto < limit && !other->shut", "onto == 0 && queued == 0 && !other->shut"),
    # -- channels
    ("lost-and-queued", "engine/channels.c", "    chan->state |= state;\n    nest__queue_drop(&out->queue);\n",
     "    chan->state |= state;\n"),
    ("other-side-ends-the-session", "engine/channels.c",
     "    if (result != -ECONNRESET || (s->c0.state & NEST__CHAN_GONE) != 0) {",
     "    if (result < 0) {"),
    ("input-leaks", "engine/channels.c", "    free(further->in);\n", ""),
    ("client-unread-meanwhile", "engine/channels.c",
     "        uint32_t due = nest__out_deadline(s);\n        wait.deadline", "        uint32_t due = 0;\n        wait.deadline"),
    ("drain-for-ever", "engine/channels.c", "            nest__chan_lost(s, &further->chan, NEST__CHAN_CUT);\n"
     "            return channels_fail(ETIMEDOUT);\n        }\n    }\n}\n\n/* -- what directives",
     "            return channels_fail(ETIMEDOUT);\n        }\n    }\n}\n\n/* -- what directives"),
    ("other-side-unread-meanwhile", "engine/second.c",
     "due = nest__earlier(due, nest__output_deadline(&further->out));", "due = nest__earlier(due, 0);"),
    ("handle-of-a-closed-one", "engine/second.c",
     "further != NULL && nest__second_handle(further) == handle ? further : NULL", "further"),
    ("end-before-the-rest", "engine/second.c", "further == NULL || nest__channel_drain(s, further, 0) < 0", "further == NULL"),
    ("end-and-more", "engine/second.c", "    further->ended = true;\n", ""),
    ("read-as-it-was-cut", "engine/bytes.c", "        further->in[further->in_at] = further->held;\n", ""),
    ("read-begins-again", "engine/bytes.c", "                              .deadline = nest__second_read_until(further)};\n"
     "    if (nest__channel_drain(s, further, 0) < 0) {\n        return -1;\n    }\n",
     "                              .deadline = 0};\n    if (nest__channel_drain(s, further, 0) < 0) {\n"
     "        return -1;\n    }\n    wait.deadline = nest__second_read_until(further);\n"),
    ("any-forgets-bytes", "engine/any.c", "    further->in_n += member->got > 0 ? (uint32_t)member->got : 0;\n",
     "    further->in_n += member->got > 1 ? (uint32_t)member->got : 0;\n"),
    # -- the loop
    ("cut-at-the-end", "loop/channels.c", "nest__chan_end(s, &further->chan, nest__loop.cut);",
     "nest__chan_end(s, &further->chan, true);"),
    ("client-unwatched", "loop/channels.c", "queued ? NEST__AWAIT_OUTPUT : NEST__AWAIT_ERRORS)",
     "queued ? NEST__AWAIT_OUTPUT : NEST__AWAIT_NOTHING)"),
    ("overdue-at-once", "loop/channels.c", "if (!nest__poller_pending(s, &further->chan) && nest__chan_overdue(s, &further->chan)) {",
     "if (nest__chan_overdue(s, &further->chan) || true) {"),
    ("delivered-and-open", "loop/channels.c", "        (void)nest__chan_bye(chan);\n        channels_close(s, further);\n",
     "        (void)nest__poller_await(s, chan, NEST__AWAIT_NOTHING);\n"),
    ("many-without-the-client", "loop/many.c", "return first || nest__channels_first(s) == 0;", "return first || true;"),
    ("many-without-the-end", "loop/many.c", "        member->chan->state |= NEST__CHAN_EOF;\n    }\n    return many_over(member, (int32_t)n);",
     "    }\n    return many_over(member, (int32_t)n);"),
    ("many-one-way", "loop/many.c", ": queued && member->room > 0 ? both", ": queued && member->room > 0 ? NEST__AWAIT_OUTPUT"),
    ("many-drained-too-late", "loop/many.c", "<= member->mark &&", "< member->mark &&"),
    # -- $dial, $listen
    ("dial-goes-on", "service/dial/dial.c", "errno != ETIMEDOUT || nest__fails(dial->s, nest__acting(dial->s)) ||",
     "errno != ETIMEDOUT ||"),
    ("dial-slower", "service/dial/dial.c", "DIAL_NEXT_MS = 250,", "DIAL_NEXT_MS = 251,"),
    ("attempts-left", "service/dial/dial.c", "    while (dial->attempts_n > 0) {", "    while (dial->attempts_n > 1) {"),
    ("stranger", "service/dial/listen.c", "memcmp(client, other, sizeof client) != 0", "false"),
]
MUTATIONS = [(*bug, "second") for bug in _FOUND]
