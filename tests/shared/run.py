#!/usr/bin/env python3
"""Variables of %shared over sockets, in every model and with two dispatchers: many clients count exactly,
and processes that die inside the lock stop nobody and leave nothing torn that is not announced.

usage: run.py [MODEL ...]

Must not know: how the lock works.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from support.cases import attempt                                   # noqa: E402
from support.nest import SOCKET_MODELS, Failed, checked, one_client, program, run     # noqa: E402
from support.report import Report                                   # noqa: E402
from support.sample import ALL, SEED, some                          # noqa: E402
from support.server import Client, Server                           # noqa: E402

LIMIT = 60      # seconds until something must have happened
CLIENTS, EACH = 24, 150
KILLS = 60 if ALL else 20      # of workers of one client; the others are replaced ever later
FEW = 8 if ALL else 4
FRESH = 'all workers end, and the variables of %shared get their initial values'
SANITIZERS = {'thread': 'tsan', 'event': 'asan'}


def line(client):
    """A line that the server answers; '' if the connection ended before."""
    got = b''
    while not got.endswith(b'\n'):
        more = client.take(1)
        if not more:
            return ''
        got += more
    return got.decode().strip()


def ask(server, word):
    """The answer to a new client. A connection that a dying worker took is tried again."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with contextlib.suppress(OSError), Client(server) as client:
            client.send(word.encode() + b'\n')
            answer = line(client)
            if answer:
                return answer
        time.sleep(0.01)
    raise Failed(f'no answer to {word} within {LIMIT} s\n{server.said()}')


def die(server):
    """A client whose worker dies inside the lock."""
    with Client(server) as client:
        client.send(b'die\n')
        if client.rest():
            raise Failed('the worker did not die')


def until(server, text):
    """Waits until the server has said this."""
    end = time.monotonic() + LIMIT
    while text not in server.said():
        if time.monotonic() > end:
            raise Failed(f'not said within {LIMIT} s: {text}\n{server.said()}')
        time.sleep(0.01)


def equal(what, found, wanted):
    """Raises Failed unless they are equal."""
    if found != wanted:
        raise Failed(f'{what}: {found!r}, not {wanted!r}')


def together(threads):
    """Runs functions at once. Raises what one of them raised."""
    wrong = []

    def guarded(function):
        try:
            function()
        except (Failed, OSError) as error:
            wrong.append(error)
    running = [threading.Thread(target=guarded, args=(function,)) for function in threads]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if wrong:
        raise wrong[0]


def counts(exe, options):
    """Each of many clients sees its own additions, and together they are exact."""
    def client(server, seen):
        with Client(server) as one:
            for _ in range(EACH):
                one.send(b'add\n')
                seen.append(int(line(one)))
    with Server([exe], clients=CLIENTS + 8, options=options) as server:
        seen = [[] for _ in range(CLIENTS)]
        together([lambda own=own: client(server, own) for own in seen])
        every = sorted(number for own in seen for number in own)
        equal('all answers', every, list(range(101, 101 + CLIENTS * EACH)))
        equal('order', [own for own in seen if own != sorted(own)], [])
        equal('the last value', int(ask(server, 'get')), 100 + CLIENTS * EACH)
        equal('status', server.stop(), 0)


def anew(exe, options):
    """After a death inside the lock all is as at the start, and the server says so."""
    with Server([exe], clients=16, options=options) as server:
        ask(server, 'add')
        with Client(server) as other:
            other.send(b'add\n')
            equal('the second', line(other), '102')
            die(server)
            until(server, FRESH)
            equal('another client', other.rest(), b'')
        equal('the value', ask(server, 'get'), '100')
        equal('said', server.said().count(FRESH), 1)
        equal('torn', ask(server, 'step'), 'whole')


def mends(exe, options):
    """The next holder is told once that a process died inside the lock."""
    with Server([exe], clients=16, options=options) as server:
        ask(server, 'add')
        for turn in range(1, 4):
            die(server)
            equal('the value', ask(server, 'get'), '101')
            equal('mended', ask(server, 'mended'), str(turn))
        equal('torn', ask(server, 'step'), 'whole')
        if FRESH in server.said():
            raise Failed(server.said())


def blind(exe, options):
    """A holder that does not ask never sees what a dead process left."""
    with Server([exe], clients=16, options=options) as server:
        ask(server, 'add')
        die(server)
        equal('the value', ask(server, 'blind'), '100')
        until(server, FRESH)


