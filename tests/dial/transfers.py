"""Files that go to second connections and come from them, as the other side sees them.

Each check gets a server, the other side's listener and a folder. Must not know: models.
"""

import os
import select
from checks import ask, dialled, line
from support.connection import all_of, exactly, reset
from support.expect import expect

BIG = bytes(range(256)) * 4096 * 4      # 4 MB


def put(server, name, data):
    """A file below fileRoot."""
    path = os.path.join(server.folder.name, name)
    with open(path, 'wb') as file:
        file.write(data)
    return path


def got(server, name):
    """What a file below fileRoot contains; None: there is none."""
    try:
        with open(os.path.join(server.folder.name, name), 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return None


def sends(server, other, _):
    """A file goes to a second connection: whole, in part, from beyond its end, with text before and behind it"""
    put(server, 'big', BIG)
    with dialled(server, other) as (client, connection):
        client.send(b'SAY before\nFILE big 0 99999999\nSAY behind\nHALF\n')
        expect(exactly(connection, 7) == b'before\n', 'what came before')
        expect(exactly(connection, len(BIG)) == BIG, 'the file differs')
        expect(connection.recv(100) == b'behind\n', 'what came behind')
        expect(line(client) == b'sent %d\n' % len(BIG), 'how much was sent')
        expect(line(client) == b'half\n' and connection.recv(1) == b'', 'the end')
    with dialled(server, other) as (client, connection):
        ask(client, 'FILE big 1000000 20000', 'sent 20000')
        ask(client, 'FILE big 4194303 20000', 'sent 1')
        ask(client, 'FILE big 9000000 20000', 'sent 0')
        ask(client, 'FILE none 0 1', 'ENOENT')
        ask(client, 'FILE ../secret 0 1', 'Invalid cross-device link')
        ask(client, 'FILE . 0 1', 'Is a directory')
        ask(client, 'CLOSE', 'closed')
        expect(all_of(connection) == BIG[1000000:1020000] + BIG[4194303:], 'the parts differ')
        ask(client, 'FILE big 0 1', 'EBADF')


def slow(server, other, _):
    """A file for a side that reads slowly waits, others are served, and a drain waits for the rest"""
    put(server, 'big', BIG * 4)
    with dialled(server, other) as (client, connection), dialled(server, other) as (second, far):
        client.send(b'FILE big 0 99999999\nDRAIN\nPING\n')
        second.send(b'FILE big 0 1000\nHALF\n')
        expect(exactly(far, 1000) == BIG[:1000], 'the other client waits')
        expect(not select.select([client.socket], [], [], 0.3)[0], 'the action did not wait')
        expect(exactly(connection, len(BIG) * 4) == BIG * 4, 'the file differs')
        expect(line(client) == b'sent %d\n' % (len(BIG) * 4), 'how much was sent')
        expect(line(client) == b'drained 0\n' and line(client) == b'pong\n', 'the drain')


def interrupted(server, other, _):
    """A transfer ends when the client says something, which is the next message"""
    put(server, 'big', BIG * 8)
    with dialled(server, other) as (client, connection):
        client.send(b'UNTIL big\n')
        expect(exactly(connection, 1000) == BIG[:1000], 'it did not begin')
        expect(not select.select([client.socket], [], [], 0.3)[0], 'the action did not wait')
        client.send(b'DRAIN UNTIL\nPING\n')
        answer = line(client)
        expect(answer.startswith(b'sent '), answer)
        expect(0 < int(answer.split()[1]) < len(BIG) * 8, f'how much was sent: {answer}')
        expect(line(client) == b'drained 1\n' and line(client) == b'pong\n', 'the drain was not ended')
    with dialled(server, other) as (client, connection):
        put(server, 'kept', b'old')
        client.send(b'TAKE kept\n')
        connection.sendall(BIG)
        expect(not select.select([client.socket], [], [], 0.3)[0], 'the action did not wait')
        client.send(b'PING\n')
        expect(line(client) == b'stopped\n' and line(client) == b'pong\n', 'it was not stopped')
        expect(got(server, 'kept') == b'old', 'the old file is gone')


def receives(server, other, _):
    """A file comes from a second connection: to its end, with a length, with bytes that came early, into an upload"""
    with dialled(server, other) as (client, connection):
        connection.sendall(b'early\n' + BIG[:10000])
        ask(client, 'LINE 100', 'early')
        client.send(b'KEEP up\n')
        connection.sendall(BIG[10000:])
        connection.shutdown(1)
        expect(line(client) == b'kept %d\n' % len(BIG), 'how much was kept')
        expect(got(server, 'up') == BIG, 'the file differs')
    with dialled(server, other) as (client, connection):
        connection.sendall(BIG[:70000] + b'next\n')
        ask(client, 'KEEP some 70000', 'kept')
        expect(got(server, 'some') == BIG[:70000], 'the file differs')
        ask(client, 'LINE 100', 'next')
    with dialled(server, other) as (client, connection):
        client.send(b'TAKE taken\n')
        connection.sendall(BIG)
        connection.close()
        expect(line(client) == b'took %d\n' % len(BIG), 'how much was taken')
        expect(got(server, 'taken') == BIG, 'the file differs')


def unseen(server, other, _):
    """A file that does not come whole is not seen, and the old one stays; so with a reset, too early an end, no right"""
    put(server, 'old', b'old')
    with dialled(server, other) as (client, connection):
        client.send(b'KEEP old\n')
        connection.sendall(BIG[:300000])
        expect(not select.select([client.socket], [], [], 0.3)[0], 'the action did not wait')
        expect(got(server, 'old') == b'old', 'a part of the file is seen')
        reset(connection)
        expect(line(client) == b'ECONNRESET\n', 'the reset')
        ask(client, 'PING', 'pong')
    with dialled(server, other) as (client, connection):
        connection.sendall(b'12345')
        connection.shutdown(1)
        ask(client, 'KEEP old 10', 'EPIPE')
        ask(client, 'KEEP ../old', 'Invalid cross-device link')
        ask(client, 'KEEP new 0', 'kept')
        expect(got(server, 'old') == b'old' and got(server, 'new') == b'', 'the files')
    with dialled(server, other) as (client, connection):
        client.send(b'LIMIT 200\nKEEP old\n')
        connection.sendall(b'some')
        expect(line(client) == b'ETIMEDOUT\n' and got(server, 'old') == b'old', 'the limit')


def urgent(server, other, _):
    """A byte that a client marks as urgent is one of the stream"""
    with dialled(server, other) as (client, _connection):
        client.socket.send(b'PING\n', 1)    # MSG_OOB: of the last byte
        expect(line(client) == b'pong\n', 'no answer')


ALL = (sends, slow, interrupted, receives, unseen, urgent)
