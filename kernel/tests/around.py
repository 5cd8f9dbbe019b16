#!/usr/bin/env python3
"""What is around the server: a path with smaller packets than its ends have, somebody else who listens at its port, and folders
behind links that change.

    around.py       runs in a network namespace of its own; root

Must not know: how the kernel decides.
"""

import os
import select
import socket
import subprocess
import sys
import tempfile

from accelerated import WAIT, Failed, Report, Site, answer, lacks, same, until
from singles import CLOSE, request, talk

SERVER, NEAR, FAR, CLIENT = '10.1.0.1', '10.1.0.2', '10.2.0.2', '10.2.0.1'
SIZES = {'a.txt': 500, 'b.txt': 2000, 'c.txt': 8600, 'd.txt': 12_000}
ASKS = f'''
import socket, sys
client = socket.create_connection(('{SERVER}', int(sys.argv[1])), {WAIT})
client.settimeout({WAIT})
client.sendall(sys.argv[2].encode())
count = 0
while part := client.recv(65536):
    count += len(part)
print(count)
'''


def run(command):
    subprocess.run(command.split(), check=True, timeout=WAIT)


def path():
    """Makes a router and a client behind it. The way to the client takes 1,400 bytes, less than either end has."""
    for name in ('router', 'client'):
        run(f'ip netns add {name}')
    run('ip link add near type veth peer name server netns router')
    run('ip -n router link add far type veth peer name client netns client')
    for where, device, own, size in (('', 'near', SERVER, 1500), ('-n router', 'server', NEAR, 1500), ('-n router', 'far', FAR, 1400),
                                     ('-n client', 'client', CLIENT, 1500)):
        run(f'ip {where} address add {own}/24 dev {device}')
        run(f'ip {where} link set {device} mtu {size} up')
    run(f'ip route add default via {NEAR}')
    run(f'ip -n client route add default via {FAR}')
    run('ip netns exec router sysctl -qw net.ipv4.ip_forward=1')


def narrow(folder):
    """A client behind a path with smaller packets gets answers to single requests from the kernel, whole"""
    path()
    with Site(folder, listen=SERVER) as site:
        for name, size in SIZES.items():
            site.write(name, b'x' * size)
            asked = request(name, CLOSE)
            wanted = len(talk(site.alone, asked))

            def answered(asked=asked, wanted=wanted):
                before = site.counts()['singles']
                got = subprocess.run(['ip', 'netns', 'exec', 'client', sys.executable, '-c', ASKS, str(site.port), asked.decode()], check=True,
                                     capture_output=True, text=True, timeout=2 * WAIT).stdout
                same(f'bytes of {name}', int(got), wanted)
                return site.counts()['singles'] > before
            until(f'the kernel answers {name}', answered)


def elsewhere(site):
    """nginx at an address that nest does not try first."""
    conf = os.path.join(site.folder, 'nginx.conf')
    with open(conf, 'w', encoding='ascii') as file:
        file.write(f'daemon off; error_log {site.folder}/error.log; pid {site.folder}/nginx.pid; events {{}} http {{ access_log off; '
                   f'server {{ listen 127.0.0.2:{site.port}; root {site.www}; }} }}')
    return ['/usr/sbin/nginx', '-c', conf], None


def stranger(folder):
    """Who listens at the server's port later, at an address that the server does not have, is not asked for answers"""
    with Site(folder, server=elsewhere) as site, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(('127.0.0.1', site.port))
        other.listen()
        site.write('a.txt', b'own')

        def answered():
            before = site.counts()['answers']
            with socket.create_connection(('127.0.0.2', site.port), WAIT) as client:
                for _ in range(2):
                    client.sendall(request('a.txt'))
                    same('the file', answer(client)[1], b'own')
            return site.counts()['answers'] > before
        until('the kernel answers', answered)
        if select.select([other], [], [], 0)[0]:
            raise Failed('the other one was asked')


def switched(folder):
    """A link to a folder leads to another one: a change of that one's rights counts"""
    with Site(folder) as site:
        for name in ('one', 'two'):
            site.write(f'{name}/a.txt', name.encode())
        os.symlink('one', os.path.join(site.www, 'current'))
        site.keep('current/a.txt')
        os.symlink('two', os.path.join(site.www, 'next'))
        os.rename(os.path.join(site.www, 'next'), os.path.join(site.www, 'current'))
        until('the link leads to the other', lambda: site.get('current/a.txt')[1] == b'two')
        site.keep('current/a.txt')
        os.chmod(os.path.join(site.www, 'two'), 0o700)
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:

            def refused():
                client.sendall(request('current/a.txt'))
                return b' 403 ' in answer(client)[0]
            until('the server refuses', refused)
            for _ in range(20):     # the kernel has none of it
                same('it is refused', refused(), True)


def main():
    report = Report('around')
    missing = lacks()
    if sys.argv[1:] != ['inside']:
        if missing:
            report.skip('around', 'what is around the server', missing)
            return report.close()
        return subprocess.run(['unshare', '-nm', sys.executable, os.path.abspath(__file__), 'inside'], timeout=600,
                              check=False).returncode
    run('mount -t tmpfs none /run')     # of names of namespaces
    run('ip link set lo up')
    for case in (narrow, stranger, switched):
        with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
            try:
                case(folder)
                report.line(True, 'around', case.__doc__)
            except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
                report.line(False, 'around', case.__doc__, '', error)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
