#!/usr/bin/env python3
"""What a connection and a hop cost: CPU time of the server and of all filters, by the scheduler's count.

    tests/measure.py [--rounds 5] [--seconds 2]

Each connection brings one request and gets 100 bytes; wrk makes them. A round measures all chains one
after the other; the table has medians over the rounds, and the slope over chains of 1 to 3 hops.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, 'build/measure')
# As cc_createlsock takes them: the last one accepts.
CHAINS = {'accept(2)': [], 'pass': ['pass'], '2 x pass': ['pass'] * 2, '3 x pass': ['pass'] * 3,
          'request': ['request'], 'request, pass': ['pass', 'request'],
          'request, priority': ['priority', 'request'],
          'request, persist, check, priority': ['priority', 'check', 'persist', 'request']}


def build():
    """Builds without sanitizers."""
    subprocess.run(['make', '-s', '-C', TOP, f'BUILD={BUILD}'], check=True)
    subprocess.run(['cc', '-std=c17', '-O2', '-I', f'{TOP}/libcc', f'{TOP}/tests/bench.c',
                    f'{BUILD}/libcc.a', '-pthread', '-o', f'{BUILD}/bench'], check=True)


def family(session):
    """The processes of this measurement: the server, cc-chain and its filters."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                if f'CC_MEASURE={session}'.encode() in file.read().split(b'\0'):
                    found.append(int(pid))
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


def measure(filters, seconds, port):
    """(CPU microseconds a connection, connections a second) of one chain."""
    session = f'{os.getpid()}-{time.monotonic_ns()}'
    server = subprocess.Popen([f'{BUILD}/bench', str(port), *filters],
                              env={**os.environ, 'CC_LIBEXEC': f'{BUILD}/libexec', 'CC_MEASURE': session})
    try:
        time.sleep(0.4)
        load = ['wrk', '-t1', '-c16', '-H', 'Connection: close', f'http://127.0.0.1:{port}/']
        subprocess.run([*load, '-d1'], check=True, capture_output=True)
        pids = family(session)
        before = cpu(pids)
        said = subprocess.run([*load, f'-d{seconds}'], check=True, capture_output=True, text=True).stdout
        used = cpu(pids) - before
        count = int(re.search(r'(\d+) requests in', said)[1])
        return used / 1000 / count, float(re.search(r'Requests/sec: *([\d.]+)', said)[1])
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=int, default=2)
    args = parser.parse_args()
    build()
    results, port = {name: [] for name in CHAINS}, 20000 + os.getpid() % 9000
    loads = []
    for _ in range(args.rounds):
        for name, filters in CHAINS.items():
            port += 1
            results[name].append(measure(filters, args.seconds, port))
        loads.append(os.getloadavg()[0])
    print(f'Load average {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} processors, '
          f'{args.rounds} rounds of {args.seconds} s\n')
    print('| filters | CPU µs a connection | least to most | connections a second |\n|---|---:|---|---:|')
    for name, values in results.items():
        used = [v[0] for v in values]
        print(f'| {name} | {statistics.median(used):.1f} | {min(used):.1f} to {max(used):.1f} | '
              f'{statistics.median(v[1] for v in values):.0f} |')
    least = {name: min(v[0] for v in values) for name, values in results.items()}
    hops = [(b[0] - a[0]) / 2 for a, b in zip(results['pass'], results['3 x pass'])]
    first = [b[0] - a[0] for a, b in zip(results['accept(2)'], results['pass'])]
    print(f'\nA hop (from 1 to 3, paired): median {statistics.median(hops):.1f} µs, '
          f'{min(hops):.1f} to {max(hops):.1f}; between the least values '
          f'{(least["3 x pass"] - least["pass"]) / 2:.1f} µs.\nThe first filter: median '
          f'{statistics.median(first):.1f} µs; between the least values '
          f'{least["pass"] - least["accept(2)"]:.1f} µs.')


if __name__ == '__main__':
    main()
