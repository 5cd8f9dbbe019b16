"""Servers that do not speak HTTP, redis and memcached, behind filters that need no requests; and a server of Go."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
from conditioned import Conditioned, fetch, missing, stops
from faults import CLIENTS, SEED
from preloaded import PRELOAD
from refusals import once, said
from states import metrics, value
from support import BUILD, HERE, Client, children, expect, free_port, until
from trials import works


def redis(place, port):
    """The command of redis."""
    return ['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--dir', place, '--save', '',
            '--loglevel', 'warning', '--protected-mode', 'no']


def memcached(_, port):
    """The command of memcached."""
    return ['memcached', '-l', '127.0.0.1', '-p', str(port), '-U', '0', '-u', 'root' if os.geteuid() == 0 else 'nobody']


class Store:
    """One of them: its command, a question and its answer."""

    def __init__(self, name, command, ask, answer, put, got):
        self.name, self.command, self.ask, self.reply, self.put, self.got = name, command, ask, answer, put, got


VALUE = b'x' * 300000
STORES = [Store('redis-server', redis, b'PING\r\n', b'+PONG\r\n',
                b'*3\r\n$3\r\nSET\r\n$1\r\na\r\n$%d\r\n%s\r\nGET a\r\n' % (len(VALUE), VALUE),
                b'+OK\r\n$%d\r\n%s\r\n' % (len(VALUE), VALUE)),
          Store('memcached', memcached, b'get none\r\n', b'END\r\n',
                b'set a 0 0 %d\r\n%s\r\nget a\r\n' % (len(VALUE), VALUE),
                b'STORED\r\nVALUE a 0 %d\r\n%s\r\nEND\r\n' % (len(VALUE), VALUE))]


def reads(client, want):
    """Reads as many bytes as are wanted, and fails if they differ."""
    while len(client.have) < len(want) and client.more():
        pass
    expect(client.have == want, f'{client.have[:80]!r}, not {want[:80]!r}')
    client.have = b''


def asks(client, store):
    """A question and its answer."""
    client.send(store.ask)
    reads(client, store.reply)


def closed(client):
    """Fails unless the connection ends without an answer."""
    client.ended()
    expect(client.have == b'', f'{client.have!r}')


def each(test):
    """Runs a test with both, by both ways. Returns what is not installed."""
    lacks = missing(*(store.name for store in STORES))
    for store in [] if lacks else STORES:
        for options in ([], PRELOAD):
            test(store, options)
    return lacks


def serve():
    """redis and memcached: many clients, many commands on a connection, a long value in pieces."""
    def test(store, options):
        with Conditioned(store.name, store.command, 'ratelimit,rate=100000,burst=1000', 'slowread,of=1000', 'pass',
                         options=options) as server:
            clients = [Client(server.port) for _ in range(40)]
            for _ in range(3):
                for client in clients:
                    asks(client, store)
            for at in range(0, len(store.put), 50000):
                clients[0].send(store.put[at:at + 50000])
            reads(clients[0], store.got)
            for client in clients:
                client.close()
            stops(server, signal.SIGTERM)
    return each(test)


def ratelimit():
    """A network gets its connections and no more; the commands of one are not counted."""
    def test(store, options):
        # The first of the four looked whether the server listens.
        with Conditioned(store.name, store.command, 'ratelimit,rate=1,per=60m,burst=4', options=options) as server:
            clients = [Client(server.port) for _ in range(3)]
            for client in clients * 5:
                asks(client, store)
            with Client(server.port) as more, Client(server.port, '127.0.0.2') as other:
                closed(more)
                asks(other, store)
            for client in clients:
                client.close()
    return each(test)


def slowread():
    """A network has its share of the server's connections; who is above it waits until one has ended."""
    def test(store, options):
        state = os.path.join(BUILD, f'state-{os.getpid()}')
        with Conditioned(store.name, store.command, 'slowread,of=10,net8=40,net16=30,net24=30',
                         options=[*options, '--state', state]) as server:
            clients = [Client(server.port) for _ in range(3)]
            for client in clients:
                asks(client, store)
            for i in range(6):
                late = Client(server.port)
                late.send(store.ask)
                until(lambda: value(metrics(state)[0], 'cc_held', 0) == 1, 'it is not held')
                with Client(server.port, '127.1.0.1') as other:
                    asks(other, store)      # another network
                # Ended by the client, or in the middle of an answer that nobody reads.
                if i % 2:
                    clients[0].send(store.ask * 1000)
                    clients[0].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                clients.pop(0).close()
                reads(late, store.reply)
                clients.append(late)
            for client in clients:
                client.close()
    return each(test)


def _dropped(pid):
    """How many events the kernel has not kept for a process."""
    inodes = set()
    for fd in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(f'/proc/{pid}/fd/{fd}').removeprefix('socket:[').removesuffix(']'))
    with open('/proc/net/netlink', encoding='ascii') as file:
        return sum(int(line.split()[8]) for line in file if line.split()[9] in inodes)


def _drop(pid):
    """Makes connections that end until the kernel has dropped 300 more events."""
    before = _dropped(pid)
    with socket.socket() as listening:
        listening.bind(('127.0.0.3', 0))
        listening.listen()

        def enough():
            for _ in range(200):
                with socket.create_connection(listening.getsockname()) as one:
                    listening.accept()[0].close()
                    one.recv(1)
            return _dropped(pid) > before + 300
        until(enough, 'the kernel keeps all events')


