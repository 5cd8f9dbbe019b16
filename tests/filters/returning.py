"""A server that gives connections back to the filter persist between two messages.

Each check gets the server, which serves five clients at once, and its model. Must not know: how
servers are built.
"""

import os
import random
import signal
import socket
import time

from checks import LONG, ask, expect, fewer, held, named, settled, until, worker, descriptors
from load import Load
from support.nest import Failed
from support.server import Client, Server

MANY = 40               # clients, eight times as many as are served at once
CLIENTS = 12            # under load
ROUNDS = 10


def more(server, _model):
    """Many more clients stay connected than are served at once, and all are answered."""
    clients = [Client(server) for _ in range(MANY)]
    for turn in range(3):
        for number, client in enumerate(clients):
            client.send(f'say {turn} {number}\n'.encode())
        for number, client in enumerate(clients):
            client.expect(f'{turn} {number}\n'.encode())
    until('persist has all of them', lambda: held(server, ['persist']) == MANY)
    for client in clients:
        client.send(b'quit\n')
        expect(client.rest() == b'bye\n', 'the last answer')
        client.socket.close()


def cuts(server, _model):
    """Messages are answered in their order, however they are cut."""
    text = b'say a\nsay bc\nquit\n'
    for cut in range(1, len(text)):
        with Client(server) as client:
            client.send(text[:cut])
            if cut >= 6:
                client.expect(b'a\n')
            client.send(text[cut:])
            answers = b'bc\nbye\n' if cut >= 6 else b'a\nbc\nbye\n'
            expect(client.rest() == answers, f'cut at {cut}')
    with Client(server) as client:
        client.send(b'say x\n' * 200 + b'quit\n')
        expect(client.rest() == b'x\n' * 200 + b'bye\n', '200 messages')


def halves(server, _model):
    """A message of which only a part has come behind another one occupies no place."""
    clients = [Client(server) for _ in range(MANY)]
    for client in clients:
        client.send(b'say a\nsay ')
    for client in clients:
        client.expect(b'a\n')
    ask(server)
    for client in clients[:10]:
        client.send(b'b\nquit\n')
        expect(client.rest() == b'b\nbye\n', 'the rest of a message')
    for client in clients[10:]:
        expect(client.rest() == b'', 'one that is never complete ends at the time of the filter')
        client.socket.close()


def short(server, model):
    """What comes behind a message stays with the filter, however little a receive brings."""
    more = os.path.join(os.path.dirname(server.exe), 'short.so')
    with Server([server.exe], LD_PRELOAD=more) as other:
        halves(other, model)


def idles(server, _model):
    """A client that is silent between two messages is let go when the time of the filter is over."""
    with Server([server.exe + '-idle']) as other, Client(other) as client:
        for word in (b'a', b'b'):
            start = time.monotonic()
            client.send(b'say ' + word + b'\n')
            client.expect(word + b'\n')
        expect(client.rest() == b'', 'a silent client has an answer')
        expect(time.monotonic() - start >= 3, 'it was let go before its time')
        ask(other)


def undecided(server, _model):
    """A message that what follows decides stays at the server until then."""
    with Client(server) as client:
        client.send(b'+ab')
        client.send(b'c+de')
        client.expect(b'<abc>\n')
        client.socket.shutdown(socket.SHUT_WR)
        expect(client.rest() == b'<de>\n', 'what the end decides')


def ends(server, _model):
    """A client may end between two messages, and a wrong message ends at the filter."""
    with Client(server) as client:
        client.send(b'say a\n')
        client.socket.shutdown(socket.SHUT_WR)
        expect(client.rest() == b'a\n', 'a half-closed connection')
    with Client(server) as client:
        client.send(b'say a\n')
        client.expect(b'a\n')
        client.send(b'nonsense\n')
        expect(client.rest() == b'', 'nonsense has an answer')
    with Client(server) as client:
        client.send(b'say a\n')
        client.expect(b'a\n')
        client.socket.close()
    until('no filter has a connection left', lambda: held(server, ['request', 'persist']) == 0)


