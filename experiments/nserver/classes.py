"""Figure 5: the throughput of two classes of clients, by their quotas."""

from nserver import load
from nserver.servers import Server, generated

SPEC = 'experiments/nserver/classes.nest'
CLIENTS, SIZE = 64, 5      # of each class; of an answer
PORTAL, HOMEPAGES = '127.0.0.2', '127.0.0.1'
QUOTAS = (1, 2, 3, 5, 10)


def run(context):
    """Measures each quota, and the clients of the portal alone."""
    seconds = 1 if context.quick else 10
    quotas = (1, 5) if context.quick else QUOTAS
    rows = []
    for quota in quotas:
        with Server(context, *generated(f'quota {quota}/1', SPEC, f'quota={quota}/1', files=False, also=PORTAL), size=SIZE) as server:
            both = [clients(context, server, seconds, address) for address in (PORTAL, HOMEPAGES)]
            portal, homepages = (one.result()['rate'] for one in both)
        rows.append([f'1/{quota}', homepages, portal, portal / homepages])
        context.say(f'  1/{quota}: {homepages:.0f} and {portal:.0f}/s, {portal / homepages:.2f}')
    with Server(context, *generated('portal alone', SPEC, files=False, also=PORTAL), size=SIZE) as server:
        alone = clients(context, server, seconds, PORTAL).result()['rate']
    rows.append(['portal alone', None, alone, None])
    points = [[quota, row[3]] for quota, row in zip(quotas, rows)]
    return {
        'title': 'Figure 5: two classes of clients',
        'paper': 'An address decides whether a client belongs to a portal, which pays, or to homepages; 13 lines choose the class. The throughputs follow the quotas '
                 'with a small gap, which the paper explains by what the system schedules itself.',
        'method': f'{CLIENTS} clients at one address of the server and {CLIENTS} at another ask without pausing; each request takes 200 µs of the server\'s processor, so '
                  f'that both classes always have something to do. `listenPriority` gives each address its class, without code ([classes.nest](nserver/classes.nest)). Each measurement takes {seconds} s.',
        'plots': [{'file': 'nserver-5', 'title': 'Figure 5: two classes', 'x': 'quota of the portal', 'y': 'portal / homepages',
                   'dashed': ['the quota'], 'series': {'measured': points, 'the quota': [[q, q] for q in quotas]}}],
        'tables': [{'title': 'Answers a second, as homepages/portal:', 'head': ['quota', 'homepages', 'portal', 'ratio'], 'rows': rows}],
        'findings': [f'The ratio is within {max(abs(row[3] / quota - 1) for quota, row in zip(quotas, rows)):.1%} of the quota; both classes together have '
                     f'{min(row[1] + row[2] for row in rows[:-1]) / alone:.2f} to {max(row[1] + row[2] for row in rows[:-1]) / alone:.2f} '
                     'of the throughput of the portal alone.'],
        'limits': [],
    }


def clients(context, server, seconds, address):
    """The clients of one class."""
    return load.Clients(context, server, seconds, CLIENTS, '--path', '/', '--body', str(SIZE), '--pause', '0', address=address)
