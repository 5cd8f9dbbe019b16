"""What an action does on second connections, as its client and the other side see it.

Each check gets a server, the other side's listener and a folder for sockets. Whatever is waited for is
an event, with a limit. Must not know: models, but for how many clients a process has.
"""

import contextlib
import hashlib
import os
import re
import resource
import select
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.connection import all_of, exactly, reset               # noqa: E402
from support.expect import expect, until                            # noqa: E402
from support.server import Client, Server                                   # noqa: E402

LIMIT = 30      # seconds for what happens at once


class Other:
    """The other side of second connections: a listener on loopback."""

    def __init__(self, address='127.0.0.1', backlog=100):
        self.listener = socket.socket()
        self.listener.bind((address, 0))
        self.listener.listen(backlog)
        self.listener.settimeout(LIMIT)
        self.port = self.listener.getsockname()[1]
        self.name = f'{address}:{self.port}'

    def take(self):
        """The next connection."""
        connection, _ = self.listener.accept()
        connection.settimeout(LIMIT)
        return connection

    def close(self):
        self.listener.close()


def line(client):
    """One line."""
    out = b''
    while not out.endswith(b'\n'):
        got = client.take(1)
        expect(got, f'the end of input after {out!r}')
        out += got
    return out


def ask(client, text, answer):
    """Sends a line, and expects one."""
    client.send(text.encode() + b'\n')
    got = line(client).decode().rstrip('\n')
    expect(got == answer, f'{text}: expected {answer!r}, received {got!r}')


@contextlib.contextmanager
def dialled(server, other):
    """A client whose action has dialled, and the other side's end."""
    with Client(server) as client:
        ask(client, f'DIAL {other.name} 9000', 'dialled')
        connection = other.take()
        try:
            yield client, connection
        finally:
            connection.close()


def talks(server, other, _):
    """Lines and bytes go both ways; what came early is read first"""
    with Client(server) as client:
        client.send(f'DIAL {other.name} 9000\nSAY hello\nLINE 100\nBYTES 3\nINTO 10\nPING\n'.encode())
        connection = other.take()
        connection.sendall(b'ready\r\nabc0123')
        expect(line(client) == b'dialled\n', 'it was not dialled')
        expect(exactly(connection, 6) == b'hello\n', 'the other side did not get the line')
        connection.sendall(b'456789rest')
        for wanted in (b'ready\n', b'abc\n', b'0123456789|10\n', b'pong\n'):
            got = line(client)
            expect(got == wanted, f'expected {wanted!r}, received {got!r}')
        ask(client, 'SOME 100', '4')
        ask(client, 'PUSH x y', 'pushed')
        expect(exactly(connection, 6) == b'<x y>\n', 'formatted text is wrong')
        connection.sendall(b'x' * 60 + b'\n')
        ask(client, 'LINE 20', 'EMSGSIZE')
        ask(client, 'LINE 60', 'x' * 60)
        connection.close()
        ask(client, 'LINE 20', 'end')
        ask(client, 'SOME 20', '0')
        ask(client, 'PING', 'pong')


def refuses(server, other, folder):
    """A dial that fails says why, and the conversation goes on"""
    closed = Other()
    closed.close()
    path = os.path.join(folder, 'none')
    with Client(server) as client:
        for address, answer in (
                (closed.name, f"ECONNREFUSED: cannot connect to '{closed.name}': Connection refused"),
                # the C library asks no server for a name that cannot be
                ('no..such:80', "ENOENT: cannot look up 'no..such': Name or service not known"),
                (f'unix:{path}', f"ENOENT: cannot connect to 'unix:{path}': No such file or directory"),
                *((wrong, f"EINVAL: cannot dial '{wrong}': it is not HOST:PORT, [IPv6]:PORT or unix:/path")
                  for wrong in ('127.0.0.1', ':80', '::1:80', '[::1:80', '[x]:80', 'a:0', 'a:65536', 'unix:x',
                                'a:8o'))):
            ask(client, f'DIAL {address} 9000', answer)
        ask(client, 'SAY x', 'EBADF')
        ask(client, f'DIAL {other.name} 9000', 'dialled')
        other.take().close()


