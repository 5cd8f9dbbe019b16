#!/usr/bin/env python3
"""Where connections come from and what a running server is told: systemd, inetd, signals, settings,
the log. Every model.

Must not know: how anything is checked.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import given                                                        # noqa: E402
import inetd                                                        # noqa: E402
import running                                                      # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import Failed, Missing, SOCKET_MODELS, program, run        # noqa: E402
from support.report import Report                                   # noqa: E402

FORMS = (       # the options of a server, and what is checked of it
    ((), (('systemd', given.SYSTEMD), ('running', running.PLAIN))),
    (('inetd',), (('inetd', given.INETD), ('inetd', inetd.ALL))),
    (('logging requests',), (('log', running.LOGGING),)),
)


def build(nest, model, options, folder):
    """A server with these options more."""
    with open(os.path.join(HERE, 'server.nest'), encoding='utf-8') as file:
        text = file.read()
    for option in options:
        text = text.replace('%option eventServer 200\n',
                            f'%option eventServer 200\n%option {option}\n')
    path = os.path.join(folder, 'server.nest')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    run([nest, 'build', '--model', model, path, '-o', os.path.join(folder, 'server')])
    return os.path.join(folder, 'server')


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('listeners'), program()
    report.note(sample.described())
    for model in sys.argv[1:] or sample.some(SOCKET_MODELS, 2, 'listeners'):
        for options, groups in FORMS:
            with tempfile.TemporaryDirectory(prefix='nest-listeners-') as folder:
                try:
                    exe = build(nest, model, options, folder)
                except Failed as error:
                    report.line(False, model, f'builds {options}', '', error)
                    continue
                for title, checks in groups:
                    report.heading(f'{model}: {title}')
                    for check in checks:
                        attempt(report, model, check, exe)
    return report.close()


def attempt(report, model, check, exe):
    """One check, in a folder of its own; what it is about is its first sentence."""
    about = ' '.join(check.__doc__.split()).rstrip('.')
    with tempfile.TemporaryDirectory(prefix='nest-listeners-') as folder:
        try:
            check(folder, exe)
            report.line(True, model, about)
        except Missing as reason:
            report.skip(model, about, str(reason))
        except (Failed, OSError, LookupError, ValueError) as error:
            report.line(False, model, about, '', error if isinstance(error, Failed) else repr(error))


sys.exit(main())
