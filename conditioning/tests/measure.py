#!/usr/bin/env python3
"""What a connection and a hop cost: CPU time of the server and of all filters, by the scheduler's count.

    tests/measure.py [--rounds 15] [--seconds 1] [--clients 16] [--beside FOLDER] [--only hops|nginx]

Each connection brings one request and gets 100 bytes; wrk makes them. All servers run at the same time,
and a round measures one after the other; the tables have medians over the rounds. With --beside, another version of this folder
is measured in turns with this one. nginx is an unmodified server behind cc-condition.
"""

import argparse
import contextlib
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As cc_createlsock takes them: the last one accepts.
CHAINS = {'accept(2)': [], 'pass': ['pass'], '3 x pass': ['pass'] * 3, '5 x pass': ['pass'] * 5,
          'request': ['request'], 'request, pass': ['pass', 'request'],
          'request, 2 x slowread': ['slowread,of=100000'] * 2 + ['request'],
          'request, priority': ['priority', 'request'],
          'request, persist, check, priority': ['priority', 'check', 'persist', 'request']}
# As cc-condition takes them.
FRONTS = {'nginx': None, 'nginx behind pass': ['pass'], 'nginx behind request': ['request'],
          'nginx behind request, pass': ['request', 'pass']}
NGINX = '''daemon off; worker_processes 1; pid {place}/{port}.pid; error_log /dev/null; events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_timeout 0; server {{ listen {port} backlog=1024; location / {{ return 200 "{body}"; }} }} }}
'''


def build(top):
    """Builds a version without sanitizers; the folder of its programs."""
    place = os.path.join(top, 'build/measure')
    subprocess.run(['make', '-s', '-C', top, f'BUILD={place}'], check=True)
    subprocess.run(['cc', '-std=c17', '-O2', '-I', f'{top}/libcc', f'{top}/tests/bench.c',
                    f'{place}/libcc.a', '-pthread', '-o', f'{place}/bench'], check=True)
    return place


def below(pid):
    """The process and all processes below it."""
    found = [pid]
    for at in found:
        try:
            with open(f'/proc/{at}/task/{at}/children', encoding='ascii') as file:
                found += map(int, file.read().split())
        except OSError:
            continue
    return found


def family(session, process):
    """The processes of this measurement: the server, cc-chain and its filters."""
    found = set(below(process))
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                if f'CC_MEASURE={session}'.encode() in file.read().split(b'\0'):
                    found.add(int(pid))
        except OSError:
            continue
    return found


def cpu(pids):
    """Nanoseconds that the processes have run."""
    total = 0
    for pid in pids:
        with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
            total += int(file.read().split()[0])
    return total


