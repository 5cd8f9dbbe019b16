"""Figure 6: response times with and without overload control, where each request takes 50 ms of work."""

from nserver import load
from nserver.servers import Server, generated

SPEC = 'experiments/nserver/work.nest'
SIZE = 5                    # of an answer
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
CONTROLS = {'with control': 'overload=actions 20 5', 'without': 'overload=none'}


def run(context):
    """Measures each number of clients, with and without in turns."""
    seconds, warm = (5, 8) if context.quick else (20, 30)
    clients = (1, 16, 64) if context.quick else CLIENTS
    found = {}
    for n in clients:
        for label, option in CONTROLS.items():
            with Server(context, *generated(label, SPEC, option, files=False), size=SIZE) as server:
                one = load.Clients(context, server, seconds, n, '--path', '/', '--body', str(SIZE),
                                   '--warm', str(warm)).result()
            found.setdefault(label, {})[n] = one
            context.say(f'  {n} clients, {label}: {one["later_us"]["mean"] / 1e3:.0f} ms, all {one["us"]["mean"] / 1e3:.0f} ms, '
                        f'{one["rate"]:.1f}/s')

    def values(label, key):
        return [found[label][n][key]['mean'] / 1e3 for n in clients]

    def table(title, value):
        return {'title': title, 'head': ['clients', *map(str, clients)],
                'rows': [[label, *(value(found[label][n]) for n in clients)] for label in CONTROLS]}
    most = clients[-1]
    with_, without = (found[label][most] for label in CONTROLS)
    return {
        'title': 'Figure 6: overload control',
        'paper': 'With watermarks of 20 and 5 the average response time of established connections is significantly lower, and the throughput does not '
                 'fall. The combined time, which counts also how long a client waits for its connection, is higher than that of established ones.',
        'method': f'Each request takes 50 ms, in which its loop serves nobody else ([work.nest](nserver/work.nest)); two loops, so 40 requests a second at most. '
                  f'Watermarks of 20 and 5 for each loop. Each measurement takes {seconds} s after {warm} s of warming up, in which those who came first all at once go. A connection to a server that accepts nobody is established all the same, by the system; so the '
                  'response time is that of all requests but the first of a connection, and the combined time that of all requests, from the beginning of the connection.',
        'plots': [{'file': 'nserver-6', 'title': 'Figure 6: response times', 'x': 'clients', 'y': 'ms', 'dashed': [f'{label}, combined' for label in CONTROLS],
                   'series': {f'{label}{more}': [[n, value] for n, value in zip(clients, values(label, key))]
                              for label in CONTROLS for more, key in (('', 'later_us'), (', combined', 'us'))}}],
        'tables': [table('Response time, mean, ms:', lambda one: one['later_us']['mean'] / 1e3),
                   table('Combined response time, mean, ms:', lambda one: one['us']['mean'] / 1e3),
                   table('Answers a second:', lambda one: one['rate'])],
        'findings': [f'With {most} clients and control, established clients wait {with_["later_us"]["mean"] / without["later_us"]["mean"]:.2f} of the time that they '
                     f'wait without, and the server answers {with_["rate"] / without["rate"]:.2f} as many requests.'],
        'limits': [],
    }
