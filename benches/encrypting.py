#!/usr/bin/env python3
"""What HTTPS costs: processor time of examples/web (cops-http.nest, which keeps files as nginx keeps them open), or of
another server of files, beside nginx with the same OpenSSL and certificate.

usage: encrypting.py [--rounds N] [--seconds N] [--connections N] [--files SPEC] [--versions VERSION,...] [MODEL ...]

Measured are requests over connections that stay open (wrk, 32 clients, files of 2 KB and of 64 KB), and connections that ask once
for 2 KB: with a handshake in full, and with one that resumes a session. The figure is the processor time of the server's processes;
servers take turns in each round, and a ratio is of the same round. nginx has one worker, no log, and keeps open files.

Needs wrk and nginx (scripts/setup experiments). Must not know: how servers encrypt.
"""

import argparse
import os
import re
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TOP, 'tests')]
from harness.processes import beside, free, serving, spent           # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run            # noqa: E402

KEPT = {'2 KB': 2048, '64 KB': 65536}       # files that connections which stay open ask for
CLIENTS = 32
LIMIT = 60
VERSIONS = {'1.2': ssl.TLSVersion.TLSv1_2, '1.3': ssl.TLSVersion.TLSv1_3}
NGINX = """daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; multi_accept on; }}
http {{
    access_log off; sendfile off; tcp_nodelay on; default_type text/plain; keepalive_requests 1000000000;
    open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl; root {folder}/root;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers off; ssl_session_cache shared:s:10m; ssl_session_tickets on;
    }}
}}
"""


def kept(port, pid, size, seconds):
    """Requests over connections that stay open: µs of the server for one, and requests a second."""
    words = ['wrk', '-t1', f'-c{CLIENTS}', f'-d{seconds}s', f'https://127.0.0.1:{port}/{size}']
    before = spent(pid)
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    took = spent(pid) - before
    if re.search('Socket errors|Non-2xx', out):
        raise Failed(f'{words[-1]}: {out}')
    return took / int(re.search(r'(\d+) requests in', out).group(1)) * 1e6


def visit(port, context, session=None):
    """A connection that asks once; its session, and whether it has resumed that of another."""
    with socket.create_connection(('127.0.0.1', port), LIMIT) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)     # else a request waits for the answer to the handshake's end
        with context.wrap_socket(plain, server_hostname='localhost', session=session) as connection:
            return ask(connection)


def ask(connection):
    """Asks for 2 KB; the session, and whether it was resumed."""
    connection.sendall(b'GET /2048 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    got = b''
    while more := connection.recv(65536):
        got += more
    if not got.startswith(b'HTTP/1.1 200') or len(got.partition(b'\r\n\r\n')[2]) != 2048:
        raise Failed(f'got {got[:100]!r}, {len(got)} bytes')
    return connection.session, connection.session_reused


def opened(port, pid, version, resume, count):
    """Connections that ask once: µs of the server for one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = VERSIONS[version]
    session, _ = visit(port, context)
    before = spent(pid)
    for _ in range(count):
        following, resumed = visit(port, context, session if resume else None)
        if resumed != resume:
            raise Failed('the session was not resumed' if resume else 'a session was resumed')
        session = following
    return (spent(pid) - before) / count * 1e6


def servers(args, folder):
    """{name: (words, port)} of the servers."""
    run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '7', '-subj',
         '/CN=localhost', '-keyout', f'{folder}/key.pem', '-out', f'{folder}/cert.pem'])
    os.mkdir(f'{folder}/root')
    for size in KEPT.values():
        with open(f'{folder}/root/{size}', 'wb') as file:
            file.write(os.urandom(size))
    port = free()
    with open(f'{folder}/nginx.conf', 'w', encoding='ascii') as file:
        file.write(NGINX.format(folder=folder, port=port))
    found = {'nginx': (['nginx', '-p', folder, '-c', f'{folder}/nginx.conf'], port)}
    for model in args.models:
        exe, port = os.path.join(folder, model), free()
        run([program(), 'build', '--tls', '--model', model, args.files, '-o', exe], CFLAGS='-O2')
        words = [exe, '--port', str(port), '--set', f'fileRoot={folder}/root', '--set', f'tls={folder}/cert.pem {folder}/key.pem']
        described = run([exe, '--help'])
        found[model] = words + [word for name in ('logging',) if name in described for word in ('--set', f'{name}=errors')], port
    return found


def rows(args):
    """{name: what measures it, with a port and a process}."""
    found = {f'{name}, a connection that stays': lambda port, pid, size=size: kept(port, pid, size, args.seconds)
             for name, size in KEPT.items()}
    for version in args.versions.split(','):
        for resume in (False, True):
            found[f'a connection a request, TLS {version}, {"resumed" if resume else "in full"}'] = \
                lambda port, pid, version=version, resume=resume: opened(port, pid, version, resume, args.connections)
    return found


def main():
    """Measures, and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=int, default=2, help='of a measurement with wrk')
    parser.add_argument('--connections', type=int, default=300, help='of a measurement of handshakes')
    parser.add_argument('--files', default=os.path.join(TOP, 'examples', 'web', 'cops-http.nest'), metavar='SPEC')
    parser.add_argument('--versions', default='1.3,1.2')
    parser.add_argument('models', nargs='*', default=['event', 'uring'], metavar='MODEL', help=', '.join(SOCKET_MODELS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='nest-encrypting-') as folder:
        os.chmod(folder, 0o755)
        found, kinds, names = {}, rows(args), servers(args, folder)
        for turn in range(args.rounds):
            order = list(names)
            for name in order[turn % len(order):] + order[:turn % len(order)]:
                with serving(*names[name]) as pid:
                    for kind, measure in kinds.items():
                        found.setdefault((kind, name), []).append(measure(names[name][1], pid))
    print(f'| {args.rounds} rounds; µs of the server, and beside nginx | ' + ' | '.join(names) + ' |')
    print('|---' * (len(names) + 1) + '|')
    for kind in kinds:
        cells = []
        for name in names:
            figures, base = found[kind, name], found[kind, 'nginx']
            cells.append(f'{statistics.median(figures):.0f}' + ('' if name == 'nginx' else f'; {beside(figures, base)}'))
        print(f'| {kind} | ' + ' | '.join(cells) + ' |')
    print(f'\n{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the end.')


main()
