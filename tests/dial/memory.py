"""Second connections while memory runs out, at each allocation in turn.

What must hold: an action is told ENOMEM, or succeeds, or its client's connection ends; others are served meanwhile; in the end no
descriptor and no memory is left over. Must not know: models.
"""

import contextlib
import socket
import ssl
import sys
import threading
from checks import LIMIT, Other, ask
from support import driver
from support.certificate import certificate
from support.connection import exactly, reset
from support.expect import expect, until
from support.server import Client

MUCH = bytes(range(256)) * 1200     # more than a relay copies before it opens a pipe
ALONE = ('event', 'uring')          # all blocks of these belong to one process, so they can be counted

# a thread that cannot begin; and what the C library says, or does, when it cannot read its files
UNKNOWN = tuple(f'{error}: cannot look up'.encode() for error in ('EAGAIN', 'ENOENT', 'ETIMEDOUT'))
# how long the C library asks servers for names that it did not find in its files; resolv.conf(5)
NAMES = {'RES_OPTIONS': 'timeout:1 attempts:1'}


class Ended(Exception):
    """The action has no memory: it says so, or its client's connection has ended."""


def say(client, text, wanted, short=()):
    """Sends a line, and expects one, or that there is no memory, which may be told by other beginnings of a line, too."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.send(text.encode() + b'\n')
    hear(client, text, wanted, short)


def heard(client, text, short=()):
    """The answer, if there is memory for one."""
    out = b''
    while not out.endswith(b'\n'):
        got = client.take(1)
        if not got:
            expect(not out, f'{text}: a part of a line came, {out!r}')
            raise Ended
        out += got
    if out.startswith(b'ENOMEM') or out.startswith(short):
        raise Ended
    return out


def hear(client, text, wanted, short=()):
    """The answer is this one."""
    out = heard(client, text, short)
    expect(out == wanted.encode() + b'\n', f'{text}: expected {wanted!r}, received {out!r}')


def taken(stack, client, address, other):
    """The other side's end of a connection that is dialled."""
    say(client, f'DIAL {address} 9000', 'dialled')
    return stack.enter_context(other.take())


def talk(client, connection):
    """Much text on a second connection, both ways."""
    say(client, f'PUSH {"x" * 600}', 'pushed')
    expect(exactly(connection, 603) == b'<' + b'x' * 600 + b'>\n', 'the text')
    connection.sendall(b'y' * 3000 + b'\n')
    say(client, 'LINE 3000', 'y' * 3000)
    say(client, 'CLOSE', 'closed')


def number(stack, client, other, _):
    """$dial of an address, $replyTo and $readLineFrom"""
    talk(client, taken(stack, client, other.name, other))


def name(stack, client, other, _):
    """$dial of a name"""
    say(client, f'DIAL localhost:{other.port} 2000', 'dialled', UNKNOWN)
    stack.enter_context(other.take())


def listens(stack, client, _, __):
    """$listen and $accept"""
    client.send(b'LISTEN 0\n')
    port = int(heard(client, 'LISTEN').split()[0])
    connection = stack.enter_context(socket.create_connection(('127.0.0.1', port), LIMIT))
    say(client, 'ACCEPT 9000', 'accepted')
    talk(client, connection)


def relay(stack, client, other, _):
    """$relay, with little and with much"""
    connection = taken(stack, client, other.name, other)
    client.send(b'RELAY 20000\n')
    for source, target in ((client.socket, connection), (connection, client.socket)):
        for data in (b'little', MUCH):
            try:
                source.sendall(data)
                got = exactly(target, len(data))
            except OSError as error:
                raise Ended from error
            if got != data:
                expect(data.startswith(got), 'other bytes')
                raise Ended
    reset(connection)
    hear(client, 'RELAY', 'ECONNRESET')


def trust(stack, client, other, folder):
    """$startTLSOn as a client"""
    connection = taken(stack, client, other.name, other)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))
    secure = stack.enter_context(context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False))

    def shake():
        with contextlib.suppress(OSError):
            secure.do_handshake()
    thread = threading.Thread(target=shake)
    thread.start()
    try:
        client.send(b'TRUST localhost\n')
        hear(client, 'TRUST', 'trusted', (b'ECONNRESET',))      # so ends a handshake that OpenSSL has no memory for
    finally:
        if sys.exc_info()[0]:
            with contextlib.suppress(OSError):
                secure.shutdown(socket.SHUT_RDWR)
        thread.join(LIMIT)


def attempted(act, server, folder, short):
    """Does it while memory is short; others are served meanwhile, and afterwards."""
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(contextlib.closing(Other()))
        beside, client = stack.enter_context(Client(server)), stack.enter_context(Client(server))
        for one in beside, client:
            ask(one, 'PING', 'pong')
        ended = False
        with short():
            try:
                act(stack, client, other, folder)
            except Ended:
                ended = True
            ask(beside, 'PING', 'pong')
        ask(beside, 'PING', 'pong')
        with contextlib.suppress(Ended) if ended else contextlib.nullcontext():
            say(client, 'PING', 'pong')
        with Client(server) as late:
            ask(late, 'PING', 'pong')


def first(short, start):
    """without memory, at each allocation of a process's first lookup: it looks up later names"""
    failed, number = -1, 0
    while short.failed() > failed:      # the last one did
        failed, number = short.failed(), number + 1
        with contextlib.closing(start()) as server, contextlib.closing(Other()) as other, Client(server) as client:
            with short.short(number, False), contextlib.suppress(Ended):
                say(client, f'DIAL localhost:{other.port} 2000', 'dialled', UNKNOWN)
            with contextlib.suppress(Ended):        # so does one whose connection has ended
                say(client, 'PING', 'pong')
                ask(client, f'DIAL localhost:{other.port} 9000', 'dialled')
    expect(number > 3, 'hardly anything was allocated')


def check(report, form, server, short, folder):
    """All of it: a line of the report for each."""
    for act in ALL:     # all that begins once has begun
        attempted(act, server, folder, contextlib.nullcontext)
    before = server.descriptors()
    counted = driver.parts(form)[0] in ALONE
    for act in ALL:
        def checked(*_, act=act):
            count = short.rests(lambda how: attempted(act, server, folder, how),
                                lambda: until('descriptors are closed', lambda: server.descriptors() <= before, LIMIT),
                                counted, sampled=act is trust)
            expect(count > 0, 'nothing was allocated')
        checked.__doc__ = f'without memory, at each allocation: {act.__doc__}'
        driver.tried(report, form, server, checked)


ALL = (number, name, listens, relay, trust)
