"""Clients whose handshake fails, or never ends; and where the key is not.

Must not know: models, and how a handshake works.
"""

import contextlib
import os
import re
import select
import signal
import socket
import ssl
from support.connection import exactly
from support.expect import WAIT, same, until
from support.nest import Failed
from support.timed import again
from links import client

CROWD, TRIES = 300, 4


def refused(case):
    """Old versions, text, and garbage are refused; others are served."""
    with case.server('lingerTimeout=1s') as server:
        for version in ('-tls1', '-tls1_1'):
            said = client(server.port, case.folder, version, '-cipher', 'ALL:@SECLEVEL=0')
            if 'alert protocol version' not in said:
                raise Failed(f'{version}: {said[:500]}')
        for data in (b'GET / HTTP/1.0\r\n\r\n', b'\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00', bytes(100)):
            with socket.create_connection(('127.0.0.1', server.port), WAIT) as link:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                try:
                    got = link.recv(1000)
                except ConnectionResetError:
                    got = b''
                same('an alert at most', got[:1] in (b'', b'\x15'), True)
        with case.link(server) as link:
            link.expect(b'Hello.\r\n')
        until('the end is told', lambda: 'end ' in server.said())
        same('sessions', server.said().count('end '), 1)


def gone(case):
    """Clients that leave before their handshake is over are no failures of a worker, and delay nobody."""
    options = ('clientsPerWorker=2',) if case.exe.endswith('prefork') else ()
    with case.server('lingerTimeout=1s', *options) as server:
        for n in range(40):
            with socket.create_connection(('127.0.0.1', server.port), WAIT) as link:
                link.sendall(b'GET / HTTP/1.0\r\n\r\n' if n % 2 else b'')
        for _ in range(5):
            with case.link(server) as link:
                link.expect(b'Hello.\r\n')
        same('what is said of workers', re.findall('.*worker.*', server.said()), [])


def coreless(case):
    """What has the key writes no core files, in which it would be."""
    with case.server() as server:
        for _, limits in server.each('limits'):
            core = re.search(r'Max core file size +(\d+|unlimited) +(\d+|unlimited)', limits)
            same('the limits of core files', core.groups(), ('0', '0'))


def unfinished(case):
    """Half-done handshakes end in time, and others are served meanwhile."""
    many = 5000 if case.loops else 60
    with case.server('readTimeout=2s', f'maxClients={many + 10}') as server:
        links = []
        for n in range(many):
            link = socket.create_connection(('127.0.0.1', server.port), WAIT)
            link.sendall(b'\x16\x03\x01\x02'[:n % 5])
            links.append(link)
        with case.link(server) as link:
            link.send(b'QUIT\n')
            same('one that is served', link.rest(), b'Hello.\r\nGoodbye.\r\n')
        for link in links:
            link.settimeout(WAIT)
            with link:
                try:
                    same('what it is told', link.recv(100), b'')
                except ConnectionResetError:
                    pass
        same('sessions', server.said().count('end '), 1)


def hello():
    """A client's first message."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    return out.read()


def together(server, links, link, answer):
    """All handshakes come at once, then the question of a client whose own is over: how many were answered before it."""
    first = hello()
    for pid in server.family():
        os.kill(pid, signal.SIGSTOP)
    for other in links:
        other.sendall(first)
    link.send(b'abc\n')
    for pid in server.family():
        os.kill(pid, signal.SIGCONT)
    answer()
    before = len(select.select(links, [], [], 0)[0])
    if before > len(links) // 3:
        raise Failed(f'{before} of {len(links)} handshakes went before an answer')
    for other in links:
        other.settimeout(WAIT)
        same('what a handshake is answered by', other.recv(1), b'\x16')


def crowd(case):
    """Handshakes that all come at once are no reason to wait for clients whose handshake is complete."""
    if case.loops:
        again(lambda _: crowd_once(case), TRIES)


def crowd_once(case):
    with case.server(f'maxClients={CROWD + 10}') as server, contextlib.ExitStack() as stack:
        links = [stack.enter_context(socket.create_connection(('127.0.0.1', server.port), WAIT)) for _ in range(CROWD)]
        with case.link(server) as link:
            link.expect(b'Hello.\r\n')     # so all others have been accepted
            together(server, links, link, lambda: link.expect(b'abc\r\n'))


def crowd_later(case):
    """The same of $startTLS."""
    if case.loops:
        again(lambda _: crowd_later_once(case), TRIES)


def crowd_later_once(case):
    with case.server(f'maxClients={CROWD + 10}') as server, contextlib.ExitStack() as stack:
        links = [stack.enter_context(socket.create_connection(('127.0.0.1', server.port), WAIT)) for _ in range(CROWD + 1)]
        for link in links:
            same('its greeting', exactly(link, 8), b'Hello.\r\n')
        for link in links[1:]:
            link.sendall(b'START\n')
            same('what it is told', exactly(link, 7), b'go on\r\n')
        together(server, links[1:], links[0], lambda: same('the answer', exactly(links[0], 5), b'abc\r\n'))


def full(case):
    """Clients that never finish their handshakes keep nobody out, even if they take all places and have hours."""
    if not case.loops:
        return
    most = 40
    with case.server('readTimeout=1h', f'maxClients={most}') as server, contextlib.ExitStack() as stack:
        for n in range(3 * most):
            link = stack.enter_context(socket.create_connection(('127.0.0.1', server.port), WAIT))
            link.sendall(b'\x16\x03\x01\x02'[:n % 5])
        with case.link(server) as link:
            link.send(b'QUIT\n')
            same('one that is served', link.rest(), b'Hello.\r\nGoodbye.\r\n')


CASES = (('refused clients', refused), ('clients that leave', gone), ('core files', coreless),
         ('unfinished handshakes', unfinished), ('many handshakes at once', crowd), ('all places taken by handshakes', full))
LATER = (('many handshakes at once, begun later', crowd_later),)
