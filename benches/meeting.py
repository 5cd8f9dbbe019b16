#!/usr/bin/env python3
"""What a message to a thousand members of a group costs, beside a loop that does nothing but send, Redis's channels and a chat
in Go; and how long a message to one other client takes, beside an answer to the sender.

usage: meeting.py [--members N] [--rounds N] [MODEL ...]

The servers take turns in each round; the figures are medians, and ratios to the loop in the same round. What is not installed
(redis-server, go) is left out and named. Must not know: how messages move.
"""

import argparse
import os
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'tests')]
from harness.processes import beside, free, serving, spent           # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.server import Client, Server, running                  # noqa: E402

BARE = 'bare sends'
SAYS, ASKS, TEXT = 100, 1000, b'x' * 100


def line(client):
    """The next line."""
    out = b''
    while not out.endswith(b'\n'):
        got = client.take(1)
        if not got:
            raise Failed('the connection ended')
        out += got
    return out


def broadcast(members, sender, pid, said, each):
    """µs of processor time, and µs, for a message to a member."""
    poll, left = select.epoll(), {}
    for member in members:
        member.socket.setblocking(False)
        poll.register(member.socket.fileno(), select.EPOLLIN)
    sockets = {member.socket.fileno(): member.socket for member in members}
    before, begun = spent(pid), time.monotonic()
    for _ in range(SAYS):
        sender.send(said)
        left = len(members) * each
        while left > 0:
            for fd, _ in poll.poll(60):
                left -= len(sockets[fd].recv(1 << 16))
        line(sender)
    count = SAYS * len(members)
    return (spent(pid) - before) / count * 1e6, (time.monotonic() - begun) / count * 1e6


def middle(work):
    """Its median time in µs."""
    times = []
    for _ in range(ASKS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


class Lines:
    """The lines of tests/meeting/meeting.nest, which the chat in Go has as well."""
    brought, lines = TEXT + b'\n', 1               # what a member gets of a message
    ping = b'who none\n'

    @staticmethod
    def enter(client, room):
        """Joins a room."""
        client.send(b'join ' + room + b'\n')
        line(client)

    @staticmethod
    def said(room, text):
        """A message to a room."""
        return b'say ' + room + b' ' + text + b'\n'


class Bare:
    """The loop that sends what it gets."""
    brought = TEXT + b'\n'

    @staticmethod
    def said(_room, text):
        """A message."""
        return text + b'\n'


class Redis:
    """The channels of Redis."""
    brought = b'*3\r\n$7\r\nmessage\r\n$3\r\nall\r\n$100\r\n' + TEXT + b'\r\n'
    lines = 7
    ping = b'PING\r\n'

    @staticmethod
    def enter(client, room):
        """Subscribes."""
        client.send(b'SUBSCRIBE ' + room + b'\r\n')
        for _ in range(6):
            line(client)

    @staticmethod
    def said(room, text):
        """Publishes."""
        return b'PUBLISH ' + room + b' ' + text + b'\r\n'


def figures(one, pid, talk, members, greets):
    """What a message costs and takes, at the server that listens at one.port."""
    people = []
    for _ in range(members):
        people.append(Client(one))
        if greets:
            line(people[-1])
        if hasattr(talk, 'enter'):
            talk.enter(people[-1], b'all')
    sender = Client(one)
    if greets:
        line(sender)
    costs = broadcast(people, sender, pid, talk.said(b'all', TEXT), len(talk.brought))
    if not hasattr(talk, 'enter'):
        return (*costs, None, None)
    other = Client(one)
    if greets:
        line(other)
    talk.enter(other, b'two')

    def echo():
        sender.send(talk.ping)
        line(sender)

    def message():
        sender.send(talk.said(b'two', b'x'))
        for _ in range(talk.lines):
            line(other)
        line(sender)

    answer = middle(echo)
    return (*costs, answer, middle(message))


def ours(exe, options, members):
    """Of a server that nest has built."""
    with Server([exe], clients=members + 8, options=options) as one:
        return figures(one, one.process.pid, Lines, members, True)


def announced(words, talk, members, greets):
    """Of a program that says where it listens."""
    with running(words, stdout=subprocess.PIPE) as process:
        port = int(process.stdout.readline().decode().rpartition(':')[2])
        return figures(argparse.Namespace(port=port), process.pid, talk, members, greets)


def redis(members):
    """Of Redis."""
    port = free()
    with serving(['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], port) as pid:
        return figures(argparse.Namespace(port=port), pid, Redis, members, False)


def servers(args, folder):
    """{name: what measures it}."""
    found = {}
    bare = os.path.join(folder, 'broadcast')
    run(['cc', '-O2', os.path.join(HERE, 'floors', 'broadcast.c'), '-o', bare])
    found[BARE] = lambda: announced([bare, str(args.members)], Bare, args.members, False)
    for model in args.models:
        exe = os.path.join(folder, model)
        run([program(), 'build', '--model', model, os.path.join(HERE, '..', 'tests', 'meeting', 'meeting.nest'), '-o', exe],
            CFLAGS='-O2')
        found[model] = lambda exe=exe: ours(exe, (), args.members)
        if model in ('event', 'uring'):
            found[f'{model}, 2 dispatchers'] = lambda exe=exe: ours(exe, ('dispatchers=2',), args.members)
    if shutil.which('redis-server'):
        found['Redis'] = lambda: redis(args.members)
    if shutil.which('go'):
        chat = os.path.join(folder, 'chat')
        run(['go', 'build', '-o', chat, os.path.join(HERE, 'peers', 'chat.go')])
        found['chat in Go'] = lambda: announced([chat], Lines, args.members, True)
    for name in ('redis-server', 'go'):
        if not shutil.which(name):
            print(f'{name} is not installed (scripts/setup check), so it is left out')
    return found


def main():
    """Measures, and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--members', type=int, default=1000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('models', nargs='*', default=['event', 'uring'], metavar='MODEL', help=', '.join(SOCKET_MODELS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='nest-meeting-') as folder:
        rows = servers(args, folder)
        found = {name: [] for name in rows}
        for turn in range(args.rounds):
            order = list(rows)
            for name in order[turn % len(order):] + order[:turn % len(order)]:
                found[name].append(rows[name]())
    print(f'load {os.getloadavg()[0]:.1f}, {args.members} members, {len(TEXT) + 1} bytes, {args.rounds} rounds; µs\n')
    print('| server | CPU a member | beside bare sends | time a member | echo | to another |\n|---|---:|---:|---:|---:|---:|')
    for name, rounds in found.items():
        cost, took, echo, other = (statistics.median(column) if column[0] is not None else None for column in zip(*rounds))
        ratio = beside([one[0] for one in rounds], [one[0] for one in found[BARE]])
        texts = [f'{cost:.2f}', ratio, f'{took:.2f}', *('' if one is None else f'{one:.1f}' for one in (echo, other))]
        print(f'| {name} | ' + ' | '.join(texts) + ' |')


if __name__ == '__main__':
    main()
