"""Section 5.1.1: more clients than can be served, as a trial of receive livelock."""

from kernel import compare
from kernel.servers import ALL

SIZE = 2000
SERVERS = ('nginx', 'nest, event', 'nest, uring', 'nginx, kernel', 'nest, event, kernel')


def run(context):
    """Measures each number of clients with all servers in turns."""
    numbers = {f'{n:,} clients': n for n in ((64, 1024) if context.quick else (1, 16, 64, 256, 1024, 1900))}
    found, limits = compare.measure(context, [ALL[name] for name in SERVERS], dict.fromkeys(numbers, SIZE), lambda server, column:
                                    context.net.load(server, server.path, context.seconds, numbers[column]))
    return {
        'title': 'One client to many: overload',
        'paper': 'A server may become slower and slower for all clients until it seems to be locked up, "receive livelock"; it was not measured.',
        'method': f'wrk asks for a file of {SIZE:,} bytes on connections that stay open, each client again as soon as it has its answer.',
        'plots': [compare.plot('clients', 'Requests a second by clients', 'clients', 'a second', found, numbers, lambda one: one['rate'],
                               **{'log x': True})],
        'tables': [compare.table('Answers a second:', found, numbers, lambda one: one['rate']),
                   compare.table('Latency at the median, ms:', found, numbers, lambda one: 1000 * one['half']),
                   compare.table('Latency at the 99th percentile, ms:', found, numbers, lambda one: 1000 * one['most'])],
        'findings': compare.gains(found, numbers),
        'limits': [*limits, 'Clients that send more than they get answers for: wrk waits for each answer.'],
    }
