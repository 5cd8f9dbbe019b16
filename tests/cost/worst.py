"""The most memory and descriptors that a connection uses, compared with what the server reports.

A client fills whatever there is: what it may send and not read, what its action keeps, copies and has
open, its stack. Must not know: system calls, allocations, how the figures come about.
"""

import re
import time
from support.nest import SOCKET_MODELS, Failed, run
from support.server import Client, Server

CLIENTS = 20
LEAST = 0.5         # of the figure: one that nobody comes near says nothing
LINE = b'FILL ' + 8100 * b'x' + b'\n'
REST = 8192 * b'y' + 50000 * b'z'   # what $read takes, and of what $fileReceive waits for
END = b'filled\n'


def told(server):
    """Bytes that a connection takes at most: all that --check-config names."""
    items = re.findall(r'^#   (\d+) ', run([server, '--check-config']), re.MULTILINE)
    if not items:
        raise Failed('--check-config names nothing that takes memory')
    return sum(int(item) for item in items)


def private(server):
    """{process: bytes of memory that are its own}."""
    return {pid: 1024 * sum(map(int, re.findall(r'^Private_\w+:\s+(\d+) kB', text, re.MULTILINE)))
            for pid, text in server.each('smaps_rollup')}


def settled(server):
    """The same, once it grows no more."""
    last, end = None, time.monotonic() + 30
    while (now := private(server)) != last:
        if time.monotonic() > end:
            raise Failed('its memory never came to rest')
        last = now
        time.sleep(0.5)
    return now


def filled(server, clients):
    """Each has all that it can have when this returns."""
    for _ in range(CLIENTS):
        clients.append(Client(server, receive=4096))
        clients[-1].send(LINE)
    for client in clients:
        client.send(REST)
    time.sleep(1)       # a client that reads late has more output queued; the exact time does not matter
    for client in clients:
        got = b''
        while not got.endswith(END):
            more = client.socket.recv(1 << 16)
            if not more:
                raise Failed(f'the connection ended\n{server.said()}')
            got = (got + more)[-len(END):]


def check(report, servers):
    """The figure holds, and is not far from the truth."""
    report.heading(f'Memory of a connection at worst, of {CLIENTS} that are filled')
    for model in SOCKET_MODELS:
        most = told(servers[model])
        with Server([servers[model]], clients=CLIENTS) as server:
            with Client(server) as first:
                first.send(b'?\n')
                first.rest()
            before = settled(server)
            clients = []
            filled(server, clients)
            after = settled(server)
            for client in clients:
                client.socket.close()
        grown = sum(size - before.get(pid, 0) for pid, size in after.items()) / CLIENTS
        good = LEAST * most <= grown <= most
        report.line(good, model, 'bytes, beside those said', f'{grown:.0f} of {most}')
