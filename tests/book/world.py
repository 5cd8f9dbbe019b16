"""The environment of one page: a folder, a shell, a server in another terminal, and netcat.

Must not know: what a page looks like in Markdown.
"""

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from page import Wrong, differs                                     # noqa: E402
from support.nest import environment                                # noqa: E402

COMMAND, READY, REPLY, STOP, QUIET = 300, 300, 60, 60, 0.3          # seconds
PORTS = ('8080', '9000')            # the ports of the documents; each becomes one that is free


def free_port(taken=()):
    """A port below those that the system gives away, which nobody uses on either protocol."""
    for port in range(20000 + os.getpid() % 8000, 32000):
        try:
            with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
                six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                four.bind(('', port))
                six.bind(('', port))
        except OSError:
            continue
        if str(port) not in taken:
            return str(port)
    raise Wrong('no port is free')


def signalled(group, number):
    """Sends a signal to a process group; whether there still is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def sent(pipe):
    """Waits until the program at the other end of a pipe has read it all, and had time to pass it on."""
    end = time.monotonic() + REPLY
    while time.monotonic() < end:
        left = struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, struct.pack('i', 0)))[0]
        time.sleep(1 if left == 0 else 0.01)
        if left == 0:
            return
    raise Wrong('netcat does not read what is typed')


class Output:
    """What a program says, collected as it comes."""

    def __init__(self, stream):
        self.stream, self.text, self.ended = stream, '', False

    def more(self, seconds):
        """Waits for more, at most so long; whether there was some."""
        if self.ended or not select.select([self.stream], [], [], max(0, seconds))[0]:
            return False
        chunk = os.read(self.stream.fileno(), 65536)
        self.ended = not chunk
        self.text += chunk.decode(errors='replace').replace('\r', '')
        return bool(chunk)

    def await_lines(self, expected, seconds, translate, last=True):
        """Waits until what came is what is expected, and, if it is the last, that no more comes; else
        Wrong. What comes too much before the last is found by the next."""
        def wrong():
            return differs(expected, translate(self.text).split('\n')[:-1])

        end = time.monotonic() + seconds
        while wrong() is not None and not self.ended and time.monotonic() < end:
            self.more(end - time.monotonic())
        while last and self.more(QUIET) and time.monotonic() < end + REPLY:
            pass
        if wrong() is not None:
            raise Wrong(wrong())
        self.text = ''


class World:
    """A folder in which the commands of a page run; a context manager that leaves nothing behind."""

    def __init__(self, nest, cache, beside, usual=False):
        """`beside`: a folder of the project that lies in the reader's, by the name that it has there. `usual`:
        servers are compiled by the usual compiler; else by the one of tests, which takes half as long."""
        self.place = tempfile.TemporaryDirectory(prefix='nest-book-')
        self.home = self.folder = os.path.join(self.place.name, 'home')
        programs = os.path.join(self.place.name, 'bin')
        os.mkdir(self.home)
        os.mkdir(programs)
        os.symlink(nest, os.path.join(programs, 'nest'))
        for name, folder in beside.items():
            os.makedirs(os.path.dirname(os.path.join(self.home, name)), exist_ok=True)
            os.symlink(folder, os.path.join(self.home, name))
        self.ports = {}
        for port in PORTS:
            self.ports[port] = free_port(self.ports.values())
        self.around = environment(
            HOME=self.home, PATH=programs + ':' + os.environ['PATH'], XDG_CACHE_HOME=cache, NO_COLOR='1',
            TZ='UTC', **({'CFLAGS': '-O0 -g0'} if usual else {}))
        self.server, self.said = None, None
        self.left = []              # process groups of commands that went on in the background

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for group in self.left:
            signalled(group, signal.SIGKILL)
        if self.server is not None and self.server.poll() is None:
            signalled(self.server.pid, signal.SIGKILL)
            self.server.wait(STOP)
        if self.said is not None:
            self.said.stream.close()
        self.place.cleanup()

    def there(self, text):
        """A text of the page with the ports that it has here."""
        for documented, port in self.ports.items():
            text = re.sub(rf'\b{documented}\b', port, text)
        return text

    def back(self, text):
        """What was said here, with the ports and the folder that the page shows."""
        for documented, port in self.ports.items():
            text = re.sub(rf'\b{port}\b', documented, text)
        return text.replace(self.home, '/home/you')

    def write(self, name, text):
        """Puts a file into the folder."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(self.there(text))

    def run(self, command, fails=False):
        """A command to its end; its lines. The folder that it changes to is that of the next."""
        told, tell = os.pipe()
        script = f'{self.there(command)}\nstatus=$?\npwd >&{tell}\nexit $status\n'
        around = dict(self.around, PID=str(self.server.pid)) if self.server else self.around
        shell = subprocess.Popen(
            ['bash', '-c', script], cwd=self.folder, stdin=subprocess.DEVNULL, env=around,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            pass_fds=[tell])
        os.close(tell)
        try:
            said, _ = shell.communicate(timeout=COMMAND)
        except subprocess.TimeoutExpired as error:
            raise Wrong(f'$ {command}\ndid not end within {COMMAND} s') from error
        finally:
            if signalled(shell.pid, 0):
                self.left.append(shell.pid)
        with os.fdopen(told, 'rb', buffering=0) as pipe:
            # What it left in the background has the other end, too: without a word there is no end of file.
            place = pipe.read(4096).decode().strip() if select.select([pipe], [], [], 0)[0] else ''
        self.folder = place or self.folder
        text = self.back(said.decode(errors='replace').replace('\r', ''))
        if (shell.returncode != 0) != fails:
            raise Wrong(f'$ {command}\nended with status {shell.returncode}\n{text}')
        return text.split('\n')[:-1] if text.endswith('\n') else text.split('\n') if text else []

    def serve(self, command, expected, port='8080'):
        """Starts a server, in place of the one that ran, and waits until it says what is expected."""
        self.stop()
        if self.said is not None:
            self.said.stream.close()
        around = dict(self.around)
        if any(f'*:{port}' in line for line in expected):
            around['NEST_SERVERPORT'] = self.ports[port]    # where the page leaves it at the usual one
        self.server = subprocess.Popen(
            ['bash', '-c', 'exec env ' + self.there(command)], cwd=self.folder, env=around,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.said = Output(self.server.stdout)
        end = time.monotonic() + READY
        while 'listening on' not in self.said.text.lower() and self.said.more(end - time.monotonic()):
            pass
        self.said.await_lines(expected, QUIET, self.back)

    def output(self, expected):
        """What the server has said since it listened, or since this was asked last."""
        if self.said is None:
            raise Wrong('no server runs')
        if expected[:1] == ['^C']:
            self.stop()
            expected = expected[1:]
        self.said.await_lines(expected, REPLY, self.back)

    def stop(self):
        """Ctrl-C in the server's window. It must end, and have cut nobody."""
        if self.server is None:
            return
        server, self.server = self.server, None
        if server.poll() is None:
            os.kill(server.pid, signal.SIGINT)
        try:
            status = server.wait(STOP)
        except subprocess.TimeoutExpired as error:
            self.server = server
            raise Wrong(f'the server does not end\n{self.said.text}') from error
        end = time.monotonic() + STOP
        while self.said.more(QUIET) and time.monotonic() < end:
            pass
        if status not in (0, 130, -signal.SIGINT):
            raise Wrong(f'the server ended with status {status}\n{self.said.text}')

    def converse(self, command, lines):
        """A conversation by netcat: what stands behind `> ` is typed, all else must be answered."""
        client = subprocess.Popen(['bash', '-c', 'exec ' + self.there(command)], cwd=self.folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env=self.around)
        try:
            heard, expected = Output(client.stdout), []
            for line in lines + [None]:
                if line is not None and not line.startswith('> ') and line != '>':
                    expected.append(line)
                    continue
                if expected or line is None:
                    heard.await_lines(expected, REPLY, self.back, last=line is None)
                expected = []
                if line is not None:
                    client.stdin.write(line[2:].encode() + b'\n')
                    client.stdin.flush()
            if lines and lines[-1].startswith('>'):
                sent(client.stdin)          # nothing that was heard shows it
        except BrokenPipeError as error:
            raise Wrong(f'$ {command}\nthe server had closed already') from error
        except Wrong as error:
            raise Wrong(f'$ {command}\n{error}') from error
        finally:
            client.kill()
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                client.communicate(timeout=REPLY)