def names(server, other, folder):
    """Names, addresses of IPv6 and Unix sockets"""
    path = os.path.join(folder, 'socket')
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen()
    local.settimeout(LIMIT)
    with Client(server) as client:
        ask(client, f'DIAL localhost:{other.port} 9000', 'dialled')
        other.take().close()
        ask(client, f'DIAL unix:{path} 9000', 'dialled')
        connection, _ = local.accept()
        connection.sendall(b'one\n')
        ask(client, 'LINE 10', 'one')
        connection.close()
        if socket.has_ipv6 and os.path.exists('/proc/net/if_inet6'):
            with socket.socket(socket.AF_INET6) as six:
                six.bind(('::1', 0))
                six.listen()
                ask(client, f'DIAL [::1]:{six.getsockname()[1]} 9000', 'dialled')
    local.close()
    os.unlink(path)


def links():
    """Addresses of links that this system has: each with the name and the number of its interface."""
    with contextlib.suppress(FileNotFoundError), open('/proc/net/if_inet6', encoding='ascii') as file:
        for row in file:
            number, index, _, _, _, name = row.split()
            if number.startswith('fe80'):
                yield socket.inet_ntop(socket.AF_INET6, bytes.fromhex(number)), name, int(index, 16)


def zones(server, other, _):
    """An address of a link has its interface behind it, by name or number, and no other address has one"""
    with Client(server) as client:
        for host, why in (('fe80::1', 'is that of a link: write the interface behind it, as in [fe80::1%eth0]:8080'),
                          ('fe80::1%no-such', 'names an interface that this system does not have'),
                          ('fe80::1%', 'names an interface that this system does not have'),
                          ('fe80::1%999999999', 'names an interface that this system does not have'),
                          ('::1%lo', 'is not that of a link (fe80::/10), so no interface can follow it')):
            ask(client, f'DIAL [{host}]:80 9000', f"EINVAL: cannot dial '[{host}]:80': the address {why}")
            done = subprocess.run([server.process.args[0], '--set', f'listen=[{host}]:0'], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LIMIT, check=False)
            expect(done.returncode != 0 and f"'[{host}]:0' {why}" in done.stderr.decode(), f'{host}: {done.stderr}')
        for address, name, index in links():
            for zone in name, index:
                with socket.socket(socket.AF_INET6) as one, \
                        Server(server.process.args[:1], options=[f'listen=127.0.0.1:0 [{address}%{zone}]:0']) as second:
                    one.bind((address, 0, 0, index))
                    one.listen()
                    one.settimeout(LIMIT)
                    ask(client, f'DIAL [{address}%{zone}]:{one.getsockname()[1]} 9000', 'dialled')
                    one.accept()[0].close()
                    port = int(re.search(r'\[fe80\S*\]:(\d+)', second.ready)[1])
                    ask(client, f'DIAL [{address}%{zone}]:{port} 9000', 'dialled')
                    client.send(b'SAY PING\n')
                    ask(client, 'LINE 10', 'pong')


def stalls(server, other, _):
    """The other side stalls: at the connection, at each read, and later goes on"""
    full = Other(backlog=0)
    fill = [socket.socket() for _ in range(3)]
    for one in fill:
        one.setblocking(False)
        one.connect_ex(('127.0.0.1', full.port))
    with dialled(server, other) as (client, connection):
        ask(client, f'DIAL {full.name} 300', f"ETIMEDOUT: cannot connect to '{full.name}': Connection timed out")
        ask(client, f'DIAL {other.name} 9000', 'dialled')
        second = other.take()
        client.send(b'LIMIT 200\n')
        ask(client, 'LINE 100', 'ETIMEDOUT')
        second.sendall(b'begun')
        ask(client, 'LINE 100', 'ETIMEDOUT')
        ask(client, 'BYTES 9', 'ETIMEDOUT')
        ask(client, 'BYTES 3', 'beg')
        ask(client, 'INTO 9', 'ETIMEDOUT')
        ask(client, 'SOME 9', '-1')
        second.sendall(b'late\n')
        ask(client, 'LINE 100', 'late')
        second.close()
    for one in fill:
        one.close()
    full.close()


def resets(server, other, _):
    """The other side resets: its reads and writes fail, and the conversation goes on"""
    with dialled(server, other) as (client, connection):
        client.send(b'LINE 100\n')
        time.sleep(0.05)                # it waits; if it does not yet, the answer is the same
        reset(connection)
        expect(line(client) == b'ECONNRESET\n', 'the reset is not told')
        ask(client, 'LINE 100', 'ECONNRESET')
        ask(client, 'SAY x', 'ECONNRESET')
        ask(client, 'CLOSE', 'closed')
        ask(client, 'CLOSE', 'EBADF')
        ask(client, 'LINE 100', 'EBADF')
        ask(client, 'PING', 'pong')


