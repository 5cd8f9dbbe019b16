"""nest accelerate --attach: the kernel in front of a server that runs already, and leaves it as it was.

Must not know: which requests the kernel answers.
"""

import contextlib
import socket
import subprocess
import sys

from accelerated import NEST, WAIT, Failed, Site, answer, same, until

REQUEST = b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n'
BLOCKING = '''
import socket, sys, threading
def serve(client):
    while client.recv(65536):
        client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nbody')
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''


def listens(port, host='127.0.0.1'):
    with contextlib.suppress(OSError), socket.create_connection((host, port), WAIT):
        return True
    return False


@contextlib.contextmanager
def blocking(host, port):
    """A server that reads from blocking sockets."""
    with subprocess.Popen([sys.executable, '-c', BLOCKING, host, str(port)]) as server:
        try:
            until('the server listens', lambda: listens(port, host))
            yield
        finally:
            server.terminate()
            server.wait(WAIT)


class Attached(Site):
    """A site whose server runs before nest does."""

    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.server = None

    def start(self, ready='the kernel answers'):
        self.server = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until('the server listens', lambda: listens(self.port))
        self.attach(ready)

    def attach(self, ready='the kernel answers'):
        with open(self.told, 'w', encoding='utf-8') as told:
            self.process = subprocess.Popen([NEST, 'accelerate', '--port', str(self.port), '--root', self.www,
                                             '--state', self.state, *self.options, '--attach'],
                                            stdout=told, stderr=told)
        until(f'"{ready}" is said', lambda: ready in self.said() or self.process.poll() is not None)
        if ready not in self.said():
            raise Failed(f'nest ended: {self.said()}')

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(WAIT)
        if self.server:
            self.server.terminate()
            self.server.wait(WAIT)

    def ended(self):
        """The status of nest, which ends by itself."""
        return self.process.wait(WAIT)


def attached(folder):
    """A server that runs is answered for from then on, keeps its connections, and goes on after nest."""
    with Attached(folder) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
        site.process.terminate()
        same('the status after SIGTERM', site.ended(), 0)
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as early:
            early.sendall(REQUEST)
            same('an answer without nest', answer(early)[1], b'body')
            site.attach()
            for _ in range(20):
                early.sendall(REQUEST)
                same('an answer on a connection that was open before', answer(early)[1], b'body')
            same('answers of the kernel on it', site.counts()['answers'], 0)
        site.keep('a.txt')
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            for turn in range(60):
                if turn == 20:
                    other = [NEST, 'accelerate', '--port', str(site.port - 1), '--state', site.state, '--stop']
                    refused = subprocess.run(other, capture_output=True, text=True, timeout=WAIT)
                    same('--stop with another port is refused', (refused.returncode, refused.stdout), (1, ''))
                    same('what --stop says', site.ask('stop'), 'stopped\n')
                    same('the status after --stop', site.ended(), 0)
                client.sendall(REQUEST)
                same('an answer', answer(client)[1], b'body')
        site.attach()
        site.keep('a.txt')
        site.process.kill()
        site.process.wait(WAIT)
        same('an answer after nest was killed', site.get('a.txt')[1], b'body')
        site.attach()
        site.keep('a.txt')
        site.server.terminate()
        same('the status after the end of the server', site.ended(), 0)
        if 'has ended' not in site.said():
            raise Failed(site.said())
    return ''


def refusals(site):
    """Runs nest, which refuses: its status and what it said."""
    told = subprocess.run([NEST, 'accelerate', '--port', str(site.port), '--root', site.www, '--state', site.state,
                           '--attach'], capture_output=True, text=True, timeout=WAIT, check=False)
    return told.returncode, told.stderr


def unattached(folder):
    """Nobody who listens, two servers at one port, and a server that blocks are refused with the reason."""
    site = Site(folder)
    site.write('a.txt', b'body')
    with contextlib.ExitStack() as servers:

        def refused(status, reason):
            got, said = refusals(site)
            if got != status or reason not in said:
                raise Failed(f'expected {status}, {reason}\nreceived {got}, {said}')

        refused(1, f'nobody listens on port {site.port}')
        servers.enter_context(blocking('127.0.0.1', site.port))
        refused(69, 'the server reads from blocking sockets')
        same('an answer after it', site.get('a.txt')[1], b'body')
        servers.enter_context(blocking('127.0.0.2', site.port))
        refused(1, f'several servers listen on port {site.port}, each at another address: python3')
    both = subprocess.run([NEST, 'accelerate', '--port', '1', '--root', folder, '--attach', '--', 'true'],
                          capture_output=True, text=True, timeout=WAIT, check=False)
    same('the status with a server and --attach', both.returncode, 2)
    return ''


# In a network namespace of its own: a server that blocks, and a client that asks it 50 times.
NEIGHBOUR = f'''
import socket, subprocess, sys, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = subprocess.Popen([sys.executable, "-c", {BLOCKING!r}, "127.0.0.1", sys.argv[1]])
try:
    for _ in range(1000):
        try:
            client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), {WAIT})
            break
        except OSError:
            time.sleep(0.05)
    for _ in range(50):
        client.sendall({REQUEST!r})
        data = b""
        while not data.endswith(b"body"):
            data += client.recv(65536) or sys.exit("the connection ended")
finally:
    server.kill()
'''


def neighbour(folder):
    """A server of another network namespace with the same port and control group is left alone."""
    with Attached(folder) as site:
        site.write('a.txt', b'mine')
        site.keep('a.txt')
        before = site.counts()
        ran = subprocess.run(['unshare', '-n', sys.executable, '-c', NEIGHBOUR, str(site.port)], capture_output=True,
                             text=True, timeout=WAIT, check=False)
        same(f'the status of its client: {ran.stderr}', ran.returncode, 0)
        after = site.counts()
        for name in ('connections', 'answers', 'passed'):
            same(f'{name} of the neighbour that were counted', after[name] - before[name], 0)
    return ''
