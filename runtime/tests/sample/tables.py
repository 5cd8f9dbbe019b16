#!/usr/bin/env python3
"""Prints the matcher tables of the sample, as the compiler would for its patterns.

The runtime is tested without the compiler, so this is a second, independent construction: an NFA in
order of preference, and a DFA made of its ordered thread lists.
"""

ANY = frozenset(range(256))


def chars(text):
    return frozenset(text.encode())


class Nfa:
    """States are ('byte', set, next), ('split', targets), ('mark', part, next), ('match',)."""

    def __init__(self, elements):
        self.states = [("match",)]
        at = 0
        for part in reversed(range(len(elements))):
            at = self.add(("mark", part, at))
            at = self.build(elements[part], at)
        self.start = at
        self.parts = len(elements)

    def add(self, state):
        self.states.append(state)
        return len(self.states) - 1

    def build(self, node, after):
        kind = node[0]
        if kind == "text":
            for byte in reversed(node[1].encode()):
                after = self.add(("byte", frozenset([byte]), after))
            return after
        if kind == "set":
            return self.add(("byte", node[1], after))
        if kind == "alt":
            return self.add(("split", [self.build(branch, after) for branch in node[1]]))
        _, inner, least, most, greedy = node
        if most is None:
            loop = self.add(("split", []))
            body = self.build(inner, loop)
            self.states[loop][1].extend([body, after] if greedy else [after, body])
            after = loop
        else:
            for _ in range(most - least):
                body = self.build(inner, after)
                # each optional copy leaves to the same place
                after = self.add(("split", [body, after] if greedy else [after, body]))
        for _ in range(least):
            after = self.build(inner, after)
        return after

    def closure(self, froms, first):
        """The threads behind `froms`, and whether one is at Match."""
        threads, seen = [], set()
        stack = list(reversed(froms))
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            state = self.states[at]
            if state[0] == "match":
                if not first:
                    return tuple(threads), True
            elif state[0] == "byte":
                threads.append(at)
            elif state[0] == "mark":
                stack.append(state[2])
            else:
                stack.extend(reversed(state[1]))
        return tuple(threads), False


def dfa(nfa):
    """Rows of 256 targets, start, first_silent: numbered as seam.h says."""
    start = nfa.closure([nfa.start], True)
    rows, todo = {}, [start]
    while todo:
        here = todo.pop()
        if here in rows:
            continue
        rows[here] = []
        for byte in range(256):
            froms = [nfa.states[t][2] for t in here[0] if byte in nfa.states[t][1]]
            there = nfa.closure(froms, False)
            rows[here].append(there)
            todo.append(there)
    dead, final = ((), False), ((), True)
    accepting = [s for s in rows if s[1] and s != final]
    silent = [s for s in rows if not s[1] and s != dead]
    order = [dead, final] + sorted(accepting) + sorted(silent)
    number = {state: i for i, state in enumerate(order)}
    table = [[number[there] for there in rows[s]] if s in rows else [0] * 256 for s in order]
    return table, number[start], 2 + len(accepting)


def text(t):
    return ("text", t)


def times(inner, least, most=None, greedy=True):
    return ("times", inner, least, most, greedy)


