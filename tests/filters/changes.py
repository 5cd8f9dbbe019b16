"""HUP changes the options of filters: the filters start anew, and no client notices.

Each check gets a server of its own. Must not know: how servers are built.
"""

import os
import re
import signal
import threading
import urllib.request

from checks import FILTERS, LONG, answered, ask, descriptors, expect, held, named, only, until
from load import Load
from support.nest import Failed
from support.server import Client, Server, alive

CLIENTS, ROUNDS, MOST = 6, 6, 7     # MOST: changes whose filters may still have clients


def reports(server):
    """What the server has said about reading its configuration again."""
    return [line for line in server.said().splitlines() if 'was read again' in line]


def configure(server, *lines):
    """HUP, with these lines as the configuration; what the server says about it."""
    with open(os.path.join(server.folder.name, 'config.nest'), 'w', encoding='utf-8') as file:
        file.write(''.join(f'{line}\n' for line in lines))
    before = len(reports(server))
    os.kill(server.process.pid, signal.SIGHUP)
    return until('the reload is reported', lambda: reports(server)[before:])[0]


def change(server, *lines):
    """HUP, which must change filters."""
    said = configure(server, *lines)
    expect(lines and all(f'{line} (was ' in said for line in lines), said)


def patient(server):
    """HUP gives incomplete messages an hour: a check that is slow does not lose its clients."""
    before = named(server, 'request')
    configure(server, 'request.timeout 1h')
    until('another filter accepts', lambda: (found := named(server, 'request')) and not set(found) & set(before))


class Several(Load):
    """Clients that connect, wait, and send several messages, the first one in two pieces."""

    def __init__(self, server):
        super().__init__(server, CLIENTS)

    def run(self, number):
        """One client after another."""
        while not self.over.is_set():
            try:
                with Client(self.server) as client:
                    self.over.wait(0.002 * number)
                    client.send(b'sa')
                    self.over.wait(0.001 * number)
                    client.send(b'y x\n')
                    client.expect(b'x\n')
                    client.send(b'say y\nquit\n')
                    got = client.rest()
                if got != b'y\nbye\n':
                    raise Failed(f'the last answers are {got!r}')
            except (Failed, OSError) as error:
                self.failed.append(f'{type(error).__name__}: {error}')
                return
            with self.lock:
                self.answered += 1


class Kept(Load):
    """Clients that send all their messages over one connection."""

    def __init__(self, server):
        super().__init__(server, CLIENTS)

    def run(self, number):
        """One message after another."""
        try:
            with Client(self.server) as client:
                while not self.over.is_set():
                    client.send(b'say x\n')
                    client.expect(b'x\n')
                    with self.lock:
                        self.answered += 1
                    self.over.wait(0.001 * number)
        except (Failed, OSError) as error:
            self.failed.append(f'{type(error).__name__}: {error}')


def under_load(server, load, values):
    """Changes request.size to each of the values while clients ask; none may fail."""
    with load(server) as clients:
        for value in values:
            clients.more()
            before = named(server, 'request')
            change(server, f'request.size {value}')
            until('another filter accepts', lambda: set(named(server, 'request')) - set(before))
        clients.more(100)
    expect(not clients.failed, f'{len(clients.failed)} clients failed: {clients.failed[:2]}')


def changes(server, _model):
    """HUP changes an option of a filter under load: no client fails, and the filters before end."""
    under_load(server, Several, [1000 + i for i in range(ROUNDS)])
    for name in FILTERS:
        until(f'one {name} is left', lambda: len(named(server, name)) == 1)
    counts = descriptors(server)[only(server, 'cc-chain')]
    change(server, 'request.size 8')
    with Client(server) as client:
        client.send(b'say too long\n')
        expect(client.rest() == b'', 'a message longer than the new limit has an answer')
    ask(server, b'say x\n')
    until('cc-chain has as many descriptors as before',
          lambda: descriptors(server).get(only(server, 'cc-chain')) == counts)
    expect(server.stop() == 0, 'status')


def waits(server, _model):
    """Clients that wait in a filter when it is replaced are served by its old options."""
    patient(server)
    with Client(server) as silent, Client(server) as begun:
        begun.send(b'say still ')
        until('two wait in the filter', lambda: held(server, ['request']) == 2)
        before = only(server, 'request')
        change(server, 'request.size 8')
        ask(server)
        begun.send(b'here\nquit\n')
        expect(begun.rest() == b'still here\nbye\n', 'a message that had begun')
        expect(alive(before), 'a filter that has a client has ended')
        silent.send(b'say later on\nquit\n')
        expect(silent.rest() == b'later on\nbye\n', 'a client that had said nothing')
    until('the filter ends', lambda: not alive(before))


def stops(server, _model):
    """TERM while a filter that was replaced has clients: what has begun is answered, others are let go."""
    patient(server)
    with Client(server) as silent, Client(server) as begun:
        begun.send(b'say still ')
        until('two wait in the filter', lambda: held(server, ['request']) == 2)
        change(server, 'request.size 1000')
        os.kill(server.process.pid, signal.SIGTERM)
        expect(silent.rest() == b'', 'a silent client has an answer')
        begun.send(b'here\n')
        expect(begun.take(11) == b'still here\n', 'a message that had begun')
    expect(server.process.wait(LONG) == 0, 'status')


