"""Loads: wrk, connections that are held, a client that comes rarely.

Must not know: which servers there are.
"""

import contextlib
import os
import re
import select
import socket
import statistics
import subprocess
import sys
import time
from common import processes
from common.processes import Failed

HERE = os.path.dirname(os.path.abspath(__file__))


class Stuck(Failed):
    """wrk does not end, as when its connections are not accepted."""


def wrk(url, seconds, connections=16, close=True, script='', arguments=()):
    """(answers, answers a second, bytes a second) of wrk; each connection brings one request if `close`."""
    words = ['wrk', '-t1', f'-c{connections}', f'-d{seconds}s', '--timeout', '30s']
    words += ['-H', 'Connection: close'] if close else []
    words += ['-s', script] if script else []
    process = processes.start([*words, url, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    try:
        said, errors = process.communicate(timeout=seconds + 20)
    except subprocess.TimeoutExpired:
        raise Stuck('wrk does not end') from None
    finally:
        processes.end(process)
    found = re.search(r'(\d+) requests in ([\d.]+)(m?s|m),', said)
    if process.returncode or not found:
        raise Failed(f'wrk: {errors or said}')
    bad = re.search(r'Non-2xx or 3xx responses: (\d+)', said)
    count = int(found[1]) - (int(bad[1]) if bad else 0)
    took = float(found[2]) * {'ms': .001, 's': 1, 'm': 60}[found[3]]
    size = re.search(r'([\d.]+)(\w?B) read', said)
    read = float(size[1]) * {'B': 1, 'KB': 2**10, 'MB': 2**20, 'GB': 2**30}[size[2]] if size else 0
    return count, count / took, read / took


def measured(server, seconds, **more):
    """wrk on a server: answers and bytes a second, and CPU microseconds an answer of all its processes."""
    before = server.cpu()
    path = more.pop('path', '/100')
    try:
        count, rate, read = wrk(server.url(path), seconds, **more)
    except Stuck:
        if fetch(server, path, wait=2) is not None:
            raise
        return {'rate': 0.0, 'bytes': 0.0, 'cpu': None}     # another client gets no answer either
    used = server.cpu() - before
    return {'rate': rate, 'bytes': read, 'cpu': used / 1000 / count if count else None}


def in_turns(servers, rounds, measure):
    """[[measure(server) for each round] for each server], in turns: A, B, A, B, …"""
    results = [[] for _ in servers]
    for _ in range(rounds):
        for server, values in zip(servers, results):
            values.append(measure(server))
    return results


def median(values):
    """The median of what is there; None if nothing is."""
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def ratio(first, second):
    """The median of the paired ratios first / second; None if there is none."""
    return median([a / b for a, b in zip(first, second) if a is not None and b])


def text(value):
    """A ratio in a sentence."""
    return 'no measured share' if value is None else f'{value:.2f}'


def percentile(values, share):
    """A percentile of a list that is not empty."""
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


class Holder:
    """Connections that are held open by a process; a context manager."""

    def __init__(self, server, network='127.1.0', request=''):
        self.process = processes.start(
            [sys.executable, os.path.join(HERE, 'attacker.py'), str(server.port), network, request],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hold(self, number):
        """(connections that are held, connections that the server has ended)."""
        self.process.stdin.write(b'%d\n' % number)
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 120)[0]:
            raise Failed('the attacker does not answer')
        return tuple(map(int, self.process.stdout.readline().split()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.end(self.process)


def fetch(server, path, address='127.0.0.1', wait=5):
    """Milliseconds until a request on a connection of its own is answered; None if it is not."""
    begin = time.perf_counter()
    with socket.socket() as s, contextlib.suppress(OSError):
        s.settimeout(wait)
        s.bind((address, 0))
        s.connect(('127.0.0.1', server.port))
        s.sendall(f'GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'.encode())
        got = s.recv(65536)
        if got.startswith(b'HTTP/1.1 200'):
            while s.recv(65536):
                pass
            return (time.perf_counter() - begin) * 1000
    return None
