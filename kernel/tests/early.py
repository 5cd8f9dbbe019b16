"""Requests that come before the server has accepted the connection.

Must not know: how the kernel decides.
"""

import os
import socket
import sys
import time

from accelerated import WAIT, Failed, Site, answer, same, until

# It waits before it accepts while there is a file `pause`, and writes a byte to `vain` for each read of nothing.
SERVER = '''
import os, select, socket, sys, time
port, folder = int(sys.argv[1]), sys.argv[2]
listener = socket.create_server(('127.0.0.1', port))
listener.setblocking(False)
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
clients = {}
while True:
    for number, _ in poll.poll():
        if number == listener.fileno():
            time.sleep(0.3 if os.path.exists(folder + '/pause') else 0)
            client = listener.accept()[0]
            client.setblocking(False)
            poll.register(client, select.EPOLLIN)
            clients[client.fileno()] = [client, b'']
            continue
        client, data = clients[number]
        try:
            more = client.recv(65536)
        except BlockingIOError:
            with open(folder + '/vain', 'ab') as file:
                file.write(b'x')
            continue
        if not more:
            client.close()
            del clients[number]
            continue
        data += more
        while b'\\r\\n\\r\\n' in data:
            head, _, data = data.partition(b'\\r\\n\\r\\n')
            body = b'' if head.startswith(b'HEAD') else b'body'
            client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\n' + body)
        clients[number][1] = data
'''
REQUEST = b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n'


def early(folder):
    """A request that comes before the accept is answered, its name is learnt, and its socket does not look readable afterwards."""
    def made(site):
        return [sys.executable, '-c', SERVER, str(site.port), folder], None

    def reads():
        path = os.path.join(folder, 'vain')
        return os.path.getsize(path) if os.path.exists(path) else 0

    with Site(folder, server=made) as site:
        site.write('a.txt', b'body')

        def learnt():
            with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
                client.sendall(REQUEST)
                same('the first answer', answer(client)[1], b'body')
            return 'kept: 1 answers' in site.ask('status')
        with open(os.path.join(folder, 'pause'), 'wb'):
            until('the name is learnt from first requests alone', learnt)
        with open(os.path.join(folder, 'pause'), 'wb'), \
                socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            client.sendall(REQUEST)
            same('the first answer', answer(client)[1], b'body')
            before = reads()
            time.sleep(0.5)         # so long a server would read nothing, again and again
            vain = reads() - before
            if vain > 20:
                raise Failed(f'the server read nothing {vain} times in half a second')
            hits = site.counts()['answers']
            for _ in range(20):
                client.sendall(REQUEST)
                same('an answer', answer(client)[1], b'body')
            if site.counts()['answers'] - hits < 10:
                raise Failed('the kernel does not answer on this connection')
            client.shutdown(socket.SHUT_WR)
            same('what comes after the end', client.recv(1), b'')
    return ''
