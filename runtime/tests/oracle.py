"""Compares matching of random input with an oracle: the definition in language.md, step by step, with the
patterns of the sample.

The oracle keeps every rule's ordered threads side by side, as the definition says; parts come from
Python's own backtracking over exactly the consumed bytes.
"""

import os
import random
import re
import sys

from harness import check, finish, quote, script

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample"))
import tables
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + "/tests")
from support import sample

NFAS = [(name, tables.Nfa(elements)) for name, elements, _ in tables.RULES]
SPLIT = re.compile(rb"(SPLIT )([a-z]*?)([0-9]*)([a-z]{0,3})(\.)(\r\n|\n)")
FRAGMENTS = [b"WHO\n", b"WHO\r\n", b"NAME a\n", b"NAME bob\r\n", b"ECHO hi\n", b"ECHO \r\n", b"SPLIT abc1de.\n",
             b"SPLIT ab.\n", b"SPLIT a1abc.\r\n", b"SPLIT abcd.\n", b"SPLIT 1abcd.\n", b"DATA\n", b"\n.\n", b"\n.\r",
             b"x", b"\n", b"KEEP 3\n", b"QUIT\n", b"STUCK\n", b"W", b"\r", b"BIG 30\n", b"NAME ",
             b"DATA\r\n.\n.\n", b"DATA\n\n.\n", b"READ 5\n", b"READ 17\n", b"LINE 4\n", b"LINE 20\r\n",
             b"INTO 9\n", b"SKIP 3\n", b"TICK\n", b"MORE\n"]


def take(data, states, most, eof):
    """(rule, n) or the reason of the end, None if more input is needed."""
    active = [i for i in range(len(NFAS)) if i != 8 or "NAMED" in states]
    if "DEAD" in states:
        if "TICK" not in states:
            return "stuck"
        return "input" if data else "eof" if eof else None  # a TIMEOUT rule is active
    threads = {r: NFAS[r][1].closure([NFAS[r][1].start], True)[0] for r in active}
    i, best = 0, None
    while True:
        while i < len(data) and any(threads.values()):
            if i >= most:
                return "overflow"
            byte = data[i]
            i += 1
            accepts = []
            for r, list_ in threads.items():
                nfa = NFAS[r][1]
                froms = [nfa.states[t][2] for t in list_ if byte in nfa.states[t][1]]
                threads[r], matched = nfa.closure(froms, False)
                if matched:
                    accepts.append(r)
            if accepts:
                best = (min(accepts), i)
        live = any(threads.values())
        if live and i >= most:
            return "overflow"
        if not live or eof:
            return best or ("eof" if not data else "input")
        return None


def read(name, data, n, most, eof):
    """What an action takes behind its match, and how it answers; None: it waits."""
    if name == "read":
        if n > most:
            return 0, b"none: size"
        if len(data) >= n:
            return n, b"[" + data[:n] + b"]"
        return (0, b"none: eof") if eof else None
    if name == "line":
        n = min(n, most)
        line = data[:n + 2].split(b"\n")[0]
        if len(line) < len(data[:n + 2]):
            text = line.removesuffix(b"\r")
            return (len(line) + 1, b"[" + text + b"]") if len(text) <= n else (0, b"none: size")
        if len(line) == n + 2 or (len(line) == n + 1 and not line.endswith(b"\r")):
            return 0, b"none: size"
        return (0, b"none: eof") if eof else None
    if len(data) < n and not eof:
        return None
    n = min(n, len(data))
    return n, b"[" + data[:n] + b"]" if name == "into" else b"%d skipped" % n


def converse(data, most, eof):
    """The trace's takes, the reason of the end (None: still open), what some rules answered."""
    states, takes, splits = set(), [], []
    while True:
        found = take(data, states, most, eof)
        if found is None or isinstance(found, str):
            return takes, found, splits
        rule, n = found
        name = NFAS[rule][0]
        taken, data = data[:n], data[n:]
        takes.append(f"take {name} {quote(taken)}")
        if name == "split":
            parts = SPLIT.fullmatch(taken).groups()
            splits.append(b"|".join(parts[:5]) + b"|%d\r\n" % len(parts[5]))
        if name in ("read", "line", "into", "skip"):
            found = read(name, data, int(re.search(rb"[0-9]+", taken)[0]), most, eof)
            if found is None:
                return takes, None, splits
            data = data[found[0]:]
            splits.append(found[1])
        if name == "name":
            states.add("NAMED")
        if name == "stuck":
            states = {"DEAD"} | states & {"TICK"}
        if name == "tick":
            states.add("TICK")
        if name == "quit":
            return takes, "closed", splits


def main():
    count = 0
    print(f"oracle: {sample.described()}")
    for seed in range(sample.SEED, sample.SEED + int(sys.argv[2])):
        chance = random.Random(seed)
        most = chance.choice([16, 20, 8192])
        lines, wanted = [], {}
        for c in range(1, 61):
            data = b"".join(chance.choice(FRAGMENTS) for _ in range(chance.randrange(1, 12)))
            eof = chance.random() < 0.5
            wanted[str(c)] = converse(data, most, eof)
            lines.append(f"open {c}")
            while data:
                n = chance.randrange(1, 30)
                lines.append(f"in {c} {quote(data[:n])}")
                data = data[n:]
            lines.append(f"eof {c}" if eof else f"reset {c}")
        status, trace, out, error = script(sys.argv[1], lines, "--set", f"inputBuffer={most}")
        check(f"seed {seed}", (status, error), (0, ""))
        for c, (takes, reason, splits) in wanted.items():
            ends = [line for line in trace[c] if line.startswith("end ")]
            check(f"seed {seed}, conversation {c}: {[l for l in lines if l.split()[1] == c]}",
                  ([line for line in trace[c] if line.startswith("take ")], ends),
                  (takes, [f"end {reason or 'gone'}"]))
            at = 0
            for split in splits:
                at = out[c].find(split, at) + 1
                check(f"seed {seed}, conversation {c}: answer {split}", at > 0, True)
            count += 1
    finish("oracle", count)


main()
