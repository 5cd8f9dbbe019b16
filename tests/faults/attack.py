#!/usr/bin/env python3
"""One attack on a server, as a process of its own: attack.py NAME PORT COUNT.

Says "ready" when it is in force; goes on until its standard input ends; then leaves. Must not know:
what is measured meanwhile.
"""

import os
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

GET = b'GET /big HTTP/1.1\r\nHost: a\r\n\r\n'


class Attack:
    """What attacks share."""

    def __init__(self, port, count):
        self.port, self.count, self.made = port, count, 0

    def connect(self, wait=5, receive=None):
        """A connection, from one of several addresses so that ports suffice; None if refused."""
        client = socket.socket()
        try:
            client.settimeout(wait)
            if receive:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
            client.setsockopt(socket.IPPROTO_IP, 24, 1)     # IP_BIND_ADDRESS_NO_PORT
            client.bind((f'127.0.0.{2 + self.made % 8}', 0))
            client.connect(('127.0.0.1', self.port))
        except OSError:
            client.close()
            return None
        self.made += 1
        return client

    @staticmethod
    def over():
        """Whether it is to end."""
        return bool(select.select([sys.stdin], [], [], 0)[0])

    @staticmethod
    def ready():
        """It is in force."""
        print('ready', flush=True)

    def until_over(self):
        """Does nothing more until then."""
        self.ready()
        select.select([sys.stdin], [], [])


class Silent(Attack):
    """Connects and says nothing."""

    def run(self):
        clients = []
        for _ in range(self.count):
            clients.append(self.connect())
            if clients[-1] is None:
                break
        self.until_over()
        return clients


class Halves(Attack):
    """Sends the larger part of a message, never its end; again when the server ends it."""

    def run(self):
        begun = b'GET /ping HTTP/1.1\r\nX: ' + b'x' * 7000
        clients = {}

        def another():
            client = self.connect(1)
            if client is not None:
                try:
                    client.send(begun)
                    clients[client] = True
                except OSError:
                    client.close()

        for _ in range(self.count):
            another()
        self.ready()
        while not self.over():
            for client in select.select(list(clients)[:1000], [], [], 0.05)[0]:
                del clients[client]
                client.close()
            for _ in range(min(20, self.count - len(clients))):
                another()
        return list(clients)


class NeverReads(Attack):
    """Asks for 64 MB and reads none of it; again when the server ends it."""

    def run(self):
        clients = {}
        self.ready()
        while not self.over():
            while len(clients) < self.count:
                client = self.connect(receive=4096)
                if client is None:
                    break
                try:
                    client.sendall(GET)
                    clients[client] = True
                except OSError:
                    client.close()
            poll = select.poll()
            for client in clients:
                poll.register(client, select.POLLERR | select.POLLHUP)
            gone = {fd for fd, _ in poll.poll(50)}
            for client in [client for client in clients if client.fileno() in gone]:
                del clients[client]
                client.close()
        return list(clients)


class Endless(Attack):
    """Sends 100 MB without a line end, again and again, whatever the server says."""

    def run(self):
        block, said = b'GET /' + b'a' * (1 << 20), False
        while not self.over():
            client = self.connect()
            if not said:
                self.ready()
                said = True
            try:
                for _ in range(100):
                    client.sendall(block)
                    if self.over():
                        break
            except (OSError, AttributeError):
                pass
            if client is not None:
                client.close()
        return []


class Flood(Attack):
    """Connects and leaves, at once or after a request, in order or by a reset."""

    def run(self):
        self.ready()
        turn = 0
        while not self.over():
            client = self.connect(1)
            if client is None:
                continue
            turn += 1
            try:
                if turn % 3 == 0:
                    client.send(b'GET /ping HTTP/1.1\r\n\r\n')
                if turn % 2 == 0:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            except OSError:
                pass
            client.close()
        return []


class Crowd(Attack):
    """As many connections as there can be, held for a moment, all given back."""

    def run(self):
        self.ready()
        while not self.over():
            clients = []
            for _ in range(self.count):
                client = self.connect(0.2)
                if client is None or self.over():
                    break
                clients.append(client)
            time.sleep(0.1)
            for client in clients:
                client.close()
        return []


class Fills(Attack):
    """Uploads until the disk is full, and on."""

    def run(self):
        body = b'x' * (1 << 20)
        refused = at = 0
        said = False
        client = None
        while not self.over():
            client = client or self.connect()
            at += 1
            try:
                client.sendall(b'PUT /f%d HTTP/1.1\r\nContent-Length: %d\r\n\r\n'
                               % (at % 16, len(body)) + body)
                answer = client.recv(4096)
            except (OSError, AttributeError):
                answer = b''
            if answer.startswith(b'HTTP/1.1 507'):
                refused += 1
            elif not answer.startswith(b'HTTP/1.1 201'):
                client = None
                refused -= 1000000      # it must answer; shown as what it is
            if refused != 0 and not said:
                self.ready()
                said = True
        print(f'refused {refused}', flush=True)
        return [client]


class Slow(Attack):
    """slowhttptest, in one of its modes."""

    MODES = {'slow-head': ['-H', '-i', '1'],
             'slow-body': ['-B', '-i', '1', '-s', '8192'],
             'slow-range': ['-R', '-a', '10', '-b', '3000'],
             'slow-read': ['-X', '-w', '512', '-y', '1024', '-n', '1', '-z', '32', '-k', '3']}

    def __init__(self, port, count, mode):
        super().__init__(port, count)
        self.mode = self.MODES[mode]

    def run(self):
        words = ['slowhttptest', *self.mode, '-c', str(self.count), '-r', '400', '-l', '240', '-p',
                 '5', '-u', f'http://127.0.0.1:{self.port}/big']
        nothing, tool, said = subprocess.DEVNULL, None, False
        with tempfile.TemporaryDirectory(prefix='nest-slow-') as folder:
            while not self.over():
                if tool is None or tool.poll() is not None:     # it ends when all are answered
                    tool = subprocess.Popen(words, cwd=folder, stdin=nothing, stdout=nothing,
                                            stderr=nothing)
                if not said:
                    time.sleep(1)
                    self.ready()
                    said = True
                time.sleep(0.05)
            tool.kill()
            tool.wait()
        return []


ATTACKS = {'silent': Silent, 'halves': Halves, 'never-reads': NeverReads, 'endless': Endless,
           'flood': Flood, 'crowd': Crowd, 'fills': Fills}


def main():
    """Attacks."""
    os.nice(15)         # attackers are other machines: they take no processor from the server
    name, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    attack = Slow(port, count, name) if name in Slow.MODES else ATTACKS[name](port, count)
    for client in attack.run():
        if client is not None:
            client.close()


if __name__ == '__main__':
    main()