LETTER = ("set", chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
SMALL = ("set", chars("abcdefghijklmnopqrstuvwxyz"))
DIGIT = ("set", chars("0123456789"))
NL = ("alt", [text("\r\n"), text("\n")])
LINE = ("set", ANY - chars("\n"))

# name, elements, as a dfa?
RULES = [
    ("name", [text("NAME "), times(LETTER, 1), NL], True),
    ("who", [text("WHO"), NL], True),
    ("big", [text("BIG "), times(DIGIT, 1, 9), NL], True),
    ("quit", [text("QUIT"), NL], True),
    ("echo", [text("ECHO "), times(LINE, 0), NL], False),
    ("split", [text("SPLIT "), times(SMALL, 0, None, False), times(DIGIT, 0), times(SMALL, 0, 3),
               text("."), NL], False),
    ("flood", [text("FLOOD "), times(DIGIT, 1, 9), NL], True),
    ("stuck", [text("STUCK"), NL], True),
    ("keep", [text("KEEP "), times(DIGIT, 1, 9), NL], True),
    ("data", [text("DATA"), NL, times(("set", ANY), 0, None, False), text("\n.\n")], False),
    ("read", [text("READ "), times(DIGIT, 1, 9), NL], True),
    ("line", [text("LINE "), times(DIGIT, 1, 9), NL], True),
    ("into", [text("INTO "), times(DIGIT, 1, 9), NL], True),
    ("skip", [text("SKIP "), times(DIGIT, 1, 9), NL], True),
    ("nap", [text("NAP "), times(DIGIT, 1, 9), NL], True),
    ("lull", [text("LULL "), times(DIGIT, 1, 9), NL], True),
    ("more", [text("MORE"), NL], True),
    ("tick", [text("TICK"), NL], True),
    ("hush", [text("HUSH"), NL], True),
]


def main():
    words = 0
    most_states = most_parts = 1
    rules = []
    firsts = []     # of each rule: whether it is live behind each byte
    print("/* Printed by tables.py. */")
    for name, elements, as_dfa in RULES:
        nfa = Nfa(elements)
        most_states = max(most_states, len(nfa.states))
        most_parts = max(most_parts, nfa.parts)
        sets, targets, states = [], [], []
        for state in nfa.states:
            if state[0] == "byte":
                if state[1] not in sets:
                    sets.append(state[1])
                states.append(f"{{NEST__BYTE, 0, {sets.index(state[1])}, {state[2]}}}")
            elif state[0] == "split":
                states.append(f"{{NEST__SPLIT, 0, {len(state[1])}, {len(targets)}}}")
                targets.extend(state[1])
            elif state[0] == "mark":
                states.append(f"{{NEST__MARK, {state[1]}, 0, {state[2]}}}")
            else:
                states.append("{NEST__MATCH, 0, 0, 0}")
        bits = []
        for members in sets:
            value = sum(1 << byte for byte in members)
            bits.append("{" + ", ".join(f"0x{value >> 64 * i & (1 << 64) - 1:x}u" for i in range(4))
                        + "}")
        print(f"static const struct nest__nfa_state {name}_states[] = {{{', '.join(states)}}};")
        print(f"static const uint16_t {name}_targets[] = {{{', '.join(map(str, targets or [0]))}}};")
        print(f"static const uint64_t {name}_sets[][4] = {{{', '.join(bits)}}};")
        print(f"static const struct nest__nfa {name}_nfa = {{{name}_states, {name}_targets, "
              f"{name}_sets, {len(states)}, {nfa.start}}};")
        table = "NULL"
        if as_dfa:
            rows, start, silent = dfa(nfa)
            columns = list(zip(*rows))
            kinds = sorted(set(columns), key=columns.index)
            classes = [kinds.index(column) for column in columns]
            cells = [str(kind[row]) for row in range(len(rows)) for kind in kinds]
            print(f"static const uint8_t {name}_classes[256] = {{{', '.join(map(str, classes))}}};")
            print(f"static const uint16_t {name}_next[] = {{{', '.join(cells)}}};")
            print(f"static const struct nest__dfa {name}_dfa = {{{name}_classes, {name}_next, "
                  f"{len(kinds)}, {start}, {silent}, {len(rows)}}};")
            table = f"&{name}_dfa"
            firsts.append([cells[start * len(kinds) + kind] != "0" for kind in classes])
        rules.append(f'{{"{name}", "sample.nest", {10 + len(rules)}, {nfa.parts}, {words}, NULL, '
                     f"{table}, &{name}_nfa, NULL, false}}")
        if not as_dfa:
            words += len(nfa.states)
            firsts.append([True] * 256)
    print(f"const struct nest__rule nest__rules[NEST__RULES] = {{{', '.join(rules)}}};")
    masks = [sum(lives[byte] << rule % 64 for rule, lives in enumerate(firsts) if rule // 64 == word)
             for byte in range(256) for word in range((len(RULES) + 63) // 64)]
    print(f"const uint64_t nest__first[] = {{{', '.join(map(hex, masks))}}};")
    for name, need in (("RULES", len(RULES)), ("PARTS", most_parts),
                       ("THREAD_WORDS", max(words, 1)), ("NFA_STATES", most_states)):
        print(f'_Static_assert(NEST__{name} >= {need}, "server.c: NEST__{name} is too small");')


if __name__ == "__main__":
    main()
