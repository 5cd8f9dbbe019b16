"""Tests of a running server: changes of settings, stops, systemd notifications, the log, memory limits.

Must not know: how a server is built.
"""

import contextlib
import fcntl
import os
import re
import resource
import select
import signal
import socket
import termios
import threading
import time

from ends import Started, Talk, within
from support.expect import WAIT, same, until
from support.nest import Failed

LOCAL = '--set', 'listen=127.0.0.1:0'


def begun(folder, exe, *options, **more):
    """The server, ready, and its address."""
    words = [exe, *LOCAL]
    for option in options:
        words += ['--set', option]
    server = Started(folder, words, **more).ready()
    port = re.search(r'listening on .*127\.0\.0\.1:(\d+)', server.said(0)).group(1)
    return server, ('127.0.0.1', int(port))


def settings(folder, text):
    """config.nest, put in its place at once."""
    path = os.path.join(folder, 'config.nest')
    with open(path + '.new', 'w', encoding='ascii') as file:
        file.write(text)
    os.replace(path + '.new', path)


def queued(folder, exe):
    """Who waits to be taken when the server stops is served; who comes later is refused."""
    path = os.path.join(folder, 'queue')
    for address in (None, path):
        if address is None:
            server, address = begun(folder, exe, 'maxClients=1')
        else:
            words = [exe, '--set', f'listen=unix:{path}', '--set', 'maxClients=1']
            server = Started(folder, words).ready()
        with server:
            first = Talk(address)
            same('the first greeting', first.line(), 'hello')
            others = [Talk(address) for _ in range(5)]
            for number, talk in enumerate(others):
                talk.send(f'say {number}\n')
            time.sleep(0.2)
            server.tell(signal.SIGTERM)
            same('the first ends', first.line(), '')
            for number, talk in enumerate(others):
                same(f'client {number}', (talk.line(), talk.line(), talk.line()),
                     ('hello', str(number), ''))
            same('exit status', server.end(), 0)
            within('its last line', 'stopped after 6 clients: 6 shutdown', server.said(0))
            try:
                Talk(address).socket.close()
                raise AssertionError('a server that has ended was connected to')
            except Failed:
                pass


def between(folder, exe):
    """Clients of one address are served while there are always others in the queue of another."""
    path = os.path.join(folder, 'first')
    server, address = begun(folder, exe, 'maxClients=1', f'listen=unix:{path} 127.0.0.1:0')
    with server, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(Talk(path)) for _ in range(4)]
        same('the first greeting', crowd[0].line(), 'hello')
        other = stack.enter_context(Talk(address))
        for _ in range(200):    # any order that is fair comes to it much sooner
            same('the answer', (crowd[0].ask('bye'), crowd[0].line()), ('bye', ''))
            if other.socket in select.select([crowd[1].socket, other.socket], [], [], WAIT)[0]:
                break
            crowd = crowd[1:] + [stack.enter_context(Talk(path))]
            same('the next greeting', crowd[0].line(), 'hello')
        same('the greeting at the other address', other.line(), 'hello')


def arrived(folder, exe):
    """Whose request has arrived when the server stops is answered, however it waits for input."""
    server, address = begun(folder, exe, 'maxClients=100')
    kinds = (('at rest', (), 'say 1\n', ('1', '')),
             ('at rest with memory', ('keep\n', 'kept'), 'say 1\n', ('1', '')),
             ('in a message', ('say a',), 'b\nsay c\n', ('ab', 'c', '')),
             ('new', None, 'say 1\n', ('hello', '1', '')))
    with server:
        talks = []
        for what, before, request, answers in kinds * 3:
            if before is not None:
                talk = Talk(address)
                same('the greeting', talk.line(), 'hello')
                talks.append((what, talk, talk.ask('pid'), before, request, answers))
        for _, talk, _, before, _, _ in talks:
            if before:
                talk.send(before[0])
                same('the answer', before[1:] and talk.line(), before[1:] and before[1])
        time.sleep(0.2)
        workers = {int(pid) for _, _, pid, _, _, _ in talks}
        for pid in workers:             # what follows has arrived before any of them is told
            os.kill(pid, signal.SIGSTOP)
        talks += [(kind[0], Talk(address), '', None, *kind[2:]) for kind in kinds * 3
                  if kind[1] is None]
        for _, talk, _, _, request, _ in talks:
            talk.send(request)
        server.tell(signal.SIGTERM)
        time.sleep(0.2)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        for what, talk, _, _, _, answers in talks:
            same(what, tuple(talk.line() for _ in answers), answers)
        same('exit status', server.end(), 0)


