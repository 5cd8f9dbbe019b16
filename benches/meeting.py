#!/usr/bin/env python3
"""What a message to a thousand members of a group costs, beside a loop that does nothing but send; and how long
a message to one other client takes, beside an answer to the sender.

usage: meeting.py [--members N] [--rounds N] [MODEL ...]

The servers take turns in each round; the figure is the median. Must not know: how messages move.
"""

import argparse
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests'))
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.server import Client, Server, running, used                  # noqa: E402

SAYS, ASKS, TEXT = 40, 1000, b'x' * 100


def line(client):
    """The next line."""
    out = b''
    while not out.endswith(b'\n'):
        got = client.take(1)
        if not got:
            raise Failed('the connection ended')
        out += got
    return out


def broadcast(members, sender, pids, said, each):
    """µs of processor time, and µs, for a message to a member."""
    poll, left = select.epoll(), {}
    for member in members:
        member.socket.setblocking(False)
        poll.register(member.socket.fileno(), select.EPOLLIN)
    sockets = {member.socket.fileno(): member.socket for member in members}
    before, begun = used(pids), time.monotonic()
    for _ in range(SAYS):
        sender.send(said)
        left = len(members) * each
        while left > 0:
            for fd, _ in poll.poll(60):
                left -= len(sockets[fd].recv(1 << 16))
        line(sender)
    count = SAYS * len(members)
    return (used(pids) - before) / count * 1e6, (time.monotonic() - begun) / count * 1e6


def middle(work):
    """Its median time in µs."""
    times = []
    for _ in range(ASKS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


def server(exe, options, members):
    """The figures of a server."""
    with Server([exe], clients=members + 8, options=options) as one:
        people = []
        for _ in range(members):
            people.append(Client(one))
            line(people[-1])
            people[-1].send(b'join all\n')
            line(people[-1])
        sender, other = Client(one), Client(one)
        for client in sender, other:
            line(client)
            client.send(b'join two\n')
            line(client)
        figures = broadcast(people, sender, one.family(), b'say all ' + TEXT + b'\n', len(TEXT) + 1)

        def echo():
            sender.send(b'who none\n')
            line(sender)

        def message():
            sender.send(b'say two x\n')
            line(other)
            line(sender)

        answer = middle(echo)
        return (*figures, answer, middle(message))


def floor(exe, members):
    """The figures of the loop."""
    with running([exe, str(members)], stdout=subprocess.PIPE) as process:
        port = int(process.stdout.readline().decode().rpartition(':')[2])

        class Port:
            """Where it listens."""
        Port.port = port
        people = [Client(Port) for _ in range(members)]
        return (*broadcast(people, Client(Port), [process.pid], TEXT + b'\n', len(TEXT) + 1), None, None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--members', type=int, default=1000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('models', nargs='*', default=['event', 'uring'])
    args = parser.parse_args()
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-meeting-') as folder:
        bare = os.path.join(folder, 'broadcast')
        run(['cc', '-O2', os.path.join(HERE, 'floors', 'broadcast.c'), '-o', bare])
        rows = {'bare sends': lambda: floor(bare, args.members)}
        for model in args.models:
            if model not in SOCKET_MODELS:
                sys.exit(f'there is no model {model}')
            exe = os.path.join(folder, model)
            run([nest, 'build', '--model', model, os.path.join(HERE, '..', 'tests', 'meeting', 'meeting.nest'),
                 '-o', exe], CFLAGS='-O2')
            rows[model] = lambda exe=exe: server(exe, (), args.members)
            if model in ('event', 'uring'):
                rows[f'{model}, 2 dispatchers'] = lambda exe=exe: server(exe, ('dispatchers=2',), args.members)
        found = {name: [] for name in rows}
        for _ in range(args.rounds):
            for name, work in rows.items():
                found[name].append(work())
    print(f'load {os.getloadavg()[0]:.1f}, {args.members} members, {len(TEXT) + 1} bytes, {args.rounds} rounds; µs')
    print(f'{"":24}{"CPU a member":>14}{"time a member":>15}{"echo":>8}{"to another":>12}')
    for name, figures in found.items():
        columns = [[f for f in column if f is not None] for column in zip(*figures)]
        texts = [f'{statistics.median(column):.2f}' if column else '' for column in columns]
        print(f'{name:24}{texts[0]:>14}{texts[1]:>15}{texts[2]:>8}{texts[3]:>12}')


if __name__ == '__main__':
    main()
