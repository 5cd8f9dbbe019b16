"""Figures 4 and 5: one file of each size, with filters and without."""

from conditioning import clients, load
from common.processes import Failed
from conditioning.servers import Server, missing

CHAIN = ['request']         # "a single filter unless otherwise specified"
NAMES = ['apache', 'nginx', 'nest', 'ccserver']


def run(context):
    """Measures every size, the servers in turns."""
    sizes = [100, 100000] if context.quick else clients.SIZES
    rounds, seconds = (1, 1) if context.quick else (3, 1)
    limits, servers, found = [], [], {}
    try:
        for name in NAMES:
            for filters in [[], CHAIN] if name != 'ccserver' else [CHAIN]:
                if missing(name):
                    limits.append(f'{missing(name)}.')
                    continue
                try:
                    servers.append(Server(context.shop, name, context.site, filters))
                except Failed as why:
                    limits.append(f'{why}.')
        for server in servers:
            load.measured(server, 1)
        for size in sizes:
            values = load.in_turns(servers, rounds, lambda s: load.measured(s, seconds, path=f'/{size}'))
            found[size] = {s.label: v for s, v in zip(servers, values)}
            context.say(f'  {size} bytes: ' + ', '.join(f'{s.label} {load.median(x["rate"] for x in v):.0f}/s'
                                                       for s, v in zip(servers, values)))
    finally:
        for server in servers:
            server.close()
    labels = [s.label for s in servers]
    return shown(sizes, labels, found, limits)


def middle(found, size, label, key):
    """The median of what was measured."""
    return load.median(one[key] for one in found[size][label])


def shown(sizes, labels, found, limits):
    """The section."""
    rows, findings = [], []
    for label in labels:
        if ', ' not in label or label.split(',')[0] not in labels:
            continue
        bare = label.split(',')[0]
        shares = [load.ratio(*([one['rate'] for one in found[size][which]] for which in (label, bare))) for size in sizes]
        rows.append([f'{label} / alone', *shares])
        cost = [(b or 0) - (a or 0) for a, b in ((middle(found, sizes[0], bare, 'cpu'), middle(found, sizes[0], label, 'cpu')),)]
        findings.append(f'{label}: {load.text(shares[0])} of the rate of the bare server with {sizes[0]} bytes, {load.text(shares[-1])} with '
                        f'{sizes[-1]:,}; {cost[0]:.0f} µs more CPU an answer of {sizes[0]} bytes.')
    head = ['', *(f'{size:,} bytes' for size in sizes)]
    return {
        'title': 'Figures 4 and 5: one file, by its size',
        'paper': 'On the Microtel machine, CC-Apache and CC-Flash lose against their originals, "more than likely tolerable for most sites"; '
                 'CCServer is between them. Its text gives no numbers.',
        'method': 'wrk fetches the same file with 16 connections, each for one request. One filter, `request`, as in the paper.',
        'plots': [{'file': 'figure-4', 'title': 'Figure 4: one file, answers a second', 'x': 'bytes', 'y': 'answers a second', 'log x': True,
                   'dashed': [label for label in labels if ', ' not in label],
                   'series': {label: [[s, middle(found, s, label, 'rate')] for s in sizes] for label in labels}},
                  {'file': 'figure-5', 'title': 'Figure 5: one file, throughput', 'x': 'bytes', 'y': 'MB a second', 'log x': True,
                   'dashed': [label for label in labels if ', ' not in label],
                   'series': {label: [[s, middle(found, s, label, 'bytes') / 1e6] for s in sizes] for label in labels}}],
        'tables': [{'title': 'Answers a second:', 'head': head,
                    'rows': [[label, *(middle(found, s, label, 'rate') for s in sizes)] for label in labels]},
                   {'title': 'MB a second:', 'head': head,
                    'rows': [[label, *(middle(found, s, label, 'bytes') / 1e6 for s in sizes)] for label in labels]},
                   {'title': 'CPU µs an answer:', 'head': head,
                    'rows': [[label, *(middle(found, s, label, 'cpu') for s in sizes)] for label in labels]},
                   {'title': 'Rates, paired:', 'head': head, 'rows': rows}],
        'findings': findings, 'limits': ['The loopback has no network adapter of 1 Gb/s that would limit large files.', *limits],
    }
