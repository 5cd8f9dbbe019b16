#!/usr/bin/env python3
"""Requests that end their connection, over a TAP device, so that segments can be lost: the answer, parts of it, its
end, what acknowledges it. The client must get the server's answer, once, with right checksums, and the kernel
must keep nothing of the connection.

Runs in a network namespace of its own: frames.py enters one.

Must not know: how the kernel decides.
"""

import contextlib
import fcntl
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from accelerated import NEST, WAIT, Failed, Report, Site, lacks, same, undated, until
from segments import ACK, FIN, HERE, PSH, RST, THERE, Peer, Wire, checksum
from singles import CLOSE, request, talk

OUR_MAC = bytes.fromhex('020000000002')
OPTIONS = struct.pack('!BBH', 2, 4, 1460)     # the largest segment


class Cable(Wire):
    """The TAP device: packets out and in, whose checksums must be right."""

    def __init__(self):
        # No Wire.__init__: this is another kind of device.
        self.file = os.open('/dev/net/tun', os.O_RDWR)
        fcntl.ioctl(self.file, 0x400454ca, struct.pack('16sH', b'wire', 0x1002))    # TUNSETIFF: TAP, no header
        mac = ':'.join(f'{byte:02x}' for byte in OUR_MAC)
        for command in (f'ip address add {THERE}/24 dev wire', 'ip link set wire up', 'ip link set lo up',
                        f'ip neighbour replace {HERE} lladdr {mac} dev wire nud permanent'):
            subprocess.run(command.split(), check=True, timeout=WAIT)
        told = subprocess.run(['ip', '-o', 'link', 'show', 'wire'], check=True, capture_output=True, text=True,
                              timeout=WAIT).stdout
        self.mac = bytes.fromhex(re.search('link/ether ([0-9a-f:]+)', told)[1].replace(':', ''))

    def send(self, packet):
        super().send(self.mac + OUR_MAC + b'\x08\x00' + packet)

    def receive(self, seconds):
        frame = super().receive(seconds)
        if not frame or frame[12:14] != b'\x08\x00':
            return None
        packet = frame[14:14 + struct.unpack('!H', frame[16:18])[0]]
        if packet[9] != 6:
            return None
        same('the addresses of a frame', frame[:12], OUR_MAC + self.mac)
        pseudo = packet[12:20] + struct.pack('!BBH', 0, 6, len(packet) - 20)
        same('the checksums of a packet', (checksum(packet[:20]), checksum(pseudo + packet[20:])), (0, 0))
        return packet


class Client(Peer):
    """A client with one request. `lost`: the numbers of the segments with data that do not arrive."""

    def __init__(self, wire, site, source, name, lost=(), method='GET'):
        self.site, self.lost, self.seen = site, set(lost), 0
        self.data = request(name, CLOSE, method=method)
        super().__init__(wire, site.port, source, options=OPTIONS)
        self.wanted = undated(talk(site.alone, self.data))
        self.sent = self.first

    def lose(self, _):
        self.seen += 1
        return self.seen - 1 in self.lost

    def ask(self):
        """Sends the request, or sends it again."""
        self.segment(ACK | PSH, self.first, self.data)
        self.sent = self.first + len(self.data)

    def ignore(self):
        """Waits for a segment with data, and for what comes with it; acknowledges nothing."""
        self.await_segment(lambda flags, sequence, acknowledged, data: data)
        while self.wire.receive(0.1):
            pass

    def expect(self):
        """Fails unless the whole answer comes, and the end behind it."""
        self.collect(1 << 30)
        same('the answer', undated(self.got), self.wanted)
        same('it ends', self.ended, True)

    def end(self, more=b''):
        """Ends its side, which the server must acknowledge; nothing may be left."""
        self.segment(ACK | FIN, self.sent, more)
        self.sent += len(more) + 1
        self.await_segment(lambda flags, sequence, acknowledged, data:
                           flags == ACK and acknowledged == self.sent or flags & RST and fail('it was reset'))
        until('the kernel has nothing of the connection', lambda: not self.left())

    def left(self):
        """Whether the kernel has a socket or a handshake of this connection."""
        with open('/proc/self/net/tcp', encoding='ascii') as file:
            return any(line.split()[2].endswith(f':{self.source:04X}') for line in file.read().splitlines()[1:]
                       if line.split()[3] != '06')


def fail(text):
    raise Failed(text)


def plain(make):
    """one segment"""
    client = make('a.txt')
    client.ask()
    client.expect()
    client.end()


def head(make):
    """HEAD"""
    client = make('a.txt', method='HEAD')
    client.ask()
    client.expect()
    client.end()


def several(make):
    """several segments"""
    client = make('c.txt')
    client.ask()
    client.expect()
    client.end()


def repeated(make):
    """the answer is lost, and the request comes again"""
    for name in ('a.txt', 'c.txt'):
        client = make(name)
        client.ask()
        client.ignore()
        client.ask()
        client.expect()
        client.end()


def holes(make):
    """one of several segments is lost"""
    for lost in range(11):
        client = make('c.txt', lost=[lost])
        client.ask()
        client.expect()
        client.end()


def more_holes(make):
    """segments are lost, and are lost again"""
    for lost in ([0, 3], [1, 9], [0, 1, 2, 3], [2, 11, 12]):
        client = make('c.txt', lost=lost)
        client.ask()
        client.expect()
        client.end()


