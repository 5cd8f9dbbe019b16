"""Second connections that are encrypted, as a client that verifies: the other side has a certificate, or not the right one.

Each check gets a server, the other side's listener and a folder with cert.pem, key.pem. Must not know: models.
"""

import os
import ssl
from checks import ask, dialled, line
from support.certificate import certificate
from support.connection import exactly
from support.expect import expect


def accepts(folder, connection):
    """The other side's handshake; None if the server does not accept it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))
    try:
        return context.wrap_socket(connection, server_side=True)
    except (ssl.SSLError, ConnectionResetError):
        return None


def trusts(server, other, folder):
    """$startTLSOn as a client: lines, files and the end go through, by name and by number"""
    data = bytes(range(256)) * 8000
    with open(os.path.join(server.folder.name, 'secret'), 'wb') as file:
        file.write(data)
    for name in ('localhost', '127.0.0.1'):
        with dialled(server, other) as (client, connection):
            client.send(f'TRUST {name}\n'.encode())
            secure = accepts(folder, connection)
            expect(line(client) == b'trusted\n' and secure is not None, 'it was not trusted')
            ask(client, f'TRUST {name}', 'EALREADY')
            secure.sendall(b'hello\n')
            ask(client, 'LINE 100', 'hello')
            client.send(b'FILE secret 0 99999999\nHALF\n')
            expect(exactly(secure, len(data)) == data and secure.recv(1) == b'', 'the file, or its end')
            expect(line(client) == b'sent %d\n' % len(data) and line(client) == b'half\n', 'the answers')
            secure.sendall(data)
            secure.unwrap()
            ask(client, 'KEEP kept', f'kept {len(data)}')


def distrusts(server, other, folder):
    """Another name, something that is no handshake, silence, by either time: the connection is lost, the session goes on"""
    with dialled(server, other) as (client, connection):
        client.send(b'TRUST example.org\n')
        accepts(folder, connection)
        expect(line(client) == b'ECONNRESET\n', 'another name')
        ask(client, 'PING', 'pong')
        ask(client, 'SAY x', 'ECONNRESET')
    with dialled(server, other) as (client, connection):
        for name in ('a,b', '.a', 'a..b', 'a.', '-a', 'a-.b', 'a:443', '*.a', '1.2.3.4/8', 'l\u00e4', 'a' * 64, 'a.' * 130 + 'a'):
            client.send(f'TRUST {name}\n'.encode())
            expect(line(client) == b'EINVAL\n', f'{name} is no name')
        client.send(b'TRUST localhost\n')      # nothing has happened
        expect(accepts(folder, connection) is not None and line(client) == b'trusted\n', 'it was not trusted')
    with dialled(server, other) as (client, connection):
        connection.sendall(b'220 this is no handshake\n')
        ask(client, 'TRUST localhost', 'ECONNRESET')
        ask(client, 'PING', 'pong')
    with dialled(server, other) as (client, connection):
        ask(client, 'SERVE TLS', 'ENOTSUP')
        client.send(b'TRUST localhost\n')
        connection.recv(100)
        connection.close()
        expect(line(client) == b'ECONNRESET\n', 'the other side has left')
        ask(client, 'PING', 'pong')
    with dialled(server, other) as (client, connection):
        client.send(b'LIMIT 1\nTRUST localhost\n')
        expect(line(client) == b'ETIMEDOUT\n', 'the time of $timeoutOf')
        ask(client, 'PING', 'pong')


def truncates(server, other, folder):
    """Input that ends without TLS's own end is no end"""
    with dialled(server, other) as (client, connection):
        client.send(b'TRUST localhost\n')
        secure = accepts(folder, connection)
        expect(line(client) == b'trusted\n', 'it was not trusted')
        secure.sendall(b'half of it')
        os.close(secure.detach())
        ask(client, 'KEEP cut', 'ECONNRESET')
        expect(not os.path.exists(os.path.join(server.folder.name, 'cut')), 'a part is seen')


ALL = (trusts, distrusts, truncates)
