#!/usr/bin/env python3
"""memcached's own tests against examples/memcached: wherever Debian's memcached passes, the example passes.

usage: upstream.py SOURCE [--only NAME ...] [--loops N] [--model MODEL ...]

SOURCE is the unpacked source of memcached, in the version that is installed: `apt-get source memcached`. The
tests talk to a running server (T_MEMD_USE_DAEMON), first to Debian's memcached and then to the example; each test
gets a server of its own. exceptions.py names what only memcached passes, with the reason.

Must not know: how the servers work.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(1, HERE)
from exceptions import EXCEPTIONS, STATEMENTS                       # noqa: E402
from reference import Reference                                     # noqa: E402
from support.nest import ROOT, SOCKET_MODELS, program, run          # noqa: E402
from support.report import Report, going_on                         # noqa: E402
from support.server import Server                                   # noqa: E402

SPEC = f'{ROOT}/examples/memcached/memcached.nest'
LIMIT = 60          # seconds for a test: one that asks for what is not there may wait for ever
AT_ONCE = 8         # most of them wait
AGAIN = 2           # so often a test is repeated that seems to fail


def named(number, name):
    """The name of a statement, without what differs from run to run: numbers, and values that are expected."""
    return re.sub(r'\d+', '#', name).partition(' == ')[0].strip(' -') or f'statement {number}'


class Outcome:
    """What a test says of a server: how often each of its statements is right."""

    def __init__(self, text, status):
        self.text = text
        self.good = collections.Counter(
            named(number, name) for number, name in re.findall(r'^ok (\d+)([^\n]*)', text, re.MULTILINE))
        self.skipped = re.search(r'^1\.\.0', text, re.MULTILINE) is not None
        self.passed = status == 0

    def short(self):
        """A cell of the table."""
        if self.skipped:
            return 'skipped'
        return 'passes' if self.passed else f'fails ({self.good.total()})'


def played(source, name, server):
    """The outcome of a test with this server."""
    words = ['perl', '-I', 't/lib', f't/{name}.t']
    # A session of its own: a test of external mode may signal its process group at its end.
    with tempfile.TemporaryFile() as out, subprocess.Popen(
            words, cwd=source, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, 'T_MEMD_USE_DAEMON': f'127.0.0.1:{server.port}'}, start_new_session=True) as process:
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        out.seek(0)
        return Outcome(out.read().decode(errors='replace'), status)


def by_memcached(source, name):
    """The outcome with Debian's memcached."""
    with Reference().here() as server:
        return played(source, name, server)


def by_example(source, name, exe, options):
    """The outcome with the example."""
    with Server([exe], options=options) as server:
        return played(source, name, server)


def prepared(source, folder):
    """A copy of the source in which the tests find the program that they ask for its abilities."""
    copy = f'{folder}/source'
    shutil.copytree(source, copy, symlinks=True)
    os.symlink(shutil.which('memcached'), f'{copy}/memcached-debug')
    return copy


def lost(theirs, ours):
    """What the example fails and memcached passes, as text; the test itself is the last."""
    missing = sorted(theirs.good - ours.good)
    return missing + (['the test'] if theirs.passed and not ours.passed else [])


def judged(name, theirs, missing):
    """What is wrong with a test that loses this: it is no exception, or an exception that is none any more."""
    if name in EXCEPTIONS:
        return '' if missing else 'it passes what memcached passes: it is no exception any more'
    known = STATEMENTS.get(name, [])

    def one_of(pattern, texts):
        return any(re.match(f'(?:{pattern})', text) for text in texts)
    unknown = [text for text in missing if not any(one_of(pattern, [text]) for pattern, _ in known)]
    if unknown:
        return f'lost: {unknown[:20]}'
    # What memcached itself does not always pass stays an exception.
    idle = [pattern for pattern, _ in known if one_of(pattern, theirs.good) and not one_of(pattern, missing)]
    return f'no exceptions any more: {idle}' if idle else ''



def reason(name):
    """Why a test is an exception, or parts of it."""
    return EXCEPTIONS.get(name) or '; '.join(dict.fromkeys(why for _, why in STATEMENTS.get(name, [])))


def main():
    """All models, or those that are named; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('source', help='the unpacked source of memcached')
    parser.add_argument('--only', nargs='+', metavar='NAME', help='only these tests, such as cas')
    parser.add_argument('--loops', type=int, default=1, help='loops of the models event and uring')
    parser.add_argument('--model', nargs='+', metavar='MODEL', choices=SOCKET_MODELS, default=SOCKET_MODELS)
    given = parser.parse_args()
    names = given.only or sorted(os.path.basename(path)[:-2] for path in glob.glob(f'{given.source}/t/*.t'))
    if not names:
        parser.error(f'{given.source}/t contains no tests')
    report, nest = Report("memcached's tests"), program()
    with tempfile.TemporaryDirectory(prefix='nest-memcached-') as folder, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        source = prepared(given.source, folder)

        def each(play, *more):
            going_on()
            return dict(zip(names, pool.map(lambda name: play(source, name, *more), names)))
        theirs = each(by_memcached)
        for model in given.model:
            exe = f'{folder}/memcached-{model}'
            run([nest, 'build', '--model', model, SPEC, '-o', exe])
            options = (f'dispatchers={given.loops}',) if given.loops > 1 else ()
            report.heading(f'{model}{f" x{given.loops}" if options else "":63} memcached      the example')
            for name, ours in each(by_example, exe, options).items():
                missing = lost(theirs[name], ours)
                for _ in range(AGAIN):
                    if judged(name, theirs[name], missing):     # a busy machine may have been too slow for it
                        ours = by_example(source, name, exe, options)
                        missing = lost(theirs[name], ours)
                wrong = judged(name, theirs[name], missing)
                report.line(not wrong, model, name, f'{theirs[name].short():14} {ours.short():14} {reason(name)}',
                            f'{wrong}\n{ours.text[-2000:]}')
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
