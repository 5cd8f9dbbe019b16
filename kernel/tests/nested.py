#!/usr/bin/env python3
"""Programs that interrupt each other on one CPU: many connections to nginx, whose packets are steered to all CPUs.

    nested.py       runs in a network namespace of its own; root

Each connection asks for a file of its own, again and again, in a request whose head takes a while to read. No connection may get
another one's file, and none may be handed over to the server because its head was read wrong.

Must not know: how the kernel decides.
"""

import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time

from accelerated import WAIT, Report, Site, answer, lacks

CLIENTS, CONNECTIONS, SECONDS = 4, 16, 4
FIELDS = f'User-Agent: {"x" * 700}\r\n'


def ask(port, names, queue):
    """Asks on a connection for each name until the time is over; puts how many answers came, and what was wrong."""
    count, wrong, end = 0, [], time.monotonic() + SECONDS
    clients = [(name, socket.create_connection(('127.0.0.1', port), WAIT)) for name in names]
    while time.monotonic() < end:
        for name, client in clients:
            client.sendall(f'GET /{name} HTTP/1.1\r\nHost: test\r\n{FIELDS}\r\n'.encode())
        for name, client in clients:
            body = answer(client)[1]
            count += 1
            if body != name.encode():
                wrong.append(f'{body!r} for {name}')
    queue.put((count, wrong[:5]))


def steer():
    """Lets all CPUs take packets of the loopback. The devices of a namespace are in a sysfs that was mounted in it."""
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    with tempfile.TemporaryDirectory(prefix='nest-sysfs-') as folder:
        subprocess.run(['mount', '-t', 'sysfs', 'none', folder], check=True)
        try:
            with open(f'{folder}/class/net/lo/queues/rx-0/rps_cpus', 'w', encoding='ascii') as file:
                file.write(f'{(1 << os.cpu_count()) - 1:x}')
        finally:
            subprocess.run(['umount', folder], check=True)


def inside(report):
    """The conversation."""
    steer()
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder, Site(folder) as site:
        names = [f'{i:03}.txt' for i in range(CLIENTS * CONNECTIONS)]
        for name in names:
            site.write(name, name.encode())
        site.keep(names[0])
        queue = multiprocessing.Queue()
        clients = [multiprocessing.Process(target=ask, args=(site.port, names[i::CLIENTS], queue)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        said = [queue.get(timeout=SECONDS + WAIT) for _ in clients]
        for client in clients:
            client.join()
        counts = site.counts()
    wrong = [line for _, lines in said for line in lines]
    count = sum(number for number, _ in said)
    report.line(not wrong, 'nested', 'each connection gets its own file', f'{count} answers', '\n'.join(wrong))
    report.line(counts['answers'] > count // 2 and not counts['handed_over'], 'nested',
                'the kernel answers, and hands no connection over', f'{counts["answers"]} by the kernel', str(counts))


def main():
    report = Report('nested')
    missing = lacks()
    if sys.argv[1:] == ['inside']:
        inside(report)
    elif missing:
        report.skip('nested', 'programs that interrupt each other', missing)
    else:
        return subprocess.run(['unshare', '-nm', sys.executable, os.path.abspath(__file__), 'inside'], timeout=600,
                              check=False).returncode
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
