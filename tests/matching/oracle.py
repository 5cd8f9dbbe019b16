"""What a conversation answers, and after which byte: by libpcre2 and a second reading of section 3
of docs/language.md.

Let s be the first i > 0 bytes of a message, and the rule live before byte i. A backtracking
matcher tries the paths of a pattern in the order in which the thread list holds them; with NOTEMPTY
it passes over a path that matches nothing.
- *accepts at i*: the plain match of s takes all of s. A preferred path that matched a shorter text
  would have cut this one off; and a thread at Match at i is cut off by no such path.
- *live at i*: the match with PARTIAL_HARD is partial: it ends at the first path that either matches
  or wants byte i+1, and a match cuts off all that want more behind it.
- *parts*: the groups of the plain match of the bytes that were taken.

Must not know: how a server is run.
"""

CLOSED = b'<closed>'


def _decision(rules, active, unread, buffer):
    """(rule, length) or (reason, 0), and how many bytes tell; more than there are: end of file."""
    if not active:
        return 'stuck', 0, 0
    live, best, seen = active, None, 0
    while live and seen < min(len(unread), buffer):
        seen += 1
        still, accepted = [], False
        for number in live:
            if not accepted and rules.regexes[number].accepts(unread, seen):
                best, accepted = (number, seen), True
            if rules.regexes[number].live(unread, seen):
                still.append(number)
        live = still
    if live and seen == buffer:
        return 'overflow', 0, seen
    told = len(unread) + 1 if live else seen
    if best is None:
        return 'input' if unread else 'eof', 0, told
    return *best, told


def answers(rules, payload, buffer):
    """A list of (how many bytes of the payload must have come, what is answered then), to the end
    of the conversation. The end of file counts as one byte more. Raises GaveUp."""
    out, at, turn, latest = [], 0, 'P', 0
    while True:
        unread = payload[at:]
        what, length, told = _decision(rules, rules.active(turn), unread, buffer)
        latest = max(latest, at + told)
        if length == 0:
            out.append((latest, b'END %s\n' % what.encode() + CLOSED))
            return out
        rule, taken = rules.rules[what], unread[:length]
        parts = rules.regexes[what].groups(taken, len(rule.elements))
        out.append((latest, rule.answer(what, taken, parts)))
        at += length
        turn = rule.next