def halves(server, other, _):
    """Each side can end its half alone"""
    with dialled(server, other) as (client, connection):
        connection.sendall(b'last\n')
        connection.shutdown(socket.SHUT_WR)
        ask(client, 'LINE 100', 'last')
        ask(client, 'LINE 100', 'end')
        client.send(b'SAY still\n')
        expect(exactly(connection, 6) == b'still\n', 'nothing comes after a half-close')
    with dialled(server, other) as (client, connection):
        client.send(b'SAY bye\n')
        ask(client, 'HALF', 'half')
        expect(all_of(connection) == b'bye\n', 'the half-close did not come')
        ask(client, 'SAY more', 'EPIPE')
        connection.sendall(b'answer\n')
        ask(client, 'LINE 100', 'answer')


def stale(server, other, _):
    """The handle of a closed connection never names another one"""
    with dialled(server, other) as (client, connection):
        ask(client, 'CUT', 'cut')
        expect(all_of(connection) in (None, b''), 'it was not closed')
        ask(client, 'SAY x', 'EBADF')
        ask(client, 'HALF', 'EBADF')
        ask(client, 'ALL', '15 EMFILE')
        connections = [other.take() for _ in range(15)]
        ask(client, 'CLOSE', 'closed')
        for one in connections:
            expect(all_of(one) == b'', 'one was not closed')
            one.close()


def presses(server, other, _):
    """A reader that is slow holds the action back, and gets everything"""
    size = 12_000_000
    with dialled(server, other) as (client, connection):
        client.send(f'FILL {size}\n'.encode())
        ready, _, _ = select.select([client.socket], [], [], 0.3)
        expect(not ready, 'the action did not wait')
        expect(len(exactly(connection, size)) == size, 'not all came')
        expect(line(client) == b'filled\n', 'not all was written')
        client.send(b'QUIT\n')
        expect(all_of(connection) == b'', 'more came')


def scarce(server, other, _):
    """Without descriptors, a dial fails with EMFILE, and later works"""
    with Client(server) as client:
        ask(client, 'PING', 'pong')
        before = []
        for pid, _ in server.each('stat'):
            try:
                before.append((pid, resource.prlimit(pid, resource.RLIMIT_NOFILE)))
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[-1][1][1]))
            except ProcessLookupError:
                pass
        try:
            ask(client, f'DIAL {other.name} 9000',
                f"EMFILE: cannot connect to '{other.name}': Too many open files")
        finally:
            for pid, limit in before:
                with contextlib.suppress(ProcessLookupError):
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
        ask(client, f'DIAL {other.name} 9000', 'dialled')
        other.take().close()


def leaves(server, other, _):
    """A client that goes away ends its action's wait; END runs, all is closed"""
    said = server.said().count('end: ')
    with dialled(server, other) as (client, connection):
        client.send(b'SAY wait\nLINE 100\n')
        expect(exactly(connection, 5) == b'wait\n', 'no line')
        reset(client.socket)
        expect(all_of(connection) in (None, b''), 'it was not closed')
        until('END', lambda: server.said().count('end: ') > said, LIMIT)
    with dialled(server, other) as (client, connection):
        client.send(b'SAY last\nQUIT\n')
        expect(all_of(connection) == b'last\n', 'output was lost at the end')


def ends(server, other, _):
    """A client that ends its output alone is waited for, unless $cancelOnEnd said otherwise"""
    for command in ('LINE 100', 'WAIT 60000 90000', 'RELAY 20000', 'SLEEP 20000', 'INTO 100'):
        said = server.said().count('the client is gone')
        with dialled(server, other) as (client, connection):
            if command != 'RELAY 20000':
                ask(client, 'MIND', 'minded')
            client.send(f'SAY wait\n{command}\n'.encode())
            expect(exactly(connection, 5) == b'wait\n' if command != 'SLEEP 20000' else True, 'no line')
            client.half_close()
            expect(all_of(connection) in (None, b'', b'wait\n'), 'it was not closed')
            if command != 'RELAY 20000':
                until('END', lambda: server.said().count('the client is gone') > said, LIMIT)
    said = server.said().count('the client is gone')
    with dialled(server, other) as (client, connection):    # the end comes before it is minded
        client.send(b'SAY wait\nSLEEP 300\nMIND\nSLEEP 20000\n')
        client.half_close()
        until('END', lambda: server.said().count('the client is gone') > said, LIMIT / 2)
    with dialled(server, other) as (client, connection):
        client.send(b'SAY wait\nLINE 100\n')
        client.half_close()
        expect(exactly(connection, 5) == b'wait\n', 'no line')
        ready, _, _ = select.select([connection, client.socket], [], [], 0.2)
        expect(not ready, 'the wait has ended')
        connection.sendall(b'answer\n')
        expect(client.rest() == b'answer\n', 'no answer')


