#!/usr/bin/env python3
"""Matchers of many small random specifications: all compile without a warning, decide as libpcre2
does, at the same byte, with the same parts, and look at no byte twice.

Must not know: what patterns look like, how libpcre2 and a matcher are asked.
"""

import argparse
import os
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from conversations import CUTS, Message, Stream, describe               # noqa: E402
from pcre2 import Absent, GaveUp                                        # noqa: E402
from rules import Specification                                         # noqa: E402
from support.nest import Failed, program                                # noqa: E402
from support.report import Report                                       # noqa: E402
from unit import Bench, talk                                            # noqa: E402
from ways import Seen, drawn                                            # noqa: E402

SECONDS = 60
LEAST = 40              # specifications, however slow the machine is
INPUTS = 12             # for each specification
LONGEST = 40
SHOWN = 5               # specifications that fail
TOLD = 1000             # specifications between two reports of how far it is
GCC = 8                 # of so many specifications one is compiled by gcc, the others by clang


class Counts:
    """What was done, in all."""

    def __init__(self):
        self.specifications = self.conversations = self.matches = self.unknown = 0
        self.side_by_side = self.apart = self.lists = self.tables = self.automata = 0
        self.registers = self.bytes = 0

    def add(self, seen):
        """A specification."""
        self.specifications += 1
        self.side_by_side += seen.rules - seen.apart
        self.apart += seen.apart
        self.lists += seen.lists
        self.tables += seen.tables
        self.automata += seen.automata
        self.registers += seen.registers > 1

    def describe(self):
        """It, for a report."""
        return (f'{self.specifications} specifications; {self.side_by_side} rules side by side in '
                f'{self.automata} automata, {self.tables} as tables, {self.registers} times with '
                f'registers, {self.apart} rules apart, {self.lists} by thread list; '
                f'{self.conversations} conversations, {self.matches} matches, {self.bytes} bytes '
                f'one at a time, {self.unknown} without a verdict of libpcre2')

    def too_little(self):
        """Whether that shows nothing."""
        return (self.specifications >= LEAST and
                (min(self.side_by_side, self.apart) * 5 < self.specifications or
                 min(self.lists, self.tables, self.automata - self.tables, self.registers) == 0 or
                 self.matches * 2 < self.conversations or self.unknown * 5 > self.conversations))


class Trial:
    """A specification and its conversations."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.way = drawn(self.random)
        self.specification = Specification(self.random, self.way, 1)
        self.compiler = 'gcc' if seed % GCC == 0 else 'clang'
        self.buffer = self.random.choice((8192, 8192, self.random.randint(16, 32)))

    def conversations(self, counts):
        """(case, how it is cut, steps, answers) of all."""
        out, rules = [], self.specification.sets[0]
        kind = Stream if self.way.framing == 'stream' else Message
        for _ in range(INPUTS):
            payload = rules.conversation(self.random, LONGEST)
            try:
                case = kind(rules, payload, self.buffer)
                out += [(case, how, *case.steps(how, self.random)) for how in CUTS]
                counts.conversations += 1
                counts.matches += case.matches
            except GaveUp:
                counts.unknown += 1
        return out

    def run(self, bench, counts):
        """What is wrong, or ''."""
        try:
            made, server = bench.build(self.specification.text(), self.compiler, [])
            counts.add(Seen(server))
            work = self.conversations(counts)
            talks = [(how == CUTS[-1], steps) for _, how, steps, _ in work]
            found = talk(made, self.buffer, talks) if talks else []
        except Failed as error:
            return f'{self.way.describe()}\n{self.specification.sets[0].describe()}\n{error}'
        for (case, how, steps, expected), (said, given) in zip(work, found):
            if said != expected:
                return f'{self.way.describe()}\n{describe(case, steps, expected, said)}'
            if how == CUTS[-1] and self.way.framing == 'stream':
                looked = sum(seen for _, _, seen in case.answers)
                counts.bytes += looked
                if sum(given) != looked:
                    return (f'{self.way.describe()}\n{case.rules.describe()}\nsent {steps!r}\n'
                            f'the matcher was given {sum(given)} bytes one at a time, and '
                            f'{looked} tell')
        return ''


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Compiles and tries the matchers of many small random specifications.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    parser.add_argument('--seed', type=int, default=1, help='of the first (default: 1)')
    parser.add_argument('--count', type=int, help='how many (default: as many as --seconds allow)')
    parser.add_argument('--seconds', type=float, default=SECONDS,
                        help=f'how long without --count (default: {SECONDS})')
    parser.add_argument('--keep', metavar='FOLDER',
                        help='leave the last specification and its program there')
    options = parser.parse_args()
    report, counts, wrong = Report('matchers'), Counts(), 0
    with tempfile.TemporaryDirectory(prefix='nest-matchers-') as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            folder = os.path.abspath(options.keep)
        bench = Bench(program(), folder)
        seed, until = options.seed, time.monotonic() + options.seconds
        while (seed - options.seed < options.count if options.count else
               time.monotonic() < until or seed - options.seed < LEAST):
            what = Trial(seed).run(bench, counts)
            if what:
                wrong += 1
                report.line(False, f'seed {seed}', 'decides as libpcre2 does', '',
                            f'{what}\nagain: tests/matching/many.py --seed {seed} --count 1')
            seed += 1
            if wrong == SHOWN:
                break
            if (seed - options.seed) % TOLD == 0:
                report.note(counts.describe())
    report.line(not wrong and not counts.too_little(), f'seeds {options.seed} to {seed - 1}',
                'all specifications', counts.describe(), counts.describe())
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, Absent) as error:
        sys.exit(f'matchers: {error}')
