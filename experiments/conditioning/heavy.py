"""Figure 11: a rare client beside clients that fetch large files without end."""

import subprocess
import sys
from common import processes
from conditioning import load
from conditioning.servers import Server, missing

FULL, QUICK = [0, 50, 150, 300], [0, 200]
VARIANTS = [('apache', []), ('apache', ['request', 'priority']), ('ccserver', ['request']), ('ccserver', ['request', 'priority'])]
LARGE = '/1000000'


def run(context):
    """Measures the rare client's latency with more and more heavy ones."""
    counts = QUICK if context.quick else FULL
    asked = 5 if context.quick else 100
    results, limits = {}, []
    for name, filters in VARIANTS:
        if missing(name) or context.over():
            limits.append(context.left_out(name, filters, missing(name)))
            continue
        # One ready connection: what waits behind the filter that chooses is beyond its choice.
        with Server(context.shop, name, context.site, filters, ready=1) as quiet, \
                Server(context.shop, name, context.site, filters, ready=1) as server:
            found = []
            for count in counts:
                process = start(server, count) if count else None
                try:
                    pairs = [[load.fetch(one, '/100', address='127.77.0.1', wait=20) for one in (server, quiet)] for _ in range(asked)]
                finally:
                    if process:
                        processes.end(process)
                good = [value for value, _ in pairs if value is not None]
                found.append({'count': count, 'median': load.median(good), 'worst': load.percentile(good, .9) if good else None,
                              'quiet': load.median([value for _, value in pairs if value is not None]), 'lost': asked - len(good)})
                context.say(f'  {server.label}: {count} heavy clients: {load.median(good) or 0:.2f} ms, {found[-1]["quiet"] or 0:.2f} ms of '
                            f'the instance without, {asked - len(good)} unanswered')
            results[server.label] = found
    head = ['ms, median', *(f'{c:,}' for c in counts)]
    findings = [f'{label}: {one[0]["median"]:.2f} ms on the idle machine; beside {counts[-1]} heavy clients {one[-1]["median"]:.2f} ms, '
                f'{one[-1]["median"] / one[-1]["quiet"]:.1f} times as long as at the instance without heavy clients; '
                f'{sum(o["lost"] for o in one)} of {len(one) * asked} requests unanswered within 20 s.'
                for label, one in results.items() if one[0]['median'] and one[-1]['median'] and one[-1]['quiet']]
    return {
        'title': 'Figure 11: a rare client beside heavy ones',
        'paper': 'Apache serves first come, first served: beyond 150 heavy clients the latency of the rare client rises with their number. With '
                 'CC-Apache and priority it rises a little once all processes are busy, and then stays level.',
        'method': f'Heavy clients (wrk, 127.0.0.1) fetch a file of 1 MB on new connections without end. A client of another network (127.77.0.1) fetches '
                  f'100 bytes {asked} times, with a new connection each time, and in turns from a second instance of the same server that has no '
                  'heavy clients: both wait for cores that the load keeps busy. Apache gets one ready connection at a time (`--ready 1`), so that '
                  '`priority` chooses among the others.',
        'plots': [{'file': 'figure-11', 'title': 'Figure 11: latency of the rare client', 'x': 'heavy clients', 'y': 'ms', 'log y': True,
                   'dashed': [label for label in results if 'priority' not in label],
                   'series': {label: [[o['count'], o['median']] for o in one] for label, one in results.items()}}],
        'tables': [{'head': head, 'rows': [[label, *(o['median'] for o in one)] for label, one in results.items()]},
                   {'head': ['ms, median, at the instance without heavy clients', *head[1:]],
                    'rows': [[label, *(o['quiet'] for o in one)] for label, one in results.items()]},
                   {'head': ['ms, 90th percentile', *head[1:]], 'rows': [[label, *(o['worst'] for o in one)] for label, one in results.items()]}],
        'findings': findings, 'limits': [
            'The load and the servers share two cores, so latencies include waiting for a core.',
            'ccserver serves one request at a time: behind `priority` the rare client is next, but an answer of 1 MB that has begun comes before it.', *limits],
    }


def start(server, count):
    """Heavy clients; they are there when the first answers have come."""
    process = processes.start(['wrk', '-t1', f'-c{count}', '-d600s', '--timeout', '600s', '-H', 'Connection: close', server.url(LARGE)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sys.stderr)
    before = server.cpu()
    processes.until(lambda: server.cpu() - before > 300e6, 'the heavy clients are not served', 60)
    return process