def refuses(server, _model):
    """A wrong option at HUP has one message, and the filters go on as they are."""
    change(server, 'slowread.net8 90', 'slowread.net16 80', 'slowread.net24 70')
    until('one of each is left', lambda: all(len(named(server, name)) == 1 for name in FILTERS))
    before = {name: named(server, name) for name in FILTERS}
    said = configure(server, 'slowread.net8 90', 'slowread.net16 100', 'slowread.net24 70')
    expect('slowread.net16 is still 80' in said, said)
    expect(server.said().count('net16 must not exceed net8') == 1, server.said())
    said = configure(server, 'request.timeout soon')
    expect('nothing was changed' in said, said)
    expect(server.said().count('config.nest:1: request.timeout: write a time') == 1, server.said())
    expect(before == {name: named(server, name) for name in FILTERS}, 'filters were replaced')
    ask(server)


def lasts(server, _model):
    """A cc-chain that is started again has the options of the last HUP."""
    change(server, 'request.size 8')
    before = only(server, 'cc-chain')
    os.kill(before, signal.SIGKILL)
    until('another runs', lambda: (found := named(server, 'cc-chain')) and before not in found)
    until('clients are served', lambda: answered(server))
    with Client(server) as client:
        client.send(b'say too long\n')
        expect(client.rest() == b'', 'a message longer than the limit has an answer')


def crowded(server, _model):
    """While the filters of many changes still have clients, another change is refused, and possible later."""
    with Server([server.exe], options=['request.idle=1h', 'request.timeout=1h']) as other:
        clients = []
        for number in range(MOST):
            clients.append(Client(other))
            clients[-1].send(b'sa')
            until('it waits in a filter', lambda: held(other, ['request']) == number + 1)
            change(other, f'request.size {1000 + number}')
        said = configure(other, 'request.size 2000')
        expect(f'request.size is still {1000 + MOST - 1}' in said, said)
        expect(f'the last {MOST} changes replaced still have clients' in other.said(), other.said())
        ask(other)
        for client in clients:
            client.send(b'y x\nquit\n')
            expect(client.rest() == b'x\nbye\n', 'a message that had begun')
            client.socket.close()
        until('the filters end', lambda: len(named(other, 'request')) == 1)
        change(other, 'request.size 2000')
        ask(other)


def counts(server, _model):
    """Metrics count on over a change, and over the death of cc-chain after it."""
    with Server([server.exe + '-counted'], options=['request.idle=1h', 'request.timeout=1h']) as other:
        until('the address', lambda: 'metrics at' in other.said())
        where = re.search(r'metrics at (\S+)', other.said())[1]

        def found(name):
            """The values of the filter that accepts."""
            with urllib.request.urlopen(f'http://{where}/metrics', timeout=LONG) as answer:
                rows = [line.split() for line in answer.read().decode().splitlines()
                        if line.startswith(f'nest_filter_{name}{{') and 'place="0"' in line]
            return [int(n) for _, n in rows]
        ask(other)
        with Client(other) as begun:
            begun.send(b'say ')
            until('it is held', lambda: found('held') == [1])
            change(other, 'request.size 1000')
            ask(other)
            until('all are counted', lambda: (found('accepted_total'), found('passed_total')) == ([3], [2]))
            expect(found('held') == [1], 'the filter before holds one')
            os.kill(only(other, 'cc-chain'), signal.SIGKILL)
            expect(begun.rest() == b'', 'what a filter held that died')
        until('none is held', lambda: found('held') == [0])
        until('clients are served', lambda: answered(other))
        until('it goes on counting', lambda: found('passed_total')[0] >= 3)


def returns(server, _model):
    """HUP changes filters that keep connections: each connection goes on, and no message fails."""
    under_load(server, Kept, range(1000, 1003))
    until('filters without clients end', lambda: len(named(server, 'persist')) == 1)
    under_load(server, Several, range(2000, 2000 + ROUNDS))


def signalled(server, _model):
    """Signals come all the time: kept connections go on, and no message fails."""
    for load in (Kept, Several):
        with load(server) as clients:
            for _ in range(200):
                os.kill(server.process.pid, signal.SIGHUP)
                clients.more(2)
        expect(not clients.failed, f'{len(clients.failed)} clients failed: {clients.failed[:2]}')


def disturbed(server, _model):
    """USR1 comes all the time while HUP changes filters: no change is refused."""
    over = threading.Event()
    with Server([server.exe + '-logged']) as other:
        def disturb():
            while not over.wait(0.005):
                os.kill(other.process.pid, signal.SIGUSR1)
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            for value in range(3000, 3000 + ROUNDS):
                change(other, f'request.size {value}')
                ask(other)
        finally:
            over.set()
            thread.join()


ALL = (changes, waits, stops, refuses, lasts, crowded, counts, disturbed)
RETURNING = (returns, signalled)