def kills(exe, options, announced):
    """Workers that are killed at random moments leave nothing torn, and the server goes on."""
    draw, stop, seen = random.Random(SEED), threading.Event(), []

    def client(server):
        while not stop.is_set():
            with contextlib.suppress(OSError), Client(server) as one:
                while not stop.is_set():
                    one.send(b'step\n')
                    answer = line(one)
                    if not answer:
                        break
                    seen.append(answer)
                    if answer != 'whole':
                        raise Failed(f'a client saw {answer!r}')

    def killer(server):
        try:
            for _ in range(KILLS if one_client(exe) else FEW):
                before, end = len(seen), time.monotonic() + LIMIT
                while len(seen) < before + 20:
                    if time.monotonic() > end:
                        raise Failed(f'clients hang\n{server.said()}')
                    time.sleep(draw.random() / 200)
                workers = [pid for pid in server.family() if pid != server.process.pid]
                if workers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(draw.choice(workers), signal.SIGKILL)
        finally:
            stop.set()
    with Server([exe], clients=16, options=options) as server:
        together([lambda: killer(server)] + 4 * [lambda: client(server)])
        equal('torn at the end', ask(server, 'step'), 'whole')
        if FRESH in server.said() and not announced:
            raise Failed(f'given up although actions ask\n{server.said()}')


def refused(exe, sizes, status, told):
    """Each of these sizes is refused, in one line that says this."""
    for size in sizes:
        done = subprocess.run([exe, '--set', f'sharedSize={size}', '--set', 'serverPort=0'],
                              capture_output=True, text=True, timeout=LIMIT)
        equal(f'the status with {size}', done.returncode, status)
        if told not in done.stderr or done.stderr.count('\n') != 1 or done.stdout:
            raise Failed(f'sharedSize {size}: {done.stdout}{done.stderr}')


def fills(exe, options, size):
    """The number of KB that $alloc gives until it gives none, with this size."""
    given = (f'sharedSize={size}',) if size else ()
    with Server([exe], clients=16, options=(*options, *given)) as server:
        filled = int(ask(server, 'fill'))
        equal('as it was', ask(server, 'get'), '100')
        equal('step', ask(server, 'step'), 'whole')
        equal('status', server.stop(), 0)
    return filled


def sized(exe, options):
    """sharedSize in place of the size behind %shared: what $alloc gives, and sizes that cannot be."""
    for size, least, most in (('', 900, 1024), ('256K', 200, 256), ('8M', 8000, 8192)):
        filled = fills(exe, options, size)
        if not least <= filled < most:
            raise Failed(f'$alloc gave {filled} KB of {size or "1M"}')
    refused(exe, ('1', '1K', '4k'), 2, 'is too small; the variables of %shared and the lists of $alloc need ')
    refused(exe, ('', '0', '-1', '64Q', '1KK', '1025G', '99999999999999999999G'), 2, 'is not a size')
    refused(exe, ('1024G',), 1, 'but this machine or its control group has ')
    environment = {**os.environ, 'NEST_SHAREDSIZE': '2M'}
    shown = subprocess.run([exe, '--check-config'], env=environment, capture_output=True, text=True,
                           check=True, timeout=LIMIT).stdout
    equal('counted', f'#   {2 << 20} %shared\n' in shown, True)


def alive(exe, options):
    """A noted connection exists until it ends or its process dies, and no other takes its place."""
    with Server([exe], clients=16, options=options) as server:
        equal('nobody', ask(server, 'noted'), 'gone')
        with Client(server) as one:
            one.send(b'note\n')
            equal('the note', line(one), 'noted')
            equal('connected', ask(server, 'noted'), 'alive')
            one.half_close()
            equal('the end', one.rest(), b'')
        equal('closed', ask(server, 'noted'), 'gone')
        with Client(server) as one:
            one.send(b'note\n')
            equal('the note', line(one), 'noted')
            one.send(b'crash\n')
            equal('the end', one.rest(), b'')
        end = time.monotonic() + LIMIT      # the supervisor has to notice
        while ask(server, 'noted') != 'gone':
            if time.monotonic() > end:
                raise Failed(f'still alive {LIMIT} s after its process died')


def ticking(server):
    """Waits until the timer has run again."""
    before, end = int(ask(server, 'ticks')), time.monotonic() + LIMIT
    while int(ask(server, 'ticks')) <= before:
        if time.monotonic() > end:
            raise Failed(f'the timer does not run\n{server.said()}')
        time.sleep(0.01)


