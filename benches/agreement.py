#!/usr/bin/env python3
"""Whether the driver of `nest bench` agrees with wrk and httperf, and what a request costs each of them: a constant answer,
over keep-alive and with a connection for each request, of one server that nest has built.

usage: agreement.py [--rounds N] [--seconds N] [--record FILE]

Each way to connect is measured with three servers. One answers at once: then the driver is the limit with keep-alive, so a
cheaper driver has a higher rate, and the rates need not agree. Another works for 200 µs before it answers: then the
server is the limit, if it has several clients, and the rates must agree. The third works for 1 ms, and has one client. A
client that sleeps until its answer comes is woken some microseconds later, during which a server with one client does
nothing. httperf never sleeps, so beside 200 µs its rate is higher by this time; beside 1 ms that hardly counts.

In each round the drivers load the same running server one after another, another one first each time. Printed are ratios
of the driver of nest to the others in the same round: the median, and the range of the rounds. httperf has one client here,
because it has no closed loop of several. Server and driver have a processor each, if there are two. Needs wrk and httperf
(scripts/setup experiments). Must not know: how the drivers work.
"""

import argparse
import itertools
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests'))
from support.nest import ROOT, Failed, program, run                 # noqa: E402
from support.server import Server, used                             # noqa: E402

HOWS = {'keep': 'keep-alive', 'close': 'a connection a request'}
CLIENTS = 64
WORKS = {0: (1, CLIENTS), 200: (1, CLIENTS), 1000: (1,)}     # µs of work for an answer: numbers of clients
FIGURES = ('requests a second', "driver's CPU a request", "server's CPU a request")
HANGS = 60          # seconds for a driver, beside the time that it measures


WORK = """%{
#include <time.h>
/* Uses this processor time. */
static void work(void) {
    struct timespec begun, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < NANOSECONDS);
}
%}
%%
"""


def specification(how, works):
    """The specification of the constant answer, which closes the connection after it or does not, after so many
    microseconds of work."""
    with open(f'{HERE}/specs/constant.nest', encoding='utf-8') as file:
        text = file.read()
    if works:
        text = text.replace('%%\n', WORK.replace('NANOSECONDS', str(works * 1000))).replace('$reply(', 'work();\n    $reply(')
    if how == 'keep':
        return text
    closing = text.replace('"Content-Type', '"Connection: close\\r\\n"\n           "Content-Type')
    closing = closing.replace('...\\n");', '...\\n");\n    $close();')
    if closing.count('close') != 2:
        sys.exit('agreement.py: benches/specs/constant.nest is another one')
    return closing


def answer(port):
    """What the server answers."""
    with socket.create_connection(('127.0.0.1', port), timeout=HANGS) as client:
        client.sendall(f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n'.encode())
        got = b''
        while b'\r\n\r\n' not in got or len(got.split(b'\r\n\r\n', 1)[1]) < 126:
            more = client.recv(4096)
            if not more:
                raise Failed(f'the server closes after {got!r}')
            got += more
    return got


def processors():
    """(those of the server, those of the driver)."""
    every = sorted(os.sched_getaffinity(0))
    return ({every[0]}, {every[1]}) if len(every) > 1 else (set(every), set(every))


def timed(words, said=b''):
    """The output of a driver, and the processor time that it used."""
    place = processors()[1]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               preexec_fn=lambda: os.sched_setaffinity(0, place))
    late = threading.Timer(HANGS, process.kill)
    late.start()
    try:
        process.stdin.write(said)
        process.stdin.close()
        text = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        late.cancel()
        process.stdout.close()
    if process.returncode != 0:
        raise Failed(f'{words[0]}: status {process.returncode}: {text[-300:]}')
    return text, usage.ru_utime + usage.ru_stime


def found(pattern, text):
    """A figure in the output of a driver."""
    match = re.search(pattern, text)
    if match is None:
        raise Failed(f'no {pattern} in {text}')
    return float(match.group(1))


