"""Section 5.2, last diagrams: an anti-virus filter that looks at each file that is opened."""

import os
import subprocess
from common import processes
from common.processes import Failed
from kernel import compare, network
from kernel.servers import ALL, REOPENS

CLIENTS = 64
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'scanner.c')


def scanner(context):
    """The program, compiled once."""
    output = os.path.join(context.folder, 'scanner')
    if not os.path.exists(output):
        network.run('cc', '-O2', '-Wall', '-Wextra', '-o', output, SOURCE)
    return output


def run(context):
    """Measures each size with and without the filter, all servers in turns."""
    columns = {f'{size:,} B{more}': (size, more) for size in ((2000,) if context.quick else (192, 2000, 28_000, 1_000_000))
               for more in ('', ', filter')}
    rows = [REOPENS, ALL['nest, event'], ALL['nginx, kernel']]

    def load(server, column):
        if not columns[column][1]:
            return context.net.load(server, server.path, context.seconds, CLIENTS)
        watch = processes.start([scanner(context), server.site], cores={network.SERVER_CORE}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if not watch.stdout.readline():
                raise Failed(watch.stderr.read().strip() or 'the filter does not start')
            return context.net.load(server, server.path, context.seconds, CLIENTS)
        finally:
            processes.end(watch)
    found, limits = compare.measure(context, rows, {name: size for name, (size, _) in columns.items()}, load)
    said = [f'{label}, {column}: with the filter {by[column + ", filter"]["rate"] / by[column]["rate"]:.2f} of the answers without.'
            for label, by in found.items() for column in by if column + ', filter' in by]
    return {
        'title': 'A filter that looks at files',
        'paper': 'An anti-virus filter may cost 25 % for small files, less for bigger ones.',
        'method': 'A program with a permission event of fanotify for each open of a file in the folder ([scanner.c](kernel/scanner.c)) reads the first 4 KB of '
                  "the file and allows it, on the server's core. nginx does not keep its files open here, so it opens one for each request.",
        'plots': [], 'tables': [compare.table('Answers a second:', found, columns, lambda one: one['rate'])],
        'findings': said, 'limits': limits,
    }

