#!/usr/bin/env python3
"""Several loops serve the clients of one server: how clients are spread, that there are never more than
maxClients, and that the other loops do not notice when one dies, stops or is one too many.

Must not know: how loops agree.
"""

import collections
import contextlib
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from support.expect import until                                   # noqa: E402
from support.nest import Failed, program, run                       # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Client, Server                           # noqa: E402

LIMIT = 20      # seconds until something must have happened


def ask(client, line=b'pid'):
    """Its answer of one line; '' if the connection ends."""
    try:
        client.send(line + b'\n')
    except OSError:
        return ''
    got = b''
    while not got.endswith(b'\n'):
        more = client.take(1)
        if not more:
            return ''
        got += more
    return got.decode().strip()


def workers(server):
    """The processes that serve."""
    return [pid for pid in server.family() if pid != server.process.pid]


def loops(server, count):
    """Waits until so many serve."""
    def serve():
        with clients(server, 2 * count) as some:
            return len(served_by(some)) == count
    until(f'{count} processes serve', lambda: len(workers(server)) == count)
    until(f'{count} loops serve', serve)


@contextlib.contextmanager
def clients(server, count):
    """So many connections."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Client(server)) for _ in range(count)]


def served_by(some):
    """How many of these clients each loop serves."""
    return collections.Counter(ask(client) for client in some)


def waits(client):
    """Raises Failed if the client is answered at once."""
    client.send(b'pid\n')
    client.socket.settimeout(0.3)
    try:
        got = client.socket.recv(1)
    except TimeoutError:
        client.socket.settimeout(LIMIT)
        return
    raise Failed(f'one client too many is answered: {got!r}')


def often(judge):
    """What it gives, in one of a few tries. A loop that gets no processor for a while leaves its clients to
    others, as it should; on a busy machine this happens now and then."""
    end = time.monotonic() + 3 * LIMIT
    while True:
        try:
            return judge()
        except Failed:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


@contextlib.contextmanager
def apart(server, count):
    """So many connections that two loops serve: {loop: its clients}."""
    with contextlib.ExitStack() as stack:
        def both():
            by = {}
            with contextlib.ExitStack() as tried:
                for client in [tried.enter_context(Client(server)) for _ in range(count)]:
                    by.setdefault(ask(client), []).append(client)
                if len(by) != 2:
                    raise Failed(f'one loop serves {count} clients')
                stack.enter_context(tried.pop_all())
            return by
        yield often(both)


def spread(exe):
    """Clients are spread over the loops"""
    def evenly():
        with clients(server, 200) as some:
            count = sorted(served_by(some).values())
        if len(count) != 4 or count[-1] - count[0] > 4:
            raise Failed(f'loops serve {count} of 200 clients')
        return f'{count} of 200 clients'
    with Server([exe], clients=400, options=['dispatchers=4']) as server:
        loops(server, 4)
        return often(evenly)


def respread(exe):
    """New clients come to the loop whose clients have left"""
    def again():
        with clients(server, 20) as some:
            by = {}
            for client in some:
                by.setdefault(ask(client), []).append(client)
            if len(by) != 2:
                raise Failed(f'one loop serves {len(some)} clients')
            left, stays = sorted(by)
            for client in by[left]:
                client.socket.close()
            time.sleep(0.2)
            with clients(server, 8) as new:
                count = served_by(new)
                if count[left] < 8:
                    raise Failed(f'8 new clients: {dict(count)}, {stays} has {len(by[stays])} others')
    with Server([exe], options=['dispatchers=2']) as server:
        loops(server, 2)
        often(again)


def exact(exe):
    """There are maxClients, never more"""
    for count in (1, 2, 3):
        with Server([exe], clients=10, options=[f'dispatchers={count}']) as server:
            loops(server, count)
            with clients(server, 10) as some:
                served_by(some)
                for _ in range(30):
                    with Client(server) as waiting:
                        waits(waiting)
                        some.pop(0).socket.close()
                        if not waiting.take(1):
                            raise Failed('a client that waited was not served')
                    some.append(Client(server))
                    if not ask(some[-1]):
                        raise Failed('the place of one that left is not free')
                for client in some:
                    client.socket.close()


def storm(exe):
    """Clients that come and go at once, at the limit, are all served"""
    with Server([exe], clients=6, options=['dispatchers=3']) as server:
        loops(server, 3)
        errors, now, most = [], [0], [0]
        lock = threading.Lock()

        def some():
            for _ in range(60):
                try:
                    with Client(server) as client:
                        if not ask(client).isdigit():
                            raise Failed('no answer')
                        with lock:
                            now[0] += 1
                            most[0] = max(most[0], now[0])
                        with lock:
                            now[0] -= 1
                except (Failed, OSError) as error:
                    errors.append(error)
                    return
        threads = [threading.Thread(target=some, daemon=True) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise Failed(f'{len(errors)} clients: {errors[0]}')
        if most[0] > 6:
            raise Failed(f'{most[0]} clients at once')
        if server.stop() != 0:
            raise Failed(server.said())
        # Each try to see three loops takes six clients.
        told = re.search(r'stopped after (\d+) clients', server.rest())
        if told is None or int(told[1]) < 1440 or int(told[1]) % 6 != 0:
            raise Failed(f'1,440 clients: {told and told[0]}')
        return '1,440 clients'


def dies(exe):
    """A loop that dies is replaced, and clients of others do not notice"""
    with Server([exe], clients=20, options=['dispatchers=2']) as server:
        loops(server, 2)
        with apart(server, 20) as by:
            (first, lost), (other, others) = sorted(by.items())
            os.kill(int(first), signal.SIGKILL)
            for client in lost:
                if client.rest():
                    raise Failed('a client of a dead loop got something')
            for client in others:
                if ask(client) != other:
                    raise Failed('a client of the other loop noticed')
            until('it is replaced', lambda: len(workers(server)) == 2)
            with clients(server, len(lost)) as new:
                if '' in served_by(new):
                    raise Failed('a place of a client that was lost is not free')
                with Client(server) as more:
                    waits(more)
        if server.stop() != 0:
            raise Failed(server.said())


def hangs(exe):
    """New clients are served although a loop hangs"""
    with Server([exe], options=['dispatchers=2']) as server:
        loops(server, 2)
        with clients(server, 10) as some:
            served_by(some)
            stopped = workers(server)[0]
            os.kill(stopped, signal.SIGSTOP)
            try:
                with clients(server, 20) as new:
                    # The stopped loop takes none: one by one, they go to the other.
                    count = served_by(new)
                    if list(count) == [str(stopped)] or len(count) != 1:
                        raise Failed(f'served by {dict(count)}')
            finally:
                os.kill(stopped, signal.SIGCONT)


def stops(exe):
    """A stop serves clients in actions, and those in the queue"""
    with Server([exe], clients=8, options=['dispatchers=2']) as server:
        loops(server, 2)
        with clients(server, 8) as some, clients(server, 8) as queued:
            for client in some:
                client.send(b'sleep\n')
            for client in queued:
                client.send(b'pid\n')
            time.sleep(0.1)
            os.kill(server.process.pid, signal.SIGTERM)
            for client in some:
                client.expect(b'slept\n')
            for client in queued:
                if not client.rest().strip().isdigit():
                    raise Failed('a client in the queue was not served')
        if server.process.wait(LIMIT) != 0:
            raise Failed(server.said())
        if ' clients: ' not in server.rest():
            raise Failed('clients are not counted')


def changes(exe):
    """HUP changes how many there are, and no client notices"""
    with tempfile.TemporaryDirectory(prefix='nest-dispatchers-') as folder:
        path = os.path.join(folder, 'c')

        def write(count):
            with open(path, 'w', encoding='ascii') as file:
                file.write(f'dispatchers {count}\n')
        write(2)
        with Server([exe, '--config', path]) as server:
            loops(server, 2)
            with clients(server, 10) as some:
                by = {}
                for client in some:
                    by.setdefault(ask(client), []).append(client)
                read = 'the configuration was read again'
                for times, count in enumerate((1, 2, 1), start=1):
                    write(count)
                    os.kill(server.process.pid, signal.SIGHUP)
                    until('it says so', lambda: server.said().count(read) >= times)
                    time.sleep(0.1)
                said = server.said()
                if said.count(read) != 3 or said.count('dispatchers 1 ') < 2 or said.count('dispatchers 2 ') < 1:
                    raise Failed(f'each change is to be told once\n{said}')
                for pid, those in by.items():
                    for client in those:
                        if ask(client) != pid:
                            raise Failed('a client noticed')
                    for client in those:
                        client.socket.close()
                loops(server, 1)
                with clients(server, 10) as new:
                    if len(served_by(new)) != 1:
                        raise Failed('more than one loop serves')
            if server.stop() != 0:
                raise Failed(server.said())


def at_once(exe):
    """A loop that hears of several HUPs as one has followed all of them"""
    def waiting():
        with open(f'/proc/{server.process.pid}/status', encoding='ascii') as file:
            found = re.search(r'^ShdPnd:\s*(\w+)', file.read(), re.MULTILINE)
        return int(found[1], 16) & 1 << signal.SIGHUP - 1
    read = 'the configuration was read again'
    with Server([exe], options=['dispatchers=2']) as server:
        loops(server, 2)
        stopped = workers(server)[0]
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(2):
            os.kill(server.process.pid, signal.SIGHUP)
            until('the main process has taken it', lambda: not waiting())
        until('it says that one has not followed', lambda: 'not every worker' in server.said())
        os.kill(stopped, signal.SIGCONT)
        loops(server, 2)

        def followed():     # a loop that gets no processor for two seconds has not
            told, late = server.said().count(read), server.said().count('not every worker')
            os.kill(server.process.pid, signal.SIGHUP)
            until('it says so', lambda: server.said().count(read) > told)
            if server.said().count('not every worker') != late:
                raise Failed(f'both loops have followed\n{server.said()}')
        often(followed)


def begins_later(exe):
    """A loop that cannot begin in place of one that died is tried again"""
    with Server([exe], options=['dispatchers=2']) as server:
        loops(server, 2)
        limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, limit[1]))
        os.kill(workers(server)[0], signal.SIGKILL)
        until('the next one cannot begin', lambda: 'cannot start: Too many open files' in server.said())
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limit)
        loops(server, 2)
        if server.stop() != 0:
            raise Failed(server.said())


def auto(exe):
    """auto: one loop for each processor that the server may use"""
    allowed = sorted(os.sched_getaffinity(0))
    for number in {1, len(allowed)}:
        words = ['taskset', '-c', ','.join(map(str, allowed[:number])), exe]
        with Server(words, options=['dispatchers=auto']) as server:
            loops(server, number)
    return f'1 and {len(allowed)} processors'


def watchdog(exe):
    """systemd's watchdog hears of it only while every loop lives"""
    with tempfile.TemporaryDirectory(prefix='nest-dispatchers-') as folder:
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        heard.bind(os.path.join(folder, 'n'))

        def beats(seconds):
            end, count = time.monotonic() + seconds, 0
            while (left := end - time.monotonic()) > 0:
                heard.settimeout(left)
                try:
                    count += heard.recv(1000).startswith(b'WATCHDOG=1')
                except TimeoutError:
                    break
            return count
        with Server([exe], options=['dispatchers=2'], NOTIFY_SOCKET=os.path.join(folder, 'n'),
                    WATCHDOG_USEC='400000') as server:
            loops(server, 2)
            if beats(3) < 5:
                raise Failed('too few')
            with Client(server) as client:
                client.send(b'loop\n')
                until('it falls silent', lambda: not beats(1))
                if count := beats(2):
                    raise Failed(f'{count} although a loop hangs')
        heard.close()


def wrong(exe):
    """What is no number of loops is refused with one message"""
    for value in ('0', '65', 'many', ''):
        try:
            run([exe, '--check-config', '--set', f'dispatchers={value}'])
        except Failed as error:
            if str(error).count('dispatchers') < 2 or str(error).count('\n') > 2:
                raise
            continue
        raise Failed(f'dispatchers={value} is accepted')


def main():
    """The exit status."""
    report, nest = Report('dispatchers'), program()
    spec = os.path.join(HERE, 'server.nest')
    with tempfile.TemporaryDirectory(prefix='nest-dispatchers-') as folder:
        for name, words in (('', ()), ('asan', ('--sanitize', 'address'))):
            exe = os.path.join(folder, 'server' + name)
            run([nest, 'build', *words, spec, '-o', exe])
            for check in (spread, respread, exact, storm, dies, hangs, stops, changes, at_once, begins_later, auto, watchdog, wrong):
                about = ' '.join(check.__doc__.split())
                try:
                    report.line(True, name or 'plain', about, check(exe) or '')
                except (Failed, OSError) as error:
                    report.line(False, name or 'plain', about, '', error)
    return report.close()


sys.exit(main())
