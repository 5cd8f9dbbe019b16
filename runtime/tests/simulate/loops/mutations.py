"""Small bugs between loops, each of which the simulation of several loops must find; as ../mutations.py."""

BUGS = [
    # -- the mailbox
    ("lost-when-full", "workers/mailbox_rings.c",
     "        return -EAGAIN;\n    }\n    rings_put(", "        return 0;\n    }\n    rings_put("),
    ("full-too-early", "workers/mailbox_rings.c", "RINGS_BYTES - used < rings_length(n)) {",
     "RINGS_BYTES / 2 < used + rings_length(n)) {"),
    ("fuller-than-full", "workers/mailbox_rings.c", "RINGS_BYTES - used < rings_length(n)) {",
     "RINGS_BYTES - used < rings_length(n) / 2) {"),
    ("told-before-it-is-there", "workers/mailbox_rings.c",
     "    rings_put(out, tail, &header, sizeof header);\n"
     "    rings_put(out, tail + (uint32_t)sizeof header, bytes, n);\n"
     "    rings.tails[consumer] = tail + rings_length(n);\n"
     "    atomic_store(&out->tail, rings.tails[consumer]);\n    rings_wake(consumer, false);\n",
     "    rings.tails[consumer] = tail + rings_length(n);\n"
     "    atomic_store(&out->tail, rings.tails[consumer]);\n    rings_wake(consumer, false);\n"
     "    rings_put(out, tail, &header, sizeof header);\n"
     "    rings_put(out, tail + (uint32_t)sizeof header, bytes, n);\n"),
    ("nobody-is-woken", "workers/mailbox_rings.c",
     "    atomic_store(&out->tail, rings.tails[consumer]);\n    rings_wake(consumer, false);\n",
     "    atomic_store(&out->tail, rings.tails[consumer]);\n"),
    ("woken-too-early", "workers/mailbox_rings.c",
     "    atomic_store(&out->tail, rings.tails[consumer]);\n    rings_wake(consumer, false);\n",
     "    rings_wake(consumer, false);\n    atomic_store(&out->tail, rings.tails[consumer]);\n"),
    ("sleeps-without-a-look", "workers/mailbox_rings.c",
     "        if (rings_tail(producer) != rings.heads[producer]) {", "        if (false) {"),
    ("two-change-places", "workers/mailbox_rings.c",
     "    rings_put(out, tail, &header, sizeof header);\n",
     "    static uint32_t places;\n"
     "    if (places++ % 50 == 49 && used >= sizeof header) { /* before the one before it */\n"
     "        static uint8_t before[RINGS_BYTES];\n"
     "        uint32_t from = tail - used;\n"
     "        struct rings_header first;\n"
     "        memcpy(&first, out->bytes + from % RINGS_BYTES, sizeof first);\n"
     "        if (rings_length(first.n) == used && (from % RINGS_BYTES) + used < RINGS_BYTES / 2) {\n"
     "            memcpy(before, out->bytes + from % RINGS_BYTES, used);\n"
     "            rings_put(out, from, &header, sizeof header);\n"
     "            rings_put(out, from + (uint32_t)sizeof header, bytes, n);\n"
     "            rings_put(out, from + rings_length(n), before, used);\n"
     "            rings.tails[consumer] = tail + rings_length(n);\n"
     "            atomic_store(&out->tail, rings.tails[consumer]);\n"
     "            rings_wake(consumer, false);\n"
     "            return 0;\n"
     "        }\n"
     "    }\n"
     "    rings_put(out, tail, &header, sizeof header);\n"),
    ("the-next-sender-begins-before", "workers/mailbox_rings.c",
     "rings_align(tail - head <= RINGS_BYTES ? tail : head);", "rings_align(head);"),
    ("mail-of-the-process-before", "workers/mailbox_rings.c",
     "            if (serial == nest__serial &&\n", "            if ("),
    ("a-slot-of-a-newer-generation", "service/mail/loop.c",
     "    return s->self.gen == ref.gen && (s->phase", "    return (s->phase"),
    ("only-the-next-message", "service/mail/loop.c",
     "    while (most-- > 0 && nest__mailbox_take(&mail_taken)) {",
     "    if (most-- > 0 && nest__mailbox_take(&mail_taken)) {"),
    # -- groups in several loops
    ("joined-before-it-was-sent", "service/groups/loop.c",
     "    uint64_t sent = nest__clock_ns();\n    groups_hand_out(key, sent, text->p, text->n, except);\n",
     "    groups_hand_out(key, nest__clock_ns(), text->p, text->n, except);\n"
     "    uint64_t sent = UINT64_MAX;\n"),
    ("members-of-the-dead", "service/groups/published.c",
     "    atomic_store(&published_of(worker)->serial, 0);\n", "    (void)worker;\n"),
    ("two-loops-at-most", "service/groups/published.c",
     "        result = error != 0 ? error : result;\n",
     "        result = error != 0 ? error : result;\n        break;\n"),
    ("full-and-not-told", "service/groups/published.c",
     "        result = error != 0 ? error : result;\n", "        (void)error;\n"),
    ("one-member-too-few", "service/groups/loop.c",
     "        atomic_store(&group->entry->members, count);\n",
     "        atomic_store(&group->entry->members, count > 0 ? count - 1 : 0);\n"),
    # -- ids
    ("alive-after-its-death", "service/alive/alive.c",
     "        if (atomic_load_explicit(&ids[slot], memory_order_relaxed) != 0) {", "        if (false) {"),
    ("alive-after-its-end", "service/alive/alive.c",
     "void nest__alive_end(nest_session *s) {\n    alive_note(s, 0);",
     "void nest__alive_end(nest_session *s) {\n    (void)s;"),
    ("any-generation-is-alive", "service/alive/alive.c",
     "           atomic_load(&alive_ids(worker)[to->slot % alive_slots()]) == id;",
     "           atomic_load(&alive_ids(worker)[to->slot % alive_slots()]) % 7 == id % 7;"),
    # -- %shared
    ("dead-and-not-told", "service/region/lock.c",
     "            atomic_compare_exchange_strong(&lock->state, &sound, LOCK_DIRTY);\n", "            (void)sound;\n"),
    ("nobody-gives-up", "service/region/lock.c",
     "        atomic_store(&lock->state, LOCK_GIVEN_UP);\n    }\n}\n\nunsigned", "    }\n}\n\nunsigned"),
    ("holder-stays-known", "service/region/lock.c",
     "    atomic_store_explicit(&lock->holder, 0, memory_order_relaxed);\n", ""),
    ("old-values-stay", "service/region/region.c", "    nest__spec_shared_begin(variables);\n",
     "    static bool begun;\n    if (!begun) {\n        nest__spec_shared_begin(variables);\n    }\n    begun = true;\n"),
]
MUTATIONS = [(*bug, "loops") for bug in BUGS]
