#!/usr/bin/env python3
"""Second connections ($dial, $relay, $listen, $waitFor) in every model, one of them with sanitizers.

usage: run.py [MODEL[+asan|+tsan|+processors] ...]

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
import checks                                                       # noqa: E402
import memory                                                       # noqa: E402
import proxy                                                        # noqa: E402
import relays                                                       # noqa: E402
import secured                                                      # noqa: E402
import transfers                                                    # noqa: E402
from support import driver, sample                                  # noqa: E402
from support.certificate import certificate                         # noqa: E402
from support.expect import until                                    # noqa: E402
from support.memory import Memory                                   # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Server                                   # noqa: E402

PRELOADED = ('names', 'splices')      # libraries that stand for parts of the system


def forms():
    """Models, one with several loops, one with sanitizers, which has the proxy, too, and one of those with loops whose actions
    run on threads."""
    loops = [model for model in SOCKET_MODELS if model in ('event', 'uring')]
    return [*sample.some(SOCKET_MODELS, 2, 'dial'), *(f'{model}*2' for model in loops[-1:]),
            *(f'{model}+asan' for model in sample.some(SOCKET_MODELS, 1)),
            *(f'{model}+processors' for model in sample.some(loops, 1))]


def serve(report, form, folder, nest):
    """All checks of a form, with one server."""
    _, loops, how = driver.parts(form)
    exe = driver.built(nest, os.path.join(HERE, 'server.nest'), form, folder)
    other = checks.Other()
    more = {'PEER': other.name, 'SSL_CERT_FILE': certificate(folder)[0], **driver.SANITIZED}
    if not how:
        more['LD_PRELOAD'] = ':'.join(os.path.join(folder, f'{name}.so') for name in PRELOADED)
        more['SPLICES'] = relays.make(folder)
    server = Server([exe], options=[f'dispatchers={loops}'] if loops else [], **more)
    try:
        checks.talks(server, other, folder)     # now all processes have begun
        before = server.descriptors()
        for check in (*checks.ALL[:-2], *relays.ALL, *relays.COUNTED, *transfers.ALL, *secured.ALL, *checks.ALL[-2:]):
            # the last ones end servers
            if check is checks.never:   # which leaves threads that hold descriptors
                until('descriptors are closed', lambda: server.descriptors() <= before, checks.LIMIT)
            if how and check in (checks.never, checks.several):
                report.skip(form, driver.about(check), 'a sanitizer replaces getaddrinfo itself')
                continue
            if how and check in relays.COUNTED:
                report.skip(form, driver.about(check), 'nothing is loaded beside a sanitizer')
                continue
            driver.tried(report, form, server, check, server, other, folder)
            if check in relays.COUNTED:
                until('pipes are closed', lambda: server.descriptors() <= before, checks.LIMIT)
        driver.sanitizers(report, form, server)
    finally:
        server.close()
        other.close()


def scarce(report, form, folder, nest):
    """Memory runs out, for a server that has nothing else loaded."""
    short = Memory(folder)
    exe = driver.built(nest, os.path.join(HERE, 'server.nest'), form, folder)

    def start():
        return Server([exe], SSL_CERT_FILE=certificate(folder)[0], **memory.NAMES, **short.environment)

    server = start()
    try:
        if form in memory.ALONE:    # nothing else in the server allocates meanwhile
            driver.tried(report, form, server, memory.first, short, start)
        memory.check(report, form, server, short, folder)
    finally:
        server.close()


def proxies(report, form, folder, nest):
    """examples/proxy, in front of two servers."""
    exe = driver.built(nest, proxy.SPEC, form, folder)
    backends = [proxy.Backend(b'one'), proxy.Backend(b'two')]
    server = Server([exe], options=['readTimeout=8s', 'serverName=proxy'], arguments=[f'127.0.0.1:{b.port}' for b in backends])
    try:
        for check in proxy.ALL:
            driver.tried(report, form, server, check, server, *backends)
    finally:
        server.close()


def main():
    """The forms that are named, or all; the exit status."""
    report, nest = Report('dial'), program()
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-dial-') as folder:
        for name in PRELOADED:
            run([shutil.which('cc') or 'cc', '-shared', '-fPIC', '-o', os.path.join(folder, f'{name}.so'),
                 os.path.join(HERE, f'{name}.c')])
        for form in sys.argv[1:] or forms():
            report.heading(form)
            try:
                serve(report, form, folder, nest)
                if '+' not in form and '*' not in form:
                    scarce(report, form, folder, nest)
                if '+' in form or (sys.argv[1:] and '*' not in form):
                    proxies(report, form, folder, nest)
            except (Failed, OSError) as error:
                report.line(False, form, 'it serves', '', error)
    return report.close()


sys.exit(main())
