#!/usr/bin/env python3
"""Emitted matchers decide as libpcre2 does: the same rule, length and parts, at the same byte.

Must not know: what patterns look like, how libpcre2 and a server are asked.
"""

import argparse
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from oracle import CLOSED, answers                                  # noqa: E402
from pcre2 import Absent, GaveUp                                    # noqa: E402
from rules import MARKER, Specification                             # noqa: E402
from support.nest import Failed, program, run                       # noqa: E402
from support.report import Report                                   # noqa: E402
from talk import EOF, talk                                          # noqa: E402

ROUNDS = 5
INPUTS = 45                         # for each set
LONGEST = 40
SHOWN = 3                           # failures of one result
CUTS = ('whole', 'in random cuts', 'byte by byte')


class Case:
    """A conversation with a set, and what it must answer."""

    def __init__(self, rules, payload, buffer):
        self.rules, self.payload, self.buffer = rules, payload, buffer
        self.answers = answers(rules, payload, buffer)

    def steps(self, how, chance):
        """Its steps, and how many bytes of the payload have come after each."""
        ends = list(range(1, len(self.payload) + 1))
        if how == 'whole':
            ends = ends[-1:]
        elif how == 'in random cuts':
            ends = [e for e in ends if e == len(self.payload) or chance.random() < 0.3]
        steps = [self.payload[a:b] for a, b in zip([0, *ends], ends)]
        if steps and how != 'byte by byte' and chance.random() < 0.5:
            steps[0] = self.rules.choice + steps[0]     # what a match leaves stays
        else:
            steps, ends = [self.rules.choice, *steps], [0, *ends]
        return steps + [EOF], ends + [len(self.payload) + 1]

    def expected(self, ends):
        """What each step that ends there is answered."""
        return [b''.join(said for when, said in self.answers if before < when <= end)
                for before, end in zip([-1, *ends], ends)]

    def describe(self, steps, expected, found):
        """What differs, for who looks for a bug."""
        at = next(i for i in range(len(steps)) if expected[i] != found[i])
        return (f'{self.rules.describe()}\ninput {self.payload!r}\nsent {steps!r}\n'
                f'inputBuffer {self.buffer}; step {at + 1} differs\n'
                f'libpcre2: {expected!r}\nserver:   {found!r}')


class Round:
    """A specification and its conversations."""

    def __init__(self, nest, seed, folder, report):
        self.nest, self.seed, self.folder, self.report = nest, seed, folder, report
        self.random = random.Random(seed)
        self.cases = []

    def build(self):
        """Writes and builds the specification; the server, or None."""
        try:
            self.specification = Specification(self.random)
        except ValueError as error:
            self.report.line(False, f'seed {self.seed}', 'means something', '', error)
            return None
        spec = os.path.join(self.folder, f'seed{self.seed}.nest')
        server = os.path.join(self.folder, f'server{self.seed}')
        with open(spec, 'w', encoding='ascii') as file:
            file.write(self.specification.text())
        rules = self.specification.rules()
        try:
            project = os.path.join(self.folder, f'project{self.seed}')
            run([self.nest, 'gen', spec, '--model', 'script', '-o', project])
            with open(os.path.join(project, 'server.c'), encoding='utf-8') as file:
                lists = len(re.findall(r'\bNULL, &rule_\d+_nfa\b', file.read()))
            run([self.nest, 'build', spec, '--model', 'script', '--sanitize', 'address',
                 '-o', server], CFLAGS='-O1')
        except Failed as error:
            self.report.line(False, f'seed {self.seed}', 'is built', '', error)
            return None
        wide = sum(rule.wide for rule in rules)
        # Not quite all: what is preferred to the wide part of a rule may leave nothing of it.
        self.report.line(lists * 2 >= wide > 0, f'seed {self.seed}',
                         'is built, with rules over the budget of a DFA',
                         f'{len(rules)} rules, {lists} by thread list',
                         f'{wide} rules were made for thread lists, {lists} run by them')
        return server

    def prepare(self, buffer):
        """The cases for an inputBuffer, and of how many nobody knows the answer."""
        cases, unknown = [], 0
        for rules in self.specification.sets:
            for _ in range(INPUTS):
                payload = rules.conversation(self.random, LONGEST)
                try:
                    cases.append(Case(rules, payload, buffer))
                except GaveUp:
                    unknown += 1
        return cases, unknown

    def compare(self, server, buffer):
        """All cases, cut in all ways, in one process."""
        cases, unknown = self.prepare(buffer)
        work = [(case, how, *case.steps(how, self.random)) for how in CUTS for case in cases]
        self.random.shuffle(work)
        found = talk(server, [f'inputBuffer={buffer}'], MARKER, [steps for _, _, steps, _ in work],
                     self.random, CLOSED)
        matches = sum(len(case.answers) - 1 for case in cases)
        for how in CUTS:
            wrong = []
            for (case, cut, steps, ends), said in zip(work, found):
                expected = case.expected(ends)
                if cut == how and said != expected:
                    wrong.append((len(case.payload), case.describe(steps, expected, said)))
            wrong.sort()
            self.report.line(not wrong, f'seed {self.seed}', f'{how}, inputBuffer {buffer}',
                             f'{len(cases)} conversations, {matches} matches',
                             '\n\n'.join([f'{len(wrong)} differ; the shortest:'] +
                                         [text for _, text in wrong[:SHOWN]]))
        if matches * 2 < len(cases) or unknown * 3 > len(cases):
            raise Failed(f'{len(cases)} conversations have {matches} matches, and libpcre2 gave up '
                         f'on {unknown} more: that checks too little')


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Compares emitted matchers with libpcre2: random rules, random conversations.',
        epilog='environment: NEST is the compiler to use (default: built by cargo), NEST_ROUNDS '
               'the number of rounds')
    parser.add_argument('--seed', type=int, default=1, help='of the first round (default: 1)')
    parser.add_argument('--rounds', type=int, default=os.environ.get('NEST_ROUNDS', str(ROUNDS)),
                        help='each has a seed of its own, one more than the last '
                             f'(default: NEST_ROUNDS or {ROUNDS})')
    parser.add_argument('--keep', metavar='FOLDER', help='leave specifications and servers there')
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error('argument --rounds: at least 1')
    report = Report('matching')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-matching-') as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            folder = os.path.abspath(options.keep)
        for seed in range(options.seed, options.seed + options.rounds):
            failed = report.failed
            one = Round(nest, seed, folder, report)
            server = one.build()
            try:
                for buffer in (8192, one.random.randint(16, 32)) if server else ():
                    one.compare(server, buffer)
            except Failed as error:
                report.line(False, f'seed {seed}', 'all conversations', '', error)
            if report.failed > failed:
                report.note(f'again: tests/matching/run.py --seed {seed} --rounds 1')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, Absent) as error:
        sys.exit(f'matching: {error}')
