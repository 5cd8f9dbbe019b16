"""Actions overwrite the memory that the processes of a server share, and the supervisor continues to work.

In each model, with ones and with random bytes, over what the action's process may write to and over
all: the supervisor lives, new clients are served, a reload is done, TERM ends the server, and the
counts are sane. Must not know: how a server is built.
"""

import os
import signal
import time

import watch
from support.nest import Failed
from support.server import Client, Server

CLIENTS = 24            # of scribble.nest
TIMEOUT = 20
SPOILED = 'has overwritten memory of the server'


def ask(client, line):
    """Its answer of one line; '' if the connection ends."""
    client.send(line.encode() + b'\n')
    got = b''
    while not got.endswith(b'\n'):
        more = client.take(1)
        if not more:
            return ''
        got += more
    return got.decode().strip()


def served(server, count):
    """That many new clients, one after the other and some at once."""
    for _ in range(count):
        with Client(server) as client:
            if ask(client, 'ping') != 'pong':
                raise Failed(f'a new client is not served\n{server.said()}')
    together = [Client(server) for _ in range(CLIENTS // 2)]
    for client in together:
        if ask(client, 'ping') != 'pong':
            raise Failed(f'one of many new clients is not served\n{server.said()}')
    for client in together:
        client.socket.close()
    return count + len(together)


def again(server):
    """Until somebody is served once more, for the one who served all has died; how many clients."""
    end, count = time.monotonic() + TIMEOUT, 0
    while True:
        count += 1
        try:
            with Client(server) as client:
                if ask(client, 'ping') == 'pong':
                    return count
        except OSError:
            pass
        if time.monotonic() > end:
            raise Failed(f'nobody is served {TIMEOUT} s later\n{server.said()}')
        time.sleep(0.02)


def reload(server, seconds):
    """HUP with another idleTimeout, until it is said."""
    with open(os.path.join(server.folder.name, 'config.nest'), 'w', encoding='ascii') as file:
        file.write(f'idleTimeout {seconds}s\n')
    os.kill(server.process.pid, signal.SIGHUP)
    end = time.monotonic() + TIMEOUT
    while f'idleTimeout {seconds}s' not in server.said():
        if time.monotonic() > end or server.process.poll() is not None:
            raise Failed(f'HUP is not answered\n{server.said()}')
        time.sleep(0.01)


def ended(server, least, most):
    """TERM ends it, with sane counts; how many clients it counted."""
    status = server.stop()
    count, wrong = watch.adds_up(server.rest())
    if status != 0 or wrong:
        raise Failed(f'status {status}, {wrong}\n{server.said()}')
    if not least <= count <= most:
        raise Failed(f'{count} clients are counted, {least} to {most} there were\n{server.said()}')
    return count


def scribbled(server, pattern, extent):
    """A client whose worker has written over what is shared."""
    client = Client(server)
    n = int(ask(client, f'scribble {pattern} {extent}') or 0)
    if n < 4096:
        raise Failed(f'only {n} bytes of shared memory were found\n{server.said()}')
    return client


def lives_on(binary, pattern, extent):
    """The worker goes on after it has spoiled its report: nothing is missing."""
    with Server([binary]) as server:
        count = served(server, 3)
        spoiler = scribbled(server, pattern, extent)
        reload(server, 31)
        count += 1 + served(server, 30)
        if ask(spoiler, 'ping') != 'pong':
            raise Failed(f'its own client is lost\n{server.said()}')
        reload(server, 32)
        ask(spoiler, 'bye')
        count += served(server, 30)
        return ended(server, count, count)


def dies(binary, pattern, extent, model):
    """The worker dies behind it: its clients are crashed, or missing in the counts and that is said."""
    with Server([binary]) as server:
        before = served(server, 3)
        spoiler = scribbled(server, pattern, extent)
        reload(server, 31)
        before += 1 + served(server, 3)
        ask(spoiler, 'die')
        count = again(server) + served(server, 30)
        reload(server, 32)
        if model == 'process':
            return ended(server, before + count, before + count)
        if SPOILED not in server.said():
            raise Failed(f'nothing is said of a spoiled report\n{server.said()}')
        if model == 'prefork':          # others served some of them, and their counts stand
            return ended(server, count - TIMEOUT, before + count)
        return ended(server, count - TIMEOUT, count)


def check(binary, model):
    """All of a model; (numbers, what is wrong or None)."""
    counts = []
    for pattern in ('ff', 'random'):
        for extent in ('own', 'all'):
            try:
                counts.append(lives_on(binary, pattern, extent))
                counts.append(dies(binary, pattern, extent, model))
            except (Failed, OSError) as error:
                return '', f'{pattern} over {extent}: {error}'
    return f'{sum(counts)} clients', None