def timed(exe, options):
    """A timer runs in a process of its own, which may die inside the lock, and each worker begins."""
    with Server([exe], clients=16, options=options) as server:
        equal('a worker', ask(server, 'begun'), 'here')
        ticking(server)
        equal('the wish', ask(server, 'wish'), 'granted')
        end = time.monotonic() + LIMIT
        while ask(server, 'deaths') != '1':
            if time.monotonic() > end:
                raise Failed(f'the timer does not die\n{server.said()}')
            time.sleep(0.01)
        ticking(server)
        if FRESH in server.said():
            raise Failed(server.said())


def comes(server, word, wanted):
    """Waits until the answer is this."""
    end = time.monotonic() + LIMIT
    while ask(server, word) != wanted:
        if time.monotonic() > end:
            raise Failed(f'{word}: not {wanted} within {LIMIT} s: {ask(server, word)}\n{server.said()}')
        time.sleep(0.01)


def signalled(exe, options):
    """A signal runs its code once, in the service process, and stops no client; one to all processes counts once."""
    with Server([exe], clients=16, options=options) as server:
        equal('a worker', ask(server, 'begun'), 'here')
        for turn in range(1, 4):
            os.kill(server.process.pid, signal.SIGUSR1)
            comes(server, 'signals', f'{turn} 0')
        for pid in reversed(server.family()):   # the server's own process is the last
            with contextlib.suppress(ProcessLookupError):   # a client's process may have ended
                os.kill(pid, signal.SIGUSR1)
        comes(server, 'signals', '4 0')
        ask(server, 'slow')
        os.kill(server.process.pid, signal.SIGUSR2)
        comes(server, 'signals', '4 1')         # it runs, and clients are served
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            os.kill(server.process.pid, number)
        equal('none meanwhile', ask(server, 'signals'), '4 1')
        ask(server, 'quick')
        comes(server, 'signals', '5 2')         # what came meanwhile is not lost
        ticking(server)
        equal('nothing more', ask(server, 'signals'), '5 2')
        equal('status', server.stop(), 0)


def timed_anew(exe, options):
    """A timer that dies inside the lock, where the next holder does not ask: all is as at the start."""
    with Server([exe], clients=16, options=options) as server:
        ask(server, 'add')
        end = time.monotonic() + LIMIT
        while FRESH not in server.said():
            ask(server, 'wish')
            for _ in range(20):
                ask(server, 'blind')
            if time.monotonic() > end:
                raise Failed(f'nothing is given up\n{server.said()}')
        equal('the value', ask(server, 'blind'), '100')
        ticking(server)
        equal('a worker', ask(server, 'begun'), 'here')


PLAIN = (counts, anew, lambda exe, options: kills(exe, options, True))
MENDED = (counts, mends, blind, lambda exe, options: kills(exe, options, False))
HEAP = (counts, sized, alive, lambda exe, options: kills(exe, options, False))
CHECKS = {'plain': PLAIN, 'mended': MENDED, 'heap': HEAP, 'timed': (timed, signalled, timed_anew)}
NAMES = {'<lambda>': kills.__doc__} | {
    check.__name__: check.__doc__ for check in (counts, anew, mends, blind, sized, alive, timed,
                                                      signalled, timed_anew)}


def sanitized(nest, folder, model, spec):
    """A server built with a sanitizer."""
    exe = f'{folder}/{spec}-{model}-sanitized'
    run([nest, 'build', '--model', model, f'{HERE}/{spec}.nest', '-o', exe], **checked(SANITIZERS[model]))
    return exe


def checks(report, who, exe, spec, options=()):
    """All checks of a server."""
    for check in CHECKS[spec]:
        about = ' '.join(NAMES[check.__name__].split()).rstrip('.')
        attempt(report, who, spec, about, lambda check=check: check(exe, options))


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('shared'), program()
    print(f'seed {SEED}', flush=True)
    with tempfile.TemporaryDirectory(prefix='nest-shared-') as folder:
        for model in sys.argv[1:] or some(SOCKET_MODELS, 2, 'shared'):
            report.heading(model)
            for spec in CHECKS:
                exe = f'{folder}/{spec}-{model}'
                run([nest, 'build', '--model', model, f'{HERE}/{spec}.nest', '-o', exe])
                checks(report, model, exe, spec)
                if model in ('event', 'uring'):
                    checks(report, f'{model} x2', exe, spec, ('dispatchers=2',))
                if model in SANITIZERS:
                    checks(report, 'sanitized', sanitized(nest, folder, model, spec), spec)
    return report.close()


sys.exit(main())
