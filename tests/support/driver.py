"""What drivers share that build a specification in several models, some with sanitizers, and run checks.

A form is MODEL[*LOOPS][+asan|+tsan|+processors]; the last one runs actions on threads, and has ThreadSanitizer. A check is a function; the first lines of its documentation are what it shows. Must not know:
what is built, and what is checked.
"""

import os
from .nest import Failed, checked, run

SANITIZED = {'ASAN_OPTIONS': 'detect_leaks=1', 'TSAN_OPTIONS': 'halt_on_error=1'}     # the environment of such servers


def parts(form):
    """The model of a form, how many loops it has and which sanitizer; each of them '' if the form does not say so."""
    name, _, how = form.partition('+')
    model, _, loops = name.partition('*')
    return model, loops, how


def built(nest, spec, form, folder):
    """The path of the server that a form of a specification gives, which is built once in a folder."""
    model, _, how = parts(form)
    name = os.path.splitext(os.path.basename(spec))[0]
    exe = os.path.join(folder, f'{name}-{model}{how}')
    if not os.path.exists(exe):
        if how == 'processors':
            with open(spec, encoding='utf-8') as file:
                text = file.read().replace('%include "', f'%include "{os.path.dirname(os.path.abspath(spec))}/')
            spec = exe + '.nest'
            with open(spec, 'w', encoding='utf-8') as file:
                file.write('%option processors 2\n' + text)
        run([nest, 'build', '--model', model, spec, '-o', exe], **(checked('tsan' if how == 'processors' else how) if how else {}))
    return exe


def about(check):
    """What a check shows."""
    return ' '.join(check.__doc__.split())


def tried(report, form, server, check, *arguments, wrong=(Failed, OSError)):
    """Runs a check, and reports it. `wrong`: the exceptions by which it fails; `server`: whose messages are shown then."""
    try:
        check(*arguments)
        report.line(True, form, about(check))
    except wrong as error:
        report.line(False, form, about(check), '', f'{type(error).__name__}: {error}\n{server.said()[-2500:]}')


def sanitizers(report, form, server):
    """Reports whether the sanitizer of a form has found something; a form without one has no line."""
    if parts(form)[2]:
        wrong = [line for line in server.said().splitlines() if 'Sanitizer' in line or 'runtime error' in line]
        report.line(not wrong, form, 'no sanitizer reports anything', '', server.said())
