"""Figures 3 and 4: throughput and fairness for 1 to 1,024 clients of a set of files as SPECweb99 draws them."""

import os
import shutil
from common.processes import Failed
from common.specweb import CLASSES, DIRECTORY, FILES
from nest.servers import PATH, SIZE
from nserver import load
from nserver.servers import Server, foreign, generated

CLIENTS = (1, 4, 16, 32, 64, 128, 256, 512, 1024)
SET = 204_800_000
SERVERS = [generated('nest (COPS-HTTP)', 'examples/web/cops-http.nest'), foreign('Apache prefork'), foreign('Apache event'),
           foreign('nginx'), foreign('h2o')]


def make(folder, directories):
    """Writes the files, and a line 'WEIGHT BYTES PATH' for each of them. The path of these lines."""
    os.makedirs(folder)
    with open(folder + PATH, 'wb') as file:
        file.write(b'x' * SIZE)
    lines = []
    for d in range(directories):
        os.mkdir(f'{folder}/{d}')
        for k, (size, share) in enumerate(CLASSES):
            for n, part in enumerate(FILES, 1):
                path = f'/{d}/{k}_{n}'
                with open(folder + path, 'wb') as file:
                    file.write(os.urandom(size * n))
                lines.append(f'{share * part / (d + 1):.9f} {size * n} {path}\n')
    with open(f'{folder}.mix', 'w', encoding='ascii') as file:
        file.writelines(lines)
    return f'{folder}.mix'


def run(context):
    """Measures each server with each number of clients, the servers in turns."""
    clients = (1, 32, 256) if context.quick else CLIENTS
    seconds = 1 if context.quick else 10
    site = f'{context.folder}/set'
    mix = make(site, (SET // DIRECTORY) // (10 if context.quick else 1))
    found, limits = {}, []
    for row in SERVERS:
        if found and context.over():
            limits.append(f'{row[0]}: left out, the experiment has had its {context.minutes:g} minutes.')
            continue
        try:
            with Server(context, *row, site) as server:
                load.Clients(context, server, seconds, 32, '--mix', mix).result()
                values = found[row[0]] = {}
                for n in clients:
                    try:
                        values[n] = measured(context, server, seconds, n, mix)
                        context.say(f'  {row[0]}, {n} clients: {values[n]["rate"]:.0f}/s, fairness {values[n]["jain"]:.3f}')
                    except Failed as why:
                        limits.append(f'{row[0]}, {n} clients: {why}.')
        except Failed as why:
            limits.append(f'{row[0]}: {why}.')
    shutil.rmtree(site)
    return shown(clients, seconds, found, limits)


def measured(context, server, seconds, clients, mix):
    """What so many clients saw."""
    before = server.cpu()
    one = load.Clients(context, server, seconds, clients, '--mix', mix).result()
    one['cpu'] = (server.cpu() - before) / 1000 / one['ended'] if one['ended'] else None
    return one


def reopened(values):
    """What the server did to connections."""
    count = values['reopened']
    return f'; the server ended {count:,} connections between two answers, and the clients made others' if count else ''


def shown(clients, seconds, found, limits):
    """The section."""
    def table(title, key):
        return {'title': title, 'head': ['clients', *(f'{n:,}' for n in clients)],
                'rows': [[label, *(values.get(n, {}).get(key) for n in clients)] for label, values in found.items()]}

    def plot(number, title, y, key):
        return {'file': f'nserver-{number}', 'title': f'Figure {number}: {title}', 'x': 'clients', 'y': y, 'log x': True,
                'series': {label: [[n, values[n][key]] for n in values] for label, values in found.items()}}
    return {
        'title': 'Figures 3 and 4: throughput and fairness',
        'paper': 'Apache is slightly better below 32 clients, COPS-HTTP from 32 to 256; from 256 on the network is the bottleneck. With 1,024 '
                 'clients Apache answers more, and its fairness falls to 0.51, because its 150 processes serve few clients at a time and the others '
                 'wait for TCP to try again.',
        'method': f'A set of {SET / 1e6:.1f} MB as SPECweb99 makes and draws it, a cache of 20 MB in our server, which is the column COPS-HTTP of the '
                  f'paper\'s Table 1 ([cops-http.nest](../examples/web/cops-http.nest)). Each measurement takes {seconds} s after one of warming up (the paper: 5 '
                  'minutes). Fairness is Jain\'s index of the numbers of answers that the clients had: 1 if all had the same.',
        'plots': [plot(3, 'throughput', 'answers a second', 'rate'), plot(4, 'fairness', 'Jain\'s index', 'jain')],
        'tables': [table('Answers a second:', 'rate'), table('Fairness:', 'jain'), table('CPU of the server, µs an answer:', 'cpu')],
        'findings': [f'{label}: fairness {values[clients[-1]]["jain"]:.3f} with {clients[-1]:,} clients; the client with the fewest answers had '
                     f'{values[clients[-1]]["least"]}, the one with the most {values[clients[-1]]["most"]}{reopened(values[clients[-1]])}.'
                     for label, values in found.items() if clients[-1] in values],
        'limits': ['The other servers have the page cache of the system and no bound of 20 MB.', *limits],
    }
