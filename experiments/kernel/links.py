"""Section 5.2: links of 10, 100 and 1000 Mb/s."""

from kernel import compare
from kernel.servers import ALL

CLIENTS, RATES = 64, (10, 100, 1000)
SERVERS = ('nginx', 'nest, event', 'nginx, kernel', 'nest, event, kernel')


def run(context):
    """Measures each rate and size with all servers in turns."""
    columns = {f'{rate} Mb/s, {size:,} B': (rate, size) for rate in RATES
               for size in ((2000,) if context.quick else (192, 2000, 28_000, 1_000_000))}

    def load(server, column):
        with context.net.limited(columns[column][0]):
            return context.net.load(server, server.path, context.seconds, CLIENTS)
    found, limits = compare.measure(context, [ALL[name] for name in SERVERS], {name: size for name, (_, size) in columns.items()}, load)
    return {
        'title': 'Links of 10, 100 and 1000 Mb/s',
        'paper': 'The pattern is the same on each of the three networks.',
        'method': 'Both ends of the pair have a token bucket (tc, tbf) of this rate. Where the link is the bottleneck all servers are equal; the difference is '
                  "in the work of the server's core.",
        'plots': [], 'tables': [compare.table('Answers a second:', found, columns, lambda one: one['rate']),
                                compare.table("Answers for each second that the server's core was busy:", found, columns,
                                              lambda one: one['each'])],
        'findings': [], 'limits': limits,
    }
