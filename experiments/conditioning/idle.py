"""Figure 12: persistent connections that are held after their first request."""

from conditioning import load
from conditioning.servers import Server, missing

FULL, QUICK = [0, 100, 150, 300, 1000, 5000], [200]
SHED = ['request', 'slowread,of=150,net8=100,net16=50,net24=20']
VARIANTS = [('apache', []), ('apache', SHED), ('cc-apache', ['request', 'persist']), ('nginx', []), ('nest', []), ('ccserver', ['request', 'persist'])]
REQUEST = r'GET /100 HTTP/1.1\r\nHost: a\r\n\r\n'


def run(context):
    """Measures every server with more and more idle connections."""
    counts, rounds = (QUICK, 1) if context.quick else (FULL, 2)
    results, limits = {}, []
    for name, filters in VARIANTS:
        if missing(name) or context.over():
            limits.append(context.left_out(name, filters, missing(name)))
            continue
        with Server(context.shop, name, context.site, filters) as quiet, Server(context.shop, name, context.site, filters) as server, \
                load.Holder(server, '127.9.0', REQUEST) as holder:
            found = []
            for count in counts:
                held, _ = holder.hold(count)
                one, other = load.in_turns([quiet, server], rounds, lambda s: load.measured(s, 1)['rate'])
                found.append({'count': count, 'held': held, 'rate': load.median(other), 'ratio': load.ratio(other, one)})
                context.say(f'  {server.label}: {count} wanted, {held} held: {load.median(other):.0f}/s of {load.median(one):.0f}/s')
            results[server.label] = found
    head = ['', *(f'{c:,}' for c in counts)]
    return {
        'title': 'Figure 12: idle persistent connections',
        'paper': 'With 150 processes and a persistent timeout of 15 s, the throughput of Apache drops beyond 150 slow persistent connections; '
                 'CC-Apache shows virtually no loss. 8 lines of Apache were changed.',
        'method': f'One process holds connections on which it has fetched 100 bytes, from 127.9.0.0/24, and opens those again that the server ends. wrk '
                  'fetches 100 bytes with 16 connections, each for one request; a second instance without attackers is measured in turns. '
                  '`persist` needs the library, so ccserver has it, and Apache with a patch (`conditioning/port/`). Apache, unmodified, cannot have it: it gets '
                  f'`{" ".join(SHED)}`, by which a /24 may hold 30 of the 150 processes.',
        'plots': [{'file': 'figure-12', 'title': 'Figure 12: with idle persistent connections', 'x': 'persistent connections', 'y': 'answers a second',
                   'log x': True, 'series': {label: [[o['count'], o['rate']] for o in one] for label, one in results.items()}}],
        'tables': [{'title': 'Answers a second:', 'head': head, 'rows': [[label, *(o['rate'] for o in one)] for label, one in results.items()]},
                   {'title': 'As a share of the instance without attackers:', 'head': head,
                    'rows': [[label, *(o['ratio'] for o in one)] for label, one in results.items()]}],
        'findings': [f'{label}: {load.text(one[-1]["ratio"])} of the undisturbed rate with {counts[-1]:,} connections wanted, {one[-1]["held"]:,} held.'
                     for label, one in results.items()],
        'limits': ['The regular clients fetch one small file, not a set of 500 MB.', *limits],
    }
