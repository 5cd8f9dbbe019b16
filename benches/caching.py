#!/usr/bin/env python3
"""What a command costs examples/memcached, beside Debian's memcached with one thread and with two, and beside a bare loop
that stores nothing: processor time of the server for a command, and commands a second.

usage: caching.py [--rounds N] [--seconds N] [--clients N] [--sets PERCENT] [--depth N]

The servers take turns in each round, and every figure is a ratio to memcached in the same round; printed are
the median and the range of the rounds. Must not know: how the servers work.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'tests')]
from harness.processes import free, serving, spent                   # noqa: E402
from support.nest import ROOT, SOCKET_MODELS, Failed, program, run  # noqa: E402
from support.server import Server                                    # noqa: E402



def reference(threads):
    """Debian's memcached: (commands a second, µs of processor time for one)."""
    def load(gets):
        port = free()
        words = ['memcached', '-l', '127.0.0.1', '-p', str(port), '-U', '0', '-t', str(threads),
                 *(['-u', 'root'] if os.geteuid() == 0 else [])]
        with serving(words, port) as pid:
            return gets(port, pid)
    return load


def bare(exe):
    """The same of cache/floor.c."""
    def load(gets):
        port = free()
        with serving([exe, str(port)], port) as pid:
            return gets(port, pid)
    return load


def ours(exe, loops):
    """The same of the example."""
    def load(gets):
        with Server([exe], options=(f'dispatchers={loops}',) if loops > 1 else ()) as server:
            return gets(server.port, server.process.pid)
    return load


def main():
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    for name, value in (('rounds', 7), ('seconds', 2), ('clients', 64), ('sets', 10), ('depth', 1)):
        parser.add_argument(f'--{name}', type=int, default=value)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='nest-caching-') as folder:
        client = f'{folder}/gets'
        for exe in ('gets', 'floor'):
            run(['cc', '-O2', '-std=c17', f'{HERE}/cache/{exe}.c', '-o', f'{folder}/{exe}'])

        def gets(port, pid):
            before, begun = spent(pid), time.monotonic()
            done = subprocess.run([client, str(port), str(args.clients), str(args.seconds), str(args.sets),
                                   str(args.depth)],
                                  capture_output=True, text=True, timeout=60, check=False)
            if done.returncode != 0:
                raise Failed(done.stderr)
            count = int(done.stdout)
            return count / (time.monotonic() - begun), (spent(pid) - before) / count * 1e6
        servers = {'memcached -t 1': reference(1), 'memcached -t 2': reference(2), 'bare loop': bare(f'{folder}/floor')}
        for model in ('event', 'uring'):
            if model in SOCKET_MODELS:
                exe = f'{folder}/memcached-{model}'
                run([program(), 'build', '--model', model, f'{ROOT}/examples/memcached/memcached.nest',
                     '-o', exe], CFLAGS='-O2')
                servers[model] = ours(exe, 1)
                servers[f'{model} x2'] = ours(exe, 2)
        rounds = [{name: load(gets) for name, load in servers.items()} for _ in range(args.rounds)]
    print(f'{args.clients} clients, {args.sets} of 100 commands are set, {args.depth} at a time, {args.rounds} rounds')
    print(f'{"":16} {"commands a second":>28} {"processor time for one":>30}')
    for name in servers:
        beside = 'memcached -t 2' if name.endswith('2') else 'memcached -t 1'
        for at in (0, 1):
            ratios = sorted(each[name][at] / each[beside][at] for each in rounds)
            text = f'{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})'
            print(f'{name:16} {text:>28}' if at == 0 else f' {text:>30}', end='\n' if at else '')
    print('each beside memcached with as many threads as it has loops')


main()
