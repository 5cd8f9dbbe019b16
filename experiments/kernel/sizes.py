"""Section 5.2, comparison: answers and bytes a second by the size of the file, on connections that stay open."""

from kernel import compare
from kernel.servers import ALL, LOOP, SIZES

CLIENTS = 64


def run(context):
    """Measures each size with all servers in turns."""
    sizes = {f'{size:,} B': size for size in ((192, 2000, 28_000) if context.quick else SIZES)}
    found, limits = compare.measure(context, [LOOP, *ALL.values()], sizes, lambda server, _: context.net.load(
        server, server.path, context.seconds, CLIENTS))

    def throughput(size):
        return {label: {size: {'MB': by[size]['rate'] * sizes[size] / 1e6}} for label, by in found.items() if size in by}
    megabytes = {label: {} for label in found}
    for size in sizes:
        for label, by in throughput(size).items():
            megabytes[label].update(by)
    return {
        'title': 'Requests and throughput by size of the file',
        'paper': 'For small files kernel mode web servers on Linux (TUX, kHTTPd) answer 50 to 75 % more requests a second than servers in user '
                 'mode, the prototype on Windows 200 to 300 % more than servers in user mode there; for bigger files 0 to 25 %. Throughput of small and '
                 'medium files is 25 to 50 % higher on Linux, 100 to 200 % on Windows.',
        'method': f'wrk with {CLIENTS} connections that stay open asks for one file; no limit on the link. "An answer for each busy second" divides by the '
                  "time that the server's core worked, for processes and for the network, whichever of the two sides is the bottleneck.",
        'plots': [compare.plot('requests', 'Requests a second', 'bytes', 'a second', found, sizes, lambda one: one['rate'], **{'log x': True}),
                  compare.plot('throughput', 'Throughput', 'bytes', 'MB a second', megabytes, sizes, lambda one: one['MB'], **{'log x': True})],
        'tables': [compare.table('Answers a second:', found, sizes, lambda one: one['rate']),
                   compare.table("Answers for each second that the server's core was busy:", found, sizes, lambda one: one['each']),
                   compare.table('MB a second:', megabytes, sizes, lambda one: one['MB'])],
        'findings': compare.gains(found, sizes),
        'limits': [*limits, 'The kernel part without a server behind it: a connection needs a server that accepts it.'],
    }
