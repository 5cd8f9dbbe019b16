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

from ways import START_TURN

CLOSED = b'<closed>'


def _look(rules, active, unread, buffer):
    """(rule, length) of the best acceptance or None, whether a rule is live and none has decided,
    after how many bytes."""
    live, best, seen = active, None, 0
    while live and seen < min(len(unread), buffer):
        seen += 1
        still, accepted, decided = [], False, False
        for number in live:
            early = rules.rules[number].early
            if (early or not accepted) and rules.regexes[number].accepts(unread, seen):
                decided |= early
                if not accepted:
                    best, accepted = (number, seen), True
            if rules.regexes[number].live(unread, seen):
                still.append(number)
        live = [] if decided else still
    return best, bool(live), seen


def _answer(rules, number, taken):
    rule = rules.rules[number]
    return rule.answer(number, taken, rules.regexes[number].groups(taken, len(rule.elements)))


def _end(reason):
    return b'END %s\n' % reason.encode() + CLOSED


def answers(rules, payload, buffer):
    """With `framing stream`, a list of (how many bytes of the payload must have come, what is
    answered then, how many bytes it took to tell, where they begin), to the end of the
    conversation. The end of file counts as one byte more. Raises GaveUp."""
    out, at, turn, latest = [], 0, START_TURN, 0
    while True:
        unread, active = payload[at:], rules.active(turn)
        best, live, seen = _look(rules, active, unread, buffer)
        overflow = live and seen == buffer
        # Beyond all bytes: the end of file decides.
        latest = max(latest, at + seen + (live and not overflow))
        if not active or overflow or best is None:
            reason = ('stuck' if not active else 'overflow' if overflow
                      else 'input' if unread else 'eof')
            out.append((latest, _end(reason), seen, at))
            return out
        number, length = best
        out.append((latest, _answer(rules, number, unread[:length]), seen, at))
        at += length
        turn = rules.rules[number].next


def messages(rules, pieces, buffer):
    """With `framing message`, what is answered to the choice of the rules, to each piece and to the
    end of file. Raises GaveUp."""
    out, turn, unread, ended = [b''], START_TURN, b'', False
    for piece in [*pieces, None]:
        if not ended and not rules.active(turn):
            out[-1] += _end('stuck')
            ended = True
        out.append(b'')
        if ended:
            continue
        unread += piece or b''
        best, live, seen = _look(rules, rules.active(turn), unread, buffer)
        if best is not None:
            out[-1] += _answer(rules, best[0], unread[:best[1]])
            turn, unread = rules.rules[best[0]].next, b''   # what the match leaves is dropped
        elif not live or seen == buffer or piece is None:
            ended = True
            out[-1] += _end('overflow' if live and seen == buffer else 'input' if unread else 'eof')
    return out
