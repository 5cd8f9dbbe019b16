"""The methods by which the rules of a round are matched, and how its sets are distinguished.

Each round takes the next of WAYS, so that as many rounds as there are ways take each once. Must not
know: rules, what is expected.
"""

import re
from dataclasses import dataclass

# States have names that the letters of patterns cannot spell: a pattern that begins with one would need quotes.
TURNS, START_TURN = 'PQ', 'P'
BITS = 5


def _states(number):
    return f'S{number}', [f'S{number}'], ''


def _bits(number):
    names = [f'BIT{bit}' for bit in range(BITS)]
    marked = [name for bit, name in enumerate(names) if number >> bit & 1]
    return ' && '.join(n if n in marked else '!' + n for n in names), marked, ''


def _last(number):
    return f'$LASTSEEN(S{number})', [], f'S{number}'


# Of each place of a conversation, by its number: its condition, the states that are marked before
# those of the turn, the one that is marked behind them.
PLACES = {
    'none': lambda number: ('', ['N'], ''),     # there is but one; N holds always
    'states': _states,      # a compiler that reads no actions cannot know that one excludes another
    'bits': _bits,
    'last': _last,
}


@dataclass(frozen=True)
class Way:
    """Options of a specification. `sees`: what the generated code must show of it."""
    matching: str
    places: str
    framing: str
    sees: str
    states: int = 4096
    code: str = '256K'

    def text(self, most):
        """Its lines of a specification of so many places."""
        names, start = [f'S{number}' for number in range(most)], 'START { $seen(S0); }\n'
        if self.places == 'bits':
            names, start = [f'BIT{bit}' for bit in range(BITS)], ''
        elif self.places == 'none':
            names, start = ['N'], f'START {{ {self.next(0, START_TURN)} }}\n'
        return (f'%option matching {self.matching}\n%option matchingStates {self.states}\n'
                f'%option matchingCode {self.code}\n%option framing {self.framing}\n'
                f'%state {" ".join(TURNS)} {" ".join(names)}\n', start)

    def condition(self, place, turn):
        """Of what holds there; `turn`: a condition on the turn, or none."""
        here = PLACES[self.places](place)[0]
        return ' && '.join(c for c in (here, turn and f'({turn})') if c)

    def next(self, place, turn):
        """Goes there, and the turn is that: its last letter is marked last, unless the place is."""
        _, before, behind = PLACES[self.places](place)
        return f'$next({", ".join([*before, *turn, *([behind] if behind else [])])});'

    @property
    def always(self):
        """A condition that holds where rules have none."""
        return 'N'

    @property
    def tells_last(self):
        """Whether conditions on the turn may ask which letter was marked last."""
        return self.places != 'last'

    def describe(self):
        """It, for a report."""
        limits = f', {self.states} states, {self.code}' if (self.states, self.code) != (
            4096, '256K') else ''
        return f'{self.matching}{limits}, {self.framing}, sets by {self.places}'


WAYS = (
    Way('auto', 'bits', 'stream', 'some'),
    Way('code', 'last', 'message', 'code', code='48K'),
    Way('table', 'bits', 'stream', 'table'),
    Way('apart', 'last', 'stream', 'none'),
    Way('auto', 'last', 'stream', 'some', states=40),
    Way('auto', 'bits', 'message', 'some', code='6K'),
    Way('auto', 'states', 'stream', 'some'),
)


def drawn(random):
    """Any way for one set."""
    return Way(random.choice(('auto', 'auto', 'code', 'table', 'apart')), 'none',
               random.choice(('stream', 'stream', 'message')), '',
               random.choice((4096, 4096, random.randint(2, 60))),
               random.choice(('256K', '256K', f'{random.randint(1, 12)}K')))


class Seen:
    """What generated code shows of how its rules are matched."""

    def __init__(self, text):
        def size(name):
            return int(re.search(rf'#define NEST__{name} (\d+)', text)[1])

        self.automata = len(re.findall(r'^static struct nest__step automaton_\d+\(', text, re.M))
        self.tables = len(re.findall(r'^static const uint32_t automaton_\d+_next\[', text, re.M))
        self.words = len(re.findall(r'\bswitch \(nest__word4\(', text))
        self.lists = len(re.findall(r'\bNULL, &rule_\d+_nfa\b', text))
        self.rules, self.apart = size('RULES'), size('STANDALONE')
        self.registers, self.tags = size('REGISTERS'), size('TAGS')

    def wrong(self, way):
        """What of the way is not there, or ''."""
        side_by_side = self.rules - self.apart
        if way.sees == 'none':
            return f'{side_by_side} rules are not apart' if side_by_side else ''
        if side_by_side == 0 or self.automata == 0:
            return 'no automaton holds a rule'
        if way.places != 'states' and side_by_side * 4 < self.rules:
            return f'only {side_by_side} of {self.rules} rules are side by side'
        limited = way.states < 4096 or way.code != '256K'
        if way.places != 'states' and not limited and self.registers < 2:
            return 'no automaton needs registers'
        if limited and self.apart == 0:
            return 'no rule is apart'
        if way.sees == 'code' and self.tables:
            return f'{self.tables} automata are tables'
        if way.sees == 'table' and self.tables != self.automata:
            return f'{self.automata - self.tables} automata are code'
        return ''

    def describe(self):
        """It, for a report."""
        return (f'{self.automata} automata, {self.tables} as tables, with {self.registers} '
                f'registers; {self.apart} of {self.rules} rules apart, {self.lists} by thread list')
