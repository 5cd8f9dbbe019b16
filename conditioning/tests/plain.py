"""A server that knows nothing of filters, for tests.

    plain.py STYLE PORT LOG

STYLE: prefork  four processes that wait in accept; one that dies is replaced
       epoll    one process that waits in epoll, and accepts without waiting
       once     like epoll, but it accepts once for each event; LOG says "nobody" if no client was there
       few      like epoll, with descriptors for four clients, whom it lets wait for each other
       udp      it has a UDP socket only
       late     it listens after a second
       never    it does not listen
       single   it accepts one client, and ends
       dies     it listens, and ends with status 3
       ring     it needs io_uring, and ends with status 4 without it

Each request is written to LOG when it has been read. One whose target begins with /slow takes 100 ms. At TERM, a
process answers the request that it has, and ends.
"""

import ctypes
import errno
import os
import re
import resource
import select
import signal
import socket
import sys
import time

HANDS = {'busy': False, 'end': False}


def on_term(*_):
    """Ends now or after the present request."""
    HANDS['end'] = True
    if not HANDS['busy']:
        os._exit(0)


def serve(client, log):
    """One request."""
    HANDS['busy'] = True
    with client:
        client.settimeout(20)
        request = b''
        while b'\r\n\r\n' not in request:
            data = client.recv(65536)
            if not data:
                break
            request += data
        target = re.match(rb'GET (\S+)', request)
        if target:
            os.write(log, target[1] + b' %d\n' % os.getpid())
            if target[1].startswith(b'/slow'):
                time.sleep(0.1)
            client.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nhello\n')
    HANDS['busy'] = False
    if HANDS['end']:
        os._exit(0)


def accepts(listening, log):
    """Clients one after the other, until accept fails."""
    while True:
        try:
            client, _ = listening.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EINTR, errno.ECONNABORTED):
                return
            os._exit(0)     # nobody answers the call any more
        with_time(client, log)


def with_time(client, log):
    """A client that ends early is its own loss."""
    try:
        serve(client, log)
    except OSError:
        HANDS['busy'] = False


def prefork(listening, log):
    """Four children; the parent replaces those that die."""
    pids = set()

    def stop(*_):
        for pid in list(pids):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        while True:
            try:
                os.wait()
            except ChildProcessError:
                os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    while True:
        while len(pids) < 4:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGTERM, on_term)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
                accepts(listening, log)
            pids.add(pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        pids.discard(os.wait()[0])


def epoll(listening, log):
    """One process."""
    listening.setblocking(False)
    waits = select.epoll()
    waits.register(listening, select.EPOLLIN)
    while True:
        waits.poll()
        accepts(listening, log)


def once(listening, log):
    """One client for each event."""
    listening.setblocking(False)
    waits = select.epoll()
    waits.register(listening, select.EPOLLIN)
    while True:
        waits.poll()
        try:
            client, _ = listening.accept()
        except BlockingIOError:
            os.write(log, b'nobody\n')
            continue
        with_time(client, log)


def few(listening, log):
    """Takes clients until it has no descriptor, then serves them all."""
    listening.setblocking(False)
    free = os.dup(log)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 4, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    waits, clients = select.poll(), []
    waits.register(listening, select.POLLIN)
    while True:
        try:
            if not waits.poll(20):
                raise BlockingIOError(errno.EAGAIN, 'nobody waits')
            clients.append(listening.accept()[0])
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EMFILE):
                os._exit(0)
            while clients:
                with_time(clients.pop(), log)


def main():
    """Runs the style."""
    style, port, log = sys.argv[1], int(sys.argv[2]), os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    signal.signal(signal.SIGTERM, on_term)
    if style == 'ring' and ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120)) == -1:
        sys.exit(4)
    kind = socket.SOCK_DGRAM if style == 'udp' else socket.SOCK_STREAM
    listening = socket.socket(socket.AF_INET, kind)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(('127.0.0.1', port))
    if style == 'late':
        time.sleep(1)
    if style not in ('udp', 'never'):
        listening.listen(64)
    if style == 'dies':
        sys.exit(3)
    if style == 'single':
        listening.accept()
        sys.exit(0)
    if style in ('udp', 'never'):
        while True:
            signal.pause()
    {'prefork': prefork, 'once': once, 'few': few}.get(style, epoll)(listening, log)


if __name__ == '__main__':
    main()