class Drivers:
    """(requests, requests a second, processor time) of each driver."""

    def __init__(self, nest, seconds):
        self.exe, self.seconds = nest, seconds
        self.calls = 1000                   # of httperf; as many as it does in the time

    def nest(self, port, how, clients):
        """The driver of nest."""
        text, time = timed([self.exe, str(port), str(clients), str(self.seconds), how], answer(port))
        requests, seconds = (float(word) for word in text.split()[:2])
        return requests, requests / seconds, time

    def wrk(self, port, _how, clients):
        """wrk with one thread."""
        text, time = timed(['wrk', '-t1', f'-c{clients}', f'-d{self.seconds}', f'http://127.0.0.1:{port}/'])
        if 'Socket errors' in text or 'Non-2xx' in text:
            raise Failed(text)
        return found(r'(\d+) requests in', text), found(r'Requests/sec: +([\d.]+)', text), time

    def httperf(self, port, how, _clients):
        """httperf with one client, about as long as the others."""
        counts = ['--num-conns', '1', '--num-calls'] if how == 'keep' else ['--num-calls', '1', '--num-conns']
        text, time = timed(['httperf', '--hog', '--server', '127.0.0.1', '--port', str(port), '--uri', '/', *counts,
                            str(self.calls)])
        if found(r'Errors: total (\d+)', text) > 0:
            raise Failed(text)
        requests, rate = found(r'replies (\d+)', text), found(r'Request rate: ([\d.]+)', text)
        self.calls = max(1000, int(rate * self.seconds))
        return requests, rate, time


def rounds(server, drivers, how, numbers, args):
    """The ratios of each round with these numbers of clients: {(clients, other): [(rate, driver, server), ...]}."""
    all_ratios = {}
    for number in range(args.rounds):
        for clients in numbers:
            others = ('wrk', 'httperf') if clients == 1 else ('wrk',)
            names = ['nest', *others]
            names = names[number % len(names):] + names[:number % len(names)]
            got = {}
            for name in names:
                before = used(server.family())
                requests, rate, time = getattr(drivers, name)(server.port, how, clients)
                if requests == 0:
                    raise Failed(f'{name}: no requests')
                got[name] = (rate, time / requests, (used(server.family()) - before) / requests)
            for other in others:
                pairs = zip(got['nest'], got[other])
                ratios = tuple(mine / its if its > 0 else float('nan') for mine, its in pairs)
                all_ratios.setdefault((clients, other), []).append(ratios)
    return all_ratios


def table(how, works, all_ratios):
    """The lines of a way to connect."""
    for (clients, other), ratios in sorted(all_ratios.items()):
        cells = []
        for column in zip(*ratios):
            cells.append(f'{statistics.median(column):.2f} ({min(column):.2f} to {max(column):.2f})')
        who = f'{clients} client' + ('s' if clients > 1 else '')
        work = f', {works} µs of work' if works else ''
        yield f'| {HOWS[how]}, {who}{work} | {other} | ' + ' | '.join(cells) + ' |'


def main():
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--seconds', type=int, default=2)
    parser.add_argument('--record', metavar='FILE', help='write the table to this file, too')
    args = parser.parse_args()
    run(['cargo', 'build', '--release', '--quiet', '--package', 'nest-bench', '--example', 'constant'], ROOT)
    drivers = Drivers(f'{ROOT}/target/release/examples/constant', args.seconds)
    lines = [f'| {args.rounds} rounds; nest in units of the other | driver | ' + ' | '.join(FIGURES) + ' |',
             '|---|---|---|---|---|']
    print('\n'.join(lines), flush=True)
    with tempfile.TemporaryDirectory(prefix='nest-agreement-') as folder:
        for number, (how, works) in enumerate(itertools.product(HOWS, WORKS)):
            exe = f'{folder}/constant{number}'
            with open(f'{exe}.nest', 'w', encoding='utf-8') as file:
                file.write(specification(how, works))
            run([program(), 'build', '--model', 'event', f'{exe}.nest', '-o', exe], CFLAGS='-O2')
            drivers.calls = 1000
            with Server([exe]) as server:
                for pid in server.family():
                    os.sched_setaffinity(pid, processors()[0])
                for line in table(how, works, rounds(server, drivers, how, WORKS[works], args)):
                    print(line, flush=True)
                    lines.append(line)
    load = '%.1f' % os.getloadavg()[0]
    lines.append(f'\n{len(os.sched_getaffinity(0))} processors, load average {load} at the end.')
    print(lines[-1])
    if args.record:
        with open(args.record, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
