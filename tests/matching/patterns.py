"""Random patterns, each written twice: for the compiler and for libpcre2.

Must not know: rules, conversations, how anything is matched.
"""

import re
from pcre2 import Regex

BYTES = b'aaabbbccABd\n\n1\xe9\x00" '    # few, so that rules meet each other
ITEMS = (r'a b c A B 1 a-c A-C 0-9 \d \w \s \D \W \S \h \v \H \V [:alpha:] [:^digit:] [:punct:] '
         r'[:space:] [:upper:] [:alnum:] \n \t \x00 \xe9 \x{42} \101 \o{60} \] \- \\ \. $ | * { } '
         r'( ) # [ & " \Qa-b\E \b \e').split() + [' ']
ESCAPES = r'. . . \d \w \s \D \W \S \h \H \v \V \N \x41 \x{61} \o{60} \n \t \cJ \- \@ \"'.split()
FLAGS = ('i', 's', 'U', '-i', '-s', 'i-s', 'is', 's-i', 'iU', '^')
LOOPS = (('*', 0, 4), ('+', 1, 4), ('?', 0, 1))
COUNTS = (('{2}', 2, 2), ('{1,2}', 1, 2), ('{0,2}', 0, 2), ('{1,}', 1, 3), ('{2,}', 2, 4),
          ('{3,4}', 3, 4), ('{0}', 0, 0))
LONG = (('{0,12}', 0, 12), ('{2,15}', 2, 15))           # states that count: of single bytes only
REPEATED = 20       # largest piece of which a count makes copies: both compilers have limits
# The DFA of this, at least 2 to the 14th states, is over every budget: a rule with it runs by
# thread list. Libpcre2 needs few steps for it.
WIDE_NEST, WIDE_PCRE = '(a|b)*a(a|b){14}', '(?:a|b)*a(?:a|b){14}'


class Node:
    """A piece of a pattern. `sample` makes something that it tends to match; `some`: it can match
    a byte; `size`: roughly how many bytes and classes stand in it."""

    def __init__(self, nest, pcre, sample, some=True, size=1):
        self.nest, self.pcre, self.sample, self.some, self.size = nest, pcre, sample, some, size


def _plain(byte, pcre):
    if chr(byte).isalnum() and byte < 128:
        return chr(byte)
    return f'\\x{byte:02x}' if pcre else {10: r'\n', 34: r'\"'}.get(byte, f'\\x{byte:02x}')


def _plain_text(text):
    return ''.join(_plain(byte, True) for byte in text)


def _wide(random):
    text = [random.choice(b'ab') for _ in range(random.choice((14, 15, 15, 15, 16, 18)))]
    if random.random() < 0.8:
        text[-15:-14] = b'a'
    return bytes(text)


