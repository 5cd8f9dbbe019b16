"""$relay by splice(2): that it is used and counted, what ends it, and what stands in for it.

Must not know: models.
"""

import contextlib
import mmap
import os
import random
import resource
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from checks import LIMIT, ask, dialled, line                        # noqa: E402
from support import sample                                          # noqa: E402
from support.connection import all_of, exactly, reset               # noqa: E402
from support.expect import expect, until                            # noqa: E402

FIRST = 1 << 17     # bytes of a direction that are copied at least
MUCH = 4 << 20
FILE = 'splices'    # what splices.c counts


@contextlib.contextmanager
def counts(folder, refuses=0):
    """Yields a function that returns what has gone through splice(2) since: bytes in, bytes out, calls. `refuses`: 1 or 2, see
    splices.c."""
    with open(os.path.join(folder, FILE), 'r+b') as file, mmap.mmap(file.fileno(), 32) as shared:
        before = struct.unpack('4Q', shared)
        shared[:8] = struct.pack('Q', refuses)
        try:
            yield lambda: [now - then for now, then in zip(struct.unpack('4Q', shared)[1:], before[1:])]
        finally:
            shared[:8] = bytes(8)


def make(folder):
    """The file that splices.c needs."""
    with open(os.path.join(folder, FILE), 'wb') as file:
        file.write(bytes(32))
    return file.name


def feed(target, data, pieces=None, end=True):
    """Sends from a thread, in pieces of these sizes; then half-closes."""
    def run():
        with contextlib.suppress(OSError):
            at = 0
            for size in pieces or [len(data)]:
                target.sendall(data[at:at + size])
                at += size
                if pieces and size % 7 == 0:
                    time.sleep(0.001)
            if end:
                target.shutdown(socket.SHUT_WR)
    thread = threading.Thread(target=run)
    thread.start()
    return thread


def slowly(source, into, chance):
    """Receives until the end in a thread, and pauses at times."""
    def run():
        while chunk := source.recv(chance.choice((100, 5000, 1 << 16))):
            into.extend(chunk)
            if chance.random() < 0.1:
                time.sleep(0.002)
    thread = threading.Thread(target=run)
    thread.start()
    return thread


def both(client, connection, one, other, sizes=(None, None), chance=random):
    """Relays both ways at once, to the ends of both."""
    client.send(b'RELAY 20000\n')
    got = bytearray(), bytearray()
    threads = [feed(client.socket, one, sizes[0]), feed(connection, other, sizes[1]),
               slowly(connection, got[0], chance), slowly(client.socket, got[1], chance)]
    for thread in threads:
        thread.join(LIMIT)
        expect(not thread.is_alive(), 'the relay does not end')
    expect(got[0] == one, f'{len(got[0])} bytes of {len(one)}, or others, came from the client')
    expect(got[1] == other, f'{len(got[1])} bytes of {len(other)}, or others, came from the other side')


