#!/usr/bin/env python3
"""Servers with filters in front of them (`%filter`), in every model and with several loops.

Must not know: how anything is checked.
"""

import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import changes                                                      # noqa: E402
import checks                                                       # noqa: E402
import kills                                                        # noqa: E402
import returning                                                    # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Server                                   # noqa: E402

FORMS = [(model, ()) for model in SOCKET_MODELS] + [
    (model, ('dispatchers=3',)) for model in SOCKET_MODELS if model in ('event', 'uring')]


def build(nest, model, folder):
    """Servers of the model: one, one that gives connections back to its filter, one whose filter refuses
    its options when it starts, one that tells counts, one with a log, and one whose filter keeps connections
    for three seconds."""
    exe = os.path.join(folder, model)
    for name, out in (('server', exe), ('returning', f'{exe}-returning')):
        run([nest, 'build', '--model', model, os.path.join(HERE, f'{name}.nest'), '-o', out])
    for name, before, after, out in (
            ('server', 'net8=100 net16=100 net24=100', 'net8=100\n%filter ratelimit rate=1000000', f'{exe}-wrong'),
            ('server', '%filter request timeout=3s', '%option metrics 127.0.0.1:0\n%filter request timeout=60s', f'{exe}-counted'),
            ('server', '%option drainTimeout 10s', '%option drainTimeout 10s\n%option accessLog ./access', f'{exe}-logged'),
            ('returning', 'persist timeout=3s idle=60s', 'persist timeout=3s idle=3s', f'{exe}-returning-idle')):
        with open(os.path.join(HERE, f'{name}.nest'), encoding='utf-8') as file:
            text = file.read()
        with open(os.path.join(folder, 'changed.nest'), 'w', encoding='utf-8') as file:
            file.write(text.replace(before, after))
        run([nest, 'build', '--model', model, file.name, '-o', out])
    return exe


def attempt(report, form, check, start):
    """One check with a server."""
    about = ' '.join(check.__doc__.split()).rstrip('.')
    model, options = form
    who = model + ('' if not options else '*3')
    try:
        server = start()
        try:
            check(server, model)
            report.line(True, who, about)
        except (Failed, OSError) as error:
            report.line(False, who, about, '', f'{error}\n{server.said()}')
        except checks.Skipped as reason:
            report.skip(who, about, str(reason))
        return server
    except (Failed, OSError) as error:
        report.line(False, who, about, '', error)
        return None


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('filters'), program()
    report.note(sample.described())
    forms = [form for form in FORMS if form[0] in sys.argv[1:]] or sample.some(FORMS, 3)
    with tempfile.TemporaryDirectory(prefix='nest-filters-') as folder:
        run([shutil.which('cc') or 'cc', '-shared', '-fPIC', '-o', os.path.join(folder, 'short.so'), os.path.join(HERE, 'short.c')])
        built = {}
        for model, options in forms:
            report.heading(' '.join([model, *options]))
            try:
                exe = built.setdefault(model, None) or build(nest, model, folder)
            except Failed as error:
                report.line(False, model, 'builds', '', error)
                continue
            built[model] = exe
            serve(report, (model, options), exe, checks.RUNNING, (*checks.ENDING, *changes.ALL, *kills.ALL))
            serve(report, (model, options), f'{exe}-returning', returning.RUNNING, (*returning.ENDING, *changes.RETURNING))
    return report.close()


def serve(report, form, exe, sharing, ending):
    """All checks of a form: those that leave the server as it was share one."""
    def start():
        server = Server([exe], options=form[1])
        server.exe = exe
        return server
    shared = start()
    for check in sharing:
        attempt(report, form, check, lambda: shared)
    shared.close()
    for check in ending:
        server = attempt(report, form, check, start)
        if server is not None:
            server.close()


sys.exit(main())