def _has(port, peer):
    """Whether the server has a socket of a client."""
    with open('/proc/net/tcp', encoding='ascii') as file:
        ends = [line.split()[1:3] for line in file][1:]
    return any(int(a[-4:], 16) == port and int(b[-4:], 16) == peer for a, b in ends)


def lost_events():
    """The ends of connections are known even if the kernel had more to tell than the launcher could read."""
    store = STORES[0]
    if missing(store.name):
        return missing(store.name)
    with Conditioned(store.name, store.command, 'slowread,of=10,net8=40,net16=30,net24=30') as server:
        clients = [Client(server.port) for _ in range(3)]
        for client in clients:
            asks(client, store)
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            _drop(server.process.pid)
            gone = clients.pop(0)
            port = gone.socket.getsockname()[1]
            gone.close()
            until(lambda: not _has(server.port, port), 'redis has not closed the connection')
            _drop(server.process.pid)
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        with Client(server.port) as late:
            asks(late, store)
            for client in clients:
                asks(client, store)
                client.close()
    return ''


def proxy():
    """A header of the PROXY protocol is taken away before the server reads; without one, a client is refused."""
    def test(store, options):
        with Conditioned(store.name, store.command, 'proxy,trust=127.0.0.1/32', 'ratelimit,rate=1,per=60m,burst=2',
                         options=options) as server:
            for i in (1, 2, 1, 2):
                with Client(server.port) as client:
                    client.send(f'PROXY TCP4 192.0.2.{i} 192.0.2.99 5000 80\r\n'.encode() + store.ask)
                    reads(client, store.reply)
            with Client(server.port) as client:     # the third one from this address
                client.send(b'PROXY TCP4 192.0.2.1 192.0.2.99 5000 80\r\n' + store.ask)
                closed(client)
            with Client(server.port) as client:
                client.send(store.ask * 20)
                closed(client)
            with Client(server.port, '127.0.0.2') as client:
                closed(client)
    return each(test)


def counts_once():
    """redis counts requests while filters and the chain are killed: none is delivered twice."""
    if missing('redis-server'):
        return missing('redis-server')
    chance, lock = random.Random(SEED), threading.Lock()
    with Conditioned('redis-server', redis, 'pass', 'ratelimit,rate=100000,burst=100000') as server:
        answers, failed, stop = [], [], threading.Event()

        def client():
            while not stop.is_set():
                got = b''
                with contextlib.suppress(ConnectionError), Client(server.port) as c:
                    c.send(b'INCR a\r\n')
                    while not c.have.endswith(b'\r\n') and c.more():
                        pass
                    got = c.have
                with lock:
                    (answers if got.startswith(b':') else failed).append(got)

        threads = [threading.Thread(target=client, daemon=True) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            for i in range(12):
                before = len(answers)
                until(lambda: len(answers) > before + 10, f'no more answers; {failed[:3]}')
                victim = until(lambda: children(server.process.pid).get('cc-chain'), 'there is no chain')[0]
                # The chain is killed three times, so that it is always started again.
                if i % 4 != 3:
                    found = until(lambda: children(victim), 'there are no filters')
                    victim = chance.choice([pid for pids in found.values() for pid in pids])
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            before = len(answers)
            until(lambda: len(answers) > before + 30, f'no more answers; {failed[:3]}')
        finally:
            stop.set()      # else the clients would go on when this has failed, and the tests not end
            for thread in threads:
                thread.join()
        expect(len(set(answers)) == len(answers), 'two requests got the same number')
        with Client(server.port) as last:
            last.send(b'INCR a\r\n')
            while not last.have.endswith(b'\r\n') and last.more():
                pass
            total = int(last.have[1:]) - 1
        # Each request has counted once or, if its filter died with it, not at all.
        expect(len(answers) <= total <= len(answers) + len(failed), f'{len(answers)} {total} {len(failed)} (seed {SEED})')
    return ''


def go():
    """A static server of Go serves behind held calls; a dynamic one that avoids the C library is noticed."""
    program = shutil.which('go')
    if program is None:
        return missing('go')
    env = {**os.environ, 'GOCACHE': os.path.join(BUILD, 'go-cache'), 'GO111MODULE': 'off', 'GOFLAGS': '', 'HOME': BUILD}
    for cgo, name in (('0', 'go-static'), ('1', 'go-dynamic')):
        done = subprocess.run([program, 'build', '-o', os.path.join(BUILD, name), os.path.join(HERE, 'http.go')],
                              capture_output=True, text=True, check=False, timeout=500, env={**env, 'CGO_ENABLED': cgo})
        expect(done.returncode == 0, done.stderr)
    fixed, dynamic = os.path.join(BUILD, 'go-static'), os.path.join(BUILD, 'go-dynamic')
    expect('is linked statically' in works(lambda _, port: [fixed, str(port)], fixed), 'not static')
    for path in (fixed, dynamic):
        with Conditioned(os.path.basename(path), lambda _, port: [path, str(port)], 'request', 'priority') as server:
            for _ in range(20):
                status, body = fetch(server.port)
                expect(status == 200 and body.startswith(b'hello 127.0.0.1:'), f'{status} {body}')
            stops(server, signal.SIGTERM, 128 + signal.SIGTERM)
    once(said([fixed, '1'], *PRELOAD, '--filter', 'pass'), 69, 'is linked statically')
    once(said([dynamic, str(free_port())], *PRELOAD, '--filter', 'pass'), 69, 'without the library')
    return ''


TESTS = [serve, ratelimit, slowread, lost_events, proxy, counts_once, go]
