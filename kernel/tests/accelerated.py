"""What the kernel's tests share: a server behind nest accelerate and, on a second port, the same server alone.

Must not know: what is tested.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests'))
import servers                          # noqa: E402
from support.report import Report       # noqa: E402,F401  the tests take it from here
from support import kernel, sample              # noqa: E402,F401

NEST = os.environ.get('NEST') or os.path.join(ROOT, 'target', 'debug', 'nest')
WAIT = 90           # seconds for what must happen
DATE = re.compile(rb'\r\nDate: [^\r]{29}\r\n')

class Failed(Exception):
    """A test's expectation does not hold."""


def same(what, got, wanted):
    if got != wanted:
        raise Failed(f'{what}\nexpected {wanted!r}\nreceived {got!r}')


def until(what, true):
    """Waits until it is true; returns what it gave."""
    end = time.monotonic() + WAIT
    while True:
        found = true()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f'not within {WAIT} s: {what}')
        time.sleep(0.01)


def free_port():
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        return server.getsockname()[1]


def ended_group():
    """Makes a control group like one that an ended nest has left behind, of a port and process that cannot be."""
    with open('/proc/mounts', encoding='utf-8') as file:
        mount = next(line.split()[1] for line in file if line.split()[2] == 'cgroup2')
    with open('/proc/self/cgroup', encoding='utf-8') as file:
        own = next(line[3:].strip() for line in file if line.startswith('0::'))
    path = f'{mount}{own}/nest-accelerate-0-4294967295'
    os.makedirs(path, exist_ok=True)
    return path


def lacks():
    """Why this machine cannot run the tests; None if it can."""
    return kernel.lacks(NEST)


class Site:
    """A folder with files, and a server with nest accelerate in front. `other`: the folder of the host
    "other"; `listen`: an address besides that of the loopback; `command`: in place of the server's own."""

    def __init__(self, folder, options=(), other=None, command=None, listen='127.0.0.1', server=servers.nginx):
        self.folder, self.www = folder, os.path.join(folder, 'www')
        os.makedirs(self.www, exist_ok=True)
        os.chmod(folder, 0o755)         # nginx's workers are not root
        self.port, self.alone = free_port(), free_port()
        self.other, self.listen = other, listen
        self.state = os.path.join(folder, 'state')
        self.options = list(options)
        made, self.second = server(self)
        self.command = command or made
        self.process, self.told = None, os.path.join(folder, 'told')
        self.beside = None      # the process of a server that has one for each port

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *unused):
        self.end()

    def start(self, ready='the kernel answers'):
        """Starts nest with the server, and waits until it says that the kernel answers."""
        with open(self.told, 'w', encoding='utf-8') as told:
            self.process = subprocess.Popen(
                [NEST, 'accelerate', '--port', str(self.port), '--root', self.www, '--state', self.state,
                 *self.options, '--', *self.command], stdout=told, stderr=told)
        if self.second and not self.beside:
            self.beside = subprocess.Popen(self.second, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(f'"{ready}" is said', lambda: ready in self.said() or self.process.poll() is not None)
        if ready not in self.said():
            raise Failed(f'nest ended: {self.said()}')

    def said(self):
        with open(self.told, encoding='utf-8') as file:
            return file.read()

    def end(self):
        """Ends nest and the server."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(WAIT)
            self.process.kill()
            self.process.wait()
        if self.beside:
            self.beside.terminate()
            self.beside.wait(WAIT)
        self.end_nginx()

    def end_nginx(self):
        """Ends an nginx that a killed nest left."""
        try:
            with open(os.path.join(self.folder, 'nginx.pid'), encoding='ascii') as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGTERM)
            until('nginx has ended', lambda: not os.path.exists(f'/proc/{pid}'))
        except (OSError, ValueError):
            pass

    def ask(self, question):
        """Asks the running nest: status, metrics, stop."""
        return subprocess.run([NEST, 'accelerate', '--port', str(self.port), '--state', self.state,
                               f'--{question}'], capture_output=True, text=True, timeout=WAIT, check=True).stdout

    def counts(self):
        """What it counts, by the name in the metrics."""
        lines = [line.split() for line in self.ask('metrics').splitlines() if not line.startswith('#')]
        return {name.removeprefix('nest_kernel_').removesuffix('_total'): int(value)
                for name, value in (line for line in lines if len(line) == 2)}

    def write(self, name, data):
        """Writes a file, as a new one that takes the place of the old."""
        path = os.path.join(self.www, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.new', 'wb') as file:
            file.write(data)
        os.rename(path + '.new', path)

    def keep(self, *names):
        """Asks for files until the kernel answers them."""
        for name in names:
            def answered(name=name):
                before = self.counts()['answers']
                # The first request of a connection goes to a server that defers its accepts, such as Apache.
                with socket.create_connection(('127.0.0.1', self.port), WAIT) as client:
                    for _ in range(2):
                        client.sendall(f'GET /{name} HTTP/1.1\r\nHost: test\r\n\r\n'.encode())
                        answer(client)
                return self.counts()['answers'] > before
            until(f'the kernel answers {name}', answered)

    def get(self, name, port=None, method='GET', fields=''):
        """The answer to one request on a connection of its own that stays open: (head, body)."""
        with socket.create_connection(('127.0.0.1', port or self.port), WAIT) as client:
            client.sendall(f'{method} /{name} HTTP/1.1\r\nHost: test\r\n{fields}\r\n'.encode())
            return answer(client, method)

    def log(self):
        with open(os.path.join(self.folder, 'access.log'), encoding='utf-8') as file:
            return file.read().splitlines()


def answer(client, method='GET', data=b''):
    """Reads one answer with a length, of which `data` is read already: (head, body)."""
    while b'\r\n\r\n' not in data:
        more = client.recv(65536)
        if not more:
            raise Failed(f'the connection ended after {data!r}')
        data += more
    head, _, body = data.partition(b'\r\n\r\n')
    length = re.search(rb'\r\nContent-Length: (\d+)', head)
    bodyless = method == 'HEAD' or head.startswith(b'HTTP/1.1 304 ')
    wanted = int(length[1]) if length and not bodyless else 0
    while len(body) < wanted:
        more = client.recv(65536)
        if not more:
            raise Failed(f'the connection ended within a body, after {len(body)} of {wanted} bytes')
        body += more
    return head, body


def undated(data):
    """An answer without the values of its dates."""
    return DATE.sub(b'\r\nDate: -\r\n', data)
