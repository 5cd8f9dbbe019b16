"""Figures 5.1 to 5.3 and Tables 5.1 to 5.3: three clients of httperf at three rates, for the servers of a model."""

import re
import statistics
import subprocess
from common import processes
from common.processes import Failed
from nest.servers import MODELS, PATH, Server

CLIENTS, CONNECTIONS, TIMEOUT = 3, 32000, 5     # the thesis does not say after how many seconds its clients gave up
RATES = (200, 400, 600)                         # connections a second of each client
NUMBER = r'(-?[\d.]+)'


class Rates:
    """The experiment for one model."""

    def __init__(self, model, figure, paper, errors):
        self.model, self.figure, self.paper, self.errors = model, figure, paper, errors

    def run(self, context):
        """Measures each server at each rate, the servers in turns."""
        connections = 600 if context.quick else CONNECTIONS
        found, limits = {}, []
        for row in MODELS[self.model]:
            if found and context.over():
                limits.append(f'{row[0]}: left out, the experiment has had its {context.minutes:g} minutes.')
                continue
            try:
                with Server(context, *row) as server:
                    client(server, RATES[0], 100, 1)
                    found[row[0]] = {}
                    for rate in RATES:
                        one = found[row[0]][rate] = client(server, rate, connections, CLIENTS)
                        context.say(f'  {row[0]}, {rate}/s: {one["connect"]:.2f} + {one["transfer"]:.2f} ms, '
                                    f'{one["errors"]} errors, {one["cpu"]:.0f} µs')
            except Failed as why:
                found.pop(row[0], None)
                limits.append(f'{why}.')
        return self.shown(connections, found, limits)

    def shown(self, connections, found, limits):
        """The section."""
        def table(title, key):
            return {'title': title, 'head': ['', *(f'{rate}' for rate in RATES)],
                    'rows': [[label, *(one[rate][key] for rate in RATES)] for label, one in found.items()]}
        plots = [{'file': f'nest-{self.figure}', 'title': f'Figure {self.figure}: time of a connection', 'log y': True,
                  'x': 'connections a second of each client', 'y': 'ms',
                  'series': {label: [[rate, one[rate]['connect'] + one[rate]['transfer']] for rate in RATES]
                             for label, one in found.items()}}]
        return {
            'title': f'Figure {self.figure} and Table {self.figure}: servers of the model {self.model}', 'paper': self.paper,
            'method': f'Three clients of httperf, {connections:,} connections each, at the rates of the columns; a client gives up '
                      f'after {TIMEOUT} s. The clients share an address, so their system lets at most 4,096 ports rest after use.',
            'plots': plots,
            'tables': [table('Connection time, ms:', 'connect'), table('Transfer time, ms:', 'transfer'),
                       table('Errors of all clients together:', 'errors'), table('CPU, µs a connection:', 'cpu'),
                       {'title': 'Errors in the thesis:', 'head': ['', *map(str, RATES)], 'rows': self.errors}],
            'findings': [], 'limits': limits,
        }


def client(server, rate, connections, clients):
    """What httperf says of a server: milliseconds, errors; and the server's CPU."""
    before = server.cpu()
    words = ['httperf', '--hog', '--client=0/1', '--server', '127.0.0.1', '--port', str(server.port), '--uri', PATH,
             '--num-conns', str(connections), '--num-calls', '1', '--rate', str(rate), '--timeout', str(TIMEOUT)]
    running = [processes.start(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
               for _ in range(clients)]
    try:
        said = [one.communicate(timeout=connections / rate + 60)[0] for one in running]
    except subprocess.TimeoutExpired:
        raise Failed('httperf does not end') from None
    finally:
        for one in running:
            processes.end(one)
    used = server.cpu() - before
    found = [read(text) for text in said]
    done = sum(one['answers'] for one in found)
    return {'connect': statistics.mean(one['connect'] for one in found),
            'transfer': statistics.mean(one['transfer'] for one in found),
            'errors': sum(one['errors'] for one in found), 'cpu': used / 1000 / done if done else None}


def read(text):
    """The figures of one client."""
    patterns = {'connected': rf'Connection time \[ms\]: connect {NUMBER}', 'response': rf'Reply time \[ms\]: response {NUMBER}',
                'transfer': rf'Reply time \[ms\]: .* transfer {NUMBER}', 'errors': r'Errors: total (\d+)', 'good': r'2xx=(\d+)',
                'replies': r'Total: .* replies (\d+)'}
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    missing = [name for name, match in found.items() if match is None]
    if missing:
        raise Failed(f'httperf does not say {", ".join(missing)}: {text[-300:]}')
    value = {name: float(match[1]) for name, match in found.items()}
    bad = value['replies'] - value['good']
    return {'connect': value['connected'] + value['response'], 'transfer': value['transfer'],
            'errors': int(value['errors'] + bad), 'answers': int(value['good'])}


PROCESS = Rates('process', '5.1', 'Apache is "quite a lot faster, especially at low connection rates"; nest is "quite comparable to the '
                'mini_httpd server". Times of its figures are not in its text.',
                [['Apache', 0, 0, 6054], ['nest, process', 30, 165, 5953], ['mini_httpd', 55, 1841, 7073]])
EVENT = Rates('event', '5.2', 'nest is "only slightly slower [than mathopd] at the lower connection rates, while performing on par with the '
              'other two servers at the highest connection rate".',
              [['mathopd', 0, 0, 3522], ['nest, event', 0, 0, 4093], ['Haboob', 0, 55, 4824]])
THREAD = Rates('thread', '5.3', 'nest and JAWS are "exceptional compared to the other server models", JAWS twice as fast as nest; Apache "performs '
               'so poorly at 600 connections per second".',
               [['JAWS', 0, 0, 3], ['nest, thread', 0, 0, 13], ['Apache, threads', 0, 0, 5494]])
