"""A test client: one connection that executes the steps of a case, with time limits for all waits.

Must not know: what the server should do; it only reports what happened.
"""

import errno
import fcntl
import re
import select
import socket
import struct
import time
from . import literal, timeouts, trace
from .unread import unread

MOST = 256 << 20         # the maximum output for a client; a client that gets more would get it for ever
SILENCE = 20             # seconds without a byte after which a pattern is considered not to match
COARSE = 30              # ms by which the server's clock may differ from ours
_SIOCOUTQ = 0x5411
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ECONNABORTED)


class ClientError(Exception):
    """The conversation differs from the case."""


class Hung(ClientError):
    """Something that the case waits for did not happen in time."""


class Client:
    """One connection. `got` is all that it received, `seen` how much of it has been expected so
    far. `late`: it may send after the server has closed, and may then be reset after receiving all
    replies."""

    def __init__(self, kind, address, small=False):
        self.kind, self.address = kind, address
        self.got, self.seen, self.late = b'', 0, False
        self.eof = self.dead = self.stalled = self.shut = self.was_reset = False
        family = {'tcp4': socket.AF_INET, 'tcp6': socket.AF_INET6, 'unix': socket.AF_UNIX}[kind]
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if small:                       # a small window, which a stalled client fills soon
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(timeouts.seconds())
        self.spoke = self.heard = time.monotonic()
        try:
            self.sock.connect({'tcp4': ('127.0.0.1', address), 'tcp6': ('::1', address),
                               'unix': address}[kind])
            if kind != 'unix':
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            self.sock.close()
            raise ClientError(f'cannot connect: {error}') from None
        self.sock.setblocking(False)

    # -- bytes ---------------------------------------------------------------------------------

    def _turn(self, until, data=b''):
        """Receives (unless stalled) and sends `data`, waiting at most once. Returns the unsent
        rest."""
        reading = [] if self.eof or self.dead or self.stalled else [self.sock]
        writing = [self.sock] if data else []
        left = until - time.monotonic()
        if left <= 0 or not (reading or writing):
            raise TimeoutError
        readable, writable, _ = select.select(reading, writing, [], left)
        if not (readable or writable):
            raise TimeoutError
        if readable:
            try:
                chunk = self.sock.recv(1 << 18)
                self.got += chunk
                if len(self.got) > MOST:
                    raise Hung(f'it received more than {MOST >> 20} MB')
                self.eof = not chunk
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                self.dead = self.eof = True
            self.heard = time.monotonic()
        if writable:
            try:
                data = data[self.sock.send(data):]
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                self.shut, data = True, b''      # the server closed; its output is still read
        return data

    def send(self, data):
        """Sends all of it, unless the server has closed."""
        self.spoke = time.monotonic()
        until = self.spoke + timeouts.seconds()
        try:
            while data and not self.shut:
                data = self._turn(until, data)
        except TimeoutError:
            raise Hung(f'within {timeouts.shown()} the server took no more input '
                       f'({len(data)} bytes left)') from None

    def expect(self, want):
        """Waits for exactly these bytes."""
        until = time.monotonic() + timeouts.seconds()
        while True:
            fresh = self.got[self.seen:self.seen + len(want)]
            if fresh == want:
                self.seen += len(want)
                return
            if not want.startswith(fresh) or self.eof:
                raise ClientError(f'it received something else\n  - {short(want)}\n  + {short(fresh)}'
                                  + (' and the end' if self.eof else ''))
            try:
                self._turn(until)
            except TimeoutError:
                raise Hung(f'within {timeouts.shown()} it received less\n  - {short(want)}'
                           f'\n  + {short(fresh)}') from None

    def let_pass(self, ms):
        """Only reads for at least that time."""
        until = time.monotonic() + ms / 1000
        while (left := until - time.monotonic()) > 0:
            if self.eof or self.stalled:
                time.sleep(left)
            else:
                try:
                    self._turn(until)
                except TimeoutError:
                    return

    def after(self, ms):
        """Checks that the last bytes were received no sooner than that after the last bytes were
        sent. This is true on any machine, because the server's time starts when it receives."""
        took = (self.heard - self.spoke) * 1000
        if took < ms - COARSE:
            raise ClientError(f'the server did it {took:.0f} ms after the last bytes, not {ms}')

    def expect_pattern(self, pattern):
        """Waits until all bytes not yet seen match the pattern."""
        until = time.monotonic() + timeouts.seconds()
        while re.fullmatch(pattern, self.got[self.seen:], re.S) is None:
            begun = len(self.got) > self.seen
            try:
                self._turn(min(until, time.monotonic() + SILENCE) if begun else until)
            except TimeoutError:
                wrong, when = ((ClientError, '') if begun else
                               (Hung, f'within {timeouts.shown()} '))
                raise wrong(f'{when}what it received does not match\n  - {short(pattern)}'
                            f'\n  + {short(self.got[self.seen:])}') from None
        self.seen = len(self.got)

    def expect_close(self):
        """Waits for the server's end of file, without unexpected bytes before it."""
        until = time.monotonic() + timeouts.seconds()
        self.stalled = False
        try:
            while not self.eof:
                self._turn(until)
        except TimeoutError:
            raise Hung(f'the server did not close within {timeouts.shown()}') from None
        if self.dead and not self.late:
            raise ClientError('the server reset the connection instead of closing it')
        if len(self.got) != self.seen:
            raise ClientError(f'unexpected {short(self.got[self.seen:])}')

    def expect_cut(self):
        """Waits until the server ends the connection in any way and after any output."""
        until = time.monotonic() + timeouts.seconds()
        if self.stalled:                # it does not read until the connection is cut off
            watch = select.poll()
            watch.register(self.sock, select.POLLHUP | select.POLLERR)
            if not watch.poll(timeouts.seconds() * 1000):
                raise Hung(f'the server did not cut it off within {timeouts.shown()}')
            self.stalled = False
        try:
            while not self.eof:
                self._turn(until + timeouts.seconds())
        except TimeoutError:
            raise Hung(f'the server did not end it within {timeouts.shown()}') from None
        self.dead, self.seen = False, len(self.got)

    def half_close(self):
        """Half-closes the connection."""
        if not self.shut:
            self.shut = True
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError as error:
                if error.errno not in _GONE:
                    raise

    def reset(self):
        """Resets the connection."""
        self.was_reset = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def close(self):
        """Closes it, with any unread input."""
        self.sock.close()

    # -- synchronisation -----------------------------------------------------------------------

    def wait_consumed(self):
        """Returns when the server has received all that was sent. Linux only."""
        end, pause = time.monotonic() + timeouts.seconds(), 0.00005
        while self._in_flight():
            if time.monotonic() > end:
                raise Hung(f'the server did not receive all input within {timeouts.shown()}')
            if not (self.eof or self.stalled):
                try:
                    self._turn(time.monotonic() + pause)
                except TimeoutError:
                    pass
            else:
                time.sleep(pause)
            pause = min(pause * 2, 0.01)

    def _in_flight(self):
        count = struct.unpack('i', fcntl.ioctl(self.sock, _SIOCOUTQ, b'\0' * 4))[0]
        if count or self.kind == 'unix' or self.eof:
            return bool(count) and not self.eof
        return unread(self.kind, self.address, self.sock.getsockname()[1]) != 0