class Running:
    """A server and its filters, which run as long as the whole measurement."""

    def __init__(self, command, port, place):
        self.port = port
        session = f'{os.getpid()}-{time.monotonic_ns()}'
        self.process = subprocess.Popen(command, env={**os.environ, 'CC_LIBEXEC': f'{place}/libexec', 'CC_MEASURE': session})
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), 5) as probe:
                probe.sendall(b'GET / HTTP/1.0\r\n\r\n')
                if probe.recv(100):
                    break
            time.sleep(0.02)
        self.pids = family(session, self.process.pid)

    def measure(self, args):
        """(CPU microseconds a connection, connections a second)."""
        load = ['wrk', '-t1', f'-c{args.clients}', '-H', 'Connection: close', f'-d{args.seconds}', f'http://127.0.0.1:{self.port}/']
        before = cpu(self.pids)
        said = subprocess.run(load, check=True, capture_output=True, text=True).stdout
        used = cpu(self.pids) - before
        return used / 1000 / int(re.search(r'(\d+) requests in', said)[1]), float(re.search(r'Requests/sec: *([\d.]+)', said)[1])

    def close(self):
        """Ends it."""
        for pid in below(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def commands(place, folder, which):
    """{name: the command of its server at a port}."""
    def nginx(port):
        path = os.path.join(folder, f'{port}.conf')
        with open(path, 'w', encoding='ascii') as file:
            file.write(NGINX.format(place=folder, port=port, body='x' * 100))
        return ['nginx', '-c', path]

    def front(filters):
        words = [word for name in filters or [] for word in ('--filter', name)]
        return lambda port: [*([f'{place}/cc-condition', *words, '--'] if words else []), *nginx(port)]

    def bench(filters):
        return lambda port: [f'{place}/bench', str(port), *filters]

    hops = {name: bench(filters) for name, filters in CHAINS.items()}
    return {**(hops if which != 'nginx' else {}),
            **({name: front(filters) for name, filters in FRONTS.items()} if which != 'hops' else {})}


def difference(results, name, other, hops=1):
    """What one server takes less than the other, by round, in each of so many hops."""
    return [(b[0] - a[0]) / hops for a, b in zip(results[name], results[other])]


DIFFERENCES = [('a hop, of 1 to 3', 'pass', '3 x pass', 2), ('a hop, of 1 to 5', 'pass', '5 x pass', 4),
               ('a hop of slowread', 'request', 'request, 2 x slowread', 2),
               ('the first filter, pass', 'accept(2)', 'pass', 1), ('the first filter, request', 'accept(2)', 'request', 1),
               *((f'{name}, above the bare server', 'nginx', name, 1) for name in FRONTS if FRONTS[name])]


def row(values):
    """Median, and least to most."""
    return f'{statistics.median(values):.1f} | {min(values):.1f} to {max(values):.1f}'


def show(all_results):
    """Prints the tables; of two versions, the older one's first."""
    versions = list(all_results)
    head = ''.join(f' {v}: CPU µs a connection | least to most | connections a second |' for v in versions)
    print(f'| |{head}\n|---|{"---:|---|---:|" * len(versions)}')
    for name in all_results[versions[0]]:
        cells = [f'{row([v[0] for v in all_results[v_][name]])} | '
                 f'{statistics.median(v[1] for v in all_results[v_][name]):.0f}' for v_ in versions]
        print(f'| {name} | {" | ".join(cells)} |')
    ratio = ' ratio of the medians |' if len(versions) > 1 else ''
    print('\n| paired within a round |' + ''.join(f' {v}: µs | least to most |' for v in versions) + ratio)
    print('|---|' + '---:|---|' * len(versions) + '---:|' * bool(ratio))
    for text, name, other, hops in DIFFERENCES:
        if name not in all_results[versions[0]]:
            continue
        values = [difference(all_results[v], name, other, hops) for v in versions]
        middle = [statistics.median(v) for v in values]
        print(f'| {text} | {" | ".join(map(row, values))} |' + (f' {middle[-1] / middle[0]:.2f} |' if ratio else ''))


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=int, default=1)
    parser.add_argument('--clients', type=int, default=16)
    parser.add_argument('--beside')
    parser.add_argument('--only', choices=['hops', 'nginx'])
    args = parser.parse_args()
    tops = {'before': os.path.abspath(args.beside), 'now': TOP} if args.beside else {'now': TOP}
    loads, port = [], 20000 + os.getpid() % 9000
    results, running = {version: {} for version in tops}, []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        found = {version: (place := build(top), commands(place, folder, args.only)) for version, top in tops.items()}
        for name in next(iter(found.values()))[1]:
            for version, (place, servers) in found.items():
                port += 1
                one = Running(servers[name](port), port, place)
                stack.callback(one.close)
                running.append((one, results[version].setdefault(name, [])))
        for number in range(args.rounds):
            for one, values in running[::-1 if number % 2 else 1]:    # none is always the first of two
                values.append(one.measure(args))
            loads.append(os.getloadavg()[0])
    print(f'Load average {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} processors, '
          f'{args.rounds} rounds of {args.seconds} s, {args.clients} clients\n')
    show(results)


if __name__ == '__main__':
    main()
