"""Workers that serve one client after another, processes or threads: how many wait, and when they go.

Must not know: how the server counts its workers.
"""

import contextlib
import os
import resource
import signal
import socket
import tempfile
import time
from support.nest import Failed, program, run as run_program
from support.server import Client, Server

SPEC = r'''
%option preforkServer 8 spare 2..4
%{
#include <sys/syscall.h>
#include <unistd.h>
%}
NL "\n"
%%
id    = "id" NL    { $reply("%07ld\n", syscall(SYS_gettid)); }
sleep = "sleep" NL { $sleep(1s); $reply("slept\n"); }
crash = "crash" NL { __builtin_trap(); }
'''
MOST, LEAST_SPARE, MOST_SPARE = 8, 2, 4
TIMEOUT = 15


def workers(server):
    """How many serve or wait: all processes but the first; of one process, all threads but the first."""
    family = server.family()[1:]
    if server.model == 'prefork' or not family:
        return len(family)
    return len(os.listdir(f'/proc/{family[0]}/task')) - 1


def until(wanted, what):
    """Raises Failed unless it becomes true in time."""
    end = time.monotonic() + TIMEOUT
    while not wanted():
        if time.monotonic() > end:
            raise Failed(what())
        time.sleep(0.02)


def has(server, least, most):
    """Waits until so many processes are there."""
    until(lambda: least <= workers(server) <= most,
          lambda: f'{workers(server)} workers instead of {least} to {most}')


def identity(client):
    """The worker that serves a client."""
    client.send(b'id\n')
    return client.take(8)


def once(server):
    """The worker that served a client, which leaves."""
    with Client(server) as client:
        return identity(client)


def spares(server):
    """the lower bound waits from the start; a crowd is served at once; then the upper bound waits"""
    has(server, LEAST_SPARE, LEAST_SPARE)
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Client(server)) for _ in range(MOST)]
        if len({identity(client) for client in crowd}) != MOST:
            raise Failed('a worker serves two clients at a time')
        has(server, MOST, MOST)
        late = stack.enter_context(Client(server))
        late.send(b'id\n')
        late.socket.settimeout(0.3)
        with contextlib.suppress(socket.timeout):
            raise Failed(f'a client more than maxClients is served: {late.socket.recv(9)}')
        crowd[0].half_close()
        crowd[0].rest()
        late.socket.settimeout(TIMEOUT)
        if len(late.take(8)) != 8:
            raise Failed('a place was free, and the next client is not served')
    has(server, LEAST_SPARE, MOST_SPARE)


def again(server):
    """a worker serves one client after another; without bound, it is not replaced"""
    served = [once(server) for _ in range(200)]
    # On a busy machine the next client may come before a worker waits again, and another is started.
    if len(set(served)) > len(served) / 4:
        raise Failed(f'{len(set(served))} workers served {len(served)} clients')


def replaced(server):
    """after clientsPerWorker clients another process takes the place"""
    served = [once(server) for _ in range(100)]
    if max(served.count(pid) for pid in served) > 10:
        raise Failed(f'a process served {max(served.count(pid) for pid in served)} clients')


def crashes(server):
    """a crash costs one client, and its process is replaced"""
    has(server, LEAST_SPARE, LEAST_SPARE)
    with Client(server) as other, Client(server) as client:
        identity(other)
        client.send(b'crash\n')
        client.rest()
        identity(other)
    for pid in server.family()[1:]:
        with contextlib.suppress(ProcessLookupError):       # the one that crashed, until it is reaped
            os.kill(pid, signal.SIGKILL)
    has(server, LEAST_SPARE, MOST_SPARE)
    once(server)


def reloads(server):
    """after HUP waiting processes are replaced at once, and one with a client when it leaves"""
    has(server, LEAST_SPARE, LEAST_SPARE)
    with Client(server) as client:
        mine = identity(client)
        before = set(server.family()[1:])
        os.kill(server.process.pid, signal.SIGHUP)
        until(lambda: set(server.family()[1:]) & before == {int(mine)},
              lambda: f'{before} were there, {set(server.family()[1:])} are, {mine} serves')
        identity(client)
    until(lambda: int(mine) not in server.family(), lambda: 'a process with the old configuration waits')
    once(server)


def grows_later(server):
    """a thread that cannot be started is tried again, though nothing else happens"""
    has(server, 1, 1)
    with contextlib.ExitStack() as stack:
        identity(stack.enter_context(Client(server)))
        has(server, 2, 2)
        serving = server.family()[1]
        limit = resource.prlimit(serving, resource.RLIMIT_AS)
        resource.prlimit(serving, resource.RLIMIT_AS, (1 << 20, limit[1]))  # no stack fits
        identity(stack.enter_context(Client(server)))
        until(lambda: 'new clients must wait' in server.said(), server.said)
        last = stack.enter_context(Client(server))
        resource.prlimit(serving, resource.RLIMIT_AS, limit)
        last.socket.settimeout(TIMEOUT)
        if len(identity(last)) != 8:
            raise Failed('the last client is not served')


def stops(server):
    """TERM: a client in an action is served to the end, and all are counted"""
    for _ in range(20):
        once(server)
    with Client(server) as client:
        client.send(b'sleep\n')
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        if client.rest() != b'slept\n':
            raise Failed('its answer is missing')
    status = server.process.wait(TIMEOUT)
    rest = server.rest()
    if status != 0 or 'stopped after 21 clients' not in rest:
        raise Failed(f'status {status}: {rest}')


def run(report, models=()):
    """All checks, for the driver, whichever models it draws."""
    del models
    nest = program()
    processes = ((replaced, ('clientsPerWorker=10',)), (crashes, ()), (reloads, ()))
    threads = ((grows_later, ('minSpare=1', 'maxSpare=1', 'idleTimeout=none')),)
    for model, more in (('prefork', processes), ('thread', threads)):
        report.heading(f'workers that serve one client after another: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-spares-') as folder:
            spec, exe = os.path.join(folder, 'spares.nest'), os.path.join(folder, 'spares')
            with open(spec, 'w', encoding='utf-8') as file:
                file.write(SPEC.replace('prefork', model))
            run_program([nest, 'build', spec, '-o', exe])
            for check, options in ((spares, ()), (again, ()), *more, (stops, ())):
                try:
                    with Server([exe], options=options) as server:
                        server.model = model
                        check(server)
                    report.line(True, model, check.__doc__, '')
                except (Failed, OSError) as error:
                    report.line(False, model, check.__doc__, '', error)
