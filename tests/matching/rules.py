"""Random sets of rules: a specification of them all, and conversations that are likely to match.

A set has a place of its own, which the line `#N` chooses; its rules hold there, alone or together
with the turn: P, Q, both or none, and pass on to another. All else that a conversation does is
matching.

Must not know: what libpcre2 says, how a server is run.
"""

from patterns import BYTES, Patterns
from pcre2 import Regex
from ways import START_TURN

SETS = 24
FIRST, DOTS, OF_SETS = 0, 1, 2      # places
NEXT = ('', 'P', 'Q', 'PQ', 'QP')   # turns: the last letter is the one marked last
MARKER = b'!\n'     # a conversation that begins with it answers every byte with a dot
# Conditions on the turn, and what they mean.
ON_TURN = {
    'P': lambda turn: 'P' in turn,
    'Q': lambda turn: 'Q' in turn,
    '!P': lambda turn: 'P' not in turn,
    '!Q': lambda turn: 'Q' not in turn,
    'P || Q': lambda turn: turn != '',
    'P && Q': lambda turn: len(turn) == 2,
}
ON_LAST = {
    '$LASTSEEN(P)': lambda turn: turn[-1:] == 'P',
    'Q || !$LASTSEEN(Q)': lambda turn: True,
    'P && !$LASTSEEN(P)': lambda turn: turn == 'PQ',
}
HEAD = r'''%{
static void tell(nest_session *self, unsigned parts) {
    for (unsigned i = 0; i <= parts; i++) {
        nest_replyf(self, " %zu:", nest_length(self, i));
        nest_reply_bytes(self, nest_bytes_at(self, i), nest_length(self, i));
    }
    for (unsigned i = 1; i <= parts; i++) {
        const char *part = nest_part(self, i);
        nest_reply_bytes(self, "=", 1);
        nest_reply_bytes(self, part, nest_length(self, i) + (part[nest_length(self, i)] != 0));
    }
}
%}
'''
END = r'''END {
    int why = $reason();
    $reply("END %s\n", why == NEST_EOF ? "eof" : why == NEST_INPUT ? "input"
           : why == NEST_STUCK ? "stuck" : why == NEST_OVERFLOW ? "overflow" : "otherwise");
}
'''


class Rule:
    """A rule: `turn`, the condition on the turn, or none; `next` turn; its elements; the parts that
    its action asks for, or hands on to a C function; `early`: it decides as soon as it accepts, with
    that chance in percent; `wide`, with that chance in percent: over the
    budget of a DFA."""

    def __init__(self, random, source, wide, early, tells_last):
        def chance(percent):
            return random.random() * 100 < percent

        on_turn = {**ON_TURN, **(ON_LAST if tells_last else {})}
        self.turn = random.choice(sorted(on_turn)) if chance(45) else None
        self.holds = on_turn[self.turn] if self.turn else lambda turn: True
        self.next = random.choice(NEXT)
        self.wide, self.late = chance(wide), chance(50)
        self.flags = f'(?{random.choice(("i", "s", "U", "i-s", "is", "iU"))})' if chance(20) else ''
        self.elements = []
        while not any(e.some for e in self.elements):   # a rule of nothing is refused
            count = random.choice((1, 2, 2, 3, 4))
            at = random.randrange(count) if self.wide else None
            self.elements = [source.element(i == at) for i in range(count)]
        parts = range(1, len(self.elements) + 1)
        self.handed = chance(15)
        asked = 0 if chance(10) else 100 if self.handed or chance(50) else 50
        self.parts = list(parts) if self.handed else [k for k in parts if chance(asked)]
        self.gap = '\n    ' if chance(10) else ' '
        self.early = chance(early)

    def text(self, number, way, place):
        """It, in the specification: rule `number` of the set at this place."""
        measured = [f'$reply(" %zu:", $len({k})); $replyBytes($ptr({k}), $len({k}));'
                    for k in [0, *self.parts]]
        strings = [f'$reply("=", ${k}); if (${k}[$len({k})] != 0) $reply("!");'
                   for k in self.parts]
        if self.handed:
            action = [f'tell($self, {len(self.elements)});']
        elif self.late and self.parts:                  # what was copied first is still in place
            last = self.parts[-1]
            action = [f'char *last = ${last};', *measured, *strings,
                      f'if (last != ${last}) $reply("!");']
        else:
            action = measured + strings
        flags = [self.flags] if self.flags else []
        pattern = self.gap.join(flags + [e.nest for e in self.elements])
        when = way.condition(place, self.turn)
        if not when and pattern.startswith('('):        # it could be a condition
            when = way.always
        now = f'{self.gap}NOW' if self.early else ''
        return (f'{when}{": " if when else ""}{pattern}{now} {{\n    $reply("{number}");\n    ' +
                '\n    '.join(action) +
                f'\n    $reply("\\n");\n    {way.next(place, self.next)}\n}}\n')

    def answer(self, number, taken, parts):
        """What its action replies."""
        asked = [parts[k - 1] for k in self.parts]
        out = b'%d' % number
        for part in [taken, *asked]:
            out += b' %d:%s' % (len(part), part)
        return out + b''.join(b'=' + part for part in asked) + b'\n'

    def sample(self, random):
        """Bytes that it tends to match."""
        return b''.join(e.sample(random) for e in self.elements)


