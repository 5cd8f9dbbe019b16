"""Section 5.1.1: many connections at the same time, most of them idle."""

import os
import subprocess
from common import processes
from common.processes import Failed
from kernel import compare
from kernel.servers import ALL

CLIENTS, SIZE = 16, 2000
SERVERS = ('nginx', 'nest, event', 'nest, uring', 'nginx, kernel', 'nest, event, kernel')
HOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'holder.py')


def run(context):
    """Measures each number of idle connections with all servers in turns."""
    numbers = {f'{n:,} idle': n for n in ((0, 1000) if context.quick else (0, 100, 1000, 1900))}

    def load(server, column):
        words = context.net.asking(['python3', HOLDER, server.address, str(server.port), server.path, str(numbers[column])])
        holder = processes.start(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            if not holder.stdout.readline():
                raise Failed('it does not serve so many connections')
            one = context.net.load(server, server.path, context.seconds, CLIENTS)
            if holder.poll() is not None:
                raise Failed('idle connections were closed')
            return one
        finally:
            processes.end(holder)
    found, limits = compare.measure(context, [ALL[name] for name in SERVERS], dict.fromkeys(numbers, SIZE), load)
    return {
        'title': 'Idle connections',
        'paper': '"Even idle connections could impose a load on the server"; it was not measured.',
        'method': f'{CLIENTS} clients of wrk ask for a file of {SIZE:,} bytes, beside connections that have asked once and then wait.',
        'plots': [], 'tables': [compare.table('Answers a second:', found, numbers, lambda one: one['rate']),
                                compare.table('Latency at the 99th percentile, ms:', found, numbers, lambda one: 1000 * one['most'])],
        'findings': [], 'limits': limits,
    }
