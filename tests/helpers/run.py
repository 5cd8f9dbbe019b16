#!/usr/bin/env python3
"""Tests files and blocks, which helper threads serve in event servers, and each worker itself elsewhere.

usage: run.py [--plain] [MODEL ...]

Every model; those with threads, and the script, also with sanitizers, unless --plain. Must
not know: how anything is checked.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import blocks                                                       # noqa: E402
import replies                                                      # noqa: E402
import scripted                                                     # noqa: E402
import uploads                                                      # noqa: E402
import writes                                                       # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import Failed, Missing, SOCKET_MODELS, checked, program, run    # noqa: E402
from support.report import Report                                   # noqa: E402

SANITIZED = (   # which checks see something with which sanitizer; a crash is its own to report
    ('event', 'asan', replies.PLAIN + uploads.PLAIN + writes.SANITIZED + blocks.PLAIN[:-1]),
    ('event', 'tsan', (replies.sizes, replies.slow, uploads.whole, uploads.cut) + writes.SANITIZED + blocks.PLAIN[:-2]),
    ('thread', 'tsan', (replies.slow, uploads.whole, uploads.cut) + writes.SANITIZED),
    ('script', 'asan', scripted.PLAIN),
)


def attempt(report, who, check, *given):
    """One check, in a folder of its own; what it is about is its first sentence."""
    about = ' '.join(check.__doc__.split()).rstrip('.')
    with tempfile.TemporaryDirectory(prefix='nest-helpers-') as folder:
        try:
            check(folder, *given)
            report.line(True, who, about)
        except Missing as reason:
            report.skip(who, about, str(reason))
        except (Failed, OSError, LookupError, ValueError) as error:
            report.line(False, who, about, '', error if isinstance(error, Failed) else repr(error))


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('helpers'), program()
    plain = '--plain' in sys.argv
    report.note(sample.described())
    models = [word for word in sys.argv[1:] if word != '--plain'] or sample.some([*SOCKET_MODELS, 'script'], 3, 'helpers')
    with tempfile.TemporaryDirectory(prefix='nest-helpers-') as folder:
        shim = f'{folder}/shim.so'
        run(['cc', '-shared', '-fPIC', '-O1', f'{HERE}/shim.c', '-o', shim])
        for model in (model for model in models if model in SOCKET_MODELS):
            report.heading(model)
            exe = f'{folder}/server-{model}'
            run([nest, 'build', '--model', model, f'{HERE}/server.nest', '-o', exe])
            for check in replies.PLAIN + uploads.PLAIN + writes.PLAIN + blocks.PLAIN:
                attempt(report, model, check, exe)
            for check in replies.SHIMMED + uploads.SHIMMED + writes.SHIMMED:
                attempt(report, model, check, exe, shim)
        for model, name, checks in SANITIZED if not plain else ():
            if model not in models:
                continue
            report.heading(f'{model}, {name}')
            exe = f'{folder}/server-{model}-{name}'
            run([nest, 'build', '--model', model, f'{HERE}/server.nest', '-o', exe], **checked(name))
            for check in checks:
                attempt(report, name, check, exe)
    return report.close()


sys.exit(main())
