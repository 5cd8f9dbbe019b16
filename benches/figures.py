#!/usr/bin/env python3
"""Figures for benches/record/: what an idle connection takes, what a wait of an action costs, and many of them.

Prints a table. Must not know: budgets; the caller judges figures.
"""

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests'))
from support.nest import program, run        # noqa: E402
from support.server import Client, Server    # noqa: E402

FEW, MANY, ROOM = 1000, 10_000, 19_000      # as many as 20,000 descriptors allow
WAITING, CONVERSATIONS, TALK = 15_000, 100_000, 3
ROUNDS, MESSAGES = 7, 200_000
LOOPS = ('event', 'uring')


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


def ticks(pid):
    """Nanoseconds of processor time that a process has taken."""
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0])


def waits_for(pid):
    """The function of the kernel in which a process sleeps."""
    with open(f'/proc/{pid}/wchan', encoding='ascii') as file:
        return file.read().replace('anon_', '')


def spent(server):
    """The same of a server's worker."""
    return ticks(server.family()[-1])


def pings(server, first, count):
    """Nanoseconds of the server's processor time for an exchange over a socket."""
    with Client(server) as client:
        if first:
            client.send(first)
        for _ in range(100):
            client.send(b'A\n')
            client.expect(b'a\n')
        before = spent(server)
        for _ in range(count):
            client.send(b'A\n')
            client.expect(b'a\n')
        return (spent(server) - before) / count


def waiting(server):
    """(bytes of a connection whose action waits, ns of processor time for an exchange of one of them), all waiting."""
    clients = [connect(server.port, number) for number in range(FEW)]

    def exchanges(of):
        for client in of:
            client.sendall(b'A\n')
            if client.recv(16) != b'a\n':
                sys.exit('figures: a reply differs')

    def all_wait():
        for client in clients:
            client.sendall(b'WAIT\n')
        exchanges(clients)
        return sum(rollup(pid, 'Pss') for pid in server.family())

    small = all_wait()
    many = [connect(server.port, number) for number in range(FEW, WAITING)]
    for client in many:
        client.sendall(b'WAIT\n')
    exchanges(many)
    large = sum(rollup(pid, 'Pss') for pid in server.family())
    before = spent(server)
    for _ in range(TALK):
        exchanges(many)
    return (large - small) / len(many), (spent(server) - before) / (TALK * len(many))


def conversations(binary, first):
    """The same of a script's conversations; `first`: what each begins with."""
    with open(os.devnull, 'wb') as nowhere, \
            subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=nowhere) as process:
        def write(lines):
            process.stdin.write(''.join(lines).encode())
            process.stdin.flush()
            # It has read all and waits for more.
            while waits_for(process.pid) != 'pipe_read':
                time.sleep(0.01)

        def of_all(line):
            write(f'in {number} "{line}\\n"\n' for number in range(1, CONVERSATIONS + 1))

        write('open 1\n')
        small = rollup(process.pid, 'Pss')
        write(f'open {number}\n' for number in range(2, CONVERSATIONS + 1))
        if first:
            of_all(first)
        of_all('A')
        large, before = rollup(process.pid, 'Pss'), ticks(process.pid)
        for _ in range(TALK):
            of_all('A')
        each = (ticks(process.pid) - before) / (TALK * CONVERSATIONS)
        process.stdin.close()
        if process.wait() != 0:
            sys.exit('figures: the script failed')
    return (large - small) / CONVERSATIONS, each


def show(what, values):
    """A line of the table: the least of several, their median."""
    print(f'| {what} | {min(values):.0f} | {statistics.median(values):.0f} |')


def held(what, each, exchange_ns, switches=True):
    """A line of the table of many; an exchange is a switch to the action and one back."""
    rate = f'{2e9 / exchange_ns:,.0f}' if switches else '-'
    print(f'| {what} | {each:,.0f} | {exchange_ns:,.0f} | {rate} |')


def main():
    """Measures."""
    parser = argparse.ArgumentParser(description='Measures what benches/record/ records.')
    parser.add_argument('--only', choices=['idle', 'door', 'waiting'])
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

        for model in LOOPS if options.only in (None, 'idle') else ():
            print(f'| an idle connection, {model} | bytes |\n|---|---|')
            with Server([build('idle', model)], clients=ROOM) as server:
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
        if options.only in (None, 'waiting'):
            print('\n| connections, all inside an action that waits | bytes of each | ns of an exchange '
                  '| switches a second |\n|---|---|---|---|')
            for model in LOOPS:
                with Server([build('door', model)], clients=WAITING + 1000) as server:
                    held(f'{model}, {WAITING:,} sockets', *waiting(server))
            for first in 'WAIT', '':
                held(f'script, {CONVERSATIONS:,} conversations' + ('' if first else ', none waits'),
                     *conversations(build('door', 'script'), first), switches=bool(first))


if __name__ == '__main__':
    main()
