"""A client that holds connections open: a program of its own, so that its descriptors are its own.

    attacker.py PORT NETWORK [REQUEST]

Reads a number from standard input and holds so many connections from then on, from four addresses of NETWORK, such as
127.1.0. Each sends REQUEST, if there is one, and then nothing. A connection that the server ends is opened again.
Writes `HELD ENDED` when all are there, or when no more came for two seconds; ENDED counts those that the server has
ended. Ends with its input.
"""

import contextlib
import os
import resource
import select
import socket
import sys
import time

AT_ONCE = 256           # connections that are being opened
IP_BIND_ADDRESS_NO_PORT = 24


class Attacker:
    """The connections."""

    def __init__(self, port, network, request):
        self.port, self.network, self.request = port, network, request
        self.poll = select.epoll()
        self.sockets, self.opening = {}, set()
        self.want, self.ended, self.opened, self.told, self.grew = 0, 0, 0, True, time.monotonic()

    def open(self):
        """Opens another one."""
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        s.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        s.bind((f'{self.network}.{1 + self.opened % 4}', 0))
        self.opened += 1
        with contextlib.suppress(BlockingIOError):
            s.connect(('127.0.0.1', self.port))
        self.sockets[s.fileno()] = s
        self.opening.add(s.fileno())
        self.poll.register(s.fileno(), select.EPOLLOUT)

    def end(self, number):
        """A connection is over."""
        self.opening.discard(number)
        self.poll.unregister(number)
        self.sockets.pop(number).close()

    def happened(self, number):
        """A connection is made, has an answer, or is over."""
        s = self.sockets[number]
        try:
            if number in self.opening:
                if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise OSError
                if self.request:
                    s.send(self.request)
                self.opening.discard(number)
                self.grew = time.monotonic()
                self.poll.modify(number, select.EPOLLIN)
            elif not s.recv(65536):
                raise OSError
        except BlockingIOError:
            pass
        except OSError:
            self.ended += 1
            self.end(number)

    def tell(self):
        """Answers the last number."""
        held = len(self.sockets) - len(self.opening)
        if not self.told and (held >= self.want or time.monotonic() - self.grew > 2):
            self.told = True
            print(held, self.ended, flush=True)

    def run(self):
        """Until the input ends."""
        self.poll.register(0, select.EPOLLIN)
        left = b''
        while True:
            while len(self.sockets) < self.want and len(self.opening) < AT_ONCE:
                self.open()
            for number, _ in self.poll.poll(.1):
                if number:
                    self.happened(number)
                    continue
                data = os.read(0, 4096)
                if not data:
                    return
                *lines, left = (left + data).split(b'\n')
                for line in lines:
                    self.want, self.told, self.grew = int(line), False, time.monotonic()
            self.tell()


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    Attacker(int(sys.argv[1]), sys.argv[2], ' '.join(sys.argv[3:]).encode().decode('unicode_escape').encode()).run()