def behind(folder, exe):
    """Whose next request has arrived when the server stops during an action is answered."""
    server, address = begun(folder, exe, 'maxClients=10')
    with server:
        talks = [Talk(address) for _ in range(2)]
        for talk in talks:
            same('the greeting', talk.line(), 'hello')
        talks[1].send('keep\n')
        same('the answer', talks[1].line(), 'kept')
        for talk in talks:
            talk.send('busy\n')
        time.sleep(0.2)
        for talk in talks:
            talk.send('say 1\n')
        time.sleep(0.1)
        server.tell(signal.SIGTERM)
        for number, talk in enumerate(talks):
            same(f'client {number}', [talk.line() for _ in range(3)], ['done', '1', ''])
        same('exit status', server.end(), 0)


def cut(folder, exe):
    """What drainTimeout does not suffice for is cut, counted, and the exit status says so."""
    for again in (None, signal.SIGTERM, signal.SIGINT):
        limit = '20s' if again else '300ms'
        server, address = begun(folder, exe, f'drainTimeout={limit}')
        with server, Talk(address) as busy, Talk(address) as idle:
            same('the greetings', (busy.line(), idle.line()), ('hello', 'hello'))
            busy.send('sleep\n')
            time.sleep(0.2)
            start = time.monotonic()
            server.tell(signal.SIGTERM)
            if again == signal.SIGINT:      # both may be seen at once
                server.tell(again)
            same('who is between messages ends', idle.line(), '')
            if again == signal.SIGTERM:
                time.sleep(0.3)
                server.tell(again)
            same('exit status', server.end(), 1)
            same('in time', time.monotonic() - start < 10, True)
            within('its last line', 'stopped after 2 clients: 2 shutdown; 1 cut', server.said(0))
            same('who is cut sees a reset, not an end', busy.ends(), 'reset')


def group(folder, exe):
    """A stop that the whole group is told, in any order, is one stop."""
    for order in range(12):
        server, address = begun(folder, exe, 'drainTimeout=18s', start_new_session=True)
        with server, Talk(address) as idle:
            same('the greeting', idle.line(), 'hello')
            start = time.monotonic()
            steps = [server.process.send_signal, lambda number: os.killpg(server.process.pid, number)]
            for step in steps if order % 2 == 0 else reversed(steps):
                try:
                    step(signal.SIGTERM)
                except ProcessLookupError:
                    pass
            same('exit status', server.end(), 0)
            same('in time', time.monotonic() - start < 15, True)


def reloaded_drain(folder, exe):
    """The supervisor uses the drainTimeout that it read at a reload."""
    settings(folder, 'drainTimeout 500ms\n')
    server, address = begun(folder, exe)
    with server, Talk(address) as busy:
        same('the greeting', busy.line(), 'hello')
        settings(folder, 'drainTimeout 20s\n')
        server.tell(signal.SIGHUP)
        until('its new limit', lambda: 'drainTimeout 20s (was 500ms)' in server.said())
        busy.send('say begun')
        time.sleep(0.2)
        server.tell(signal.SIGTERM)
        time.sleep(5.5)                     # 500 ms and the grace behind it
        busy.send('\n')
        same('the answer', busy.line(), 'begun')
        same('exit status', server.end(), 0)


def reload(folder, exe):
    """HUP: what may change does, at once or not at all; what needs a restart is named."""
    settings(folder, 'serverName one\nidleTimeout 1m\n')
    server, address = begun(folder, exe, 'keepLimit=1K')
    with server, Talk(address) as early:
        same('the greeting', early.line(), 'hello')
        same('its name', early.ask('name'), 'one')

        def said(text, part):
            before = server.said().count('\n')
            settings(folder, text)
            server.tell(signal.SIGHUP)
            until(part, lambda: part in server.said().split('\n', before)[-1])

        def name():
            with Talk(address) as late:
                same('the greeting', late.line(), 'hello')
                return late.ask('name')
        said('serverName two\nmaxClients 7\nkeepLimit 2K\n',
             ': serverName two (was one), idleTimeout 5m (was 1m); after a restart: '
             'maxClients 7 (was 200)\n')
        until('its new name', lambda: name() == 'two')  # who was forked before may still take one
        said('serverName three\nreadTimeout 40h\n',
             'config.nest:2: readTimeout: 40h is out of range; the minimum is 1ms, the maximum 24h, or '
             'none\n')
        until('the end of it', lambda: 'nothing was changed' in server.said())
        for _ in range(5):      # who was forked before the first HUP may still take one
            same('its name', name() in ('one', 'two'), True)
        until('its name', lambda: name() == 'two')
        os.unlink(os.path.join(folder, 'config.nest'))
        server.tell(signal.SIGHUP)
        until('what was built in', lambda: 'serverName server (was two)' in server.said())
        server.tell(signal.SIGHUP)
        until('no change', lambda: 'again: no changes' in server.said())
        same('exit status', server.stop(), 0)


