#!/usr/bin/env python3
"""Compares generated matchers with libpcre2: they must select the same rule, length and parts, at the same byte.

Must not know: what patterns look like, how libpcre2 and a server are asked.
"""

import argparse
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from conversations import CUTS, Message, Stream, describe           # noqa: E402
from oracle import CLOSED                                           # noqa: E402
from pcre2 import Absent, GaveUp                                    # noqa: E402
from rules import MARKER, Specification                             # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import Failed, program, run                       # noqa: E402
from support.report import Report                                   # noqa: E402
from talk import talk                                               # noqa: E402
from unit import replace                                            # noqa: E402
from ways import WAYS, Seen                                         # noqa: E402

VOLUME = 2, 2 * len(WAYS)          # rounds of a sample, of everything
INPUTS = 45                         # for each set
DRAWS = 4 * INPUTS                  # of a set, as libpcre2 gives up on some
LONGEST = 40
WIDE = 4                            # rules of a specification that were made for thread lists
SHOWN = 3                           # failures of one result


CFLAGS = '-O0 -g0 -fsanitize=address,undefined -fno-sanitize-recover=all'
WATCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'watch.c')


class Round:
    """A specification and its conversations."""

    def __init__(self, nest, seed, way, folder, report):
        self.nest, self.seed, self.folder, self.report = nest, seed, folder, report
        self.random = random.Random(seed)
        self.way = way or WAYS[(seed - 1) % len(WAYS)]

    def build(self):
        """Writes and builds the specification; the server, or None."""
        try:
            while True:     # by chance a specification may have hardly any rule for thread lists
                self.specification = Specification(self.random, self.way)
                if sum(rule.wide for rule in self.specification.rules()) >= WIDE:
                    break
        except ValueError as error:
            self.report.line(False, f'seed {self.seed}', 'means something', '', error)
            return None
        spec = os.path.join(self.folder, f'seed{self.seed}.nest')
        with open(spec, 'w', encoding='ascii') as file:
            file.write(self.specification.text())
        rules = self.specification.rules()
        try:
            project = os.path.join(self.folder, f'project{self.seed}')
            run([self.nest, 'gen', spec, '--model', 'script', '-o', project])
            seen = Seen(self.changed(project))
            run(['make', '-C', project], CFLAGS=CFLAGS)
            server = os.path.join(project, f'seed{self.seed}')
        except Failed as error:
            self.report.line(False, f'seed {self.seed}', 'is built', '', error)
            return None
        wrong = seen.wrong(self.way)
        self.report.line(not wrong, f'seed {self.seed}', self.way.describe(), seen.describe(),
                         f'{wrong}: {seen.describe()}')
        wide = sum(rule.wide for rule in rules)
        # Not quite all: what is preferred to the wide part of a rule may leave nothing of it.
        self.report.line(seen.lists * 2 >= wide > 0, f'seed {self.seed}',
                         'has rules over the budget of a DFA',
                         f'{len(rules)} rules, {seen.lists} by thread list',
                         f'{wide} rules were made for thread lists, {seen.lists} run by them')
        return server

    def changed(self, project):
        """Watches the matcher of a generated project; its server.c before that."""
        return replace(os.path.join(project, 'server.c'), 'runtime/engine/matcher.c', WATCH)

    def prepare(self, buffer):
        """For an inputBuffer: (case, how it is cut, steps, answers) of all conversations, in any
        order; and of how many nobody knows the answers."""
        work, unknown = [], 0
        kind = Stream if self.way.framing == 'stream' else Message
        for rules in self.specification.sets:
            known = 0
            for _ in range(DRAWS):
                payload = rules.conversation(self.random, LONGEST)
                try:
                    case = kind(rules, payload, buffer)
                    work += [(case, how, *case.steps(how, self.random)) for how in CUTS]
                except GaveUp:
                    unknown += 1
                    continue
                known += 1
                if known == INPUTS:
                    break
        self.random.shuffle(work)
        return work, unknown

    def compare(self, server, buffer):
        """All cases, cut in all ways, in one process."""
        work, unknown = self.prepare(buffer)
        found, given = talk(server, [f'inputBuffer={buffer}'], MARKER,
                            [steps for _, _, steps, _ in work], self.random, CLOSED)
        cases = {id(case): case for case, *_ in work}.values()
        matches = sum(case.matches for case in cases)
        for how in CUTS:
            wrong = [(len(case.payload), describe(case, steps, expected, said))
                     for (case, cut, steps, expected), said in zip(work, found)
                     if cut == how and said != expected]
            wrong.sort()
            self.report.line(not wrong, f'seed {self.seed}', f'{how}, inputBuffer {buffer}',
                             f'{len(cases)} conversations, {matches} matches',
                             '\n\n'.join([f'{len(wrong)} differ; the shortest:'] +
                                         [text for _, text in wrong[:SHOWN]]))
        if self.way.framing == 'stream':
            due = sum(case.given(steps) for case, _, steps, _ in work)
            self.report.line(given == due, f'seed {self.seed}', 'no byte is looked at twice',
                             f'{due} bytes', f'the matcher was given {given} bytes, {due} are due')
        due = INPUTS * len(self.specification.sets)
        # Some 0.7 matches a conversation; of those that end at once what no rule takes, with an inputBuffer of 16, 0.34 in the worst
        # of 48 rounds.
        if matches * 10 < len(cases) or len(cases) * 4 < due * 3:
            raise Failed(f'{len(cases)} conversations of {due} have {matches} matches, and libpcre2 gave up '
                         f'on {unknown} more: that checks too little')


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Compares emitted matchers with libpcre2: random rules, random conversations.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    first, rounds = sample.seeds(*VOLUME)
    parser.add_argument('--seed', type=int, default=first,
                        help='of the first round (default: CHECK_SEED or 1)')
    parser.add_argument('--rounds', type=int, default=rounds,
                        help='each has a seed of its own, one more than the last '
                             '(default: {}; with CHECK_ALL=1 {})'.format(*VOLUME))
    parser.add_argument('--way', type=int, metavar='N', choices=range(1, len(WAYS) + 1),
                        help='always that one of the ways in which rules are matched (default: '
                             'the next for each seed): ' +
                             '; '.join(f'{n} {way.describe()}' for n, way in enumerate(WAYS, 1)))
    parser.add_argument('--keep', metavar='FOLDER', help='leave specifications and servers there')
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error('argument --rounds: at least 1')
    way = WAYS[options.way - 1] if options.way else None
    report = Report('matching')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-matching-') as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            folder = os.path.abspath(options.keep)
        for seed in range(options.seed, options.seed + options.rounds):
            failed = report.failed
            one = Round(nest, seed, way, folder, report)
            server = one.build()
            try:
                for buffer in (8192, one.random.randint(16, 32)) if server else ():
                    one.compare(server, buffer)
            except Failed as error:
                report.line(False, f'seed {seed}', 'all conversations', '', error)
            if report.failed > failed:
                chosen = f' --way {options.way}' if way else ''
                report.note(f'again: tests/matching/run.py --seed {seed} --rounds 1{chosen}')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, Absent) as error:
        sys.exit(f'matching: {error}')