def large(server, _model):
    """A client that reads slowly gets all of a long answer, and the answer to its next message."""
    with Client(server, receive=4096) as client:
        client.send(b'big\nsay x\nquit\n')
        expect(client.rest() == b'0123456789\n' * 100000 + b'x\nbye\n', 'a long answer')


def exact(server, model):
    """When clients have left, no process has a descriptor more than before."""
    def counts():
        """Of those that are always there; the last filter has a link to each worker."""
        names = ('request', 'persist') + (('slowread',) if model in ('event', 'uring') else ())
        lasting = [server.process.pid] + [pid for name in names for pid in named(server, name)]
        found = descriptors(server)
        return [found.get(pid) for pid in lasting]
    ask(server)
    before = until('descriptors settle', lambda: settled(counts))
    for _ in range(30):
        with Client(server) as client:
            for _ in range(5):
                client.send(b'say x\n')
                client.expect(b'x\n')
    until(f'as many descriptors as before: {before}', lambda: fewer(counts(), before))


def stops(server, _model):
    """TERM: clients between two messages are let go, one that has begun another is answered."""
    with Client(server) as idle, Client(server) as begun, Client(server) as slow:
        for client in (idle, begun):
            client.send(b'say a\n')
            client.expect(b'a\n')
        until('both are with the filter', lambda: held(server, ['persist']) == 2)
        slow.send(b'slow\n')
        begun.send(b'say la')
        until('the slow one is served', lambda: held(server, ['persist']) == 3)
        os.kill(server.process.pid, signal.SIGTERM)
        expect(idle.rest() == b'', 'an idle client has an answer')
        expect(slow.rest() == b'slow\n', 'a slow answer')
        begun.send(b'st\n')
        expect(begun.rest() == b'last\n', 'a message that had begun')
    expect(server.process.wait(LONG) == 0, 'status')


class Long(Load):
    """Clients that send one message after another. Each answer must be whole and the next one of its
    client; a client whose connection ends makes another."""

    def __init__(self, server):
        super().__init__(server, CLIENTS)

    def run(self, number):
        """One connection after another."""
        count = 0
        while not self.over.is_set() and not self.failed:
            try:
                with Client(self.server) as client:
                    while not self.over.is_set():
                        count += 1
                        wanted = f'{number} {count}\n'.encode()
                        client.send(b'say ' + wanted)
                        got = client.take(len(wanted))
                        if got not in (wanted, b''):
                            self.failed.append(f'{got!r} for {wanted!r}')
                        if got != wanted:
                            break
                        with self.lock:
                            self.answered += 1
            except (ConnectionError, BrokenPipeError):
                pass
            except Failed as error:
                self.failed.append(str(error))
            with self.lock:
                self.lost += 1


def killed(server, _model):
    """Filters and workers are killed under load: answers are whole, and none goes astray."""
    draw = random.Random(2)
    with Long(server) as load:
        for turn in range(ROUNDS):
            load.more(60)
            if turn % 3 == 2:
                try:
                    os.kill(worker(server), signal.SIGKILL)
                except (Failed, ProcessLookupError, ValueError):
                    pass        # its own connection was among those that were lost
                continue
            name = draw.choice(('persist', 'persist', 'request', 'check', 'slowread'))
            pid = until('it runs', lambda name=name: named(server, name))[0]
            os.kill(pid, signal.SIGKILL)
            until('it is replaced', lambda pid=pid, name=name: named(server, name) not in ([], [pid]))
        load.more(200)
    expect(not load.failed, f'{load.failed[:1]}')
    until('no filter has a connection left', lambda: held(server, ['request', 'persist', 'slowread']) == 0)


RUNNING = (more, cuts, halves, short, idles, undecided, ends, large, exact)
ENDING = (stops, killed)