def load(folder, exe):
    """Settings change while clients talk: no conversation notices, no name is torn, no memory is
    lost."""
    names = ['a' * 40, 'b' * 40]
    settings(folder, f'serverName {names[0]}\n')
    server, address = begun(folder, exe, stderr=open(os.devnull, 'wb'))     # noqa: SIM115
    wrong, over, counted = [], threading.Event(), [0]

    def talk():
        try:
            while not over.is_set():
                with Talk(address) as client:
                    client.line()
                    for _ in range(20):
                        answer = client.ask('name')
                        counted[0] += 1
                        if answer not in names:
                            raise Failed(f'the name is {answer!r}')
        except Failed as error:
            wrong.append(error)

    def memory():
        with open(f'/proc/{server.process.pid}/statm', encoding='ascii') as file:
            return int(file.read().split()[1]) * 4
    with server:
        threads = [threading.Thread(target=talk, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        used = 0
        for turn in range(400):
            settings(folder, f'serverName {names[turn % 2]}\nidleTimeout {turn % 7 + 10}s\n')
            server.tell(signal.SIGHUP)
            time.sleep(0.005)
            used = memory() if turn == 100 else used
        grown = memory() - used
        over.set()
        for thread in threads:
            thread.join(WAIT)
        same('what clients met', wrong, [])
        same('they were served', counted[0] > 100, True)
        same(f'300 times HUP cost {grown} KB', grown < 400, True)
        same('exit status', server.stop(), 0)


def notified(folder, exe):
    """systemd is told when the server is ready, lives, reloads and stops."""
    for name in (os.path.join(folder, 'notify'), f'@nest-{os.getpid()}'):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name.replace('@', '\0'))
            manager.settimeout(WAIT)
            server, _ = begun(folder, exe, variables={'NOTIFY_SOCKET': name,
                                                      'WATCHDOG_USEC': '400000'})

            def heard(skip=()):
                while True:
                    try:
                        got = manager.recv(4096).decode()
                    except TimeoutError as error:
                        raise Failed(f'nothing was told within {WAIT} s') from error
                    if got not in skip:
                        return got
            with server:
                first = heard()
                same('first', first.split('\n')[0], 'READY=1')
                within('its status', 'STATUS=', first)
                within('its status', 'listening on 127.0.0.1:', first)
                same('while it lives', [heard(), heard()], ['WATCHDOG=1'] * 2)
                server.tell(signal.SIGHUP)
                beats = ('WATCHDOG=1',)
                now = time.clock_gettime(time.CLOCK_MONOTONIC)
                told = re.fullmatch(r'RELOADING=1\nMONOTONIC_USEC=(\d+)', heard(beats))
                same('RELOADING=1 with its time', told is not None, True)
                same('the time', abs(int(told.group(1)) / 1e6 - now) < 10, True)
                same('then', heard(beats), 'READY=1')
                server.tell(signal.SIGTERM)
                same('at the stop', heard(beats), 'STOPPING=1')
                same('exit status', server.end(), 0)


def memory(folder, exe):
    """What clients can need is said, and refused where it cannot fit; what fits, starts."""
    server, _ = begun(folder, exe)
    with server:
        within('the first line', ' memory\n', server.said(0))
        same('exit status', server.stop(), 0)

    with Started(folder, [exe, '--check-config']) as server:
        same('exit status', server.end(), 0)
        said = server.said(0)
        need = re.search(r'^# 200 clients need at most \d+[KMG] of memory, without what actions allocate\n'
                         r'# in bytes, for each client:\n(#   \d+ [^\n]+\n)+\Z', said, re.M)
        same(f'the need in {said!r}', need is not None, True)

    def allowed(megabytes):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)
    options = ['--set', 'maxClients=1000', '--set', 'inputBuffer=1M']
    with Started(folder, [exe, *LOCAL, *options], preexec_fn=allowed(400)) as server:
        if 'of its process' in said:                # a limit of each, and each has one client
            server.ready()
            same('exit status', server.stop(), 0)
            return
        same('exit status', server.end(), 1)
        found = re.search(r'1000 clients can use (\d+)M of memory if they send much and read nothing, '
                          r'but the limit is 400M; lower maxClients, inputBuffer or outputBuffer, or '
                          r'raise the limit \(ulimit -v\)', server.said())
        same(f'its message: {server.said()}', found is not None, True)
    most = int(re.search(r'at most (\d+)M', said)[1])
    server, _ = begun(folder, exe, preexec_fn=allowed(most - 1))
    with server:
        same('exit status', server.stop(), 0)
        within('what it said', f'200 clients may need {most}M of memory for actions, but the limit '
               f'is {most - 1}M; ', server.said())
    server, address = begun(folder, exe, 'maxClients=400', preexec_fn=allowed(2 * most + 256))
    with server:
        for _ in range(40):                             # the more threads, the more space they take
            with Talk(address) as client:
                client.line()
                same('an answer', client.ask('say it'), 'it')
        same('exit status', server.stop(), 0)


