"""Figures 8 and 9: latency and throughput with 0 to 10 dummy filters behind the first."""

import contextlib
import os
from conditioning import load
from conditioning.servers import Server

FULL, QUICK = [0, 1, 2, 4, 6, 8, 10], [0, 2]


def latencies(server, count):
    """Milliseconds of single requests, one after the other."""
    values = [load.fetch(server, '/100') for _ in range(count)]
    return [v for v in values if v is not None]


def slope(points):
    """Least squares: y for each x."""
    x, y = [p[0] for p in points], [p[1] for p in points]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / (sum((a - mx)**2 for a in x) or 1)


def on(context, cores, counts):
    """{filters: (median and 90th percentile of latency in µs, rates)} of ccserver on these cores."""
    rounds, seconds, asked = (1, 1, 30) if context.quick else (3, 1, 200)
    found = {n: {'latency': [], 'rate': [], 'cpu': []} for n in counts}
    with contextlib.ExitStack() as stack:
        servers = {n: stack.enter_context(Server(context.shop, 'ccserver', context.site, ['request', *['pass'] * n], cores))
                   for n in counts}
        for _ in range(rounds):
            for n, server in servers.items():
                values = latencies(server, asked)
                if values:
                    found[n]['latency'].append(load.median(values) * 1000)
                one = load.measured(server, seconds)
                found[n]['rate'].append(one['rate'])
                found[n]['cpu'].append(one['cpu'])
    for n in counts:
        context.say(f'  {len(cores)} cores, {n} filters: {load.median(found[n]["latency"]) or 0:.0f} µs, {load.median(found[n]["rate"]):.0f}/s')
    return found


def run(context):
    """Measures chains in turns, on one core and on two."""
    counts = QUICK if context.quick else FULL
    every = sorted(os.sched_getaffinity(0))
    sets = {'one core': set(every[:1])}
    if len(every) > 1:
        sets['two cores'] = set(every[:2])
    results = {name: on(context, cores, counts) for name, cores in sets.items()}
    middle = {name: {n: {k: load.median(v) for k, v in one.items()} for n, one in found.items()} for name, found in results.items()}
    findings = []
    for name, one in middle.items():
        each = slope([[n, m['latency']] for n, m in one.items() if m['latency'] is not None])
        cost = slope([[n, m['cpu']] for n, m in one.items() if m['cpu'] is not None])
        findings.append(f'{name.capitalize()}: each dummy filter adds {each:.0f} µs of latency and {cost:.1f} µs of CPU a connection (least '
                        f'squares); {counts[-1]} of them leave {load.text(load.ratio(results[name][counts[-1]]["rate"], results[name][counts[0]]["rate"]))} of the rate.')
    head = ['dummy filters', *map(str, counts)]
    rows = [[f'{text}, {name}', *(one[n][key] for n in counts)] for key, text in
            (('latency', 'latency, µs'), ('rate', 'answers a second'), ('cpu', 'CPU µs an answer')) for name, one in middle.items()]
    return {
        'title': 'Figures 8 and 9: chained filters',
        'paper': 'Latency is nearly linear: each filter adds 34 µs (HP) or 94 µs (Microtel). Throughput falls almost linearly with few filters, '
                 'more slowly with many. A second core improves throughput, not latency.',
        'method': 'ccserver behind `request` and 0 to 10 times `pass`, which does nothing. Latency: one client fetches a file of 100 bytes again and '
                  'again, with a new connection each time; the median. Throughput: wrk with 16 connections, each for one request. Server and '
                  'filters are bound to one core or two; the load is not.',
        'plots': [{'file': 'figure-8', 'title': 'Figure 8: latency by the number of filters', 'x': 'dummy filters', 'y': 'µs',
                   'series': {n: [[c, m[c]['latency']] for c in counts] for n, m in middle.items()}},
                  {'file': 'figure-9', 'title': 'Figure 9: throughput by the number of filters', 'x': 'dummy filters', 'y': 'answers a second',
                   'series': {n: [[c, m[c]['rate']] for c in counts] for n, m in middle.items()}}],
        'tables': [{'head': head, 'rows': rows}], 'findings': findings,
        'limits': ['Figure 9 uses a file of 100 bytes in place of a SPECweb99-like set: so the cost of filters shows more.'],
    }
