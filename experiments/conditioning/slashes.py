"""The beck attack: requests with very many slashes, with `check` and without."""

from conditioning import load
from conditioning.servers import Server, missing

SLASHES = 7000
VARIANTS = [('apache', ['request']), ('apache', ['request', 'check,slashes=refuse,target=16k,line=16k']),
            ('nginx', ['request']), ('nginx', ['request', 'check,slashes=refuse,target=16k,line=16k']),
            ('ccserver', ['request']), ('ccserver', ['request', 'check,slashes=fold,target=16k,line=16k'])]


def run(context):
    """Measures the cost of such a request, beside that of a usual one."""
    rounds = 1 if context.quick else 3
    rows, findings, limits = [], [], []
    for name, filters in VARIANTS[:2] if context.quick else VARIANTS:
        if missing(name):
            limits.append(f'{missing(name)}.')
            continue
        with Server(context.shop, name, context.site, filters) as server:
            costs = {'/100': [], '/' * SLASHES + '100': []}
            for _ in range(rounds):
                for path, values in costs.items():
                    values.append(cost(server, path, 50 if context.quick else 300))
            usual, beck = map(load.median, costs.values())
            times = load.ratio(*reversed(list(costs.values())))
            rows.append([server.label, usual, beck, times])
            context.say(f'  {server.label}: {usual:.0f} µs usual, {beck:.0f} µs with {SLASHES} slashes')
            findings.append(f'{server.label}: a request with {SLASHES:,} slashes costs {times:.1f} times the CPU of a usual one.')
    return {
        'title': 'The beck attack',
        'paper': 'Sections 4.2 and 5.2: a filter detects and strips it. Not measured there. In Apache 1.2 the cost was quadratic in the number of slashes.',
        'method': f'A client asks for a file of 100 bytes, with one slash and with {SLASHES:,}. `check` refuses the latter before unmodified servers, and '
                  'replaces repeated slashes by one before ccserver. CPU of the server and all filters.',
        'tables': [{'head': ['', 'CPU µs, one slash', f'CPU µs, {SLASHES:,} slashes', 'ratio, paired'], 'rows': rows}],
        'findings': findings, 'limits': ['Apache 1.2, which the attack stopped, is not built here; today\'s Apache merges slashes in linear time.', *limits],
    }


def cost(server, path, count):
    """CPU microseconds a request."""
    before = server.cpu()
    for _ in range(count):
        load.fetch(server, path)
    return (server.cpu() - before) / 1000 / count
