#!/usr/bin/env python3
"""How long a client whose handshake is complete waits for an answer, while others begin theirs, so many at once.

usage: shaking.py [--before NEST] [--seconds N] [MODEL ...]

The others send what a client says first, wait for the answer, and go; then the next ones come. --before: another nest, whose
server is measured as well. Must not know: how a server encrypts.
"""

import argparse
import multiprocessing
import os
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), 'tests', 'tls'), os.path.join(os.path.dirname(HERE), 'tests')]
from handshakes import hello                                        # noqa: E402
from links import Link, certificate, context                        # noqa: E402
from support.nest import program, run                               # noqa: E402
from support.server import Server                                   # noqa: E402

CROWDS = (0, 100, 500)
SPEC = '%option eventServer 3000\n%option tls none\n%%\nSTART { $reply("+\\n"); }\n[^\\n]* "\\n" { $reply($1, "\\n"); }\n'


def crowd(port, many, stop):
    """So many begin their handshakes at once, again and again."""
    first = hello()
    while not stop.is_set():
        links = [socket.create_connection(('127.0.0.1', port)) for _ in range(many)]
        for link in links:
            link.sendall(first)
        for link in links:
            link.recv(100)
            link.close()


def waits(server, folder, many, seconds):
    """Milliseconds of the answers of one client, in order."""
    stop, found = multiprocessing.Event(), []
    others = multiprocessing.Process(target=crowd, args=(server.port, many, stop))
    with Link(server.port, context(folder)).shake() as link:
        link.expect(b'+\n')
        if many:
            others.start()
            time.sleep(0.5)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.perf_counter()
            link.send(b'abc\n')
            link.expect(b'abc\n')
            found.append((time.perf_counter() - begun) * 1e3)
            time.sleep(0.002)
        stop.set()
        if many:
            others.join()
    return sorted(found)


def main():
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--before', metavar='NEST')
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('models', nargs='*', default=['event', 'uring'])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='nest-handshakes-') as folder:
        certificate(folder, 'one')
        with open(f'{folder}/echo.nest', 'w', encoding='ascii') as file:
            file.write(SPEC)
        for model in args.models:
            for name, nest in (('before', args.before), ('now', program())):
                if nest is None:
                    continue
                exe = f'{folder}/{name}-{model}'
                run([nest, 'build', '--model', model, f'{folder}/echo.nest', '-o', exe], CFLAGS='-O2')
                with Server([exe], options=[f'tls={folder}/one.pem {folder}/one.key']) as server:
                    for many in CROWDS:
                        found = waits(server, folder, many, args.seconds)
                        print(f'{model}, {name}, {many} at once: median {found[len(found) // 2]:.2f} ms, p99 '
                              f'{found[len(found) * 99 // 100]:.2f} ms, worst {found[-1]:.1f} ms', flush=True)


main()
