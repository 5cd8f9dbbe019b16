"""What the tests share: servers with chains, clients, the list of results."""

import collections
import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.environ.get('CC_TEST_BUILD', os.path.join(TOP, 'build/asan'))
LIBEXEC = os.path.join(BUILD, 'libexec')
CHAIN = os.path.join(LIBEXEC, 'cc-chain')
SERVER = os.path.join(BUILD, 'test-server')
WAIT = 20   # seconds: generous, for machines that are busy


class Wrong(Exception):
    """A test failed; the text says why."""


def expect(condition, why):
    """Fails unless the condition holds."""
    if not condition:
        raise Wrong(why)


def until(condition, why, wait=WAIT):
    """Waits until the condition holds and returns its value."""
    end = time.monotonic() + wait
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < end, why)
        time.sleep(0.02)


RESERVED = collections.deque(maxlen=32)     # sockets


def free_port():
    """A TCP port that nobody listens on. It stays bound, so that nobody but a server with SO_REUSEADDR gets it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('', 0))
    RESERVED.append(s)
    return s.getsockname()[1]


def environment(**more):
    """Sanitizers abort, and leaks count in programs that end by themselves."""
    return {**os.environ, 'CC_LIBEXEC': LIBEXEC, 'ASAN_OPTIONS': 'detect_leaks=0:abort_on_error=1',
            'UBSAN_OPTIONS': 'halt_on_error=1:abort_on_error=1', **more}


def children(pid):
    """The processes below a process, as {name: [pids]}."""
    found = {}
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            pids = [int(p) for p in file.read().split()]
    except OSError:
        return {}
    for child in pids:
        with contextlib.suppress(OSError):
            with open(f'/proc/{child}/comm', encoding='ascii') as file:
                found.setdefault(file.read().strip(), []).append(child)
    return found


def descriptors(pid):
    """How many descriptors a process has."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f'/proc/{pid}/fd'))
    return 0


class Chain:
    """The test server behind filters; a context manager that ends it."""

    def __init__(self, filters, style='loop', server=None, options=(), **env):
        self.folder = tempfile.TemporaryDirectory(prefix='cc-')
        self.log = os.path.join(self.folder.name, 'log')
        self.state = os.path.join(self.folder.name, 'state')
        self.port = free_port()
        open(self.log, 'wb').close()
        self.errors = open(os.path.join(self.folder.name, 'errors'), 'w+b')
        command = server(self.port) if server else [SERVER, style, str(self.port), self.log, 'pass']
        self.process = subprocess.Popen(
            [CHAIN, '--state', self.state, *options, *filters, '--', *command],
            stdin=subprocess.DEVNULL, stderr=self.errors, env=environment(**env))
        try:
            until(self.ready, 'the server does not answer')
            if server is None:
                until(self.settled, 'the filters have not begun')
        except Wrong as wrong:
            said = self.said()
            self.close()
            raise Wrong(f'{wrong}: {said}') from None

    def ready(self):
        """Whether it listens, or has ended."""
        expect(self.process.poll() is None, 'it ended at once')
        with contextlib.suppress(OSError), socket.socket() as s:
            s.settimeout(1)
            s.connect(('127.0.0.1', self.port))
            return True
        return False

    def settled(self):
        """Whether filters have begun, and the client that asked for it has come and gone.

        The server's socket accepts connections before the filters are there.
        """
        samples = self.metrics().items()
        return (any(value for (name, _), value in samples if name == 'accepted')
                and not any(value for (name, _), value in samples if name == 'held'))

    def said(self):
        """What was written to standard error."""
        self.errors.flush()
        with open(self.errors.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def filters(self):
        """The processes of the filters."""
        return {n: p for n, p in children(self.process.pid).items() if n != 'test-server'}

    def server(self):
        """The server's first process."""
        return children(self.process.pid)['test-server'][0]

    def requests(self):
        """The targets of the requests that the server has seen."""
        with open(self.log, encoding='ascii') as file:
            return [line.split()[1] for line in file if len(line.split()) > 1]

    def ask(self, command='status'):
        """What the state socket answers."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(WAIT)
            s.connect(self.state)
            s.sendall(command.encode() + b'\n')
            return b''.join(iter(lambda: s.recv(65536), b'')).decode()

    def metrics(self):
        """The metrics as {(name, filter): value} and {(reason, filter): value}."""
        found = {}
        for line in self.ask('metrics').splitlines():
            m = re.match(r'cc_(\w+){.*?filter="([^"]*)"(?:,reason="([^"]*)")?} (\S+)', line)
            if m:
                found[m[3] or m[1].removesuffix('_total'), m[2]] = float(m[4])
        return found

    def balanced(self):
        """No filter has passed on more than it has accepted."""
        samples = self.metrics()
        for (name, at), value in samples.items():
            expect(name != 'passed' or value <= samples['accepted', at],
                   f'{at} has passed on {value:.0f} of {samples["accepted", at]:.0f}')

    def client(self, address='127.0.0.1', **more):
        """A connection from an address of this machine."""
        return Client(self.port, address, **more)

    def close(self):
        """Ends everything and says whether a sanitizer complained."""
        if self.process.poll() is None:
            with contextlib.suppress(KeyError, IndexError, ProcessLookupError):
                os.killpg(self.server(), signal.SIGKILL)
            try:
                self.process.wait(WAIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        said = self.said()
        self.errors.close()
        self.folder.cleanup()
        return said

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        said = self.close()
        if kind is None:
            for mark in ('Sanitizer', 'runtime error'):
                expect(mark not in said, said)


class Client:
    """One connection."""

    def __init__(self, port, address='127.0.0.1', to=None, wait=WAIT):
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(wait)
        self.socket.bind((address, 0))
        self.socket.connect((to or ('::1' if ':' in address else '127.0.0.1'), port))
        self.have = b''

    def send(self, data):
        """Sends bytes; text is made bytes."""
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def get(self, target='/', headers='', version='1.1', method='GET'):
        """Sends a request without a body."""
        self.send(f'{method} {target} HTTP/{version}\r\nHost: a\r\n{headers}\r\n')
        return self

    def answer(self):
        """(status, body) of the next answer; (0, '') if the connection ends before."""
        try:
            while b'\r\n\r\n' not in self.have:
                if not self.more():
                    return 0, ''
            head, _, rest = self.have.partition(b'\r\n\r\n')
            length = int(re.search(rb'(?i)content-length: *(\d+)', head)[1])
            while len(rest) < length:
                if not self.more():
                    return 0, ''
                rest = self.have.partition(b'\r\n\r\n')[2]
            self.have = rest[length:]
            return int(head.split()[1]), rest[:length].decode()
        except ConnectionError:
            return 0, ''

    def more(self):
        """Reads more bytes."""
        data = self.socket.recv(65536)
        self.have += data
        return data

    def ended(self):
        """Waits for the end of the connection."""
        with contextlib.suppress(ConnectionError):
            while self.more():
                pass
        return True

    def closed_now(self):
        """Whether the server has ended the connection already."""
        self.socket.setblocking(False)
        try:
            while self.socket.recv(65536):
                pass
            return True
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self.socket.settimeout(WAIT)

    def close(self):
        """Ends the connection."""
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def once(port, target='/', address='127.0.0.1', **more):
    """One request on a connection of its own: (status, body)."""
    with Client(port, address) as client:
        return client.get(target, **more).answer()


def field(body, name):
    """A field of the test server's answer."""
    return re.search(rf'{name}=(\S+)', body)[1]
