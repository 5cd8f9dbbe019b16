"""Serving: every style of server, requests of every size, persistent connections, descriptors."""

import contextlib
import os
import signal
import socket
import tempfile
import threading
import time
from support import BUILD, SERVER, Chain, children, descriptors, expect, field, once, until

STYLES = ['loop', 'prefork', 'poll', 'select', 'epoll', 'threads']


def hash_of(data):
    """As the test server computes it."""
    value = 5381
    for byte in data:
        value = (value * 33 + byte) & 0xffffffff
    return value


def every_style():
    """Each style answers clients that come at once, keeps connections and gets whole requests."""
    for style in STYLES:
        with Chain(['request', 'persist', 'check'], style) as chain:
            clients = [chain.client() for _ in range(12)]
            for _ in range(3):
                for i, client in enumerate(clients):
                    client.get(f'/{i}')
                for i, client in enumerate(clients):
                    status, body = client.answer()
                    expect(status == 200 and field(body, 'target') == f'/{i}', f'{style}: {body}')
            expect(len(chain.requests()) == 36, f'{style}: {len(chain.requests())} requests')
            for client in clients:
                client.close()


def sizes():
    """Bodies of any size arrive whole: inside a message, in memory, in chunks, in pieces."""
    with Chain(['request', 'persist', 'check', 'priority']) as chain:
        for size in (0, 1, 5000, 32600, 32768, 33000, 70000, 200000, 1048576):
            for piece in (0, 9973):
                data = (f'POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n'.encode() +
                        bytes(i * 7 & 255 for i in range(size)))
                with chain.client() as client:
                    for at in range(0, len(data), piece or len(data)):
                        client.send(data[at:at + (piece or len(data))])
                    status, body = client.answer()
                    expect(status == 200 and field(body, 'size') == str(len(data)) and
                           field(body, 'hash') == str(hash_of(data)), f'{size}: {status} {body}')
                    status, body = client.get('/next').answer()
                    expect(status == 200 and '/next' in body, f'after {size}: {status} {body}')
        chunks = b''.join(b'%x\r\n%s\r\n' % (len(c), c) for c in (b'a' * 40000, b'bc')) + b'0\r\n\r\n'
        data = b'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' + chunks
        with chain.client() as client:
            client.send(data)
            _, body = client.answer()
            expect(field(body, 'size') == str(len(data)), body)


def rewritten_large():
    """A path is changed in a request that is longer than a message."""
    with Chain(['request', 'check,strip=1']) as chain:
        head = b'POST /one//two HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n'
        want = head.replace(b'/one//two', b'/two') + b'x' * 100000
        with chain.client() as client:
            client.send(head + b'x' * 100000)
            _, body = client.answer()
            expect(field(body, 'hash') == str(hash_of(want)), body)


def pipelined():
    """Requests that come in one piece are answered one after the other."""
    with Chain(['request', 'persist'], 'prefork') as chain:
        with chain.client() as client:
            client.send(''.join(f'GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n' for i in range(20)))
            for i in range(20):
                status, body = client.answer()
                expect(status == 200 and field(body, 'target') == f'/{i}', f'{i}: {body}')


def empty_line():
    """One empty line before a request is ignored, at the beginning and between requests; two are not."""
    with Chain(['request', 'persist', 'check']) as chain:
        with chain.client() as client:
            for target in ('/a//b', '/c'):
                client.send(f'\r\nPOST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok')
                status, body = client.answer()
                expect(status == 200 and field(body, 'target') == target.replace('//', '/'), f'{target}: {status} {body}')
        with chain.client() as client:
            client.send('\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')
            expect(client.answer()[0] == 400, 'two empty lines')


def expectation():
    """A client that waits for permission to send its body gets it, and the server is not asked for it again."""
    with Chain(['request', 'persist']) as chain, chain.client() as client:
        for size in (4, 100000, 4):
            client.send(f'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n')
            while b'\r\n\r\n' not in client.have:
                client.more()
            expect(client.have.startswith(b'HTTP/1.1 100'), client.have)
            client.have = b''
            client.send('x' * size)
            status, body = client.answer()
            expect(status == 200, 'no answer after the body')
            hashed = 5381
            for byte in f'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{"x" * size}'.encode():
                hashed = (hashed * 33 + byte) & 0xffffffff
            expect(field(body, 'hash') == str(hashed), f'the server has got another request: {body}')


def half_closed():
    """A client may close its sending side behind a request, and then gets its answer."""
    with Chain(['request', 'persist']) as chain, chain.client() as client:
        client.get('/slow')
        client.socket.shutdown(socket.SHUT_WR)
        expect(client.answer()[0] == 200, 'no answer')
        expect(client.ended(), 'not closed')


def closing():
    """The connection ends when the server wants it, when the client wants it, when a server dies."""
    with Chain(['request', 'persist'], 'prefork') as chain:
        for target, headers in (('/close', ''), ('/', 'Connection: close\r\n')):
            with chain.client() as client:
                expect(client.get(target, headers).answer()[0] == 200, target)
                expect(client.ended(), target)
        with chain.client() as client:
            expect(client.get('/', version='1.0').answer()[0] == 200 and client.ended(), '1.0')
        with chain.client() as client:
            expect(client.get('/die').answer()[0] == 0, 'an answer from a dead process')
        expect(chain.requests().count('/die') == 1, 'a request was delivered twice')
        expect(once(chain.port)[0] == 200, 'no answer after a death')


