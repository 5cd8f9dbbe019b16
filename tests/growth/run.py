#!/usr/bin/env python3
"""Whether the compiler's work grows faster than its input, for hostile specifications of many shapes.

Each shape is compiled at two sizes, one four times the other. By default user instructions are
counted by valgrind, so that the result does not depend on the machine. With --time the user time and
the memory of large inputs are measured, for work by hand. Must not know: how the compiler works.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import shapes                                                       # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import Failed, environment, program, run          # noqa: E402
from support.report import Report                                   # noqa: E402

COMMANDS = ('check', 'gen')
SIZE = 100          # the smaller of the two sizes, when instructions are counted
SOME = 2            # shapes of a sample, and those of ALWAYS; each is checked or compiled in turn
# Shapes that once grew exponentially or with the square; they are always compiled.
ALWAYS = ('condition macros that double', 'states in many lines', 'nested struct',
          'functions with the session')
# A square that makes half of the work at the larger size gives 6.4; n log n gives less than 5.
MOST_RATIO = 6.0
# Instructions for the larger size below which the ratio says nothing.
NOISE = 20_000_000
TIME = 600
MEMORY = 4 << 30
SECONDS = 60        # of user time that one compilation may take with --time
_COUNT = re.compile(r'Total instructions: (\d+)')


def compile_with(nest, text, command, folder, before=()):
    """Compiles a text. Returns the process and what wait4 says of it."""
    file = os.path.join(folder, 'hostile.nest')
    with open(file, 'w', encoding='utf-8') as out:
        out.write(text)
    words = [*before, nest, command, file]
    if command == 'gen':
        words += ['-o', os.path.join(folder, 'project'), '--force']
    with open(os.path.join(folder, 'messages'), 'wb') as messages:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=messages, env=environment(), preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise Failed(f'nest {command} ended with {process.returncode}')
    return usage


def limit():
    """Ends a compilation that takes too much."""
    resource.setrlimit(resource.RLIMIT_CPU, (TIME, TIME))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def instructions(nest, text, command, folder):
    """User instructions of a compilation."""
    compile_with(nest, text, command, folder, before=(
        'valgrind', '--tool=exp-bbv', '--instr-count-only=yes', '--bb-out-file=/dev/null',
        '--pc-out-file=/dev/null'))
    with open(os.path.join(folder, 'messages'), encoding='utf-8', errors='replace') as file:
        found = _COUNT.search(file.read())
    if found is None:
        raise Failed('valgrind has not counted the instructions')
    return int(found[1])


def chosen(parts):
    """The shapes and commands of this run: those whose names contain a part, or a sample."""
    every = [(name, command) for command in COMMANDS for name in shapes.ALL]
    if parts:
        return [(name, command) for name, command in every if any(part in name for part in parts)]
    if sample.ALL:
        return sample.share(every)
    drawn = sample.some([name for name in shapes.ALL if name not in ALWAYS], SOME)
    return [(name, sample.one(name, COMMANDS)) for name in shapes.ALL if name in ALWAYS or name in drawn]


def count(report, nest, pairs, folder):
    """Compares the instructions for shapes and commands."""
    report.heading(f'Instructions, sizes {SIZE} and {4 * SIZE}')
    idle = instructions(nest, shapes.rules('"a" NL { }\n'), 'check', folder)
    for name, command in pairs:
        try:
            found = grows(nest, name, command, folder, idle)
        except Failed as error:
            report.line(False, command, name, '', error)
            continue
        ratio, large, size = found
        report.line(ratio <= MOST_RATIO, command, name, f'{large / 1e6:8.1f} M, x {ratio:.1f}',
                    f'size {size} takes {ratio:.1f} times the instructions of size {size // 4}')


def grows(nest, name, command, folder, idle):
    """The ratio of the instructions for two sizes, those for the larger size, and this size. A limit of
    the compiler may lie between the first two sizes; then the next two decide."""
    def needs(size):
        return instructions(nest, shapes.ALL[name](size), command, folder) - idle
    small, size = needs(SIZE), 4 * SIZE
    large = needs(size)
    if large > MOST_RATIO * small:
        small, size = large, 4 * size
        large = needs(size)
    if large < NOISE:
        return 0.0, large, size
    return large / max(small, 1), large, size


def measure(report, nest, pairs, folder, size):
    """Compares user times and prints memory."""
    report.heading(f'User time and memory, sizes {size} and {4 * size}')
    for name, command in pairs:
        try:
            small, large = (compile_with(nest, shapes.ALL[name](n), command, folder)
                            for n in (size, 4 * size))
        except Failed as error:
            report.line(False, command, name, '', error)
            continue
        ratio = large.ru_utime / max(small.ru_utime, 0.01)
        good = large.ru_utime < SECONDS and (ratio <= MOST_RATIO or large.ru_utime < 0.2)
        report.line(good, command, name,
                    f'{len(shapes.ALL[name](4 * size)) >> 10:6} KB {small.ru_utime:7.2f} s '
                    f'{large.ru_utime:7.2f} s x {ratio:4.1f} {large.ru_maxrss >> 10:5} MB')


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Compiles hostile specifications at two sizes and compares the work.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    parser.add_argument('shape', nargs='*', help='only shapes whose names contain this')
    parser.add_argument('--time', type=int, metavar='SIZE',
                        help='measure the time of sizes SIZE and 4 SIZE instead')
    parser.add_argument('--list', action='store_true', help='list the shapes and commands of this run, and stop')
    options = parser.parse_args()
    pairs = chosen(options.shape or ([''] if options.time else []))
    if options.list:
        for name, command in pairs:
            print(f'{command} {name}')
        return 0
    report = Report('growth')
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-growth-') as folder:
        nest = os.path.join(folder, 'nest')     # without what valgrind would read for each compilation
        run(['strip', '-o', nest, program()])
        if options.time:
            measure(report, nest, pairs, folder, options.time)
        else:
            count(report, nest, pairs, folder)
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'growth: {error}')