class Set:
    """Rules that hold together."""

    def __init__(self, number, random, source, caseless, tells_last):
        self.number, self.place = number, OF_SETS + number
        wide = random.choice((0, 0, 5, 60))     # percent
        early = random.choice((0, 0, 30))
        self.rules = [Rule(random, source, wide, early, tells_last)
                      for _ in range(random.choice((1, 2, 2, 3, 4)))]
        self.choice = b'#%d\n' % number
        start = '(*LF)(?i)' if caseless else '(*LF)'
        self.pcre = [start + r.flags + ''.join(f'({e.pcre})' for e in r.elements)
                     for r in self.rules]
        self.regexes = [Regex(text) for text in self.pcre]

    def active(self, turn):
        """The numbers of the rules that hold."""
        return [n for n, rule in enumerate(self.rules) if rule.holds(turn)]

    def text(self, way):
        """It, in the specification."""
        return ''.join(rule.text(n, way, self.place) for n, rule in enumerate(self.rules))

    def describe(self):
        """It, for who looks for a bug."""
        out = []
        for number, (rule, pcre) in enumerate(zip(self.rules, self.pcre)):
            turn = f' (only if {rule.turn})' if rule.turn else ''
            nest = ' '.join(([rule.flags] if rule.flags else []) + [e.nest for e in rule.elements] +
                            (['NOW'] if rule.early else []))
            out.append(f'rule {number}{turn}, then {rule.next or "none"}, asks for '
                       f'{rule.parts}: {nest}\n    libpcre2: {pcre}')
        return '\n'.join(out)

    def conversation(self, random, most):
        """At most that many bytes that tend to match, one rule after the other."""
        out, turn = bytearray(), START_TURN
        for _ in range(random.randint(1, 4)):
            active = self.active(turn)
            rule = self.rules[random.choice(active)] if active else random.choice(self.rules)
            out += rule.sample(random)
            turn = rule.next
        for _ in range(random.choice((0, 0, 0, 1, 2, 3)) if out else 1):
            at = random.randint(0, len(out))
            how = random.randrange(4)
            if how == 0:
                out.insert(at, random.choice(BYTES))
            elif how == 1:
                out[at:at + 1] = bytes([random.choice(BYTES)])
            elif how == 2:
                del out[at:at + 1]
            else:
                out[at:at + 1] = out[at:at + 1].swapcase()
        return bytes(out[:most])


class Specification:
    """Sets, and the macros that stand in them; matched in a way."""

    def __init__(self, random, way, sets=SETS):
        source = Patterns(random)
        self.way, self.caseless = way, random.random() < 0.15
        self.macros = {f'M{n}': source.macro(f'M{n}') for n in range(4)}
        self.sets = [Set(n, random, source, self.caseless, way.tells_last) for n in range(sets)]
        if sets == 1:
            self.sets[0].choice = b''                    # there is none

    def text(self):
        """What the compiler reads."""
        way = self.way
        options, start = way.text(OF_SETS + SETS)
        out = [HEAD, '%option caseless\n' if self.caseless else '', options]
        out += [f'{name} {text}\n' for name, text in self.macros.items()]
        out += ['%%\n', start]
        if len(self.sets) > 1:
            out += self._choices()
        out += [s.text(way) for s in self.sets] + [END]
        return ''.join(out)

    def _choices(self):
        way, first = self.way, self.way.condition(FIRST, None)
        out = [f'{first}: "!\\n" {{ {way.next(DOTS, START_TURN)} }}\n',
               f'{way.condition(DOTS, None)}: "." {{ $reply("."); }}\n']
        return out + [f'{first}: "#{s.number}\\n" {{ {way.next(s.place, START_TURN)} }}\n'
                      for s in self.sets]

    def rules(self):
        """All rules of all sets."""
        return [rule for s in self.sets for rule in s.rules]