def tail(make):
    """the last segment is lost"""
    client = make('c.txt', lost=[11])
    client.ask()
    client.expect()
    client.end()


def behind(make):
    """more comes behind the request, and beside the end"""
    client = make('a.txt')
    client.ask()
    client.expect()
    client.segment(ACK | PSH, client.sent, client.data)
    client.sent += len(client.data)
    client.await_segment(lambda flags, sequence, acknowledged, data: flags == ACK and acknowledged == client.sent)
    client.end(b'x' * 10)


def early_end(make):
    """the client ends its side before it has the answer, which is lost"""
    client = make('a.txt')
    client.ask()
    client.ignore()
    client.segment(ACK | FIN, client.sent)
    client.sent += 1
    client.expect()
    until('the kernel has nothing of the connection', lambda: not client.left())


def reset(make):
    """the client resets"""
    client = make('a.txt')
    client.ask()
    client.ignore()
    client.segment(RST, client.sent)
    until('the kernel has nothing of the connection', lambda: not client.left())


CASES = [plain, head, several, repeated, holes, more_holes, tail, behind, early_end, reset]


def server_after_all(make, site, report):
    """The answer is lost twice: then the server answers."""
    lines = len(site.log())
    client = make('a.txt')
    for _ in range(2):
        client.ask()
        client.ignore()
    client.ask()
    client.expect()
    # One line is that of the server alone.
    until('nginx logs it', lambda: len(site.log()) >= lines + 2)
    report.line(True, 'tap', 'the server answers when an answer is lost twice')


def replaced(make, site, learn):
    """a client lacks a part of an answer that was taken out, and other answers have its space: it gets nothing of those"""
    site.write('b.txt', b'own ' * 2250)
    site.write('y.txt', b'other ' * 1500)
    site.write('z.txt', b'z')
    learn('z.txt', 'b.txt')
    client = make('b.txt', lost=range(1, 100))
    client.ask()
    client.collect(1)
    site.write('b.txt', b'new ' * 2250)
    site.write('z.txt', b'Z')           # the next answer is the entry of this one, with blocks of both
    end = time.monotonic() + 5.2        # the kernel's space rests for 3 s
    while time.monotonic() < end:
        client.wire.receive(0.1)
    learn('y.txt')
    while client.wire.receive(0.1):
        pass
    client.lost = ()
    client.segment(ACK, client.sent)
    with contextlib.suppress(Failed):   # it may be reset
        client.collect(1 << 30, 3)
    if not client.wanted.startswith(undated(client.got)):
        raise Failed(f'of {len(client.got)} bytes: {client.got[-100:]}')


def stopped(make, site, learn):
    """nest is stopped while a client lacks a part of its answer"""
    for _ in range(5):
        client = make('c.txt', lost=[1])
        began = time.monotonic()
        client.ask()
        command = [NEST, 'accelerate', '--port', str(site.port), '--state', site.state, '--stop']
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stop:
            # A nest that does not wait for the client has ended then.
            with contextlib.suppress(subprocess.TimeoutExpired):
                stop.wait(0.3)
            try:
                client.expect()
                same('what --stop says', stop.communicate(timeout=WAIT)[0], 'stopped\n')
                return
            except Failed:
                stop.wait(WAIT)
                if time.monotonic() - began < 2:
                    raise
        # This machine was slower than nest waits.
        site.end()
        site.start()
        learn()
    raise Failed('this machine is too slow to tell')


def main():
    if sys.argv[1:] != ['inside']:
        report = Report('frames')
        missing = lacks() or (None if os.path.exists('/dev/net/tun') else 'needs /dev/net/tun')
        if missing:
            report.skip('tap', 'single requests whose segments are lost', missing)
            return report.close()
        return subprocess.run(['unshare', '-n', sys.executable, os.path.abspath(__file__), 'inside'], timeout=600,
                              check=False).returncode
    report = Report('frames')
    wire, sources = Cable(), iter(range(20_000, 30_000))
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
        site = Site(folder, listen=THERE)
        site.write('a.txt', b'a' * 101)
        site.write('c.txt', b'0123456789' * 1350)
        with site:
            def make(name, **options):
                return Client(wire, site, next(sources), name, **options)

            def learn(*names):
                for name in names or ('a.txt', 'c.txt'):
                    def answered(name=name):
                        before = site.counts()['singles']
                        talk(site.port, request(name, CLOSE))
                        return site.counts()['singles'] > before
                    until('the kernel answers', answered)

            learn()
            for case in CASES:
                before, started = site.counts()['singles'], time.monotonic()
                try:
                    count = 0
                    for _ in range(5):      # on a busy machine the loader may be late, and the server answers
                        case(make)
                        count = site.counts()['singles'] - before
                        if count > 0:
                            break
                    report.line(count > 0, 'tap', case.__doc__, f'{time.monotonic() - started:.1f} s',
                                'the kernel answered nothing')
                except Failed as error:
                    report.line(False, 'tap', case.__doc__, '', error)
            try:
                server_after_all(make, site, report)
            except Failed as error:
                report.line(False, 'tap', server_after_all.__doc__, '', error)
            same('broken', site.counts()['broken'], 0)
            for case in (replaced, stopped):
                try:
                    case(make, site, learn)
                    report.line(True, 'tap', case.__doc__)
                except Failed as error:
                    report.line(False, 'tap', case.__doc__, '', error)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
