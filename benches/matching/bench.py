#!/usr/bin/env python3
"""Measures the matcher that nest emits beside those of others; README.md says how.

`make bench-matching` runs it. Must not know: how a program is built, what a table looks like.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import report                                               # noqa: E402
from build import Failed, Workshop, run                     # noqa: E402
from corpus import CORPORA                                  # noqa: E402
from harness.machine import describe                        # noqa: E402
from tasks import MATCHERS, MODES, TASKS                    # noqa: E402

TIME = 900
CACHEGRIND = ('valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null')


def names(known):
    """A type of argument: names of a table, with commas."""
    def parse(text):
        out = text.split(',')
        for name in out:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return out
    return parse


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        prog='bench', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Measures the matcher that nest emits beside those of others.',
        epilog='\n'.join(['tasks:'] + [f'  {t.name:11} {t.about}' for t in TASKS.values()]
                         + ['', 'matchers:']
                         + [f'  {m.name:11} {m.about}' for m in MATCHERS.values()]))
    parser.add_argument('--only', type=names(TASKS), default=list(TASKS), metavar='TASK,…')
    parser.add_argument('--matchers', type=names(MATCHERS), default=list(MATCHERS),
                        metavar='MATCHER,…')
    parser.add_argument('--modes', type=names(MODES), default=list(MODES), metavar='MODE,…',
                        help=', '.join(MODES))
    parser.add_argument('--rounds', type=int, default=5, help='%(default)s')
    parser.add_argument('--seconds', type=float, default=.1, help='of one measurement: %(default)s')
    parser.add_argument('--cc', default='gcc', metavar='CC,…',
                        help='C compilers, each measured by itself: gcc, clang (%(default)s)')
    parser.add_argument('--seed', type=int, default=1, help='of the inputs: %(default)s')
    parser.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument('--count', type=names([*MODES, 'none']), default=['whole'],
                        metavar='MODE,…', help='of which instructions are counted where the '
                        'processor does not: whole; none')
    parser.add_argument('--nest', default=os.environ.get('NEST'), help='the compiler')
    parser.add_argument('--record', metavar='PREFIX', help='write PREFIX.md and PREFIX.json too')
    parser.add_argument('--report', metavar='FILE.json',
                        help='measure nothing: print the tables of a record')
    options = parser.parse_args()
    if not options.report and not options.nest:
        parser.error('--nest, or NEST in the environment, is needed; make bench-matching gives it')
    if options.rounds < 1:
        parser.error('--rounds is at least 1')
    return options


def missing(matchers):
    """{name: package} of matchers whose tool or library is not installed."""
    out = {}
    for name in matchers:
        matcher = MATCHERS[name]
        if ((matcher.program and shutil.which(matcher.program) is None)
                or (matcher.file and not os.path.exists(matcher.file))):
            out[name] = matcher.package
    return out


def ask(program, path, mode, what, before=()):
    """Runs a program on an input: its figures, and what `before` has written."""
    done = subprocess.run([*before, program, path, str(MODES[mode]), what], capture_output=True,
                          text=True, timeout=TIME, check=False)
    if done.returncode != 0:
        raise Failed(f'{program} {path} {mode}: {done.stderr.strip()[-1000:]}')
    return json.loads(done.stdout), done.stderr


def counted(program, path, mode):
    """Instructions of a pass: of two passes less those of one."""
    totals = []
    for passes in ('=0', '=1'):
        text = ask(program, path, mode, passes, CACHEGRIND)[1]
        totals.append(int(re.search(r'I\s+refs:\s+([\d,]+)', text).group(1).replace(',', '')))
    return totals[1] - totals[0]


class Cell:
    """A program on an input in a mode, and what was measured of it."""

    def __init__(self, matcher, task, corpus, mode, cc):
        self.key = {'matcher': matcher.name, 'task': task.name, 'corpus': corpus, 'mode': mode,
                    'cc': cc}
        self.matcher, self.task, self.mode = matcher, task, mode
        self.figures = {'rounds': []}
        self.program = self.path = None

    def build(self, shop, folder):
        """Its program, and what making it took."""
        self.program, facts = shop.program(self.matcher, self.task, self.mode == 'whole')
        self.path = os.path.join(folder, self.key['corpus'])
        self.figures.update(facts)

    def measure(self):
        """One round."""
        found = ask(self.program, self.path, self.mode, str(Cell.seconds))[0]
        self.figures['rounds'].append(found['seconds'])
        for name in ('bytes', 'sums', 'instructions', 'cycles'):
            if name in found:
                self.figures[name] = found[name]
        if found['code'] > 0:               # what is made at run time
            self.figures.update(code=found['code'], generation=found['setup'])

    def record(self):
        """It, as data; the sums have served."""
        return self.key | {k: v for k, v in self.figures.items() if k != 'sums'}


def compare(cells):
    """Each matcher's sums are those of the first, over all modes; says where they are not."""
    first, sound = {}, True
    for cell in cells:
        sums = cell.figures['sums']
        place = cell.key['task'], cell.key['corpus']
        if first.setdefault(place, (sums, cell.key))[0] != sums:
            print(f'bench: {cell.key} finds other parts than {first[place][1]}:\n  {sums}\n  '
                  f'{first[place][0]}', file=sys.stderr)
            sound = False
    return sound