STAMP = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z'


def lines(folder, exe):
    """A line for each message and each connection; of what a client sent nothing stands there."""
    server, address = begun(folder, exe)
    with server:
        with Talk(address) as client:
            port = client.socket.getsockname()[1]
            client.line()
            same('its answer', client.ask('say \x1b[31mevil'), '\x1b[31mevil')
            same('its last', client.ask('bye'), 'bye')
            same('the end', client.line(), '')
        until('its end', lambda: ' end ' in server.said())
        said = server.said()
        same('nothing raw', re.findall('[^\n -~]|evil', said), [])
        for line in (r' info (\d+) message line in=14 out=10\n',
                     r' info (\d+) message bye in=4 out=4\n',
                     rf' info (\d+) end closed peer=127\.0\.0\.1:{port} messages=2 in=18 out=20 '
                     r'ms=\d+\n'):
            same(f'{line!r} in {said!r}', len(re.findall('^' + STAMP + line, said, re.M)), 1)
        same('exit status', server.stop(), 0)


BUSY = 20       # clients of which more lines come than the pipes between hold


def dropped(folder, exe):
    """A log that nobody reads stops no server; afterwards it says how much it lacks."""
    reading, writing = os.pipe()
    server, address = begun(folder, exe, stderr=writing)
    os.close(writing)
    with server, open(reading, 'rb') as log:
        for _ in range(BUSY):
            with Talk(address) as client:
                client.line()
                client.send('say x\n' * 2000)
                for _ in range(2000):
                    same('an answer', client.line(), 'x')
        os.set_blocking(reading, False)
        time.sleep(0.2)
        before = log.read().decode()
        with Talk(address) as client:
            client.line()
            same('an answer', client.ask('say x'), 'x')

        def told():
            nonlocal before
            before += (log.read() or b'').decode()
            return 'dropped' in before
        until('the lost lines', told)
        with Talk(address) as client:
            client.line()
        lost = have = 0

        def complete():         # workers may write their last lines in any order
            nonlocal lost, have
            told()
            lost = sum(int(n) for n in re.findall(
                '^' + STAMP + r' warn (\d+) lines? w(?:as|ere) dropped: the log could not take them$',
                before, re.M))
            have = len(re.findall(' (?:message|end) ', before))
            return have + lost >= BUSY * 2001 + 2 + 1 and before.endswith('\n') and 'messages=0 ' in before
        until('the last end', complete)
        same('lines had and lost', have + lost, BUSY * 2001 + 2 + 1)
        same('some were lost', lost > 0, True)
        same('exit status', server.stop(), 0)


def full(folder, exe):
    """A log that may not grow any more stops no server."""
    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    server, address = begun(folder, exe, preexec_fn=little)
    with server:
        for _ in range(20):
            with Talk(address) as client:
                same('an answer', (client.line(), client.ask('bye')), ('hello', 'bye'))
        until('the last line that fits', lambda: len(server.said()) == 500)
        same('exit status', server.stop(), 0)


def hangup(folder, exe):
    """A terminal that goes away ends the server, but not one under nohup."""
    for nohup in (False, True):
        master, slave = os.openpty()

        def own_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)

        server, _ = begun(folder, exe, stdin=slave, start_new_session=True, preexec_fn=own_terminal)
        os.close(slave)
        with server:
            os.close(master)
            if nohup:
                until('a word on HUP', lambda: 'read again' in server.said())
                server.tell(signal.SIGTERM)
            same('exit status', server.end(), 0)


PLAIN = (queued, between, arrived, behind, cut, group, reloaded_drain, reload, load, notified, memory, hangup)
LOGGING = (lines, dropped, full)
