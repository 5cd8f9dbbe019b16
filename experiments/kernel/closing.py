"""Section 5.2, as its client measured: one request a connection."""

from kernel import compare
from kernel.servers import ALL

CLIENTS = 64


def run(context):
    """Measures with all servers in turns."""
    sizes = {f'{size:,} B': size for size in ((2000,) if context.quick else (192, 2000, 28_000))}
    found, limits = compare.measure(context, ALL.values(), sizes, lambda server, _: context.net.load(
        server, server.path, context.seconds, CLIENTS, '-H', 'Connection: close'))
    return {
        'title': 'One request a connection',
        'paper': 'Its diagrams were measured by httperf, which opens a connection for each request; their numbers are not in its text.',
        'method': f'wrk with {CLIENTS} clients, each of which says "Connection: close" and opens the next connection.',
        'plots': [], 'tables': [compare.table('Answers a second:', found, sizes, lambda one: one['rate']),
                                compare.table("Answers for each second that the server's core was busy:", found, sizes,
                                              lambda one: one['each'])],
        'findings': compare.gains(found, sizes),
        'limits': limits,
    }
