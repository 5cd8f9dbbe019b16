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

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from conversations import CUTS, Message, Stream, describe               # noqa: E402
from pcre2 import Absent, GaveUp                                        # noqa: E402
from rules import Specification                                         # noqa: E402
from support import sample                                              # noqa: E402
from support.nest import Failed, program                                # noqa: E402
from support.report import Report                                       # noqa: E402
from unit import Bench, talk                                            # noqa: E402
from ways import Seen, drawn                                            # noqa: E402

VOLUME = 160, 4000      # specifications of a sample, of everything
LEAST = 40              # specifications that must show something of everything
INPUTS = 8              # for each specification
LONGEST = 40
SHOWN = 5               # specifications that fail
TOLD = 1000             # specifications between two reports of how far it is
AT_ONCE = 8             # specifications that are compiled together
GCC = 8                 # of so many groups one is compiled by gcc, the others by clang


class Counts:
    """What was done, in all."""

    def __init__(self):
        self.specifications = self.conversations = self.matches = self.unknown = 0
        self.side_by_side = self.apart = self.lists = self.tables = self.automata = 0
        self.registers = self.words = self.bytes = 0

    def add(self, seen):
        """A specification."""
        self.specifications += 1
        self.side_by_side += seen.rules - seen.apart
        self.apart += seen.apart
        self.lists += seen.lists
        self.tables += seen.tables
        self.automata += seen.automata
        self.registers += seen.registers > 1
        self.words += seen.words > 0

    def describe(self):
        """It, for a report."""
        return (f'{self.specifications} specifications; {self.side_by_side} rules side by side in '
                f'{self.automata} automata, {self.tables} as tables, {self.registers} times with '
                f'registers, {self.words} with choices among words, {self.apart} rules apart, '
                f'{self.lists} by thread list; {self.conversations} conversations, '
                f'{self.matches} matches, {self.bytes} bytes one at a time, '
                f'{self.unknown} without a verdict of libpcre2')

    def too_little(self):
        """Whether that shows nothing."""
        return (self.specifications >= LEAST and
                (min(self.side_by_side, self.apart) * 5 < self.specifications or
                 min(self.lists, self.tables, self.automata - self.tables, self.registers,
                     self.words) == 0 or
                 self.matches * 2 < self.conversations or self.unknown * 5 > self.conversations))


class Trial:
    """A specification and its conversations."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.way = drawn(self.random)
        self.specification = Specification(self.random, self.way, 1)
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

    def generate(self, bench, place, counts):
        """What is wrong, or ''."""
        try:
            counts.add(Seen(bench.generate(place, self.specification.text())))
        except Failed as error:
            return self.describe(error)
        return ''

    def compare(self, program_, counts):
        """The same of its conversations."""
        work = self.conversations(counts)
        talks = [(how == CUTS[-1], steps) for _, how, steps, _ in work]
        try:
            found = talk(program_, self.buffer, talks) if talks else []
        except Failed as error:
            return self.describe(error)
        for (case, how, steps, expected), (said, given) in zip(work, found):
            if said != expected:
                return f'{self.way.describe()}\n{describe(case, steps, expected, said)}'
            if how == CUTS[-1] and self.way.framing == 'stream':
                looked = sum(seen for _, _, seen, _ in case.answers)
                counts.bytes += looked
                if sum(given) != looked:
                    return self.describe(f'sent {steps!r}\nthe matcher was given {sum(given)} '
                                         f'bytes one at a time, and {looked} tell')
        return ''

    def describe(self, what):
        """For who looks for a bug."""
        return f'{self.way.describe()}\n{self.specification.sets[0].describe()}\n{what}'


def some(bench, seeds, counts):
    """Specifications that are compiled at once: (seed, what is wrong) of those that fail."""
    compiler = 'gcc' if seeds[0] // AT_ONCE % GCC == 0 else 'clang'
    trials, wrong = [Trial(seed) for seed in seeds], {}
    for place, (seed, trial) in enumerate(zip(seeds, trials)):
        wrong[seed] = trial.generate(bench, place, counts)
    places = [place for place, seed in enumerate(seeds) if not wrong[seed]]
    try:
        if places:
            bench.compile(places, compiler)
    except Failed:                                      # which of them is it?
        for place in places:
            try:
                bench.compile([place], compiler)
            except Failed as error:
                wrong[seeds[place]] = trials[place].describe(f'{compiler}: {error}')
    for place in places:
        if not wrong[seeds[place]]:
            wrong[seeds[place]] = trials[place].compare(bench.program(place), counts)
    return [(seed, what) for seed, what in wrong.items() if what]


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Compiles and tries the matchers of many small random specifications.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    first, count = sample.seeds(*VOLUME)
    parser.add_argument('--seed', type=int, default=first,
                        help='of the first (default: CHECK_SEED or 1)')
    parser.add_argument('--count', type=int, default=count,
                        help='how many (default: {}; with CHECK_ALL=1 {})'.format(*VOLUME))
    parser.add_argument('--keep', metavar='FOLDER',
                        help='leave the last specification and its program there')
    options = parser.parse_args()
    report, counts, wrong = Report('matchers'), Counts(), 0
    with tempfile.TemporaryDirectory(prefix='nest-matchers-') as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            folder = os.path.abspath(options.keep)
        bench = Bench(program(), folder)
        seed, last = options.seed, options.seed + options.count
        while wrong < SHOWN and seed < last:
            seeds = range(seed, min(seed + AT_ONCE - seed % AT_ONCE, last))
            for one, what in some(bench, seeds, counts):
                wrong += 1
                report.line(False, f'seed {one}', 'decides as libpcre2 does', '',
                            f'{what}\nagain: tests/matching/many.py --seed {one} --count 1')
            if seeds[-1] // TOLD != (seed - 1) // TOLD:
                report.note(f'up to seed {seeds[-1]}: {counts.describe()}')
            seed = seeds[-1] + 1
    report.line(not wrong and not counts.too_little(), f'seeds {options.seed} to {seed - 1}',
                'all specifications', counts.describe(), counts.describe())
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, Absent) as error:
        sys.exit(f'matchers: {error}')
