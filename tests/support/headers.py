"""Headers of the PROXY protocol: good ones, with the client that they name, and bad ones.

Must not know: who reads them.
"""

import socket
import struct

SIGNATURE = b'\r\n\r\n\0\r\nQUIT\n'


def two(command, family, rest, length=None):
    """A header of version 2."""
    return SIGNATURE + struct.pack('!BBH', command, family, len(rest) if length is None else length) + rest


def four(source, port, more=b''):
    """The same, for an address of IPv4."""
    addresses = socket.inet_aton(source) + socket.inet_aton('192.0.2.9')
    return two(0x21, 0x11, addresses + struct.pack('!HH', port, 80) + more)


def six(source, port, more=b''):
    """The same, for an address of IPv6."""
    addresses = socket.inet_pton(socket.AF_INET6, source) + bytes(16)
    return two(0x21, 0x21, addresses + struct.pack('!HH', port, 80) + more)


LONG = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
# (a header, the client's address; None: that of the connection)
GOOD = (
    (b'PROXY TCP4 192.0.2.1 198.51.100.7 4711 80\r\n', '192.0.2.1:4711'),
    (b'PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n', '255.255.255.255:65535'),
    (b'PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n', '0.0.0.0:0'),
    (b'PROXY TCP6 2001:db8::1 ::1 4711 80\r\n', '[2001:db8::1]:4711'),
    (f'PROXY TCP6 {LONG} {LONG} 65535 65535\r\n'.encode(), f'[{LONG}]:65535'),
    (b'PROXY TCP6 ::ffff:192.0.2.1 ::1 1 80\r\n', '192.0.2.1:1'),
    (b'PROXY UNKNOWN\r\n', None),
    (f'PROXY UNKNOWN {LONG} {LONG} 65535 65535\r\n'.encode(), None),
    (four('192.0.2.1', 4711), '192.0.2.1:4711'),
    (four('192.0.2.1', 65535, b'\x01\0\x02h2' + b'\x20\x01\0' + bytes(256)), '192.0.2.1:65535'),
    (four('192.0.2.1', 1, bytes(65535 - 12)), '192.0.2.1:1'),
    (six('2001:db8::1', 4711), '[2001:db8::1]:4711'),
    (six('2001:db8::1', 4711, b'\x03\0\x04abcd'), '[2001:db8::1]:4711'),
    (two(0x21, 0x31, b'/client'.ljust(108, b'\0') + bytes(108)), 'unix'),
    (two(0x20, 0x00, b''), None),
    (two(0x20, 0x11, bytes(12)), None),
    (two(0x20, 0x00, b'\x04\0\x03abc'), None),
    (two(0x21, 0x00, b''), None),
    (two(0x21, 0x00, b'\x04\0\x03abc'), None),
)
BAD = (
    b'GET / HTTP/1.1\r\n', b'peer\n', b'\n', b'PROXY\r\n', b'PROXY \r\n', b'proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
    b'PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n', b'PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n',
    b'PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n', b'PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n',
    b'PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n', b'PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n',
    b'PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n', b'PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n',
    b'PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n', b'PROXY TCP4 ::1 ::1 1 2\r\n', b'PROXY TCP6 192.0.2.1 ::1 1 2\r\n',
    b'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n', b'PROXY TCP4 192.0.2.1\0 192.0.2.2 1 2\r\n',
    b'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX', b'PROXY UNKNOWNX\r\n', b'PROXY UNKNOWN ' + b'x' * 93,
    SIGNATURE[:11] + b'\r', two(0x11, 0x11, bytes(12)), two(0x22, 0x11, bytes(12)), two(0x31, 0x11, bytes(12)),
    two(0x21, 0x12, bytes(12)), two(0x21, 0x01, bytes(12)), two(0x21, 0x41, bytes(12)), two(0x21, 0x11, bytes(11)),
    two(0x21, 0x21, bytes(35)), two(0x21, 0x31, bytes(215)),
)
