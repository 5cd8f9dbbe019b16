#!/usr/bin/env python3
"""What a relay costs (examples/redirect): processor time for a connection that brings so many bytes, and for a MB of them, beside
HAProxy with and without splicing and nginx's stream module.

usage: relaying.py [--rounds N] [--before NEST] [--nginx-module FILE] [--models MODEL,...] [--only SERVER,...] [--kib SIZE,...]

--before: another nest, whose relays are measured as well. --nginx-module: ngx_stream_module.so, if it is not where Debian has it.

In each round every server relays every size, one after the other, in another order each time; a ratio is of the same round. Only the
processor time of a server's processes counts: other work on the machine changes times, and this hardly. Must not know: how relays
move bytes.
"""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import socket
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'tests')]
from harness.processes import beside, free, serving, spent           # noqa: E402
from support.nest import Failed, program, run                       # noqa: E402

SPEC = os.path.join(HERE, '..', 'examples', 'redirect', 'redirect.nest')
KIB, MIB = 1 << 10, 1 << 20
SIZES = {4 * KIB: 1500, 64 * KIB: 800, 256 * KIB: 300, MIB: 100, 64 * MIB: 3}      # bytes of a connection: how many connections
LIMIT = 60
WARM = 20           # connections before the clock starts
MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'
BASE = 'haproxy'    # what the others are compared with
HAPROXY = """global
    maxconn 100
defaults
    mode tcp
    timeout connect 10s
    timeout client 60s
    timeout server 60s
{splice}
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{to}
"""
NGINX = """{module}
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass 127.0.0.1:{to}; proxy_buffer_size {buffer}; }} }}
"""


def source(listener):
    """A process: each connection says a size in a line, and gets so many bytes."""
    data = memoryview(bytes(MIB))
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            size = b''
            while not size.endswith(b'\n') and (more := connection.recv(32)):
                size += more
            left = int(size or b'0')    # none: somebody has looked whether the server listens
            while left > 0:
                left -= connection.send(data[:min(left, MIB)])


def fetch(port, size, into):
    """One connection."""
    with socket.create_connection(('127.0.0.1', port), LIMIT) as connection:
        connection.sendall(b'%d\n' % size)
        got = 0
        while n := connection.recv_into(into):
            got += n
    if got != size:
        raise Failed(f'{got} bytes of {size} came')


def measure(words, port, size, count, into):
    """µs of processor time for a connection."""
    with serving(words, port) as pid:
        for _ in range(min(WARM, count)):
            fetch(port, size, into)
        before = spent(pid)
        for _ in range(count):
            fetch(port, size, into)
        return (spent(pid) - before) / count * 1e6


def servers(args, folder, to):
    """{name: (words, port)} of the servers that are there."""
    found = {}

    def conf(name, text):
        path = os.path.join(folder, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    for which, nest in (('nest', program()), ('before', args.before)):
        for model in args.models.split(',') if nest else ():
            exe, port = os.path.join(folder, f'{which}-{model}'), free()
            run([nest, 'build', '--model', model, SPEC, '-o', exe], CFLAGS='-O2')
            found[f'{which} {model}'] = [exe, '--port', str(port), '--', f'127.0.0.1:{to}'], port
    for name, splice in ((BASE, ''), ('haproxy splice-auto', '    option splice-auto')) if shutil.which('haproxy') else ():
        port = free()
        path = conf(name.replace(' ', '-'), HAPROXY.format(port=port, to=to, splice=splice))
        found[name] = ['haproxy', '-db', '-f', path], port
    for name, buffer in (('nginx', '16k'), ('nginx 64k', '64k')) if shutil.which('nginx') else ():
        port = free()
        module = f'load_module {os.path.abspath(args.nginx_module)};' if args.nginx_module else ''
        path = conf(name.replace(' ', '-'), NGINX.format(port=port, to=to, module=module, folder=folder, buffer=buffer))
        found[name] = ['nginx', '-p', folder, '-c', path], port
    return found


def table(found, names, sizes):
    """Prints medians, and ratios."""
    for size in sizes:
        print(f'\n{size // KIB} KiB a connection, {SIZES[size]} connections a round\n')
        print('| server | µs a connection | µs a MB | beside haproxy | beside before |\n|---|---:|---:|---:|---:|')
        for name in names:
            figures = found[name, size]
            middle = statistics.median(figures)
            texts = [beside(figures, found[base, size]) if (base, size) in found else '' for base in (BASE, name.replace('nest', 'before')) if base != name]
            print(f'| {name} | {middle:.0f} | {middle / size * 1e6:.0f} | ' + ' | '.join([*texts, ''][:2]) + ' |')


def main():
    """Measures, and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--before')
    parser.add_argument('--nginx-module', default=MODULE if os.path.exists(MODULE) else None)
    parser.add_argument('--models', default='event,uring')
    parser.add_argument('--only', help='servers: names, with commas')
    parser.add_argument('--kib', help='sizes: some of those that are measured, in KiB, with commas')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='nest-relaying-') as folder, socket.create_server(('127.0.0.1', 0)) as listener:
        os.chmod(folder, 0o755)
        back = multiprocessing.Process(target=source, args=(listener,), daemon=True)
        back.start()
        rows = servers(args, folder, listener.getsockname()[1])
        if args.only:
            rows = {name: rows[name] for name in args.only.split(',')}
        sizes = [int(size) * KIB for size in args.kib.split(',')] if args.kib else list(SIZES)
        found, into, names = {}, bytearray(MIB), list(rows)
        load = os.getloadavg()[0]
        for turn in range(args.rounds):
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                for size in sizes:
                    found.setdefault((name, size), []).append(measure(*rows[name], size, SIZES[size], into))
        back.terminate()
    print(f'load {load:.1f} to {os.getloadavg()[0]:.1f}, {args.rounds} rounds')
    table(found, names, sizes)


main()