def measure_all(options, folder, absent):
    """All cells, in turn in each round; whether all found the same."""
    for corpus in {c for name in options.only for c in TASKS[name].corpora}:
        with open(os.path.join(folder, corpus), 'wb') as file:
            file.write(CORPORA[corpus](options.seed))
    cells = []
    for cc in options.cc.split(','):
        shop = Workshop(os.path.join(folder, os.path.basename(cc)), options.nest, cc)
        for task in map(TASKS.get, options.only):
            print(f'  building {task.name} by {cc}', file=sys.stderr, flush=True)
            for corpus in task.corpora:
                for mode in options.modes:
                    for name in options.matchers:
                        matcher = MATCHERS[name]
                        if name not in absent and task.name in matcher.tasks \
                                and mode in matcher.modes:
                            cells.append(Cell(matcher, task, corpus, mode, cc))
                            cells[-1].build(shop, folder)
    os.sched_setaffinity(0, {options.core})     # and that of all programs from here on
    for turn in range(options.rounds):
        print(f'  round {turn + 1} of {options.rounds}', file=sys.stderr, flush=True)
        for cell in cells:
            cell.measure()
    sound = compare(cells)
    wanted = [c for c in cells if c.mode in options.count and 'instructions' not in c.figures]
    counting = shutil.which('valgrind') is not None
    if wanted and not counting:
        print('bench: no instructions are counted: apt-get install valgrind', file=sys.stderr)
    for cell in wanted:
        if counting:
            cell.figures['instructions'] = counted(cell.program, cell.path, cell.mode)
            cell.figures['counter'] = 'cachegrind'
    return [cell.record() for cell in cells], sound


def interrupted(*_):
    """A signal that asks to end ends like Ctrl-C: what was made is removed."""
    raise KeyboardInterrupt


def main():
    """Runs all; the exit status."""
    options = arguments()
    signal.signal(signal.SIGTERM, interrupted)
    if options.report:
        with open(options.report, encoding='utf-8') as file:
            print('\n'.join(report.tables(json.load(file))))
        return 0
    Cell.seconds = options.seconds
    absent = missing(options.matchers)
    for name, package in absent.items():
        print(f'bench: {name} is left out: apt-get install --no-install-recommends {package}',
              file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix='nest-matching-') as folder:
        cells, sound = measure_all(options, folder, absent)
    result = {'machine': describe(), 'seed': options.seed, 'rounds': options.rounds,
              'seconds': options.seconds, 'absent': absent, 'same': sound,
              'commit': run('git', '-C', HERE, 'rev-parse', '--short', 'HEAD')[0].strip(),
              'cells': cells}
    text = '\n'.join(report.tables(result)) + '\n'
    print(text, end='')
    if options.record:
        with open(options.record + '.md', 'w', encoding='utf-8') as file:
            file.write(text)
        with open(options.record + '.json', 'w', encoding='utf-8') as file:
            json.dump(result, file, indent=1)
            file.write('\n')
    return 0 if sound else 1


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Failed, subprocess.TimeoutExpired) as error:
        sys.exit(f'bench: {error}')
    except KeyboardInterrupt:
        sys.exit(130)
