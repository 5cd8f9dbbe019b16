"""Decides whether a history of concurrent operations on one object is linearizable: whether each can have
happened at one moment between its call and its answer (the search of Wing and Gong, with Lowe's memory of
what has been tried). Linearizability is local: check each object by itself.

Must not know: what the objects are, and how they are asked.
"""

FOREVER = float('inf')
LOOKS = 400_000     # configurations that are tried


class Undecided(Exception):
    """The search takes too long."""


class Call:
    """An operation: when it was called and answered, what it was and what the answer was. One without an
    answer (`end` is FOREVER) may have happened at any moment after its call, or never."""

    def __init__(self, begin, what, end=FOREVER, answer=None):
        self.begin, self.end, self.what, self.answer = begin, end, what, answer

    def __repr__(self):
        return f'{self.what} -> {self.answer}'


def explained(calls, state, step):
    """Whether the calls are linearizable from this state; None, or the calls of which none can come next in
    the longest order that was found. step(state, call): the state after it, or None if its answer is
    impossible there. States are hashable."""
    calls = sorted(calls, key=lambda call: call.begin)
    wanted = sum(1 << i for i, call in enumerate(calls) if call.end != FOREVER)
    seen, best, stuck = set(), -1, calls
    stack = [(0, 0, state)]
    while stack:
        done, low, state = stack.pop()
        if done & wanted == wanted:
            return None
        if (done, state) in seen:
            continue
        if len(seen) >= LOOKS:
            raise Undecided(f'{len(calls)} calls')
        seen.add((done, state))
        while done >> low & 1:
            low += 1
        until, candidates = FOREVER, []
        for at in range(low, len(calls)):
            if calls[at].begin > until:
                break
            if not done >> at & 1:
                candidates.append(at)
                until = min(until, calls[at].end)
        candidates = [at for at in candidates if calls[at].begin <= until]
        count = (done & wanted).bit_count()
        if count > best:
            best, stuck = count, [calls[at] for at in candidates]
        # What is tried first is pushed last: calls with answers, in the order of these.
        for at in sorted(candidates, key=lambda at: calls[at].end, reverse=True):
            after = step(state, calls[at])
            if after is not None:
                stack.append((done | 1 << at, low, after))
    return stuck


def in_order(sent, heard, whole):
    """What is wrong with the messages of one sender at one receiver; None: nothing. `sent`: their names in
    the order in which they were sent; `heard`: those that came. `whole`: none between two that came may be
    missing."""
    place = {message: at for at, message in enumerate(sent)}
    if len(place) != len(sent):
        return 'the test sent a message twice'
    strange = [message for message in heard if message not in place]
    if strange:
        return f'{strange[0]!r} was never sent'
    places = [place[message] for message in heard]
    for before, after in zip(places, places[1:]):
        if after <= before:
            return f'{sent[after]!r} came after {sent[before]!r}'
        if whole and after != before + 1:
            return f'{sent[before + 1]!r} is missing'
    return None