def short(data):
    """Formats bytes for a message."""
    text = literal.escape(data)
    return text if len(text) <= 300 else f'{text[:140]} ... {text[-140:]} ({len(data)} bytes)'


def converse(case, talk, kind, address, sync, tell=None):
    """Runs all clients of a conversation. Returns {client: bytes received}. `sync`: after every
    send, wait until the server has received it. `tell`: executes the steps for the server."""
    clients = {}
    small = any(step == 'stall' for _, step, _ in talk)
    try:
        for name in case.at_first():
            clients[name] = Client(kind, address, small)
            clients[name].late = sync
        for entry in talk:
            name, step, argument = entry
            if step == 'connect':
                clients[name] = Client(kind, address, small)
                clients[name].late = sync
            client = clients[name]
            try:
                if step in ('stop', 'reload'):
                    tell(step, argument)
                else:
                    _carry_out(client, step, argument, sync)
            except ClientError as error:
                who = f'client {name}: ' if name else ''
                raise type(error)(f'{who}{step}{trace.place(entry)}: {error}') from None
        for client in clients.values():
            if not client.was_reset:
                client.half_close()
        for name, client in clients.items():
            if not client.was_reset:
                try:
                    client.expect_close()
                except ClientError as error:
                    last = next(entry for entry in reversed(talk) if entry[0] == name)
                    raise type(error)(f'at the end{", client " + name if name else ""}'
                                      f'{trace.place(last, "after")}: {error}') from None
        return {name: client.got for name, client in clients.items()}
    finally:
        for client in clients.values():
            client.close()


def _carry_out(client, step, argument, sync):
    if step == 'send':
        client.send(argument)
        if sync and not client.stalled:
            client.wait_consumed()
    elif step == 'expect':
        client.expect(argument)
    elif step == 'expect~':
        client.expect_pattern(argument)
    elif step == 'half-close':
        client.half_close()
    elif step == 'reset':
        if not client.stalled:
            client.wait_consumed()
        client.reset()
    elif step == 'stall':
        client.stalled = True
    elif step == 'resume':
        client.stalled = False
    elif step == 'expect-close':
        client.expect_close()
    elif step == 'expect-cut':
        client.expect_cut()
    elif step == 'refused':
        _refused(client)
    elif step == 'after':
        client.after(argument)
    elif step == 'pass':
        client.let_pass(argument)
    elif step == 'wait':
        client.wait_consumed()


def _refused(client):
    try:
        Client(client.kind, client.address).close()
    except ClientError:
        return
    raise ClientError('the server took another client')


def ipv6():
    """Whether this machine has IPv6 on loopback."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(('::1', 0))
        return True
    except OSError:
        return False
