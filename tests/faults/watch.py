"""Measures a server during an attack: response times of other clients, memory, descriptors.

Must not know: which attack.
"""

import os
import re
import socket
import time
from support.nest import Failed

PING = b'GET /ping HTTP/1.1\r\nHost: a\r\n\r\n'
PONG = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\npong\n'
TIME = 20


class Others:
    """Some clients that stay connected, and ask one after the other."""

    def __init__(self, server, count=4):
        self.port, self.fresh, self.made = server.port, 0, count
        self.clients = [self._connect() for _ in range(count)]

    def _connect(self):
        client = socket.create_connection(('127.0.0.1', self.port), TIME)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def _ask(self, client):
        start = time.perf_counter()
        client.sendall(PING)
        got = b''
        while len(got) < len(PONG):
            chunk = client.recv(4096)
            if not chunk:
                raise Failed('the server closed the connection of a client that did nothing wrong')
            got += chunk
        if got != PONG:
            raise Failed(f'a reply differs: {got[:200]!r}')
        return (time.perf_counter() - start) * 1000

    def pids(self):
        """The processes that serve them."""
        found = set()
        for client in self.clients:
            client.sendall(b'GET /pid HTTP/1.1\r\n\r\n')
            got = b''
            while len(got) < len(PONG) + 6:
                got += client.recv(4096)
            found.add(int(got[-10:]))
        return found

    def p99(self, seconds, newcomers):
        """Of that many seconds of requests, in ms; with `newcomers`, some of them on a connection of
        their own, which is part of the time."""
        times, end, turn = [], time.monotonic() + seconds, 0
        while time.monotonic() < end or len(times) < 100:
            turn += 1
            try:
                if newcomers and turn % 20 == 0:
                    start = time.perf_counter()
                    with self._connect() as client:
                        self.made += 1
                        self._ask(client)
                    times.append((time.perf_counter() - start) * 1000)
                else:
                    times.append(self._ask(self.clients[turn % len(self.clients)]))
            except OSError as error:
                raise Failed(f'a client was not served: {error}') from error
            time.sleep(0.001)
        times.sort()
        return times[len(times) * 99 // 100]

    def close(self):
        """They leave."""
        for client in self.clients:
            client.close()


def memory(server):
    """Kilobytes that its processes have for themselves: shared pages in proportion."""
    found = (re.search(r'^Pss:\s+(\d+)', text, re.M) for _, text in server.each('smaps_rollup'))
    return sum(int(pss.group(1)) for pss in found if pss)


def descriptors(server):
    """The most that any of its processes has."""
    most = 0
    for pid in server.family():
        try:
            most = max(most, len(os.listdir(f'/proc/{pid}/fd')))
        except OSError:
            continue
    return most


def bound(ready):
    """The kilobytes that its first line promises not to exceed; None if it says none."""
    found = re.search(r'([\d.]+)([KMG]?) memory', ready)
    if found is None:
        return None
    return float(found.group(1)) * {'': 1 / 1024, 'K': 1, 'M': 1024, 'G': 1024 * 1024}[
        found.group(2)]


def adds_up(line):
    """(clients, None), or what is wrong with the closing line."""
    found = re.search(r'stopped after (\d+) clients?(?:: ([^;\n]+))?', line)
    if found is None:
        return None, f'no closing line: {line!r}'
    parts = sum(int(part.split()[0]) for part in (found.group(2) or '').split(', ') if part)
    if parts != int(found.group(1)):
        return None, f'{found.group(1)} clients are not {parts}: {line.strip()}'
    return parts, None
