"""A client of the servers of this folder, which keeps what others sent apart from answers to its own commands.

Must not know: what is tested.
"""

import functools
import os
import select
import time

from support import expect
from support.nest import Failed
from support.server import Client

LIMIT = 60      # seconds until something must have happened
until = functools.partial(expect.until, seconds=LIMIT)
SEED = int(os.environ.get('CHECK_SEED', '1'))


class Person(Client):
    """A client: what others sent is kept apart from answers."""

    def __init__(self, server, receive=None):
        super().__init__(server, receive)
        self.socket.setblocking(True)
        self.buffer, self.heard, self.answers = b'', [], []
        self.number, self.pid = map(int, self.answer().split())

    def read(self):
        """Takes what comes next. False: the connection has ended."""
        try:
            chunk = self.socket.recv(1 << 16)
        except OSError:
            return False
        self.buffer += chunk
        *lines, self.buffer = self.buffer.split(b'\n')
        for line in lines:
            (self.answers if line.startswith(b'=') else self.heard).append(line)
        return chunk != b''

    def wait(self, true, what):
        """Reads until it is true."""
        end = time.monotonic() + LIMIT
        while not true():
            ready, _, _ = select.select([self.socket], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise Failed(f'not within {LIMIT} s: {what}; heard {self.heard[-3:]}')
            if not self.read():
                raise Failed(f'the connection ended before {what}')

    def answer(self):
        """The next answer."""
        self.wait(lambda: self.answers, 'an answer')
        return self.answers.pop(0)[1:].decode()

    def ask(self, line):
        """The answer to it."""
        self.send(line.encode() + b'\n')
        return self.answer()

    def hears(self, count):
        """Waits until it has heard so many messages in all."""
        self.wait(lambda: len(self.heard) >= count, f'{count} messages')

    def ended(self):
        """Waits until the server has ended the connection."""
        while self.read():
            pass
