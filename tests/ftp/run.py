#!/usr/bin/env python3
"""examples/ftp in models that take turns, one of them with sanitizers: by the RFCs, with foreign clients, with hostile ones.

usage: run.py [MODEL[+asan|+tsan] ...]

Must not know: how anything is checked.
"""

import ftplib
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import checks                                                       # noqa: E402
import clients                                                      # noqa: E402
import hostile                                                      # noqa: E402
import secured                                                      # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import QUICK, ROOT, SOCKET_MODELS, Failed, program, run    # noqa: E402
from support.report import Report                                   # noqa: E402
from world import World                                             # noqa: E402

SPEC = os.path.join(ROOT, 'examples', 'ftp', 'ftp.nest')
FLAGS = {'': QUICK, 'asan': '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all',
         'tsan': '-O1 -g -fsanitize=thread'}
WRONG = (Failed, OSError, ftplib.Error, EOFError)


def forms():
    """Models that are drawn, or all, and one with sanitizers."""
    return [*sample.some(SOCKET_MODELS, 2), *(f'{model}+asan' for model in sample.some(SOCKET_MODELS, 1))]


def tried(report, form, world, check, *more):
    """Runs a check, and reports it."""
    about = ' '.join(check.__doc__.split())
    try:
        check(world, *more)
        report.line(True, form, about)
    except WRONG as error:
        report.line(False, form, about, '', f'{type(error).__name__}: {error}\n{world.server.said()[-2500:]}')


def serve(report, form, nest, folder):
    """All checks of a form."""
    model, _, how = form.partition('+')
    exe = os.path.join(folder, f'{model}{how}')
    run([nest, 'build', '--model', model, SPEC, '-o', exe], CFLAGS=FLAGS[how])
    options = ['writeTimeout=2s', 'perAddress=none']
    with tempfile.TemporaryDirectory(dir=folder) as place:
        world = World(exe, place, options, ASAN_OPTIONS='detect_leaks=1', TSAN_OPTIONS='halt_on_error=1')
        try:
            for check in checks.ALL:
                tried(report, form, world, check)
            for check in clients.ALL:
                tried(report, form, world, check, place)
            for check in secured.ALL:
                tried(report, form, world, check, place)
            for check in hostile.ALL:
                tried(report, form, world, check)
            if how:
                wrong = [line for line in world.server.said().splitlines() if 'Sanitizer' in line or 'runtime error' in line]
                report.line(not wrong, form, 'no sanitizer reports anything', '', world.server.said())
            status = world.server.stop()
            report.line(status == 0, form, 'it stops in order', '', f'status {status}\n{world.server.said()}')
        finally:
            world.close()


def cops(report, nest, folder):
    """The configuration of the N-Server's paper: its values are taken, transfers work, and connections are not logged."""
    exe, config = os.path.join(folder, 'event-cops'), os.path.join(os.path.dirname(SPEC), 'cops.conf')
    run([nest, 'build', '--model', 'event', SPEC, '-o', exe], CFLAGS=QUICK)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        world = World(exe, place, words=['--config', config])
        try:
            shown = run([exe, '--config', config, '--check-config', '--', '--anonymous', 'pub'])
            taken = {line.split()[0] for line in shown.splitlines() if 'cops.conf:' in line}
            report.line(taken == {'dispatchers', 'idleTimeout', 'perAddress', 'logging'}, 'cops', 'its values are taken', '', str(taken))
            tried(report, 'cops', world, checks.transfers)
            tried(report, 'cops', world, checks.together)
            report.line(' end closed' not in world.server.said(), 'cops', 'connections are not logged', '', world.server.said())
        finally:
            world.close()


def main():
    """The forms that are named, or all; the exit status."""
    report, nest = Report('ftp'), program()
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-ftp-') as folder:
        for form in sys.argv[1:] or forms():
            report.heading(form)
            try:
                serve(report, form, nest, folder)
            except WRONG as error:
                report.line(False, form, 'it serves', '', error)
        report.heading('cops.conf')
        try:
            cops(report, nest, folder)
        except WRONG as error:
            report.line(False, 'cops', 'it serves', '', error)
    return report.close()


sys.exit(main())
