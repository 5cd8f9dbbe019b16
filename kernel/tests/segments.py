#!/usr/bin/env python3
"""Segments that no socket sends on demand, written to a TUN device: repeated and overlapping bytes, data in
the last segment of the handshake, a FIN beside data, a FIN ahead of an answer. Each conversation must give
the answers that its bytes ask for, once and in order.

Runs in a network namespace of its own: segments.py enters one.

Must not know: how the kernel decides.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import tempfile
import time

from accelerated import WAIT, Failed, Report, Site, lacks, same, undated, until

HERE, THERE = '10.99.0.2', '10.99.0.1'      # we; the server
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def address(text):
    return bytes(int(part) for part in text.split('.'))


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Wire:
    """The TUN device: packets out and in."""

    def __init__(self):
        self.file = os.open('/dev/net/tun', os.O_RDWR)
        fcntl.ioctl(self.file, 0x400454ca, struct.pack('16sH', b'wire', 0x1001))    # TUNSETIFF: TUN, no header
        for command in (f'ip address add {THERE}/24 dev wire', 'ip link set wire up', 'ip link set lo up'):
            subprocess.run(command.split(), check=True, timeout=WAIT)

    def send(self, packet):
        os.write(self.file, packet)

    def receive(self, seconds):
        """A packet, or None."""
        ready = select.select([self.file], [], [], seconds)[0]
        return os.read(self.file, 65536) if ready else None


class Peer:
    """One connection, segment by segment. It acknowledges what arrives in order."""

    def __init__(self, wire, port, source, data=b'', options=b''):
        self.wire, self.port, self.source = wire, port, source
        self.first, self.next, self.got, self.ended = 1_000_000, 0, b'', False
        self.segment(SYN, self.first - 1, options=options)
        head = self.await_segment(lambda flags, *_: flags & SYN)
        self.next = head[1] + 1
        self.start = self.next
        # Whatever comes with it, the handshake ends here.
        self.segment(ACK | (PSH if data else 0), self.first, data)

    def segment(self, flags, sequence, data=b'', options=b''):
        """Sends a segment."""
        tcp = struct.pack('!HHIIBBHHH', self.source, self.port, sequence & 0xffffffff, self.next & 0xffffffff,
                          20 + len(options) << 2, flags, 65535, 0, 0) + options + data
        pseudo = address(HERE) + address(THERE) + struct.pack('!BBH', 0, 6, len(tcp))
        tcp = tcp[:16] + struct.pack('!H', checksum(pseudo + tcp)) + tcp[18:]
        ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0, address(HERE), address(THERE))
        self.wire.send(ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:] + tcp)

    def read(self, packet):
        """(flags, sequence, acknowledged, data) of a segment to us; None of other packets."""
        if not packet or packet[0] >> 4 != 4 or packet[9] != 6:
            return None
        tcp = packet[(packet[0] & 15) * 4:struct.unpack('!H', packet[2:4])[0]]
        source, port, sequence, acknowledged, offset, flags = struct.unpack('!HHIIBB', tcp[:14])
        if (source, port) != (self.port, self.source):
            return None
        return flags, sequence, acknowledged, tcp[(offset >> 4) * 4:]

    def await_segment(self, true):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            segment = self.read(self.wire.receive(1))
            if segment and true(*segment):
                return segment
        raise Failed('no segment of this kind came')

    def collect(self, length, seconds=WAIT):
        """Reads until so many bytes of the server are there, or the end of its stream, or the time is over."""
        end = time.monotonic() + seconds
        while len(self.got) < length and not self.ended and time.monotonic() < end:
            segment = self.read(self.wire.receive(min(0.2, seconds)))
            if not segment:
                continue
            flags, sequence, _, data = segment
            if flags & RST:
                raise Failed('the connection was reset')
            if sequence != self.next:
                self.segment(ACK, self.sent)
                continue
            if data and self.lose(data):
                continue
            self.got += data
            self.next += len(data) + (flags & FIN)
            self.ended = bool(flags & FIN)
            if data or flags & FIN:
                self.segment(ACK, self.sent)
        return self.got

    @staticmethod
    def lose(_):
        """Whether this segment with data did not arrive."""
        return False

    sent = 1_000_000     # what acknowledgements carry: the end of what was sent


def get(name, fields=''):
    return f'GET /{name} HTTP/1.1\r\nHost: test\r\n{fields}\r\n'.encode()


class Case:
    """One connection and what it is expected to receive."""

    def __init__(self, wire, site, source, data=b''):
        self.site, self.wanted = site, []
        self.peer = Peer(wire, site.port, source, data)
        self.peer.sent = self.peer.first + len(data)

    def data(self, sequence, data, flags=PSH):
        """Sends bytes at an offset of the stream."""
        self.peer.segment(ACK | flags, self.peer.first + sequence, data)
        self.peer.sent = max(self.peer.sent, self.peer.first + sequence + len(data) + (flags & FIN))

    def expect(self, *names):
        """Fails unless the answers for these files came so far, and nothing more."""
        self.wanted += names
        wanted = b''.join(undated(b''.join(part)) for part in
                          ((head + b'\r\n\r\n', body) for head, body in
                           (self.site.get(name, self.site.alone) for name in self.wanted)))
        length = len(wanted) + 28 * len(self.wanted)
        self.peer.collect(length)
        self.peer.collect(length + 1, 0.3)      # what is too much comes soon
        same('the answers', undated(self.peer.got), wanted)


def plain(case):
    """two requests, one after the other"""
    first = get('a.txt')
    case.data(0, first)
    case.expect('a.txt')
    case.data(len(first), get('b.txt'))
    case.expect('b.txt')


def overlap(case):
    """a segment that repeats the request before it"""
    first, second = get('a.txt'), get('b.txt')
    case.data(0, first)
    case.expect('a.txt')
    case.data(0, first + second)
    case.expect('b.txt')
    case.data(len(first + second), get('a.txt'))
    case.expect('a.txt')


def overlap_passed(case):
    """a segment that repeats a request that the server answered"""
    first, second = get('a.txt', 'Cookie: a\r\n'), get('b.txt', 'Cookie: a\r\n')
    case.data(0, first)
    case.expect('a.txt')
    case.data(0, first + second)
    case.expect('b.txt')


def repeated(case):
    """requests that come twice"""
    first, second = get('a.txt'), get('b.txt')
    for _ in range(2):
        case.data(0, first)
    case.expect('a.txt')
    case.data(len(first), second)
    case.data(len(first), second)
    case.expect('b.txt')


def reordered(case):
    """the second half of a request before the first"""
    first = get('a.txt')
    case.data(10, first[10:])
    case.data(0, first[:10])
    case.expect('a.txt')


def with_fin(case):
    """a FIN beside the request"""
    first = get('a.txt')
    case.data(0, first)
    case.expect('a.txt')
    case.data(len(first), get('b.txt'), PSH | FIN)
    case.expect('b.txt')


def fin_at_once(case):
    """a FIN right after a request that the kernel answers"""
    first, second = get('a.txt'), get('b.txt')
    case.data(0, first)
    case.expect('a.txt')
    case.data(len(first), second)
    case.data(len(first + second), b'', FIN)
    case.expect('b.txt')
    end = time.monotonic() + WAIT
    while not case.peer.ended and time.monotonic() < end:
        # The FIN was discarded if it came too early; so it is sent again.
        case.data(len(first + second), b'', FIN)
        case.peer.collect(len(case.peer.got) + 1, 0.2)
    same('the server ends the connection', case.peer.ended, True)


CASES = [plain, overlap, overlap_passed, repeated, reordered, with_fin, fin_at_once]
ROUNDS = 3


def main():
    if sys.argv[1:] != ['inside']:
        report = Report('segments')
        missing = lacks() or (None if os.path.exists('/dev/net/tun') else 'needs /dev/net/tun')
        if missing:
            report.skip('tun', 'segments that no socket sends on demand', missing)
            return report.close()
        return subprocess.run(['unshare', '-n', sys.executable, os.path.abspath(__file__), 'inside'], timeout=600,
                              check=False).returncode
    report = Report('segments')
    wire = Wire()
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
        site = Site(folder, listen=THERE)
        site.write('a.txt', b'a' * 100)
        site.write('b.txt', b'b' * 2000)
        with site:
            site.keep('a.txt', 'b.txt')
            source = 20_000
            for case in CASES:
                try:
                    for _ in range(ROUNDS):
                        source += 1
                        case(Case(wire, site, source))
                    report.line(True, 'tun', case.__doc__)
                except Failed as error:
                    report.line(False, 'tun', case.__doc__, '', error)
            source += 1
            begin = Case(wire, site, source, get('a.txt'))
            try:
                begin.expect('a.txt')
                report.line(True, 'tun', 'data in the last segment of the handshake')
            except Failed as error:
                report.line(False, 'tun', 'data in the last segment of the handshake', '', error)
            counts = site.counts()
            good = counts['trimmed'] >= ROUNDS and counts['answers'] >= ROUNDS * 4
            report.line(good, 'tun', 'bytes were removed, and the kernel answered', f'{counts["answers"]} answers',
                        str(counts))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
