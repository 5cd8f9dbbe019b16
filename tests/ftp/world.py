"""A running FTP server with users and files, and connections to it.

Must not know: what is checked.
"""

import ftplib
import os
import re
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.certificate import certificate                         # noqa: E402
from support.expect import expect                                   # noqa: E402
from support.nest import Failed                                     # noqa: E402
from support.server import Server                                   # noqa: E402

LIMIT = 30      # seconds for what happens at once
BIG = bytes(range(256)) * 4096 * 4      # 4 MB


def hashed(password):
    """Its crypt(3) hash."""
    done = subprocess.run(['openssl', 'passwd', '-6', password.encode('latin-1')], capture_output=True, text=True, timeout=LIMIT, check=True)
    return done.stdout.strip()


class World:
    """A server with the users alice, bob, d\xffra, and carl, who may only read, and with anonymous users."""

    def __init__(self, exe, folder, options=(), arguments=(), words=(), **more):
        self.root = os.path.join(folder, 'root')
        for name in ('alice', 'bob', 'pub'):
            os.makedirs(os.path.join(self.root, name), exist_ok=True)
        self.users, self.log = os.path.join(folder, 'users'), os.path.join(folder, 'xferlog')
        if not os.path.exists(self.users):
            one, two = hashed('secret'), hashed('p\xffw')
            with open(self.users, 'w', encoding='latin-1') as file:
                file.write(f'# users of the test\nalice:{one}:alice\nbob:{one}:bob\ncarl:{one}:alice:ro\nd\xffra:{two}:alice\n')
        self.put('pub/hello', b'hello\n')
        self.certificate, key = certificate(folder)
        self.server = Server([exe, *words], options=['listen=127.0.0.1:0 [::1]:0', 'user=root', f'fileRoot={self.root}',
                                             f'tls={self.certificate} {key}', *options],
                             arguments=['--users', self.users, '--anonymous', 'pub', '--log', self.log, *arguments], **more)
        self.port = self.server.port
        self.port6 = int(re.search(r'\[::1\]:(\d+)', self.server.ready)[1])

    def path(self, name):
        """Of a file below fileRoot."""
        return os.path.join(self.root, name)

    def put(self, name, data):
        """Makes a file below fileRoot."""
        with open(self.path(name), 'wb') as file:
            file.write(data)

    def get(self, name):
        """What a file below fileRoot contains; None: there is none."""
        try:
            with open(self.path(name), 'rb') as file:
                return file.read()
        except FileNotFoundError:
            return None

    def close(self):
        self.server.close()


class Control:
    """A control connection, line by line."""

    def __init__(self, world, user='alice', password='secret', six=False, at=None):
        self.host, port = at or (('::1', world.port6) if six else ('127.0.0.1', world.port))
        self.socket = socket.create_connection((self.host, port), LIMIT)
        self.lines = self.socket.makefile('rb')
        self.code(220)
        if user is not None:
            self.ask(f'USER {user}', 331)
            self.ask(f'PASS {password}', 230)
            self.ask('TYPE I', 200)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()

    def send(self, text):
        """Sends a line."""
        self.socket.sendall(text.encode('latin-1') + b'\r\n')

    def reply(self):
        """The next reply: its code and its text. At the end of input the code is 0."""
        line = self.lines.readline().decode('latin-1')
        text, code = line, line[:3]
        while line[3:4] == '-' or (line and not line.startswith(code)):
            line = self.lines.readline().decode('latin-1')
            text += line
            if line.startswith(code + ' '):
                break
        return int(code) if code.isdigit() else 0, text

    def code(self, expected):
        """The next reply, which must have this code."""
        code, text = self.reply()
        expect(code == expected, f'expected {expected}, received {text!r}')
        return text

    def ask(self, text, expected):
        """Sends a line, and expects a reply with this code."""
        self.send(text)
        try:
            return self.code(expected)
        except Failed as error:
            raise Failed(f'{text}: {error}') from error

    def passive(self, source=None):
        """A data connection."""
        port = int(re.search(r'\|\|\|(\d+)\|', self.ask('EPSV', 229))[1])
        return socket.create_connection((self.host, port), LIMIT, source_address=source)


def library(world, user='alice', six=False, passive=True, kind=ftplib.FTP):
    """Python's own client, logged in."""
    ftp = kind(timeout=LIMIT)
    ftp.connect('::1' if six else '127.0.0.1', world.port6 if six else world.port)
    ftp.login(user, 'secret')
    ftp.set_pasv(passive)
    return ftp
