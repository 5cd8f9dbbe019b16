"""A server process, its output, its clients, and waits with time limits.

Must not know: what is checked.
"""

import os
import select
import signal
import socket
import subprocess

from support.expect import WAIT, until
from support.nest import Failed, environment


def within(what, part, text):
    """Failed unless the text has the part."""
    if part not in text:
        raise Failed(f'{what}: there is no {part!r} in\n{text}')


class Started:
    """A process whose stdout and stderr are files; a context manager that ends it."""

    def __init__(self, folder, words, **more):
        self.folder = folder
        number = len(os.listdir(folder))
        self.paths = [os.path.join(folder, f'{name}.{number}') for name in ('out', 'err')]
        out, err = (open(path, 'wb') for path in self.paths)
        variables = more.pop('variables', {})
        more.setdefault('stdin', subprocess.DEVNULL)
        more.setdefault('stderr', err)
        try:
            self.process = subprocess.Popen(words, stdout=out, cwd=folder,
                                            env=environment(**variables), **more)
        except OSError as error:
            raise Failed(f'cannot run {words[0]}: {error.strerror}') from error
        finally:
            out.close()
            err.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT)

    def said(self, which=1):
        """What it wrote to stderr; 0: to stdout."""
        with open(self.paths[which], encoding='utf-8', errors='replace') as file:
            return file.read()

    def ready(self):
        """Waits for the line that says so."""
        def line():
            if self.process.poll() is not None:
                raise Failed(f'it ended with {self.process.returncode}: {self.said()}')
            return 'listening on' in self.said(0) and self.said(0).endswith('\n')
        until('a server that is ready', line)
        return self

    def tell(self, number):
        """Sends it a signal."""
        self.process.send_signal(number)

    def end(self, seconds=WAIT):
        """Its exit status, once it has ended by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise Failed(f'it did not end within {seconds} s: {self.said()}') from error

    def stop(self):
        """TERM; its exit status."""
        self.tell(signal.SIGTERM)
        return self.end()


class Talk:
    """A client."""

    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(WAIT)
        try:
            self.socket.connect(address)
        except OSError as error:
            self.socket.close()
            raise Failed(f'cannot connect to {address}: {error}') from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        """All of it."""
        self.socket.sendall(text.encode())

    def line(self):
        """The next line without its newline; '' at end of file."""
        got = bytearray()
        try:
            while not got.endswith(b'\n'):
                byte = self.socket.recv(1)
                if not byte:
                    break
                got += byte
        except OSError as error:
            raise Failed(f'no line, after {bytes(got)!r}: {error}') from error
        return got.decode(errors='replace').rstrip('\n')

    def ask(self, text):
        """Sends a line; the answer."""
        self.send(text + '\n')
        return self.line()

    def ends(self):
        """How it ends, whatever comes before: 'end' or 'reset'."""
        try:
            while self.socket.recv(4096):
                pass
            return 'end'
        except ConnectionResetError:
            return 'reset'

    def silent(self):
        """Nothing comes, for a moment."""
        return not select.select([self.socket], [], [], 0.2)[0]


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def listening(kind=socket.SOCK_STREAM, listens=True):
    """A socket as a starter would pass it on, and its address."""
    one = socket.socket(socket.AF_INET, kind)
    one.bind(('127.0.0.1', 0))
    if listens:
        one.listen(64)
    return one, one.getsockname()
