#!/usr/bin/env python3
"""Runs the conformance suite: every case, in every cell of its models. See README.md.

A sample of the suite runs each case in one model or two, which the seed draws. In a round of seven days
a case runs once in each model with sockets, and on four days without.
Must not know: anything that is not in runner/.
"""

import argparse
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, 'tests'))
from runner import process, scratch, unread, variants        # noqa: E402
from runner.build import MODELS, Builder, BuildError, TIME, digest, read_tree  # noqa: E402
from runner.case import load_all                            # noqa: E402
from runner.passed import Passed                            # noqa: E402
from runner.suite import Suite                              # noqa: E402
from support import sample                                  # noqa: E402
from support.report import going_on                         # noqa: E402

SPLITS = 48     # of each kind, of a conversation in a sample
REST = 2        # samples without sockets alone, in a round


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        description='Runs the conformance suite: every case in one concurrency model or two, which the seed '
                    'draws (CHECK_SEED, default 1). CHECK_ALL=1, or naming a case: in every model.',
        epilog='example: conformance/run.py --case "states/*" --model event -v')
    parser.add_argument('--model', action='append', choices=MODELS,
                        help='only this model (may be repeated)')
    parser.add_argument('--case', action='append', metavar='GLOB',
                        help='only cases whose name matches, as in "patterns/*" (may be repeated)')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE',
                        help='an option of every server with sockets, as dispatchers=2 (may be repeated)')
    parser.add_argument('--option', action='append', default=[], metavar='LINE',
                        help='`%%option LINE` in every server with sockets (may be repeated), with the same exceptions as '
                             '--filter')
    parser.add_argument('--filter', action='append', default=[], metavar='LINE',
                        help='`%%filter LINE` in every server with sockets (may be repeated); cases that count lines, '
                             'and those of inetd, are left out')
    parser.add_argument('--in', dest='own', metavar='DIR',
                        help="the cases of this folder, in place of the project's")
    parser.add_argument('--jobs', type=int, default=min(2 * (os.cpu_count() or 1), 8), metavar='N',
                        help='cases at once (default: two a processor; half their time they wait)')
    parser.add_argument('-v', '--verbose', action='store_true', help='show every cell')
    parser.add_argument('--keep', action='store_true',
                        help='keep temporary folders and old servers; say where they are')
    parser.add_argument('--nest', metavar='PATH', default=os.environ.get('NEST'),
                        help='the compiler (default: NEST from the environment, else built by cargo)')
    parser.add_argument('--cc', default=os.environ.get('CC'),
                        help='the C compiler (default: gcc for process, clang for the others)')
    parser.add_argument('--list', action='store_true', help='list the cases and stop')
    return parser.parse_args()


def target():
    """Where cargo puts what it builds."""
    return os.environ.get('CARGO_TARGET_DIR') or os.path.join(ROOT, 'target')


def compiler():
    """Builds nest and returns its path."""
    done = subprocess.run(['cargo', 'build', '--quiet', '--package', 'nest-cli'], cwd=ROOT,
                          timeout=4 * TIME)
    if done.returncode != 0:
        sys.exit('conformance: nest does not build')
    return os.path.join(target(), 'debug', 'nest')


def everything(options):
    """Whether this run is no sample."""
    return bool(options.model or options.case or options.own or options.set or sample.ALL)


def lines(options):
    """The lines that each specification begins with."""
    return [f'%option {line}' for line in options.option] + [f'%filter {line}' for line in options.filter]


def filtered(cases, options):
    """The cases that can have filters in front of their servers, which begin with lines more."""
    return [case for case in cases if not lines(options) or case.takes_lines()]


def chosen(cases, options):
    """The cases of this run: in a sample a third of them."""
    return sample.share(cases) if everything(options) or lines(options) else sample.some(cases, len(cases) // 3, 'conformance')


def models(options):
    """A function from a case to the models in which it is run."""
    if everything(options):
        return lambda case: options.model or MODELS
    without, *others = MODELS
    if options.filter:
        return lambda case: () if 'sockets' in case.skips else sample.one(case.name, [(model,) for model in others])
    turns = [(without, model) if place % 2 else (model,) for place, model in enumerate(others)]
    turns += [(without,)] * REST
    return lambda case: (without,) if 'sockets' in case.skips else sample.one(case.name, turns)


def cuts(options):
    """Which splits of a conversation are tried without sockets."""
    if everything(options):
        return variants.all_of
    return lambda talk: variants.all_of(talk, SPLITS, sample.SEED)


def passed(options):
    """The results of earlier runs. CHECK_TOOLS is a digest of what is installed; without it, or if a part of
    the suite is named, everything is repeated."""
    tools = os.environ.get('CHECK_TOOLS')
    if tools is None or everything(options) or lines(options):
        return None
    here = os.path.join(ROOT, 'conformance', 'runner')
    runner = (part for name, text in sorted(read_tree(here).items()) for part in (name.encode(), text))
    return Passed(os.path.join(target(), 'conformance-passed'),
                  digest(tools.encode(), str(sample.SEED).encode(), str(SPLITS).encode(), *runner))


class Bounded(Suite):
    """Ends this program when no case has come to its end for very long, and shows where its threads are."""

    def _report(self, *words):
        going_on()
        super()._report(*words)


def main():
    """Runs, reports, and returns the exit status."""
    options = arguments()
    cases, errors = load_all(ROOT, options.case, options.own)
    if options.list:
        for case in cases:
            print(case.name)
        return 0
    if not cases and not errors:
        sys.exit('conformance: no case has such a name')
    if why := unread.wrong():
        sys.exit(f'conformance: {why}')
    process.SETTINGS.extend(options.set)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    going_on()
    start = time.monotonic()
    temporary = scratch.begin(options.keep)
    try:
        builder = Builder(os.path.abspath(options.nest or compiler()),
                          os.path.join(target(), 'conformance'), options.cc, lines=lines(options))
        print(f'conformance: {sample.described()}')
        before = passed(options)
        suite = Bounded(builder, models(options), options.verbose, cuts=cuts(options), passed=before)
        for name, error in errors:
            suite.broken(name, error)
        good = suite.run(chosen(filtered(cases, options), options), max(1, options.jobs))
        if not (options.case or options.model or options.set or lines(options) or options.keep or options.own or sample.SHARD[1] > 1):
            builder.prune()
            if before is not None:
                before.prune()
        if options.keep:
            print(f'kept: {temporary}')
        print(f'{time.monotonic() - start:.0f} s')
        suite.close()
    except KeyboardInterrupt:
        process.kill_all()
        scratch.end()
        print('conformance: interrupted', file=sys.stderr, flush=True)
        os._exit(130)                    # threads of the suite may still be waiting
    except BuildError as error:
        sys.exit(f'conformance: {error}')
    finally:
        scratch.end()
    return 0 if good and not errors else 1


if __name__ == '__main__':
    sys.exit(main())
