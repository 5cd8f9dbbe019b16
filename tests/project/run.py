#!/usr/bin/env python3
"""The generated project as its users get it: text, compilers, sanitizers, machines, crashes, lines.

Must not know: how anything is checked.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import count                                                        # noqa: E402
import crash                                                        # noqa: E402
import places                                                       # noqa: E402
import talks                                                        # noqa: E402
from projects import SANITIZE, STRICT, Projects, specs, tree, unused_files, wrong_text  # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import MODELS, Failed, program, run               # noqa: E402
from support.report import Report                                   # noqa: E402

JOBS = 2
EVERYWHERE = (      # label, compiler, CFLAGS, LDFLAGS: every specification in every model
    ('gcc', 'gcc', f'-O2 -g {STRICT}', ''),
    ('clang O0', 'clang', f'-O0 {STRICT}', ''),         # it warns whatever it optimises
    ('musl O0', 'musl-gcc', f'-O0 {STRICT}', '-static'),
)
COSTLY = (          # wide.nest, and all actions: the runtime is the same in all
    ('clang', 'clang', f'-O2 {STRICT}', ''),
    ('musl', 'musl-gcc', f'-O1 {STRICT}', '-static'),
    ('O3', 'gcc', f'-O3 {STRICT}', ''),
    ('O0 san', 'gcc', f'-O0 {STRICT} {SANITIZE}', ''),
    ('O3 san', 'gcc', f'-O3 {STRICT} {SANITIZE}', ''),
    ('clang san', 'clang', f'-O1 {STRICT} {SANITIZE}', ''),
)
# What a sample does of each part; the seed draws which.
SOME_TEXTS, SOME_WIDE, SOME_ACTIONS, SOME_EVERYWHERE = 50, 1, 5, 10
SOME_TALKS, SOME_WATCHED, SOME_MACHINES, SOME_CRASHES = 2, 1, 1, 1
TALKING = ('gcc', 'musl', 'O0 san', 'O3 san', 'clang san')
SAN_ENVIRONMENT = {'ASAN_OPTIONS': 'detect_leaks=1', 'UBSAN_OPTIONS': 'print_stacktrace=1'}


class Suite:
    """The projects, and what is checked of them."""

    def __init__(self, nest, folder, report):
        self.report, self.nest, self.folder = report, nest, folder
        self.projects, self.specs = Projects(nest, folder), specs()
        self.made = {}

    def project(self, name, model):
        """The generated project of a specification in a model, which is made once."""
        if (name, model) not in self.made:
            self.made[name, model] = self.projects.generate(name, self.specs[name], model)
        return self.made[name, model]

    def attempt(self, who, what, work, counted=''):
        """One check: passed unless it raises Failed."""
        try:
            found = work()
            self.report.line(True, who, what, found if isinstance(found, str) else counted)
            return True
        except Failed as error:
            self.report.line(False, who, what, '', error)
            return False

    def text(self):
        """Generates specifications twice; looks at the text."""
        self.report.heading('Generated text')
        chosen = sample.some([(name, model) for model in MODELS for name in self.specs], SOME_TEXTS, 'text')
        for name, model in chosen:
            self.project(name, model)
        time.sleep(1.1)             # a time in the text would differ now
        for model in MODELS:
            names = [name for name, its in chosen if its == model]
            wrong, count = [], 0
            for name in names:
                project = self.project(name, model)
                files = tree(project)
                count += len(files)
                if files != tree(self.projects.generate(name, self.specs[name], model, 'b')):
                    wrong.append(f'{name}: two runs differ')
                for found in (wrong_text(files, self.folder), unused_files(project, files, model)):
                    wrong += [f'{name}: {found}'] if found else []
            if names:
                self.report.line(not wrong, model, 'same bytes twice; no date, path, $, @@; all is used',
                                 f'{len(names)} projects, {count} files', '\n'.join(wrong))

    def fits(self, variant, name, model):
        """Whether a compiler has what a project needs: there is no OpenSSL for musl here. Of the models, only a
        script needs none for a specification with TLS."""
        if 'musl' not in variant[0] or model == 'script':
            return True
        with open(os.path.join(self.project(name, 'event'), 'Makefile'), encoding='utf-8') as file:
            return '-lssl' not in file.read()

    def builds(self):
        """Specifications by all compilers, two at once."""
        self.report.heading(f'Builds by make, with {STRICT}')
        work = sample.some([(variant, 'wide', model, None) for variant in COSTLY for model in MODELS],
                           SOME_WIDE)
        work += sample.some([(variant, name, model, None) for variant in EVERYWHERE for model in MODELS
                             for name in self.specs if self.fits(variant, name, model)], SOME_EVERYWHERE)
        work += sample.some([(variant, name, 'event', 'actions.o') for variant in COSTLY
                             for name in self.specs if name != 'wide' and self.fits(variant, name, 'event')],
                            SOME_ACTIONS)
        for _, name, model, _ in work:
            self.project(name, model)       # here, because the builds run at a time
        errors, spent = {}, {}

        def one(item):
            (label, cc, flags, linker), name, model, target = item
            start = time.monotonic()
            try:
                self.projects.build(self.project(name, model), label, cc, flags, linker, target)
            except Failed as error:
                errors.setdefault((label, model), []).append(f'{name}: {error}')
            spent[label, model] = spent.get((label, model), 0) + time.monotonic() - start

        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(one, work))
        for label, _, flags, linker in EVERYWHERE + COSTLY:
            for model in MODELS:
                wrong = errors.get((label, model), [])
                count = sum(1 for (v, _, m, _) in work if v[0] == label and m == model)
                if count == 0:
                    continue
                flags = flags.replace(STRICT, '').replace(SANITIZE, '-fsanitize=…').replace('  ', ' ')
                self.report.line(not wrong, model, f'{label}: {flags} {linker}'.strip()[:58],
                                 f'{count} builds, {spent[label, model]:.0f} s',
                                 '\n'.join(wrong))

    def server(self, name, model, label='gcc'):
        """A server that builds() has built."""
        variant = next(v for v in EVERYWHERE + COSTLY if v[0] == label)
        return self.projects.build(self.project(name, model), *variant)

    def symbols(self):
        """The trace is in a server that asks for it, and in no other."""
        self.report.heading('Only what is selected')
        for model in sample.some(MODELS, SOME_TALKS, 'symbols'):
            def look(model=model):
                plain = run(['nm', self.server('wide', model, 'clang O0')])
                project = self.projects.generate('wide', self.specs['wide'], model, 'traced', True)
                traced = run(['nm', self.projects.build(project, 'traced', 'gcc', '-O0')])
                if re.search(r'\bnest__trace', traced) is None:
                    raise Failed('no trace symbol in a server built with --trace')
                if (found := re.search(r'\S*trace\S*', plain)) is not None:
                    raise Failed(f'{found.group()} in a server built without --trace')
            self.attempt(model, 'no trace symbol without --trace', look)

    def talk(self):
        """The conversation, however built."""
        self.report.heading(f'A conversation with waiting answers of {talks.LINES // 2000} MB')
        for label, model in sample.some([(label, model) for label in TALKING for model in MODELS],
                                        SOME_TALKS):
            def one(label=label, model=model):
                said = talks.talk(model, [self.server('wide', model, label)],
                                  **(SAN_ENVIRONMENT if 'san' in label else {}))
                if said.strip():
                    raise Failed(f'it wrote to stderr\n{said}')
            self.attempt(model, label, one)

    def memcheck(self):
        """The same under valgrind."""
        self.report.heading('The same under valgrind: errors, leaks, descriptors')
        for model in sample.some(MODELS, SOME_WATCHED):
            self.attempt(model, 'not a word', lambda m=model: '{} processes'.format(
                talks.memcheck(m, self.server('wide', m), self.folder)))

    def machines(self):
        """Another machine, and the fallback for all others."""
        self.report.heading('Another machine; the switch of stacks that every machine has')
        cross = 'aarch64-linux-gnu-gcc'

        def one(model, label, before, cc, flags, linker=''):
            server = self.projects.build(self.project('wide', model), label, cc, flags, linker)
            said = talks.talk(model, before + [server])
            if re.sub(r"(?m)^.*ASan doesn't fully support makecontext.*\n", '', said).strip():
                raise Failed(f'it wrote to stderr\n{said}')

        absent = shutil.which(cross) is None or shutil.which('qemu-aarch64') is None
        emulated = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']
        ways = (('aarch64 under qemu', emulated, cross, f'-O2 {STRICT}'),
                ('ucontext', [], 'gcc', f'-O1 -DNEST__CONTEXT_UCONTEXT {STRICT}'),
                ('ucontext san', [], 'gcc', f'-O1 -DNEST__CONTEXT_UCONTEXT {STRICT} {SANITIZE}'))
        for model, (label, *how) in sample.some([(model, way) for model in ('script', 'event')
                                                 for way in ways], SOME_MACHINES):
            if how[0] and absent:
                self.report.skip(model, label, f'needs {cross} and qemu-aarch64')
            else:
                self.attempt(model, label, lambda m=model, k=label, h=how: one(m, k, *h))

    def crashes(self):
        """Actions that crash."""
        optimised = sample.some(MODELS, SOME_CRASHES)
        crash.check(self.report, {model: self.server('crash', model, 'gcc' if model in optimised else 'clang O0')
                                  for model in MODELS}, self.specs['crash'])

    def count(self):
        """The tables of lines in the READMEs."""
        self.attempt('all', 'the READMEs of examples count lines right', lambda: count.check(self.nest))

    def lines(self):
        """Where errors are shown, what gdb sees."""
        folder = os.path.join(self.folder, 'places')
        os.makedirs(folder, exist_ok=True)
        places.check_lines(self.report, self.nest, folder)
        places.check_gdb(self.report, self.server('wide', 'event'), folder)


def main():
    """Runs all; the exit status."""
    parts = ('count', 'builds', 'symbols', 'talk', 'memcheck', 'machines', 'crashes', 'lines')
    parser = argparse.ArgumentParser(
        description='Checks generated projects as their users get them.',
        epilog='environment: NEST is the compiler to use (default: built by cargo); without CHECK_ALL=1, '
               'some of the builds and conversations, drawn by CHECK_SEED')
    parser.add_argument('--only', action='append', choices=parts,
                        help='only this part (may be repeated)')
    options = parser.parse_args()
    report = Report('project')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-project-') as folder:
        report.note(sample.described())
        suite = Suite(nest, folder, report)
        suite.text()
        for part in parts:
            if options.only is None or part in options.only:
                start = time.monotonic()
                try:
                    getattr(suite, part)()
                except Failed as error:
                    report.line(False, '', part, '', error)
                report.note(f'{time.monotonic() - start:.0f} s')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'project: {error}')