def relays(server, other, _):
    """$relay: much both ways, slow receivers, each end in turn, nothing lost or changed"""
    data = os.urandom(1 << 16) * 60
    for first in ('client', 'other'):
        with dialled(server, other) as (client, connection):
            connection.sendall(b'banner ')
            client.send(b'RELAY 20000\nearly ')
            sums = {}

            def receive(name, source, slow):
                total = hashlib.sha256()
                while chunk := source.recv(1 << 16):
                    total.update(chunk)
                    if slow:
                        time.sleep(0.0005)
                sums[name] = total.hexdigest()

            def send(target):
                target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            threads = [threading.Thread(target=receive, args=('client', client.socket, first == 'client')),
                       threading.Thread(target=receive, args=('other', connection, first == 'other'))]
            threads += [threading.Thread(target=send, args=(client.socket,)),
                        threading.Thread(target=send, args=(connection,))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(LIMIT)
            expect(sums.get('client') == hashlib.sha256(b'banner ' + data).hexdigest(), 'the client got other bytes')
            expect(sums.get('other') == hashlib.sha256(b'early ' + data).hexdigest(), 'the other side got other bytes')


def relays_halves(server, other, _):
    """$relay hands on a half-close, and the other half goes on"""
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\nquestion')
        client.half_close()
        expect(all_of(connection) == b'question', 'the end did not come')
        connection.sendall(b'answer')
        expect(client.take(6) == b'answer', 'no answer')
        connection.close()
        expect(client.rest() == b'', 'more came')
    with dialled(server, other) as (client, connection):
        connection.sendall(b'all')
        connection.shutdown(socket.SHUT_WR)
        client.send(b'RELAY 20000\n')
        expect(client.rest() == b'all', 'the end did not come')
        client.send(b'still')
        expect(exactly(connection, 5) == b'still', 'the other half has ended')
        client.half_close()
        expect(all_of(connection) == b'', 'the second end did not come')


def relays_hold(server, other, _):
    """$relay holds back a sender whose receiver does not read, in both directions at once"""
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\n')
        block, sent = b'x' * (1 << 16), {}
        for one in (client.socket, connection):
            one.setblocking(False)
            sent[one] = 0
        quiet = time.monotonic() + 0.5
        while time.monotonic() < quiet:     # nobody reads: both are held back at last
            _, ready, _ = select.select([], [client.socket, connection], [], 0.1)
            for one in ready:
                with contextlib.suppress(BlockingIOError):
                    sent[one] += one.send(block)
                    quiet = time.monotonic() + 0.5
            expect(max(sent.values()) < 1 << 28, 'a sender was never held back')
        for one in (client.socket, connection):
            one.settimeout(LIMIT)
        for one, from_ in ((client.socket, connection), (connection, client.socket)):
            expect(len(exactly(one, sent[from_])) == sent[from_], 'bytes were lost')


def relays_end(server, other, _):
    """$relay ends by a reset of either side, and after its limit of silence"""
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\nx')
        expect(exactly(connection, 1) == b'x', 'nothing came')
        reset(connection)
        expect(line(client) == b'ECONNRESET\n', 'the reset was not told')
        ask(client, 'PING', 'pong')
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\nx')
        expect(exactly(connection, 1) == b'x', 'nothing came')
        reset(client.socket)
        expect(all_of(connection) is None, 'the other side took this for the end of all')
    with dialled(server, other) as (client, connection):
        ask(client, 'RELAY 200', 'ETIMEDOUT')
        ask(client, 'PING', 'pong')


def any_of(server, other, _):
    """$readAny says which connection has input"""
    with dialled(server, other) as (client, connection):
        client.send(b'ANY\n')
        time.sleep(0.05)
        connection.sendall(b'first\n')
        expect(line(client) == b'up\n', 'not the other side')
        ask(client, 'LINE 10', 'first')
        ask(client, 'TWICE', 'EINVAL')      # input could not be given to both
        client.send(b'ANY\n')
        time.sleep(0.05)
        client.send(b'PING\n')
        expect(line(client) == b'client\n', 'not the client')
        expect(line(client) == b'pong\n', 'the line was lost')
        client.send(b'ANY\nPING\n')
        expect(line(client) == b'client\n' and line(client) == b'pong\n', 'not what came early')
        connection.close()
        ask(client, 'ANY', 'up')
        ask(client, 'LINE 10', 'end')


def accepts(server, _, __):
    """$listen and $accept: from the client's address alone, on a port of the range"""
    with Client(server) as client:
        ask(client, 'LISTEN x', 'EINVAL')
        ask(client, 'LISTEN 5-4', 'EINVAL')
        client.send(b'LISTEN 20000-45000\n')
        port, address = line(client).decode().split()
        expect(20000 <= int(port) <= 45000 and address == f'127.0.0.1:{port}', f'{port} {address}')
        ask(client, 'ACCEPT 100', 'ETIMEDOUT')
        client.send(b'ACCEPT 9000\n')
        with socket.socket() as stranger:
            stranger.bind(('127.0.0.2', 0))
            stranger.settimeout(LIMIT)
            with contextlib.suppress(ConnectionResetError):
                stranger.connect(('127.0.0.1', int(port)))
                expect(all_of(stranger) in (None, b''), 'a stranger was not closed')
        with socket.create_connection(('127.0.0.1', int(port)), LIMIT) as data:
            expect(line(client) == b'accepted\n', 'it was not accepted')
            data.sendall(b'upload\n')
            ask(client, 'LINE 100', 'upload')
            client.send(b'SAY download\n')
            expect(exactly(data, 9) == b'download\n', 'nothing came')
            with Client(server) as second:
                ask(second, f'LISTEN {port}', 'EADDRINUSE')
            client.send(b'QUIT\n')
            expect(all_of(data) == b'', 'it was not closed')
        expect(client.rest() == b'', 'more came')

    def refused():
        with socket.socket() as late:
            return late.connect_ex(('127.0.0.1', int(port))) != 0
    until('the listener ends with its connection', refused, LIMIT)


def waits(server, other, _):
    """$waitFor: a descriptor that becomes ready, and one that does not"""
    with dialled(server, other) as (client, connection):
        ask(client, 'WAIT 20 9000', 'ready')
        ask(client, 'WAIT 60000 100', 'ETIMEDOUT')
        ask(client, 'ROOM 100', 'ETIMEDOUT 2 2')
        client.send(b'WAIT 60000 90000\n')
        time.sleep(0.05)
        reset(client.socket)
        expect(all_of(connection) in (None, b''), 'the wait of a client that is gone goes on')


def several(server, other, _):
    """Of a name with two addresses, the second one is dialled when the first refuses, and when it does not answer"""
    with Client(server) as client:
        ask(client, f'DIAL several:{other.port} 9000', 'dialled')
        other.take().close()
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(('127.0.0.9', other.port))
        silent.listen(0)
        for _ in range(8):      # its queue is full: it answers nobody else
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(('127.0.0.9', other.port))
        with Client(server) as client:
            ask(client, f'DIAL several:{other.port} 15000', 'dialled')
            connection = stack.enter_context(other.take())
            client.send(b'SAY hello\n')
            expect(exactly(connection, 6) == b'hello\n', 'it is another connection')


def never(server, other, _):
    """A resolver that never answers holds up nobody but those who wait for names"""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(20)]
        for client in clients:
            client.send(b'DIAL never:1 700\n')
        with Client(server) as quick:
            ask(quick, f'DIAL {other.name} 9000', 'dialled')
            other.take().close()
        for client in clients:
            expect(line(client) == b"ETIMEDOUT: cannot look up 'never': Connection timed out\n", 'it answered')
            ask(client, 'PING', 'pong')


def stops(server, other, _):
    """A stop ends what waits, and closes what is open"""
    with dialled(server, other) as (client, connection):
        client.send(b'LINE 100\n')
        server.process.terminate()
        expect(all_of(connection) in (None, b''), 'it was not closed')
        server.process.wait(LIMIT)


ALL = (talks, refuses, names, zones, stalls, resets, halves, stale, presses, scarce, leaves, ends, relays,
       relays_halves, relays_hold, relays_end, any_of, accepts, waits, several, never, stops)
