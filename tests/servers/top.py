"""`nest top`: a table of a server's counts, the live view in a terminal, and what it says when there is no server.

Must not know: how the view is drawn.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
from metrics import SPEC, address, built
from support.nest import Failed, program
from support.server import Client, Server

TIMEOUT = 30


@contextlib.contextmanager
def loaded(server):
    """A client asks all the time."""
    over = threading.Event()

    def ask():
        with contextlib.suppress(Failed, OSError), Client(server) as client:
            while not over.is_set():
                client.send(20 * b'HELLO\n')
                client.expect(20 * b'hello\n')
                time.sleep(0.005)
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def top(nest, *words):
    """Its status and output, where no terminal is."""
    done = subprocess.run([nest, 'top', *words], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    return done.returncode, done.stdout, done.stderr


class Screen:
    """`nest top` in a terminal. `before`: words of a program that runs it."""

    def __init__(self, nest, where, rows=30, columns=100, before=()):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ['TERM'] = 'xterm-256color'
            words = [*before, nest, 'top', where, '--interval', '100']
            os.execvp(words[0], words)
        self.seen, self.ended = b'', False
        self.resize(rows, columns)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)

    def resize(self, rows, columns):
        """The terminal has another size."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def until(self, pattern):
        """Waits until this is shown. A terminal of another size is drawn anew, else only what differs is."""
        end, rows = time.monotonic() + TIMEOUT, 30
        while time.monotonic() < end:
            begin = len(self.seen)
            rows = 61 - rows
            self.resize(rows, 100)
            os.write(self.fd, b'x')     # no key of it: one that came with a change of the size is read with the next
            while select.select([self.fd], [], [], 0.3)[0] and len(self.seen) - begin < 20000:
                self.read()
                if re.search(pattern, self.text(begin)):
                    return
        raise Failed(f'the view does not show {pattern!r}: {self.text(begin)}')

    def read(self):
        """Takes what has come."""
        try:
            self.seen += os.read(self.fd, 65536)
        except OSError as error:
            raise Failed(f'it ended: {self.text()[-2000:]}') from error

    def text(self, begin=0):
        """What was drawn since then, without the commands to the terminal."""
        drawn = re.sub(rb'\x1b\[[0-9;?]*[A-Za-z]', b' ', self.seen[begin:]).decode(errors='replace')
        return re.sub(' +', ' ', drawn)

    def hang_up(self):
        """The terminal goes away, and so must the program."""
        os.close(self.fd)
        self._reaped('it goes on without a terminal')

    def _reaped(self, why):
        """Its wait status, once it has ended; Failed, if it does not."""
        end, self.ended = time.monotonic() + TIMEOUT, True
        while (found := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise Failed(why)
            time.sleep(0.02)
        return found[1]

    def status(self):
        """Its exit status, once it has ended and left the terminal as it was."""
        end = time.monotonic() + TIMEOUT
        with contextlib.suppress(Failed):       # at its end
            while time.monotonic() < end:
                if select.select([self.fd], [], [], 0.3)[0]:
                    self.read()
        try:
            status = self._reaped(f'it does not end: {self.text()[-2000:]}')
        finally:
            os.close(self.fd)
        if b'\x1b[?1049l' not in self.seen or b'\x1b[?25h' not in self.seen:
            raise Failed('the terminal is not as it was')
        return os.waitstatus_to_exitcode(status)


def once(nest, server):
    """--once prints a table; without a terminal nothing else is possible"""
    where = address(server)
    with loaded(server):
        end = time.monotonic() + TIMEOUT
        while True:             # a busy machine may serve nobody for so long
            status, out, error = top(nest, where, '--once', '--interval', '300')
            found = re.search(r'^hello +([\d.]+k?) .*%', out, re.MULTILINE)
            if status != 0 or error or time.monotonic() > end:
                raise Failed(f'{status} {out}{error}')
            if found is not None and found.group(1) != '0':
                break
    if top(nest, where)[0] != 2:
        raise Failed('it draws where no terminal is')


def live(nest, server):
    """the view shows clients, rules and times; keys, sizes, TERM, a lost terminal, the server's end"""
    where = address(server)
    with loaded(server):
        with Screen(nest, where) as screen:
            screen.until(r'counted.* server, 1 worker.* 1 of 64 clients')
            screen.until(r'hello.*sleep')
            for rows, columns in ((1, 1), (5, 20), (60, 200), (30, 100)):
                screen.resize(rows, columns)
                time.sleep(0.2)
            os.write(screen.fd, b'sx+-')
            screen.until('by messages')
            os.write(screen.fd, b' ')
            screen.until('paused')
            os.write(screen.fd, b'q')
            if screen.status() != 0:
                raise Failed('q is a failure')
        with Screen(nest, where) as screen:
            screen.until('clients')
            os.kill(screen.pid, signal.SIGTERM)
            if screen.status() != 0:
                raise Failed('TERM is a failure')
        with Screen(nest, where) as screen:
            screen.until('clients')
            screen.hang_up()
    with Screen(nest, where) as screen:
        screen.until('clients')
        server.stop()
        screen.until('no answer')
        os.write(screen.fd, b'\x03')
        if screen.status() != 0:
            raise Failed('Ctrl-C is a failure')


def behind_a_size(nest, server):
    """a key that comes with a change of the terminal's size is heard at once"""
    if shutil.which('strace') is None:
        raise Failed('strace is not installed')
    # The program is told of the size by a message to itself. It goes on only when the key is there, too.
    slow = ('strace', '-o', '/dev/null', '-e', 'trace=sendto', '-e', 'inject=sendto:delay_exit=1000000')
    with Screen(nest, address(server), before=slow) as screen:
        screen.until('clients')
        time.sleep(3)       # for the sizes that `until` has asked for
        screen.resize(25, 90)
        time.sleep(0.3)
        os.write(screen.fd, b'q')
        if screen.status() != 0:
            raise Failed('q is a failure')


def wrong(nest):
    """what is no address, where nobody listens, where others do, and where an answer is late or not complete"""
    with socket.create_server(('127.0.0.1', 0)) as other, socket.create_server(('127.0.0.1', 0)) as hung:
        def talk():
            for answer in (b'220 mail\r\n', b'HTTP/1.1 200 OK\r\n\r\nup 1\n',
                           b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n'
                           b'nest_server_info{name="half",model="event"} 1\n'):
                connection, _ = other.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(answer)
        threading.Thread(target=talk, daemon=True).start()
        where, silent = (f'127.0.0.1:{one.getsockname()[1]}' for one in (other, hung))
        cases = (('nowhere', 2, 'is not an address'), ('unix:/nonexistent', 1, 'No such file'),
                 ('127.0.0.1:1', 1, 'refused'), (where, 1, 'does not speak HTTP'), (where, 1, 'no server of nest'),
                 (where, 1, 'ends too early'), (silent, 1, 'nothing comes within 5 s'))
        for words, status, why in cases:
            got = top(nest, words, '--once')
            if got[0] != status or why not in got[2] or got[1]:
                raise Failed(f'{words}: {got}')


def run(report, models=()):
    """All checks, for the driver, whichever models it draws."""
    del models
    report.heading('nest top')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-top-') as folder:
        binary = built(nest, 'event', SPEC.replace('OPTION', 'metrics 127.0.0.1:0'),
                       os.path.join(folder, 'counted'))
        for check in (once, live, behind_a_size):
            with Server([binary]) as server:
                line(report, check, nest, server)
        line(report, wrong, nest)


def line(report, check, *words):
    """A line of the report."""
    try:
        check(*words)
        report.line(True, '', f'{check.__name__}: {check.__doc__}')
    except (Failed, OSError) as error:
        report.line(False, '', f'{check.__name__}: {check.__doc__}', '', error)
