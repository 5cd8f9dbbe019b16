#!/usr/bin/env python3
"""Plants bugs in the engine, which the tests must find: a match that is started again, bytes that are read
twice, a wrong length.

Must not know: how they are found.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import many                                                             # noqa: E402
import run                                                              # noqa: E402
from pcre2 import Absent                                                # noqa: E402
from support import sample                                              # noqa: E402
from support.nest import Failed, program                                # noqa: E402
from support.report import Report                                       # noqa: E402
from unit import Bench, replace                                         # noqa: E402

SEEDS = range(1, 17)    # always these: with others, a bug might be found by chance only
FEW = 2                 # bugs of a sample
ROUND = 4               # of run.py: quickly built
MATCHER, SESSION = 'runtime/engine/matcher.c', 'runtime/engine/session.c'
# What is wrong, what stands in the file, what is put in its place.
IN_MATCHER = (
    ('an automaton looks at a message from its beginning',
     'run, states, last, p, p + from, p + end);', 'run, states, last, p, p, p + end);'),
    ('a rule apart is begun anew with each piece',
     '    for (uint32_t i = from; i < to; i++) {\n        state = dfa->next',
     '    state = dfa->start;\n    for (uint32_t i = 0; i < to; i++) {\n        state = dfa->next'),
    ('a long match of a rule apart loses a byte',
     'run->best_n = accepted;', 'run->best_n = accepted - (accepted > 7);'),
)
IN_SESSION = ('a session begins a match anew now and then',
              's->work->matching) {\n        match =',
              's->work->matching && n % 5 != 0) {\n        match =')


class PlantedBench(Bench):
    """Its programs have the bug."""

    def __init__(self, folder, bug):
        super().__init__(program(), folder)
        self.bug = bug

    def generate(self, number, text):
        """As the other, and plants it."""
        server = super().generate(number, text)
        _, old, new = self.bug
        replace(self._path(number, f's/{MATCHER}'), old, new)
        return server


class PlantedRound(run.Round):
    """Its server has the bug."""

    def changed(self, project):
        """As the other, and plants it."""
        _, old, new = IN_SESSION
        replace(os.path.join(project, SESSION), old, new)
        return super().changed(project)


class Silent(Report):
    """Counts, and says nothing."""

    def line(self, good, who, what, counted='', wrong=''):
        """One result."""
        self.passed += good
        self.failed += not good


def in_session(report):
    """Plants the bug of sessions."""
    with tempfile.TemporaryDirectory(prefix='nest-planted-') as folder:
        quiet = Silent('')
        one = PlantedRound(program(), ROUND, None, folder, quiet)
        server = one.build()
        if server is None:
            raise Failed('the server with a bug in its sessions is not built')
        built = quiet.failed
        one.compare(server, 8192)
        report.line(quiet.failed > built, 'session', IN_SESSION[0], 'found', 'nothing is found')


def main():
    """Plants them one by one; the exit status."""
    report = Report('planted bugs')
    report.note(sample.described())
    chosen = sample.some((*IN_MATCHER, IN_SESSION), FEW)
    for bug in chosen:
        if bug is IN_SESSION:
            in_session(report)
            continue
        with tempfile.TemporaryDirectory(prefix='nest-planted-') as folder:
            bench, counts, found = PlantedBench(folder, bug), many.Counts(), []
            for at in range(0, len(SEEDS), many.AT_ONCE):
                found += many.some(bench, SEEDS[at:at + many.AT_ONCE], counts)
            report.line(bool(found), 'matcher', bug[0], f'found {len(found)} times',
                        f'{counts.describe()}, and nothing is found')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, Absent) as error:
        sys.exit(f'planted bugs: {error}')
