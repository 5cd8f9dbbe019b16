#!/usr/bin/env python3
"""Figures for benches/record/: what an idle connection takes, what a wait of an action costs.

Prints a table. Must not know: budgets; the caller judges figures.
"""

import argparse
import os
import resource
import socket
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests'))
from support.nest import program, run        # noqa: E402
from support.server import Client, Server    # noqa: E402

FEW, MANY, ROOM = 1000, 10_000, 19_000      # as many as 20,000 descriptors allow
ROUNDS, MESSAGES = 7, 200_000


def rollup(pid, what):
    """Bytes of a process."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
        for line in file:
            if line.startswith(what + ':'):
                return int(line.split()[1]) * 1024
    raise KeyError(what)


def kernel():
    """Bytes in the kernel's caches of objects for sockets, files and polling."""
    names = ('TCP', 'sock_inode_cache', 'filp', 'dentry', 'eventpoll_epi', 'eventpoll_pwq',
             'tcp_bind_bucket', 'lsm_file_cache', 'skbuff_head_cache')
    total = 0
    try:
        with open('/proc/slabinfo', encoding='ascii') as file:
            for line in file:
                fields = line.split()
                if fields[0] in names:
                    total += int(fields[1]) * int(fields[3])
    except PermissionError:
        return None
    return total


def connect(port, number):
    """A connection from one of several addresses, so that ports suffice."""
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_IP, 24, 1)     # IP_BIND_ADDRESS_NO_PORT
    client.bind((f'127.0.0.{2 + number % 8}', 0))
    client.connect(('127.0.0.1', port))
    return client


def idle(server):
    """[(connections, Pss, kernel)], each after every connection has had an answer and rests."""
    clients, out = [], []
    for count in (FEW, MANY):
        while len(clients) < count:
            client = connect(server.port, len(clients))
            client.sendall(b'PING\n')
            if client.recv(16) != b'PONG\n':
                sys.exit('figures: a reply differs')
            clients.append(client)
        time.sleep(1)
        out.append((count, sum(rollup(pid, 'Pss') for pid in server.family()), kernel()))
    return out


def exchange(binary, folder, first):
    """Nanoseconds of processor time for an exchange, by a script."""
    script = os.path.join(folder, 'script')
    with open(script, 'w', encoding='ascii') as file:
        file.write('open 1\n' + (f'in 1 "{first}\\n"\n' if first else ''))
        file.write('in 1 "A\\n"\n' * MESSAGES)
    with open(script, 'rb') as text, open(os.devnull, 'wb') as nowhere:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        pid = os.posix_spawn(binary, [binary], os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, text.fileno(), 0), (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)])
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit('figures: the script failed')
        return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / MESSAGES * 1e9


def pings(server, first, count):
    """Nanoseconds of the server's processor time for an exchange over a socket."""
    def spent():
        with open(f'/proc/{server.family()[-1]}/schedstat', encoding='ascii') as file:
            return int(file.read().split()[0])
    with Client(server) as client:
        if first:
            client.send(first)
        for _ in range(100):
            client.send(b'A\n')
            client.expect(b'a\n')
        before = spent()
        for _ in range(count):
            client.send(b'A\n')
            client.expect(b'a\n')
        return (spent() - before) / count


def show(what, values):
    """A line of the table: the least of several, their median."""
    print(f'| {what} | {min(values):.0f} | {statistics.median(values):.0f} |')


def main():
    """Measures."""
    parser = argparse.ArgumentParser(description='Measures what benches/record/ records.')
    parser.add_argument('--only', choices=['idle', 'door'])
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    nest = program()
    with open('/proc/loadavg', encoding='ascii') as file:
        print(f'Load {file.read().split()[0]}.\n')
    with tempfile.TemporaryDirectory(prefix='nest-figures-') as folder:
        def build(name, model):
            binary = os.path.join(folder, f'{name}-{model}')
            run([nest, 'build', os.path.join(HERE, name + '.nest'), '--model', model, '-o', binary])
            return binary

        if options.only in (None, 'idle'):
            print('| an idle connection, event | bytes |\n|---|---|')
            with Server([build('idle', 'event')], clients=ROOM) as server:
                (few, small, under), (many, large, above) = idle(server)
                print(f'| of the process (Pss, {few} to {many}) | '
                      f'{(large - small) / (many - few):.0f} |')
                if under is not None:
                    print(f'| of the kernel, both ends | {(above - under) / (many - few):.0f} |')
                print(f'| of the process before the first | {small / 1024:.0f} KB at {few} |\n')
        if options.only in (None, 'door'):
            print('| an exchange, ns of processor time | least | median |\n|---|---|---|')
            script, event = build('door', 'script'), build('door', 'event')
            found = {kind: [] for kind in ('read', 'wait', 'sread', 'swait')}
            for _ in range(ROUNDS):
                found['read'].append(exchange(script, folder, ''))
                found['wait'].append(exchange(script, folder, 'WAIT'))
                with Server([event], clients=16) as server:
                    found['sread'].append(pings(server, b'', 5000))
                    found['swait'].append(pings(server, b'WAIT\n', 5000))
            show('script, decided at a read point', found['read'])
            show('script, read by an action that waits', found['wait'])
            show('event, decided at a read point', found['sread'])
            show('event, read by an action that waits', found['swait'])


if __name__ == '__main__':
    main()