def used(server, other, folder):
    """$relay of much goes through splice(2), both ways, and through no memory; that of little does not"""
    with dialled(server, other) as (client, connection), counts(folder) as moved:
        both(client, connection, os.urandom(FIRST // 2), os.urandom(FIRST // 2))
        expect(moved() == [0, 0, 0], 'little was spliced')
    with dialled(server, other) as (client, connection), counts(folder) as moved:
        both(client, connection, os.urandom(MUCH), os.urandom(MUCH))
        into, out, _ = moved()
        expect(into == out, f'{into} bytes went into pipes, {out} came out')
        expect(2 * (MUCH - FIRST) * 3 // 4 < into <= 2 * (MUCH - FIRST), f'{into} bytes of {2 * MUCH} were spliced')


def refused(server, other, folder):
    """Where the system refuses splice(2), to fill a pipe or to empty it, $relay copies, and nothing is lost"""
    for what in (1, 2):
        with dialled(server, other) as (client, connection), counts(folder, what) as moved:
            both(client, connection, os.urandom(MUCH), os.urandom(MUCH))
            _, out, tries = moved()
            expect(tries > 0 and out == 0, f'{tries} calls, {out} bytes')


def scarce(server, other, folder):
    """Without descriptors for pipes, $relay copies"""
    with dialled(server, other) as (client, connection), counts(folder) as moved:
        usual = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)

        def limited(least):
            wrong = False       # processes begin meanwhile
            for pid, _ in server.each('stat'):
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                    used = {int(fd) for fd in os.listdir(f'/proc/{pid}/fd')}
                    free = min(set(range(len(used) + 1)) - used)    # poll(2) also compares its count with the limit
                    limit = (free, usual[1]) if least else usual
                    wrong = resource.prlimit(pid, resource.RLIMIT_NOFILE, limit) != limit or wrong
            return not wrong
        try:
            limited(True)
            both(client, connection, os.urandom(MUCH), os.urandom(MUCH))
        finally:
            until('all have their limit again', lambda: limited(False), LIMIT)
        expect(moved() == [0, 0, 0], 'a pipe was opened')


def drawn(server, other, _):
    """$relay of random sizes, in random pieces, to receivers that pause"""
    for seed in range(sample.SEED, sample.SEED + 4):
        chance = random.Random(seed)
        data, sizes = [], []
        for _ in range(2):
            sizes.append([chance.choice((1, 100, 1448, 4096, 65536, 100_000)) for _ in range(chance.randrange(80))])
            data.append(chance.randbytes(sum(sizes[-1])))
        with dialled(server, other) as (client, connection):
            try:
                both(client, connection, *data, sizes, chance)
            except Exception:
                print(f'seed {seed}', file=sys.stderr)
                raise


def filled(target):
    """Sends until nothing is taken any more; what was sent."""
    sent, quiet = bytearray(), time.monotonic() + 0.3
    target.setblocking(False)
    while time.monotonic() < quiet:
        if select.select([], [target], [], 0.05)[1]:
            with contextlib.suppress(BlockingIOError):
                block = os.urandom(1 << 16)
                sent += block[:target.send(block)]
                quiet = time.monotonic() + 0.3
    target.settimeout(LIMIT)
    return bytes(sent)


def ended(server, other, _):
    """An end behind a full pipe comes behind all of it, and the other half goes on"""
    for side in (0, 1):
        with dialled(server, other) as (client, connection):
            client.send(b'RELAY 20000\n')
            ends = (client.socket, connection) if side == 0 else (connection, client.socket)
            sent = filled(ends[0])
            ends[0].shutdown(socket.SHUT_WR)
            expect(all_of(ends[1]) == sent, 'bytes were lost')
            ends[1].sendall(b'answer')
            expect(exactly(ends[0], 6) == b'answer', 'the other half has ended')


def cut(server, other, _):
    """After a reset or the limit of silence, what is in a pipe still comes, in order; then what the action says"""
    said = server.said().count('relay ETIMEDOUT')
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 5000\n')
        sent = filled(connection)
        until('the end of the relay', lambda: server.said().count('relay ETIMEDOUT') > said, LIMIT)
        client.send(b'CUT\nQUIT\n')
        got = all_of(client.socket)
        expect(got.endswith(b'ETIMEDOUT\ncut\n') and sent.startswith(got[:-14]) and len(got) > FIRST,
               f'{len(got)} bytes came, {got[-20:]!r}')
    said = server.said().count('relay ECONNRESET')
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\n')
        sent = os.urandom(MUCH)
        thread = feed(connection, sent, end=False)
        got = exactly(client.socket, MUCH // 4)
        reset(connection)
        thread.join()
        until('the end of the relay', lambda: server.said().count('relay ECONNRESET') > said, LIMIT)
        got += client.socket.recv(1 << 24)
        while not got.endswith(b'ECONNRESET\n'):
            more = client.socket.recv(1 << 20)
            expect(more, 'the reset was not told')
            got += more
        expect(sent.startswith(got[:-11]), 'other bytes came')
        ask(client, 'PING', 'pong')
    with dialled(server, other) as (client, connection):
        client.send(b'RELAY 20000\n')
        filled(client.socket)
        filled(connection)
        reset(client.socket)
        expect(all_of(connection) is None, 'the other side took this for the end of all')


def urgent(server, other, _):
    """A byte that is marked as urgent in the middle of much is one of the stream"""
    for side in (0, 1):
        with dialled(server, other) as (client, connection):
            client.send(b'RELAY 20000\n')
            ends = (client.socket, connection) if side == 0 else (connection, client.socket)
            data = os.urandom(FIRST * 4)
            thread = feed(ends[0], data, end=False)
            expect(exactly(ends[1], len(data)) == data, 'other bytes')
            thread.join()
            ends[0].send(b'ab!', socket.MSG_OOB)
            ends[0].sendall(b'cd')
            ends[0].shutdown(socket.SHUT_WR)
            got = all_of(ends[1])
            expect(got in (b'ab!cd', b'abcd'), f'{got!r}')
            expect(side == 1 or got == b'ab!cd', f'{got!r} came from the client')


COUNTED = (used, refused, scarce)       # with splices.c
ALL = (drawn, ended, cut, urgent)
