#!/usr/bin/env python3
"""Runs `nest test` with the examples: their conversations pass, and so do generated ones, which cover what
was reported and are the same each time.

    tests/coverage/run.py             all; generated ones of some, which CHECK_SEED draws, or with CHECK_ALL=1 of all
    tests/coverage/run.py login       examples of that name

Must not know: how conversations are held or found.
"""

import glob
import json
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import sample                                          # noqa: E402
from support.nest import ROOT, Failed, program, run                 # noqa: E402
from support.report import Report                                   # noqa: E402

MADE = {                # example: the least that must be covered, in percent, and whether it has pages
    'login': (100, False),
    'calculator': (100, True),
    'depot': (100, True),
    'demo': (90, True),
}
SOME = 2                # of these, in a sample


class Suite:
    """The examples, and what is checked of them."""

    def __init__(self, nest, folder, report):
        self.nest, self.folder, self.report = nest, folder, report

    def test(self, name, *options):
        """Runs it on an example's copy; clang compiles for sanitizers in half the time of gcc."""
        return run([self.nest, 'test', f'{name}.nest', *options], os.path.join(self.folder, name),
                   XDG_CACHE_HOME=os.path.join(self.folder, 'cache'), CC='clang')

    def attempt(self, name, what, work):
        """One check: passed unless it raises Failed."""
        try:
            self.report.line(True, name, what, work())
        except Failed as error:
            self.report.line(False, name, what, '', error)

    def as_written(self, name):
        """Its own pages, without sockets; what they cover."""
        said = self.test(name, '--quick', '--model', 'script', '--format', 'json')
        lines = [json.loads(line) for line in said.splitlines() if line.startswith('{')]
        pages = [line for line in lines if 'page' in line]
        found = lines[-1]['coverage']
        if not pages or found['transitions'] is None:
            raise Failed(f'no page, or no transition:\n{said}')
        return f'{len(pages)} pages, {found["percent"]}%'

    def made(self, name, least):
        """Conversations for the rest: promised, held with sanitizers, made again."""
        folder = os.path.join(self.folder, name)
        said = self.test(name, '--quick', '--generate')
        promised = re.search(r'^now covered: \d+ of \d+, (\d+)%$', said, re.M)
        if not promised or int(promised[1]) < least:
            raise Failed(f'less than {least}% are covered:\n{said}')
        pages = self.pages(folder)
        self.test(name, '--quick', '--min-coverage', promised[1])
        self.test(name, '--model', 'event', *pages)
        before = {page: self.text(folder, page) for page in pages}
        for page in pages:
            os.remove(os.path.join(folder, page))
        self.test(name, '--quick', '--generate')
        if before != {page: self.text(folder, page) for page in self.pages(folder)}:
            raise Failed('the same specification has other conversations the second time')
        return f'{promised[1]}%'

    @staticmethod
    def pages(folder):
        """The pages that were made."""
        return sorted(glob.glob('*-cases*.md', root_dir=folder))

    @staticmethod
    def text(folder, page):
        """What stands on one."""
        with open(os.path.join(folder, page), encoding='utf-8') as file:
            return file.read()


def main():
    """Runs, reports; the exit status."""
    report = Report('coverage')
    report.note(sample.described())
    generated = [name for name in MADE if name in sys.argv[1:]] or sample.some(MADE, SOME, 'coverage')
    with tempfile.TemporaryDirectory(prefix='nest-coverage-') as folder:
        suite = Suite(program(), folder, report)
        shutil.copytree(os.path.join(ROOT, 'examples'), folder, dirs_exist_ok=True)  # some include files of others
        for name in sorted(os.listdir(os.path.join(ROOT, 'examples'))):
            pages = glob.glob(os.path.join(ROOT, 'examples', name, '*.md'))
            wanted = not sys.argv[1:] or name in sys.argv[1:]
            if not wanted or len(pages) < 2:        # a README is for people
                continue
            suite.attempt(name, 'its conversations go as written', lambda: suite.as_written(name))
            if name not in generated:
                continue
            least, keeps = MADE[name]
            if not keeps:
                for page in glob.glob(os.path.join(folder, name, '*.md')):
                    os.remove(page)
            suite.attempt(name, 'conversations for the rest', lambda: suite.made(name, least))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
