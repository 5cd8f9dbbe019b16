"""Tests `$block`: it runs on helpers in event servers and in place elsewhere, with the same result.

Must not know: how an action moves.
"""

import os
import signal
import time
from checks import ask, ends, reset, same, serve, together
from support.nest import Failed
from support.server import Client
from support.timed import again


def right(folder, exe):
    """Variables, parts and errno are right inside and afterwards, as often as one likes."""
    def talk(_):
        with Client(server) as client:
            for number in range(100):
                client.send(b'block 0\n')
                client.expect(b'%d %d 1 1 0\n' % (number + 1, 6 * number + 1))
    with serve(exe, folder) as server:
        together(20, talk)
        ends(server)


def alone(folder, exe):
    """Blocks of several clients run side by side, and others are served meanwhile."""
    def block(number):
        if number < 4:
            same('block', ask(server, 'block 1000\n'), b'1 4 1 1 1000\n')
            return
        time.sleep(0.1)
        begin = time.monotonic()
        same('meanwhile', ask(server, 'late\n'), b'-1 Bad file descriptor\n')
        if time.monotonic() - begin > 0.8:
            raise Failed('a client waited for the blocks of others')

    def once(_):
        begin = time.monotonic()
        together(5, block)
        if time.monotonic() - begin > 3.8:
            raise Failed('four blocks of 1 s ran one after the other')
    with serve(exe, folder) as server:
        again(once)
        ends(server)


def more_than_helpers(folder, exe):
    """More blocks than helpers wait their turn, and none is lost."""
    with serve(exe, folder) as server:
        together(30, lambda _: same('block', ask(server, 'block 5\n' * 5),
                                    b''.join(b'%d %d 1 1 5\n' % (i + 1, 6 * i + 1)
                                             for i in range(5))))
        ends(server)


def gone(folder, exe):
    """A client that resets in a block harms nobody; a stop waits for a block, not for what is behind."""
    with serve(exe, folder) as server:
        for number in range(30):
            client = Client(server)
            client.send(b'block 20\n')
            time.sleep(0.001 * (number % 5))
            reset(client)
        same('after', ask(server, 'block 0\n'), b'1 1 1 1 0\n')
        with Client(server) as client:
            client.send(b'block 4000\nblock 0\n')
            time.sleep(1)           # it has begun, and has not ended
            server.process.terminate()
            same('at the stop', client.rest(), b'1 4 1 1 4000\n')
        ends(server)


def worked(server):
    """Seconds of processor time, of all its processes."""
    total = 0
    for _, stat in server.each('stat'):
        words = stat.rpartition(')')[2].split()
        total += int(words[11]) + int(words[12])
    return total / os.sysconf('SC_CLK_TCK')


def forked(folder, exe):
    """A child that an action forks keeps no other connection open, the server idle, and heeds TERM."""
    with serve(exe, folder) as server, Client(server) as other, Client(server) as client:
        other.send(b'block 0\n')
        other.expect(b'1 1 1 1 0\n')
        client.send(b'fork 20\n')
        child = b''
        while not child.endswith(b'\n'):
            child += client.take(1)
        begin = time.monotonic()
        other.half_close()
        other.rest()
        if time.monotonic() - begin > 10:
            raise Failed('a connection ended with the child')
        before = worked(server)
        time.sleep(1)
        if worked(server) - before > 0.3:
            raise Failed('the server is busy with a connection that it has closed')
        os.kill(int(child), signal.SIGTERM)
        end = time.monotonic() + 10
        while lives(int(child)):
            if time.monotonic() > end:
                raise Failed('what an action forked does not end by TERM')
            time.sleep(0.01)


def lives(pid):
    """Whether there is such a process, and not only its status."""
    try:
        with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def endless(folder, exe):
    """A block that does not end does not keep a stopped server."""
    with serve(exe, folder) as server, Client(server) as client:
        client.send(b'block 60000\n')
        time.sleep(0.3)
        begin = time.monotonic()
        server.process.terminate()
        time.sleep(0.2)
        server.stop()               # a second time: at once
        if time.monotonic() - begin > 20:
            raise Failed('it waited for the block')


def crash(folder, exe):
    """A crash in a block is reported with its rule."""
    with serve(exe, folder) as server, Client(server) as client:
        client.send(b'crash\n')
        client.rest()
        end = time.monotonic() + 20
        while 'crashed: SIGABRT in rule crash' not in server.said():
            if time.monotonic() > end:
                raise Failed(f'it says {server.said()!r}')
            time.sleep(0.05)


PLAIN = (right, alone, more_than_helpers, gone, forked, endless, crash)
