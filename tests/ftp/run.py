#!/usr/bin/env python3
"""examples/ftp in models that take turns, one of them with sanitizers: by the RFCs, with foreign clients, with hostile ones.

usage: run.py [MODEL[+asan|+tsan] ...]

Must not know: how anything is checked.
"""

import ftplib
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import apart                                                        # noqa: E402
import checks                                                       # noqa: E402
import clients                                                      # noqa: E402
import hostile                                                      # noqa: E402
import secured                                                      # noqa: E402
from support import driver, sample                                  # noqa: E402
from support.nest import ROOT, SOCKET_MODELS, Failed, program, run  # noqa: E402
from support.report import Report                                   # noqa: E402
from world import World                                             # noqa: E402

SPEC = os.path.join(ROOT, 'examples', 'ftp', 'ftp.nest')
WRONG = (Failed, OSError, ftplib.Error, EOFError)


def forms():
    """Models that are drawn, or all, and one with sanitizers."""
    return [*sample.some(SOCKET_MODELS, 2), *(f'{model}+asan' for model in sample.some(SOCKET_MODELS, 1))]


def serve(report, form, nest, folder):
    """All checks of a form."""
    exe = driver.built(nest, SPEC, form, folder)
    options = ['writeTimeout=2s', 'perAddress=none']
    with tempfile.TemporaryDirectory(dir=folder) as place:
        world = World(exe, place, options, ['--data-wait', '5'], **driver.SANITIZED)
        try:
            for group, more in ((checks, ()), (clients, (place,)), (secured, (place,)), (hostile, ())):
                for check in group.ALL:
                    driver.tried(report, form, world.server, check, world, *more, wrong=WRONG)
            driver.sanitizers(report, form, world.server)
            status = world.server.stop()
            report.line(status == 0, form, 'it stops in order', '', f'status {status}\n{world.server.said()}')
        finally:
            world.close()


def alone(report, form, nest, folder):
    """The checks that need a server of their own."""
    exe = driver.built(nest, SPEC, form, folder)
    for check, options in apart.ALL:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            root = os.path.join(place, 'root')
            world = World(exe, place, [option.format(root=root) for option in options], **driver.SANITIZED)
            try:
                driver.tried(report, form, world.server, check, world, wrong=WRONG)
                driver.sanitizers(report, form, world.server)
            finally:
                world.close()


def cops(report, nest, folder):
    """The configuration of the N-Server's paper: its values are taken, transfers work, and connections are not logged."""
    exe, config = driver.built(nest, SPEC, 'event', folder), os.path.join(os.path.dirname(SPEC), 'cops.conf')
    with tempfile.TemporaryDirectory(dir=folder) as place:
        world = World(exe, place, words=['--config', config])
        try:
            shown = run([exe, '--config', config, '--check-config', '--', '--anonymous', 'pub'])
            taken = {line.split()[0] for line in shown.splitlines() if 'cops.conf:' in line}
            report.line(taken == {'dispatchers', 'perAddress', 'logging'}, 'cops', 'its values are taken', '', str(taken))
            for check in (checks.transfers, checks.together):
                driver.tried(report, 'cops', world.server, check, world, wrong=WRONG)
            report.line(' end closed' not in world.server.said(), 'cops', 'connections are not logged', '', world.server.said())
        finally:
            world.close()


def users(report, nest, folder):
    """Names that USER cannot give are refused at the start, with their line."""
    exe, path = driver.built(nest, SPEC, 'event', folder), os.path.join(folder, 'names')
    for length in (63, 64):
        with open(path, 'w', encoding='ascii') as file:
            file.write(f'# users\n{"x" * length}:$1$salt$UsdFqFVB.FsuinRDK5eE..:home\n')
        done = subprocess.run([exe, '--set', f'fileRoot={folder}/none', '--', '--users', path], capture_output=True, text=True, timeout=60)
        told = done.stderr.splitlines()[-1] if done.stderr else ''
        wanted = f"ftp: --users '{path}', line 2: it has a name of more than 63 bytes" if length > 63 else f"ftp: fileRoot '{folder}/none': "
        report.line(done.returncode == 1 and told.startswith(wanted), 'users', f'a name of {length} bytes', '', done.stderr)


def durable(report, nest, folder):
    """Uploads wait for a disk that fails, unless the server has --no-sync."""
    exe, shim = driver.built(nest, SPEC, 'event', folder), os.path.join(folder, 'shim.so')
    run(['cc', '-shared', '-fPIC', os.path.join(ROOT, 'tests', 'helpers', 'shim.c'), '-o', shim])
    for syncs in (True, False):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            world = World(exe, place, arguments=[] if syncs else ['--no-sync'], LD_PRELOAD=shim, SHIM='fsync')
            try:
                driver.tried(report, 'sync' if syncs else 'no-sync', world.server, apart.durable, world, syncs, wrong=WRONG)
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
                alone(report, form, nest, folder)
            except WRONG as error:
                report.line(False, form, 'it serves', '', error)
        report.heading('cops.conf')
        try:
            cops(report, nest, folder)
        except WRONG as error:
            report.line(False, 'cops', 'it serves', '', error)
        report.heading('files')
        try:
            users(report, nest, folder)
            durable(report, nest, folder)
        except WRONG as error:
            report.line(False, 'sync', 'it serves', '', error)
    return report.close()


sys.exit(main())
