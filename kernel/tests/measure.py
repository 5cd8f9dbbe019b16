#!/usr/bin/env python3
"""Requests per second of nginx alone, nginx behind the kernel, and a minimal loop with epoll, in turns.

    measure.py [--rounds N] [--seconds N] [--sent plain|chrome|cookie]      prints a table for benches/record/

With `--sent chrome` each request has the fields with which Chrome asks for a page; with `--sent cookie` it also has a
cookie, so the kernel leaves it to the server. The network, the servers and the load are those of experiments/kernel.

Must not know: what is fast.
"""

import argparse
import os
import sys
import tempfile

import browsers
from accelerated import NEST, ROOT, lacks

sys.path.insert(0, os.path.join(ROOT, 'experiments'))
from common import processes                    # noqa: E402
from kernel import compare, network             # noqa: E402
from kernel.servers import ALL, LOOP, NGINX, nginx      # noqa: E402

SIZES = {f'{size:,} B': size for size in (192, 2000, 10_000, 28_000)}
CLIENTS = 64
CHROME = browsers.SENT['Chrome, page']
SENT = {'plain': '', 'chrome': CHROME, 'cookie': CHROME + 'Cookie: a=b\r\n'}
ROWS = (('nginx, sendfile', 'nginx', nginx(NGINX.replace('sendfile off', 'sendfile on; tcp_nopush on'))),
        ('nginx, no sendfile', *ALL['nginx'][1:]), LOOP, ('kernel', *ALL['nginx, kernel'][1:]))


class Context(network.Context):
    """The rounds and the seconds that were asked for."""

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.options = options

    @property
    def seconds(self):
        return self.options.seconds

    @property
    def rounds(self):
        return self.options.rounds

    def say(self, text):
        print(text, file=sys.stderr)


def show(found):
    """The table: of each cell the median, and the best."""
    print('| requests per second | ' + ' | '.join(SIZES) + ' |')
    print('|---|' + '---|' * len(SIZES))
    for label, by in found.items():
        rates = [[one['rate'] for one in by.get(size, [])] for size in SIZES]
        cells = [f'{compare.middle(one):,.0f} ({max(one):,.0f})' if one else '–' for one in rates]
        print(f'| {label} | ' + ' | '.join(cells) + ' |')
    with open('/proc/loadavg', encoding='ascii') as file:
        print('load', file.read().split()[:3])


def main():
    """The command line. The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=int, default=2)
    parser.add_argument('--sent', choices=SENT, default='plain')
    parser.set_defaults(quick=False, minutes=24 * 60, nest=NEST)
    options = parser.parse_args()
    missing = lacks()
    if missing:
        raise SystemExit(missing)
    fields = [word for field in SENT[options.sent].splitlines() for word in ('-H', field)]
    processes.adopt()
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
        os.chmod(folder, 0o755)
        context = Context(options, folder)
        context.begin()
        try:
            found, limits = compare.rounds(context, ROWS, SIZES, lambda server, _: context.net.load(
                server, server.path, context.seconds, CLIENTS, *fields))
        finally:
            processes.end_all()
    show(found)
    for limit in limits:
        print(limit, file=sys.stderr)
    return 1 if limits else 0


if __name__ == '__main__':
    sys.exit(main())
