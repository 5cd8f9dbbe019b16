#!/usr/bin/env python3
"""Requests per second of nginx alone, nginx behind the kernel, and a minimal loop with epoll, in turns.

    measure.py [--rounds N] [--seconds N] [--sent plain|chrome|cookie]      prints a table for benches/record/

With `--sent chrome` each request has the fields with which Chrome asks for a page; with `--sent cookie` it also has a
cookie, so the kernel leaves it to the server.

Server and client are in two network namespaces, joined by a veth pair. The server's process, the softirq of
its end (RPS) and the kernel's worker are on CPU 0, wrk and the softirq of its end on CPU 1.

Must not know: what is fast.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import browsers
from accelerated import NEST, ROOT, WAIT, lacks

SIZES = (192, 2000, 10_000, 28_000)
PORT = 8080
CHROME = browsers.SENT['Chrome, page']
SENT = {'plain': '', 'chrome': CHROME, 'cookie': CHROME + 'Cookie: a=b\r\n'}
SERVER, CLIENT = '10.98.0.1', '10.98.0.2'

CONFIG = '''daemon off; error_log {folder}/error.log crit; pid {folder}/nginx.pid; worker_processes 1; user root;
events {{ worker_connections 4096; multi_accept on; }}
http {{
    access_log off; sendfile {sendfile}; tcp_nopush {sendfile}; keepalive_timeout 600; keepalive_requests 1000000000;
    open_file_cache max=4000 inactive=1h; open_file_cache_valid 1h; default_type text/plain;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen {port}; root {folder}/www; }}
}}
'''


def run(command, **more):
    return subprocess.run(command.split(), check=True, timeout=WAIT, **more)


def inside(name):
    """What runs a command in a namespace. `ip netns exec` would hide the control groups."""
    return ['nsenter', f'--net=/run/netns/{name}']


class Net:
    """Two namespaces and the pair between them."""

    def __enter__(self):
        self.names = [f'nest-{os.getpid()}-{end}' for end in ('server', 'client')]
        for name in self.names:
            run(f'ip netns add {name}')
            run(f'ip -n {name} link set lo up')
        server, client = self.names
        run(f'ip -n {server} link add near type veth peer name far netns {client}')
        for name, device, address, mask in ((server, 'near', SERVER, '1'), (client, 'far', CLIENT, '2')):
            run(f'ip -n {name} address add {address}/24 dev {device}')
            run(f'ip -n {name} link set {device} up')
            path = f'/sys/class/net/{device}/queues/rx-0/rps_cpus'
            subprocess.run(['ip', 'netns', 'exec', name, 'sh', '-c', f'echo {mask} > {path}'], check=True,
                           timeout=WAIT)
        return self

    def __exit__(self, *unused):
        for name in self.names:
            run(f'ip netns delete {name}')

    def serve(self, *command):
        return subprocess.Popen([*inside(self.names[0]), 'taskset', '-c', '0', *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path):
        """One request; true: it was answered."""
        return subprocess.run([*inside(self.names[1]), 'curl', '-sf', '-o', '/dev/null',
                               f'http://{SERVER}:{PORT}{path}'], timeout=WAIT, check=False).returncode == 0

    def load(self, path, seconds, fields):
        """Requests per second of wrk."""
        more = [word for field in fields.splitlines() for word in ('-H', field)]
        told = subprocess.run([*inside(self.names[1]), 'taskset', '-c', '1', 'wrk', '-t1', '-c64',
                               f'-d{seconds}', *more, f'http://{SERVER}:{PORT}{path}'], text=True, capture_output=True,
                              timeout=WAIT + seconds, check=True).stdout
        return float(next(line.split()[1] for line in told.splitlines() if line.startswith('Requests/sec')))


def measured(net, command, path, warm, options):
    server = net.serve(*command)
    try:
        end = time.monotonic() + WAIT
        while not net.ask(path):
            if time.monotonic() > end:
                raise SystemExit(f'{command} does not answer')
            time.sleep(0.05)
        for _ in range(warm):
            net.ask(path)
            time.sleep(0.3)
        return net.load(path, options.seconds, SENT[options.sent])
    finally:
        server.terminate()
        server.wait(WAIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=int, default=2)
    parser.add_argument('--sent', choices=SENT, default='plain')
    options = parser.parse_args()
    missing = lacks()
    if missing:
        raise SystemExit(missing)
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder, Net() as net:
        os.chmod(folder, 0o755)
        os.makedirs(f'{folder}/www')
        for size in SIZES:
            with open(f'{folder}/www/{size}', 'wb') as file:
                file.write(b'x' * size)
        for sendfile in ('on', 'off'):
            with open(f'{folder}/{sendfile}.conf', 'w', encoding='ascii') as file:
                file.write(CONFIG.format(folder=folder, sendfile=sendfile, port=PORT))
        floor = f'{folder}/floor'
        subprocess.run(['cc', '-O2', '-o', floor, f'{ROOT}/benches/floors/epoll.c'], check=True, timeout=60)
        nginx = ['/usr/sbin/nginx', '-c']
        kernel = [NEST, 'accelerate', '--port', str(PORT), '--root', f'{folder}/www', '--state', f'{folder}/state',
                  '--', *nginx, f'{folder}/off.conf']
        kinds = {
            'nginx, sendfile': lambda size: [*nginx, f'{folder}/on.conf'],
            'nginx, no sendfile': lambda size: [*nginx, f'{folder}/off.conf'],
            'epoll loop, constant': lambda size: [floor, '--port', str(PORT), '--bytes', str(size + 250)],
            'kernel': lambda size: kernel,
        }
        found = {(kind, size): [] for kind in kinds for size in SIZES}
        for _ in range(options.rounds):
            for size in SIZES:
                for kind, command in kinds.items():
                    found[kind, size].append(measured(net, command(size), f'/{size}', 6 if kind == 'kernel' else 1,
                                                      options))
        print('| requests per second | ' + ' | '.join(f'{size:,} B' for size in SIZES) + ' |')
        print('|---|' + '---|' * len(SIZES))
        for kind in kinds:
            cells = [f'{statistics.median(found[kind, size]):,.0f} ({max(found[kind, size]):,.0f})' for size in SIZES]
            print(f'| {kind} | ' + ' | '.join(cells) + ' |')
    with open('/proc/loadavg', encoding='ascii') as file:
        print('load', file.read().split()[:3])


if __name__ == '__main__':
    sys.exit(main())
