"""Random sets of rules: a specification of them all, and conversations that tend to match.

A set has a state of its own, which the line `#N` chooses; its rules hold in that state, alone or
together with P or Q, and pass on to either. All else that a conversation does is matching.

Must not know: what libpcre2 says, how a server is run.
"""

from patterns import BYTES, Patterns
from pcre2 import Regex

SETS = 59           # with P, Q and DOTS 62, the most that a specification has
TURNS = ('P', 'Q')
MARKER = b'!\n'     # a conversation that begins with it answers every byte with a dot
END = r'''END {
    int why = $reason();
    $reply("END %s\n", why == NEST_EOF ? "eof" : why == NEST_INPUT ? "input"
           : why == NEST_STUCK ? "stuck" : why == NEST_OVERFLOW ? "overflow" : "otherwise");
}
'''


class Rule:
    """A rule: `turn` that it needs, or none; `next` turn; its elements; `parts`: its action asks
    for them; `wide`, with that chance in percent: over the budget of a DFA."""

    def __init__(self, random, source, wide):
        def chance(percent):
            return random.random() * 100 < percent

        self.turn = random.choice(TURNS) if chance(35) else None
        self.next = random.choice(TURNS)
        self.parts, self.wide, self.late = not chance(8), chance(wide), chance(50)
        self.flags = f'(?{random.choice(("i", "s", "U", "i-s", "is", "iU"))})' if chance(20) else ''
        self.elements = []
        while not any(e.some for e in self.elements):   # a rule of nothing is refused
            count = random.choice((1, 2, 2, 3, 4))
            at = random.randrange(count) if self.wide else None
            self.elements = [source.element(i == at) for i in range(count)]
        self.gap = '\n    ' if chance(10) else ' '

    def text(self, number, state):
        """It, in the specification: rule `number` of the set of this state."""
        parts = range(1, len(self.elements) + 1)
        measured = [f'$reply(" %zu:", $len({k})); $replyBytes($ptr({k}), $len({k}));'
                    for k in ([0, *parts] if self.parts else [0])]
        strings = [f'$reply("=", ${k}); if (${k}[$len({k})] != 0) $reply("!");'
                   for k in parts if self.parts]
        if self.late:                                   # what was copied first is still in place
            action = [f'char *last = ${parts[-1]};' if self.parts else ''] + measured + strings
            action += ['if (last != $%d) $reply("!");' % parts[-1] if self.parts else '']
        else:
            action = measured + strings
        when = f'{state} && {self.turn}' if self.turn else state
        flags = [self.flags] if self.flags else []
        pattern = self.gap.join(flags + [e.nest for e in self.elements])
        return (f'{when}: {pattern} {{\n    $reply("{number}");\n    ' +
                '\n    '.join(line for line in action if line) +
                f'\n    $reply("\\n");\n    $next({state}, {self.next});\n}}\n')

    def answer(self, number, taken, parts):
        """What its action replies."""
        out = b'%d' % number
        for part in [taken, *parts] if self.parts else [taken]:
            out += b' %d:%s' % (len(part), part)
        return out + b''.join(b'=' + part for part in parts if self.parts) + b'\n'

    def sample(self, random):
        """Bytes that it tends to match."""
        return b''.join(e.sample(random) for e in self.elements)


class Set:
    """Rules that hold together."""

    def __init__(self, number, random, source, caseless):
        self.number, self.state = number, f'S{number}'
        wide = random.choice((5, 5, 5, 60))     # percent
        self.rules = [Rule(random, source, wide) for _ in range(random.choice((1, 2, 2, 3, 4)))]
        self.choice = b'#%d\n' % number
        start = '(*LF)(?i)' if caseless else '(*LF)'
        self.pcre = [start + r.flags + ''.join(f'({e.pcre})' for e in r.elements)
                     for r in self.rules]
        self.regexes = [Regex(text) for text in self.pcre]

    def active(self, turn):
        """The numbers of the rules that hold."""
        return [n for n, rule in enumerate(self.rules) if rule.turn in (None, turn)]

    def text(self):
        """It, in the specification."""
        return ''.join(rule.text(n, self.state) for n, rule in enumerate(self.rules))

    def describe(self):
        """It, for who looks for a bug."""
        out = []
        for number, (rule, pcre) in enumerate(zip(self.rules, self.pcre)):
            turn = f' (only in {rule.turn})' if rule.turn else ''
            nest = ' '.join(([rule.flags] if rule.flags else []) + [e.nest for e in rule.elements])
            out.append(f'rule {number}{turn}, then {rule.next}: {nest}\n    libpcre2: {pcre}')
        return '\n'.join(out)

    def conversation(self, random, most):
        """At most that many bytes that tend to match, one rule after the other."""
        out, turn = bytearray(), TURNS[0]
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
    """Sets, and the macros that stand in them."""

    def __init__(self, random):
        source = Patterns(random)
        self.caseless = random.random() < 0.15
        self.macros = {f'M{n}': source.macro(f'M{n}') for n in range(4)}
        self.sets = [Set(n, random, source, self.caseless) for n in range(SETS)]

    def text(self):
        """What the compiler reads."""
        out = ['%option caseless\n' if self.caseless else '', '%state DOTS ', ' '.join(TURNS)]
        out += [f' {s.state}' for s in self.sets] + ['\n']
        out += [f'{name} {text}\n' for name, text in self.macros.items()]
        out += ['%%\n', 'DEFAULT: "!\\n" { $next(DOTS); }\n', 'DOTS: "." { $reply("."); }\n']
        out += [f'DEFAULT: "#{s.number}\\n" {{ $next({s.state}, P); }}\n' for s in self.sets]
        out += [s.text() for s in self.sets] + [END]
        return ''.join(out)

    def rules(self):
        """All rules of all sets."""
        return [rule for s in self.sets for rule in s.rules]