class Patterns:
    """A source of random patterns; `macros` may stand in them: {name: Node}."""

    def __init__(self, random):
        self.random, self.macros, self.sets = random, {}, {}

    def _chance(self, percent):
        return self.random.random() * 100 < percent

    def _literal(self):
        byte = self.random.choice(BYTES)
        return Node(_plain(byte, False), _plain(byte, True), lambda r: bytes([byte]))

    def _string(self):
        text = bytes(self.random.choice(BYTES) for _ in range(self.random.randint(1, 3)))
        nest = ''.join(chr(b) if chr(b).isalnum() and b < 128 else f'\\{b:03o}' for b in text)
        return Node(f'"{nest}"', '(?:' + _plain_text(text) + ')',
                    lambda r: text, True, len(text))

    def _words(self):
        """Verbs, as protocols have them: choices among four bytes at once."""
        texts = [bytes(self.random.choice(b'abcAB1 ') for _ in range(self.random.randint(3, 6)))
                 for _ in range(self.random.randint(7, 14))]
        return Node('|'.join(f'"{text.decode()}"' for text in texts),
                    '|'.join(_plain_text(text) for text in texts),
                    lambda r: r.choice(texts), True, sum(map(len, texts)))

    def _of_set(self, text):
        if text not in self.sets:
            self.sets[text] = Regex('(*LF)' + text).bytes()
        found = self.sets[text]
        usual = bytes(b for b in BYTES if b in found) or found
        return Node(text, text, lambda r: bytes([r.choice(usual)])) if found else None

    def _class(self):
        random = self.random
        items = ''.join(random.choice(ITEMS) for _ in range(random.randint(1, 4)))
        items = (']' if self._chance(8) else '') + items + ('-' if self._chance(8) else '')
        return self._of_set('[' + ('^' if self._chance(30) else '') + items + ']')

    def _group(self, depth):
        random, inner = self.random, self.alt(depth - 1, True)
        if self._chance(50):
            nest, pcre = random.choice(('(', '(', '(?:')), '(?:'
        else:
            nest = pcre = f'(?{random.choice(FLAGS)}:'
        blank = ' ' if self._chance(15) else ''
        return Node(f'{nest}{blank}{inner.nest}{blank})', f'{pcre}{inner.pcre})', inner.sample,
                    inner.some, inner.size)

    def _macro(self):
        name = self.random.choice(sorted(self.macros))
        node = self.macros[name]
        return Node('{' + name + '}', node.pcre, node.sample, node.some, node.size)

    def _atom(self, depth):
        kind = self.random.randrange(100)
        if kind < 8 and self.macros:
            return self._macro()
        if kind < 35 or (kind >= 68 and depth == 0):
            return self._literal()
        if kind < 45:
            return self._string()
        if kind < 58:
            return self._class() or self._literal()
        if kind < 68:
            return self._of_set(self.random.choice(ESCAPES))
        return self._group(depth)

    def _piece(self, depth):
        atom = self._atom(depth)
        return self._quantified(atom) if self._chance(40) else atom

    def _quantified(self, atom):
        small = atom.size <= REPEATED
        sign, least, most = self.random.choice(
            LOOPS + (LONG if atom.size == 1 and self._chance(20) else COUNTS) if small else LOOPS)
        size = atom.size * max(1, most if sign[0] == '{' else 1)
        sign += '?' if self._chance(40) else ''
        # In a group, because libpcre2 10.42 takes `(?s).{2}` in one step, and if the subject ends
        # within it reports "no match" instead of "partial" when that is at the start.
        return Node(atom.nest + sign, f'(?:{atom.pcre}){sign}',
                    lambda r: b''.join(atom.sample(r) for _ in range(r.randint(least, most))),
                    atom.some and most > 0, size)

    def _cat(self, depth, inside):
        pieces = []
        for number in range(self.random.randint(1, 3)):
            if inside and number > 0 and self._chance(4):
                flags = f'(?{self.random.choice(FLAGS[:-1])})'
                pieces.append(Node(flags, flags, lambda r: b'', False))
            piece = self._piece(depth)
            while pieces and pieces[-1].nest[-1:].isalpha() and piece.nest[:1].isalpha():
                piece = self._piece(depth)      # the compiler warns of a run of letters
            pieces.append(piece)
        return Node(''.join(p.nest for p in pieces), ''.join(p.pcre for p in pieces),
                    lambda r: b''.join(p.sample(r) for p in pieces), any(p.some for p in pieces),
                    sum(p.size for p in pieces))

    def alt(self, depth, inside=False):
        """Branches. `inside` a group one may be empty."""
        branches = [self._cat(depth, inside) for _ in range(self.random.choice((1, 1, 1, 2, 2, 3)))]
        if inside and self._chance(12):
            empty = Node('', '', lambda r: b'', False)
            branches.insert(self.random.randint(0, len(branches)), empty)
        return Node('|'.join(b.nest for b in branches), '|'.join(b.pcre for b in branches),
                    lambda r: r.choice(branches).sample(r), any(b.some for b in branches),
                    sum(b.size for b in branches))

    def element(self, wide=False):
        """A part of a rule. `wide`: it takes the rule over the budget of a DFA."""
        if wide and self._chance(30):
            return Node(WIDE_NEST, WIDE_PCRE, _wide)
        if self.macros and not wide and self._chance(8):
            node = self._macro()
            node.nest = node.nest[1:-1]
            return self._quantified(node) if self._chance(40) else node
        if not wide and self._chance(8):
            return self._words()
        node = self.alt(self.random.choice((1, 2, 2, 2, 3)))
        if wide:
            return Node(f'{node.nest}|"c"{WIDE_NEST}', f'{node.pcre}|c{WIDE_PCRE}',
                        lambda r: b'c' + _wide(r) if r.random() < 0.4 else node.sample(r))
        if re.fullmatch(r'[A-Za-z_]\w*([*+?{].*)?', node.nest):     # it would have to be a macro
            node.nest = f'(?:{node.nest})'
        return node

    def macro(self, name):
        """One more macro; its text."""
        nodes = [self.alt(1) for _ in range(self.random.choice((1, 1, 2)))]
        pcre = ''.join(f'(?:{n.pcre})' for n in nodes)
        self.macros[name] = Node('', f'(?:{pcre})', lambda r: b''.join(n.sample(r) for n in nodes),
                                 any(n.some for n in nodes), sum(n.size for n in nodes))
        return ' '.join(f'({n.nest})' for n in nodes)