def addresses():
    """The server sees who the client is, IPv4 and IPv6."""
    with Chain(['request']) as chain:
        _, body = once(chain.port, address='127.8.7.6')
        expect(field(body, 'from') == '127.8.7.6', body)
    with Chain(['request', 'priority', 'slowread'], 'loop:6') as chain:
        _, body = once(chain.port, address='::1')
        expect(field(body, 'from') == '::1', body)
        _, body = once(chain.port, address='127.8.7.6')
        expect(field(body, 'from') == '::ffff:127.8.7.6', body)


def accounts():
    """After thousands of requests no process has a descriptor more than before."""
    with Chain(['request', 'persist', 'check', 'slowread', 'priority'], 'prefork') as chain:
        for _ in range(30):
            once(chain.port)
        processes = [p for list_ in chain.filters().values() for p in list_]
        processes += [chain.server()] + children(chain.server())['test-server']
        time.sleep(0.2)
        before = [descriptors(p) for p in processes]

        def load():
            for i in range(60):
                with chain.client() as client:
                    for _ in range(i % 4):
                        client.get('/').answer()
                    client.send('GET / HT' if i % 3 else b'x' * 40000)

        threads = [threading.Thread(target=load, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Some of those before may have been about to be closed.
        until(lambda: all(0 < descriptors(p) <= most for p, most in zip(processes, before)), f'more descriptors than {before}')
        until(lambda: not any(v for k, v in chain.metrics().items() if k[0] == 'held'), 'some are still held')


def forks():
    """A connection that a child answers is kept; children and parents may die at every step."""
    with Chain(['request', 'persist'], 'prefork') as chain:
        with chain.client() as client:
            for _ in range(2):
                status, body = client.get('/fork').answer()
                expect(status == 200, f'{status} {body}')
            expect(client.get('/').answer()[0] == 200, 'not kept after a child')
        for step in range(4):
            with chain.client() as client:
                status = client.get(f'/fork{step}').answer()[0]
                # 0 and 1: the parent died before the fork. 2: the child. 3: the parent, and the child
                # may answer, but the connection is not used again.
                expect(status == 200 if step == 3 else status == 0, f'step {step}: {status}')
                expect(client.ended(), f'step {step}: kept')
            expect(chain.requests().count(f'/fork{step}') == 1, f'step {step}: delivered twice')
        expect(once(chain.port)[0] == 200, 'no answer at the end')


def no_descriptors():
    """A server without free descriptors loses no connection."""
    def limited(port):
        return ['sh', '-c', f'ulimit -n 24; exec {SERVER} threads {port} /dev/null pass']

    with Chain(['request'], server=limited) as chain:
        clients = [chain.client() for _ in range(30)]
        for client in clients:
            client.get('/slow')
        for i, client in enumerate(clients):
            expect(client.answer()[0] == 200, f'client {i} of 30')
            client.close()


def state(pid):
    """The letter of a process's state; nothing if it has ended."""
    with contextlib.suppress(OSError), open(f'/proc/{pid}/stat', encoding='ascii') as file:
        return file.read().rpartition(')')[2].split()[0]
    return ''


def stopped():
    """A request that is complete while its filter is stopped for longer than its time is served."""
    with Chain(['request,timeout=5s']) as chain, chain.client() as client:
        client.send('GET / HTTP/1.1\r\nHost: a')
        until(lambda: chain.metrics()['held', 'request'] == 1, 'it is not held')
        pid = chain.filters()['request'][0]
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state(pid) == 'T', 'the filter does not stop')
        client.send('\r\n\r\n')
        time.sleep(5.2)     # its time is over
        os.kill(pid, signal.SIGCONT)
        expect(client.answer()[0] == 200, 'refused, although it came in time')


def continued():
    """A long answer of ccserver is whole although the child that sends it is stopped and continued."""
    size = 30_000_000
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'long'), 'wb') as file:
            file.write(b'x' * size)

        def server(port):
            return [os.path.join(BUILD, 'ccserver'), f'127.0.0.1:{port}', folder]
        with Chain(['request'], server=server) as chain:
            pid = children(chain.process.pid)['ccserver'][0]
            with chain.client() as client:
                client.get('/long')
                child = until(lambda: children(pid), 'no child sends it')['ccserver'][0]
                for _ in range(20):     # by then it waits for room, because nobody reads
                    for number, states in ((signal.SIGSTOP, 'T'), (signal.SIGCONT, 'RSD')):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(child, number)
                        until(lambda: state(child) in states, f'the child is not {states}')
                    time.sleep(0.02)
                status, body = client.answer()
                os.kill(pid, signal.SIGKILL)
            expect((status, len(body)) == (200, size), f'{status}, {len(body)} bytes')


TESTS = [every_style, sizes, rewritten_large, pipelined, empty_line, expectation, half_closed, closing, addresses,
         accounts, forks, no_descriptors, stopped, continued]
