"""Connections that leave the kernel's maps, because the server alone is faster on them.

Must not know: how the kernel decides.
"""

import contextlib
import ctypes
import os
import re
import signal
import socket
import struct

from accelerated import WAIT, Failed, Site, answer, same, until

BPF = 321               # the system call, on x86-64
NEXT_KEY, BY_NUMBER = 4, 14
SOCKHASH = '18'
LIBC = ctypes.CDLL(None, use_errno=True)

LARGE, MIDDLE = 1_000_000, 28_000
PIPELINED = 150


def bpf(command, *words):
    """One call of bpf(2): its result, or OSError."""
    attributes = ctypes.create_string_buffer(struct.pack(f'{len(words)}Q', *words), 64)
    result = LIBC.syscall(BPF, command, attributes, 64)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def entered(process):
    """How many connections are in the map of sockets that this process holds."""
    for number in os.listdir(f'/proc/{process}/fdinfo'):
        with contextlib.suppress(OSError), open(f'/proc/{process}/fdinfo/{number}', encoding='ascii') as file:
            facts = dict(re.findall(r'(\w+):\s+(\w+)', file.read()))
            if facts.get('map_type') == SOCKHASH:
                break
    else:
        raise Failed('nest has no map of sockets')
    map_ = bpf(BY_NUMBER, int(facts['map_id']))
    key, following, count = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8), 0
    try:
        while True:
            bpf(NEXT_KEY, map_, ctypes.addressof(key) if count else 0, ctypes.addressof(following))
            key.raw, count = following.raw, count + 1
    except FileNotFoundError:
        return count
    finally:
        os.close(map_)


def asked(client, name):
    """The body of the answer to a request for this file."""
    client.sendall(f'GET /{name} HTTP/1.1\r\nHost: test\r\n\r\n'.encode())
    return answer(client)[1]


def leaves(folder):
    """A connection on which copying costs more than the kernel's answers save leaves the kernel's map. It goes on with the server."""
    with Site(folder) as site:
        files = {'a.txt': b'hello', 'middle.txt': b'm' * MIDDLE, 'large.txt': b'l' * LARGE}
        for name, data in files.items():
            site.write(name, data)
        site.keep('a.txt', 'middle.txt')
        until('no connection is left', lambda: entered(site.process.pid) == 0)

        def ask(client, name, times):
            before = site.counts()['answers']
            for _ in range(times):
                same(name, asked(client, name) == files[name], True)
            return site.counts()['answers'] - before

        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            if ask(client, 'a.txt', 20) < 10:
                raise Failed('the kernel does not answer small files')
            same('connections in the map', entered(site.process.pid), 1)
            ask(client, 'large.txt', 1)
            until('the connection has left', lambda: entered(site.process.pid) == 0)
            same('answers of the kernel afterwards', ask(client, 'a.txt', 20) + ask(client, 'large.txt', 3), 0)
            client.shutdown(socket.SHUT_WR)
            same('what comes after the end', client.recv(1), b'')
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            hits = ask(client, 'middle.txt', 40)
            if not 5 < hits < 20:
                raise Failed(f'the kernel answered {hits} of 40 requests for {MIDDLE} bytes')
            until('the connection has left', lambda: entered(site.process.pid) == 0)
        pipelined(site, files)
        until('no connection is left', lambda: entered(site.process.pid) == 0)
        ending(site, files)
    return f'{hits} of 40 answers of {MIDDLE:,} bytes before it left'


def pipelined(site, files):
    """Requests that the server has not read while it sends a large answer are not lost when the connection leaves."""
    names = ['large.txt', *['a.txt', 'a.txt', 'middle.txt', 'large.txt', 'a.txt'] * (PIPELINED // 5)]
    with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        same('a file', asked(client, 'a.txt'), files['a.txt'])
        client.sendall(b''.join(f'GET /{name} HTTP/1.1\r\nHost: test\r\n\r\n'.encode() for name in names))
        data = b''
        for i, name in enumerate(names):
            while b'\r\n\r\n' not in data:
                data += some(client)
            data = data.partition(b'\r\n\r\n')[2]
            while len(data) < len(files[name]):
                data += some(client)
            same(f'answer {i}', data[:len(files[name])] == files[name], True)
            data = data[len(files[name]):]
        until('the connection has left', lambda: entered(site.process.pid) == 0)


def some(client):
    """Bytes that the server sends; Failed at the end."""
    data = client.recv(65536)
    if not data:
        raise Failed('the connection ended')
    return data


def below(process):
    """All processes that this one has started, and those that they have."""
    with open(f'/proc/{process}/task/{process}/children', encoding='ascii') as file:
        children = [int(child) for child in file.read().split()]
    return [*children, *(one for child in children for one in below(child))]


def ending(site, files):
    """A connection that begins with the request that ends it is not entered, if the server answers. It is stopped, so that
    the connection cannot leave before it is looked at."""
    request = b'GET /large.txt HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n'
    server = below(site.process.pid)
    for turn in range(2):       # after the first one ends of handshakes are held back until the request comes
        before = site.counts()['handed_over']
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            try:
                for one in server if turn else ():
                    os.kill(one, signal.SIGSTOP)
                client.sendall(request)
                until('it is counted', lambda b=before: site.counts()['handed_over'] == b + 1)
                same('connections in the map', entered(site.process.pid) if turn else 0, 0)
            finally:
                for one in server:
                    os.kill(one, signal.SIGCONT)
            same('the file', answer(client)[1] == files['large.txt'], True)
        until('the connection has ended', lambda: entered(site.process.pid) == 0)
