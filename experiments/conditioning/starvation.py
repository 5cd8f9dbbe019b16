"""Figure 10: incomplete connections. How much a server still serves while others hold connections without a request."""

from conditioning import load
from common.processes import Failed
from conditioning.servers import Server, missing

CHAIN = ['request,timeout=60s', 'priority']
# Linux keeps connections without a byte away from Apache (TCP_DEFER_ACCEPT), so the attackers send a part of a request.
PART = r'GET /100 HTTP/1.1\r\nHost: a\r\n'
VARIANTS = [('apache', []), ('apache', CHAIN), ('ccserver', CHAIN), ('nginx', []), ('nginx', CHAIN), ('nest', []), ('nest', CHAIN)]
FULL, QUICK = [1, 150, 1000, 18000], [300, 18000]


def pair(context, name, filters, points):
    """The points of one server: rates with and without attackers, of two instances in turns."""
    rounds, seconds = (1, 1) if context.quick else (2, 1)
    found = []
    with Server(context.shop, name, context.site, filters) as quiet, \
            Server(context.shop, name, context.site, filters) as attacked, load.Holder(attacked, request=PART) as holder:
        for wanted in points:
            held, ended = holder.hold(wanted)
            one, other = load.in_turns([quiet, attacked], rounds, lambda s: load.measured(s, seconds)['rate'])
            found.append({'wanted': wanted, 'held': held, 'ended': ended, 'quiet': load.median(one),
                          'rate': load.median(other), 'ratio': load.ratio(other, one)})
            context.say(f'  {attacked.label}: {wanted} wanted, {held} held: {load.median(other):.0f}/s of {load.median(one):.0f}/s')
        return attacked.label, found


def run(context):
    """Measures every variant."""
    points, results, limits = QUICK if context.quick else FULL, {}, []
    for name, filters in VARIANTS:
        if missing(name) or context.over():
            limits.append(context.left_out(name, filters, missing(name)))
            continue
        try:
            label, found = pair(context, name, filters, points)
            results[label] = found
        except Failed as why:
            limits.append(f'{name} {" ".join(filters)}: {why}.')
    last = {label: found[-1] for label, found in results.items()}
    chained = {label: one for label, one in last.items() if ', ' in label}
    rows = [[label, *(one['rate'] for one in found)] for label, found in results.items()]
    shares = [[label, *(one['ratio'] for one in found)] for label, found in results.items()]
    kept = [f'{label} {one["ratio"]:.2f}' for label, one in chained.items() if one['ratio'] is not None]
    head = ['answers a second', *(f'{p:,}' for p in points)]
    return {
        'title': 'Figure 10: incomplete connections',
        'paper': 'Apache with 150 processes falls to 0.5 requests a second from 150 incomplete connections on; Haboob drops '
                 'sharply after 100; Flash degrades and is unusable at 32,000. With filters and 32,000 incomplete connections: '
                 'CC-Apache 1,800 requests a second, CCServer and CC-Flash 3,700.',
        'method': f'One process holds {points[0]:,} to {points[-1]:,} connections on each of which it has sent a part of a request, from four addresses, and opens those again that the '
                  'server ends. The paper\'s attackers sent nothing; today\'s Apache lets the kernel hold such connections. wrk fetches a file of 100 bytes with 16 connections, each for one request. A second '
                  'instance of the same server without attackers is measured in turns. The chain is '
                  f'`{" ".join(CHAIN)}`.',
        'plots': [{'file': 'figure-10', 'title': 'Figure 10: with incomplete connections', 'x': 'incomplete connections',
                   'y': 'share of the rate without attackers', 'log x': True, 'dashed': [label for label in results if label not in chained],
                   'series': {label: [[one['wanted'], one['ratio']] for one in found] for label, found in results.items()}}],
        'tables': [{'title': 'Answers a second with so many incomplete connections:', 'head': head, 'rows': rows},
                   {'title': 'The same as a share of the instance without attackers:', 'head': ['share', *head[1:]], 'rows': shares}],
        'findings': [
            *(f'{label} with {one["wanted"]:,} connections wanted: {one["held"]:,} held, {one["ended"]:,} ended by the server so far, '
              f'{one["rate"]:,.0f} answers a second, {load.text(one["ratio"])} of the instance without attackers.' for label, one in last.items()),
            f'The aim for conditioned servers is a share of 0.95 with {points[-1]:,}: {"; ".join(kept)}.'],
        'limits': ['The paper goes to 32,000; here a process may have 20,000 descriptors, so 18,000 is the most. A server that nest generates reserves three descriptors for a client, so it serves 6,000 at most; others '
                   'wait in its queue.', *limits],
    }
