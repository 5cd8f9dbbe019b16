"""A running server and its clients.

Must not know: what is checked.
"""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
from .nest import Failed, environment

START, STOP, REPLY = 60, 30, 60     # seconds: long, because valgrind and qemu are slow


class Server:
    """A server on a loopback port chosen by the kernel; a context manager that ends it."""

    def __init__(self, words, clients=None, options=(), arguments=(), **more):
        self.folder = tempfile.TemporaryDirectory(prefix='nest-server-')
        self.errors = open(os.path.join(self.folder.name, 'stderr'), 'w+b')
        command = list(words) + ['--set', 'listen=127.0.0.1:0']
        for option in ([f'maxClients={clients}'] if clients else []) + list(options):
            command += ['--set', option]
        command += ['--', *arguments] if arguments else []
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=self.errors,
                                            cwd=self.folder.name, env=environment(**more))
        except OSError as error:
            raise Failed(f'cannot run {command[0]}: {error.strerror}') from error
        try:
            self.port = self._port()
        except Failed:
            self.close()
            raise

    def _port(self):
        line, end = b'', time.monotonic() + START
        while b'\n' not in line:
            left = max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f'the server did not listen within {START} s\n{self.said()}')
            chunk = os.read(self.process.stdout.fileno(), 4096)
            if not chunk:
                raise Failed(f'the server ended before it listened\n{self.said()}')
            line += chunk
        self.ready = line.decode(errors='replace')
        found = re.search(rb'listening on 127\.0\.0\.1:(\d+)', line)
        if found is None:
            raise Failed(f'its first line names no address: {line!r}')
        return int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rest(self):
        """Its output after the first line, once it has ended with all its processes."""
        out, end = b'', time.monotonic() + STOP
        while select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            chunk = os.read(self.process.stdout.fileno(), 4096)
            if not chunk:
                return out.decode(errors='replace')
            out += chunk
        raise Failed(f'a process of the server is left {STOP} s after its end: {out[-2000:]!r}')

    def said(self):
        """Its output on stderr."""
        with open(self.errors.name, 'rb') as file:
            return file.read().decode(errors='replace')[-6000:]

    def family(self):
        """The ids of its process and of all descendants."""
        children = {}
        for name in os.listdir('/proc'):
            if name.isdigit():
                try:
                    with open(f'/proc/{name}/stat', encoding='latin-1') as file:
                        parent = int(file.read().rpartition(')')[2].split()[1])
                except OSError:
                    continue        # it has ended in the meantime
                children.setdefault(parent, []).append(int(name))
        out, rest = [], [self.process.pid]
        while rest:
            pid = rest.pop()
            out.append(pid)
            rest += children.get(pid, [])
        return out

    def each(self, name):
        """(id, contents of /proc/ID/`name`) of each of them that still exists."""
        for pid in self.family():
            try:
                with open(f'/proc/{pid}/{name}', encoding='latin-1') as file:
                    text = file.read()
            except OSError:
                continue            # it has ended in the meantime
            yield pid, text

    def descriptors(self):
        """The largest number of descriptors that one of them has, without files, some of which a server keeps open."""
        counts = [0]
        for pid in self.family():
            links = []
            with contextlib.suppress(OSError):      # it has ended in the meantime
                for fd in os.listdir(f'/proc/{pid}/fd'):
                    with contextlib.suppress(FileNotFoundError):
                        links.append(os.readlink(f'/proc/{pid}/fd/{fd}'))
            counts.append(sum(not link.startswith('/') for link in links))
        return max(counts)

    def kill(self):
        """Kills all of them."""
        family = self.family()
        for pid in reversed(family):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass                # it has ended in the meantime
        end = time.monotonic() + STOP
        while any(alive(pid) for pid in family) and time.monotonic() < end:     # until then they hold locks and sockets
            time.sleep(0.002)

    def stop(self, pid=None):
        """Ends it with SIGTERM and returns its exit status. `pid`: the process to signal, if not
        the first."""
        if self.process.poll() is None:
            os.kill(pid or self.process.pid, signal.SIGTERM)
        try:
            return self.process.wait(STOP)
        except subprocess.TimeoutExpired as error:
            raise Failed(f'the server was still there {STOP} s after TERM\n{self.said()}') from error

    def close(self):
        """Kills it if it still runs."""
        if self.process.poll() is None:
            self.kill()
        self.process.wait(STOP)
        self.process.stdout.close()
        self.errors.close()
        self.folder.cleanup()


@contextlib.contextmanager
def running(words, **more):
    """A process that is killed at the end of the block: leaving that of Popen waits for it without limit."""
    with subprocess.Popen(words, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def alive(pid):
    """Whether a process is there and is no zombie."""
    try:
        with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


class Client:
    """A connection to a server."""

    def __init__(self, server, receive=None):
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(REPLY)
        self.socket.connect(('127.0.0.1', server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends all of it, in one call if the kernel accepts it."""
        self.socket.sendall(data)

    def expect(self, data):
        """Reads as many bytes; raises Failed unless they are these."""
        got = self.take(len(data))
        if got != data:
            raise Failed(f'a reply differs\nexpected {data[:200]!r}\nreceived {got[:200]!r}')

    def take(self, most):
        """Reads that many bytes, or fewer at end of file."""
        out = bytearray()
        while len(out) < most:
            try:
                chunk = self.socket.recv(min(most - len(out), 1 << 16))
            except ConnectionResetError:
                break
            except TimeoutError as error:
                raise Failed(f'no reply within {REPLY} s, after {bytes(out)[:200]!r}') from error
            if not chunk:
                break
            out += chunk
        return bytes(out)

    def rest(self):
        """Reads until the server closes."""
        return self.take(1 << 30)

    def half_close(self):
        """Half-closes the connection."""
        self.socket.shutdown(socket.SHUT_WR)


def used(pids):
    """The processor time of these processes in seconds. One that begins later counts from its start."""
    ticks = 0
    for pid in pids:
        with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
            fields = file.read().rpartition(')')[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf('SC_CLK_TCK')
