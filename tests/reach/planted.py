#!/usr/bin/env python3
"""Bugs that are planted in what the checker knows of states are found by random conversations: in
how paths through actions are put together, in which sets are followed, in which rule wins.

Must not know: how they are found.
"""

import fcntl
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import sample                                              # noqa: E402
from support.nest import ROOT, TIME                                     # noqa: E402
from support.report import Report                                       # noqa: E402

TRIALS = '40000'
FEW = 1                 # bugs of a sample
# Of the workspace: cargo builds dependencies of one package with other features, thus once more.
TEST = ('cargo', 'test', '--quiet', '--workspace', '--test', 'reach_random')
TARGET = os.path.abspath(os.environ.get('CARGO_TARGET_DIR') or os.path.join(ROOT, 'target'))
LIBRARIES = ('.d', '.rlib', '.rmeta', '.so')    # what cargo builds of them
SOURCES = 'crates'
PARTS = ('Cargo.toml', 'Cargo.lock', 'conditioning', 'conformance', 'crates', 'kernel', 'xtask', 'runtime', 'tests/support')
# What is wrong, where, what stands there, what is put in its place.
BUGS = (
    ('DEFAULT is forgotten', 'nest-machine/src/reach/sets.rs',
     '(START | DEFAULT, lasts.then_some', '(START, lasts.then_some'),
    ('the longest time fires', 'nest-machine/src/reach/sets.rs',
     '.min_by_key(|(n, t)| (t.after, *n))',
     '.max_by_key(|(n, t)| (t.after, *n))'),
    ('a later rule wins, too', 'nest-machine/src/reach/win.rs',
     'product.first(states) == Some(rule)',
     'product.accepting(states).any(|r| r == rule)'),
    ('what is marked is never cleared', 'nest-c/src/effects/paths.rs',
     'set: (p.set & !then.clear) | then.set,', 'set: p.set | then.set,'),
    ('no path leads past a switch', 'nest-c/src/flow.rs',
     'if let Some((entry, false)) = d.jumps().cases.pop()',
     'if let Some((entry, true)) = d.jumps().cases.pop()'),
    ('a return goes on', 'nest-c/src/flow.rs',
     'd.give(children(node).first().copied())?;\n            leave(d);',
     'd.give(children(node).first().copied())?;'),
)


def copied(folder):
    """The compiler's sources, put there with their times, and the libraries that cargo has built of them. It knows
    these again, because it names the parts of a workspace by their paths in it."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for part in PARTS:
        source, target = os.path.join(ROOT, part), os.path.join(folder, part)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns('target', 'build'))
        else:
            shutil.copy2(source, target)
    built, own = (os.path.join(place, 'debug') for place in (TARGET, os.path.join(folder, 'target')))

    def programs(place, names):
        return [name for name in names if not name.endswith(LIBRARIES)] if place == os.path.join(built, 'deps') else []
    with open(os.path.join(built, '.cargo-lock'), 'rb') as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)        # no cargo changes it meanwhile
        for part in ('.fingerprint', 'build', 'deps'):
            shutil.copytree(os.path.join(built, part), os.path.join(own, part), ignore=programs)


def tried(folder, **more):
    """Whether the test passes there, and what it says. `more`: variables."""
    environment = dict(os.environ, CHECK_TRIALS=TRIALS, RUST_BACKTRACE='0', **more)
    for name in ('CHECK_SEED', 'CHECK_ALL', 'CHECK_SHARD'):     # with other seeds a bug might be found by chance only
        environment.pop(name, None)
    done = subprocess.run(TEST, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=4 * TIME)
    return done.returncode == 0, done.stdout.decode(errors='replace')


def planted(folder, bug):
    """What the test says with the bug in its place: (found, why not)."""
    _, name, old, new = bug
    path = os.path.join(folder, SOURCES, name)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    if text.count(old) != 1:
        return False, f'{name} holds {old!r} {text.count(old)} times'
    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text.replace(old, new))
        passed, said = tried(folder, CARGO_TARGET_DIR=os.path.join(folder, 'target'))
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    if passed:
        return False, f'nothing is found in {TRIALS} conversations'
    return 'panicked at crates/nest-machine/tests/' in said, said[-2000:]


def main():
    """Plants them one by one; the exit status."""
    report = Report('planted bugs in reach')
    passed, said = tried(ROOT)
    report.line(passed, 'reach', 'nothing is planted', 'nothing is found', said[-2000:])
    report.note(sample.described())
    if passed:
        folder = os.path.join(TARGET, 'planted')
        try:
            copied(folder)
            for bug in sample.some(BUGS, FEW):
                found, why = planted(folder, bug)
                report.line(found, bug[1], bug[0], 'found', why)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
