"""Measures the limits of a server in real time: each model keeps them to a tick.

Must not know: how a server measures time. The exact milliseconds are runtime/tests/times.py's.
"""

import concurrent.futures
import os
import tempfile
import time
from support.nest import SOCKET_MODELS, Failed, program, run as run_program
from support.server import Client, Server
from support.timed import EARLY, cut, timed

SPEC = r'''
%option writeTimeout 2s
%option readTimeout 1s
%option idleTimeout 1500ms
%{
static char block[100001];
%}
NL "\n"
%%
big  = "big" NL  { for (int i = 0; i < 1000; i++) if ($reply(block) < 0) return; }
file = "file" NL { $fileReply("big"); }
%%
memset(block, 'x', sizeof block - 1);
'''


def deaf(server, line):
    """Seconds until a client that reads nothing is cut."""
    with Client(server, receive=4096) as client:
        return cut(client, line)


def closed(server, data):
    """Seconds until a client that sends only this is closed."""
    begun = time.monotonic()
    with Client(server) as client:
        if data:
            begun = time.monotonic()
            client.send(data)
        client.rest()
        return time.monotonic() - begun


def reads(server, line, seconds, pause=50, each=2000):
    """Seconds for which a client that reads 2 KB, or `each`, in so many ms is served, at most `seconds`."""
    with Client(server, receive=8192) as client:
        begun = time.monotonic()
        client.send(line)
        while (took := time.monotonic() - begun) < seconds:
            time.sleep(pause / 1000)
            if len(client.take(each)) < each:
                break
        return took


def stalled(server):
    """writeTimeout: a client that reads nothing is cut when it is over, whatever it is sent"""
    for line in (b'big\n', b'file\n'):
        timed(repr(line), 2, lambda line=line: deaf(server, line))


def steady(server):
    """writeTimeout is no limit for a client that reads slowly and steadily"""
    def longest(line):      # a client that the machine holds up for 2 s is cut rightly
        took = 0
        for _ in range(3):
            took = max(took, reads(server, line, 7))
            if took >= 7:
                break
        return took
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = [b'big\n', b'file\n']
        for line, took in zip(lines, pool.map(longest, lines)):
            if took < 7:
                raise Failed(f'{line!r}: cut after {took:.2f} s')


def slow(server):
    """minimumRate cuts a client that reads steadily but too slowly; one that is fast enough stays"""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        cutting = pool.submit(reads, server, b'file\n', 20, 50)
        serving = pool.submit(reads, server, b'big\n', 14, 2, 4000)
        if serving.result() < 14:
            raise Failed(f'fast enough: cut after {serving.result():.2f} s')
        if not 10 - EARLY <= cutting.result() <= 13:
            raise Failed(f'too slow: cut after {cutting.result():.2f} s instead of 10')


def silent(server):
    """readTimeout, idleTimeout: a client that sends half a message, or none, is closed"""
    timed('half a message', 1, lambda: closed(server, b'bi'))
    timed('no message', 1.5, lambda: closed(server, b''))


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'limits: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-limits-') as folder:
            spec, exe, big = (os.path.join(folder, n) for n in ('limits.nest', 'limits', 'big'))
            with open(spec, 'w', encoding='utf-8') as file:
                file.write(SPEC)
            with open(big, 'wb') as file:
                file.truncate(100_000_000)
            run_program([nest, 'build', '--model', model, spec, '-o', exe])
            root = f'fileRoot={folder}'
            with Server([exe], options=(root,)) as server, \
                    Server([exe], options=(root, 'minimumRate=100K')) as minding, \
                    concurrent.futures.ThreadPoolExecutor(4) as pool:
                checks = ((stalled, server), (steady, server), (silent, server), (slow, minding))
                for check, work in [(c, pool.submit(c, on)) for c, on in checks]:
                    try:
                        work.result()
                        report.line(True, model, check.__doc__.partition('\n')[0], '')
                    except (Failed, OSError) as error:
                        report.line(False, model, check.__doc__.partition('\n')[0], '', error)
