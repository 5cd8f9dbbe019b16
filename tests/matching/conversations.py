"""Conversations, cut in several ways, and what each step must be answered.

A step is bytes, or None for the end of file; the first chooses the rules. Must not know: how a
server is run.
"""

from itertools import accumulate
from oracle import CLOSED, answers, messages

CUTS = ('whole', 'in random cuts', 'byte by byte')


class Case:
    """A conversation with a set, in pieces, and what it must answer."""

    def __init__(self, rules, payload, buffer):
        self.rules, self.payload, self.buffer = rules, payload, buffer
        self.matches = 0

    def given(self, _steps):
        """How many bytes the matcher is given for steps; None: nobody has reckoned it."""
        return None

    def ends(self, how, chance):
        """Behind which bytes of the payload it is cut, its end too."""
        ends = list(range(1, len(self.payload) + 1))
        if how == 'whole':
            return ends[-1:]
        if how == 'in random cuts':
            return [e for e in ends if e == len(self.payload) or chance.random() < 0.3]
        return ends

    def pieces(self, ends):
        """The payload, cut there."""
        return [self.payload[a:b] for a, b in zip([0, *ends], ends)]


class Stream(Case):
    """The same answers however it is cut, as soon as all that they need has come."""

    def __init__(self, rules, payload, buffer):
        super().__init__(rules, payload, buffer)
        self.answers = answers(rules, payload, buffer)
        self.matches = len(self.answers) - 1

    def steps(self, how, chance):
        """Its steps, and what each is answered."""
        ends = self.ends(how, chance)
        steps = self.pieces(ends)
        if self.rules.choice and steps and how != 'byte by byte' and chance.random() < 0.5:
            steps[0] = self.rules.choice + steps[0]     # what a match leaves stays
        else:
            steps, ends = [self.rules.choice, *steps], [0, *ends]
        ends = [*ends, len(self.payload) + 1]
        expected = [b''.join(said for when, said, _, _ in self.answers if before < when <= end)
                    for before, end in zip([-1, *ends], ends)]
        return [*steps, None], expected

    def given(self, steps):
        """All that has come at the time, or as much as fits, and each once for each message."""
        come = list(accumulate(len(step or b'') for step in steps))
        first = len(self.rules.choice)
        total = min(self.buffer, come[0])
        for when, _, seen, at in self.answers:
            if seen > 0:
                until = next((c for c in come if c >= first + when), come[-1])
                total += min(self.buffer, until - first - at)
        return total


class Message(Case):
    """Answers depend on how it is cut."""

    def steps(self, how, chance):
        """Its steps, and what each is answered."""
        pieces = self.pieces(self.ends(how, chance))
        expected = messages(self.rules, pieces, self.buffer)
        self.matches += how == 'whole' and sum(not e.endswith(CLOSED) for e in expected if e)
        return [self.rules.choice, *pieces, None], expected


def describe(case, steps, expected, found):
    """What differs, for who looks for a bug."""
    at = next(i for i in range(len(steps)) if expected[i] != found[i])
    return (f'{case.rules.describe()}\ninput {case.payload!r}\nsent {steps!r}\n'
            f'inputBuffer {case.buffer}; step {at + 1} differs\n'
            f'libpcre2: {expected!r}\nserver:   {found!r}')
