"""Connections with one request, which ends them: what the client gets is what the server alone gives, and the
kernel answers what it can without the server.

Must not know: how the kernel decides.
"""

import contextlib
import os
import re
import socket
import struct
import time

from accelerated import WAIT, Failed, Site, answer, same, undated, until


def request(path, fields='', version='1.1', method='GET'):
    return f'{method} /{path} HTTP/{version}\r\nHost: test\r\n{fields}\r\n'.encode()


CLOSE = 'Connection: close\r\n'
OLD = request('a.txt', version='1.0')
LAST = request('a.txt', CLOSE)


def rest(client):
    """All that comes until the end."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b''.join(parts)


def talk(port, *pieces, half=False, room=None, wait=0.0, host='127.0.0.1', after=None):
    """Sends the pieces one by one on a new connection; what came until its end. `room`: for what is not read;
    `wait`: before it reads; `after`: sent when the first bytes are there."""
    with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET) as client:
        client.settimeout(WAIT)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if room:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        client.connect((host, port))
        for i, piece in enumerate(pieces):
            time.sleep(0.01 if i else 0)
            client.sendall(piece)
        if half:
            client.shutdown(socket.SHUT_WR)
        time.sleep(wait)
        got = b''
        if after:
            got = client.recv(65536)
            with contextlib.suppress(ConnectionError):
                client.sendall(after)
        got += rest(client)
        return got


def single(site, what, *pieces, **options):
    """Both ports give the same."""
    got = talk(site.port, *pieces, **options)
    # nginx resets a client that sends more, which may lose the answer; the kernel does not.
    options.pop('after', None)
    same(what, undated(got), undated(talk(site.alone, *pieces, **options)))
    return got


def keep(site, *requests):
    """Sends requests until the kernel answers them."""
    for data in requests:
        def answered(data=data):
            before = site.counts()['singles']
            talk(site.port, data)
            return site.counts()['singles'] > before
        until(f'the kernel answers {data!r}', answered)


def closes(folder):
    """A request that ends its connection is answered by the kernel alone, if it is the first on it, complete, and
    its answer short; every other one as nginx answers it."""
    log = os.path.join(folder, 'kernel.log')
    with Site(folder, ['--log', log]) as site:
        for name, size in {'a.txt': 5, 'b.txt': 2000, 'c.txt': 13_000, 'l.txt': 100_000}.items():
            site.write(name, (name.encode() * size)[:size])
        keep(site, LAST, OLD, request('b.txt', CLOSE), request('c.txt', CLOSE), request('c.txt', version='1.0'))
        for _ in range(9):      # on a busy machine the loader may be late, and the server answers
            lines, before = len(site.log()), site.counts()['singles']
            for what, data in {
                    'close': LAST, 'HTTP/1.0': OLD, 'HEAD': request('a.txt', CLOSE, method='HEAD'),
                    'HEAD of HTTP/1.0': request('a.txt', version='1.0', method='HEAD'),
                    'HTTP/1.0 with close': request('a.txt', CLOSE, '1.0'), 'lower case': request('a.txt', CLOSE.lower()),
                    '2,000 bytes': request('b.txt', CLOSE), '13,000 bytes': request('c.txt', CLOSE),
                    'fields': request('a.txt', 'User-Agent: x\r\nAccept: */*\r\n' + CLOSE)}.items():
                head = single(site, what, data).partition(b'\r\n\r\n')[0]
                same(f'{what}: the end is told', b'\r\nConnection: close' in head, True)
                single(site, f'{what}, and a half-close', data, half=True)
                single(site, f'{what}, read late', data, wait=0.05)
                single(site, f'{what}, and requests behind its answer', data, after=request('a.txt') * 2)
            answered = site.counts()['singles'] - before
            if answered == 36:
                break
        same('answers of the kernel', answered, 36)
        until('the log has a line of nginx alone for each', lambda: len(site.log()) >= lines + 36)
        time.sleep(0.1)
        ours = [line for line in site.log()[lines:] if 'nest-accelerate' not in line]
        same('lines of nginx', len(ours), 36)
        tag = re.search(rb'\r\nETag: ([^\r]*)', talk(site.alone, LAST))[1].decode()
        for what, pieces in {
                'a request behind it': [LAST + request('a.txt')], 'another behind it': [OLD + LAST],
                'split': [LAST[:20], LAST[20:]], 'split at its end': [LAST[:-1], LAST[-1:]],
                'the second request': [request('a.txt'), LAST], 'a body': [request('a.txt', CLOSE + 'Content-Length: 1\r\n') + b'x'],
                'a condition': [request('a.txt', CLOSE + f'If-None-Match: {tag}\r\n')],
                'a range': [request('a.txt', CLOSE + 'Range: bytes=1-2\r\n')], 'a cookie': [request('a.txt', CLOSE + 'Cookie: a\r\n')],
                'a large file': [request('l.txt', CLOSE)], 'no file': [request('none', CLOSE)],
                'a query': [request('a.txt?x', CLOSE)], 'two answers': [request('a.txt', CLOSE + 'Connection: keep-alive\r\n')],
                'without Host': [b'GET /a.txt HTTP/1.0\r\n\r\n']}.items():
            if what != 'two answers':       # nginx waits for another request
                single(site, what, *pieces)
            single(site, f'{what}, and a half-close', *pieces, half=True)
        same('answers of the kernel to others', site.counts()['singles'] - before, 36)
        single(site, 'a small window', request('c.txt', CLOSE), room=2048, wait=0.1)

        # HTTP/1.0 with keep-alive goes on.
        before = site.counts()['singles']
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            for _ in range(3):
                client.sendall(request('a.txt', 'Connection: keep-alive\r\n', '1.0'))
                same('an answer that goes on', answer(client)[1], b'a.txt')
        same('these are nginx\'s', site.counts()['singles'] - before, 0)
        answers = site.counts()['answers']

        def logged():
            with open(log, encoding='ascii') as file:
                return file.read().splitlines()
        until('the log is written', lambda: len(logged()) >= answers)
        same('lines of the kernel\'s log', len(logged()), answers)
        same('HTTP/1.0 in it', any('"GET /a.txt HTTP/1.0" 200' in line for line in logged()), True)
    return f'{answers} answers'


def reused(folder):
    """Connections of one request: from the same port again and again, reset, silent, and more at a time than a queue has;
    a change of the file is seen."""
    with Site(folder) as site:
        site.write('a.txt', b'first')
        keep(site, LAST)
        with socket.create_server(('127.0.0.1', 0)) as spare:
            port = spare.getsockname()[1]
        wanted = undated(talk(site.alone, LAST))
        for i in range(20):
            with socket.socket() as client:
                client.settimeout(WAIT)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                client.bind(('127.0.0.1', port))
                client.connect(('127.0.0.1', site.port))
                client.sendall(LAST)
                if i % 4 == 3:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    continue
                same(f'answer {i} to the same port', undated(rest(client)), wanted)
        # A client that sends nothing at first, and one that never does.
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            time.sleep(1.5)
            client.sendall(LAST)
            same('after a while', undated(rest(client)), wanted)
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            client.shutdown(socket.SHUT_WR)
            same('after nothing', rest(client), b'')
        clients = [socket.create_connection(('127.0.0.1', site.port), WAIT) for _ in range(400)]
        for client in clients:
            client.sendall(LAST)
        for client in clients:
            with client:
                same('one of many', undated(rest(client)), wanted)
        site.write('a.txt', b'second')
        since = time.monotonic()
        until('the change is seen', lambda: talk(site.port, LAST).endswith(b'second'))
        if time.monotonic() - since > 5:        # a second, on a machine that does nothing else
            raise Failed(f'the file was old for {time.monotonic() - since:.1f} s')
        keep(site, LAST)
        os.remove(os.path.join(site.www, 'a.txt'))
        until('the file is gone', lambda: b' 404 ' in talk(site.port, LAST))
        same('broken', site.counts()['broken'], 0)
    return ''


def six(folder):
    """So are they over IPv6."""
    with Site(folder, listen='[::1]') as site:
        site.write('a.txt', b'body')
        wanted = undated(talk(site.alone, LAST))

        def answered():
            before = site.counts()['singles']
            same('an answer', undated(talk(site.port, LAST, host='::1')), wanted)
            return site.counts()['singles'] > before
        until('the kernel answers over IPv6', answered)
        same('HEAD', undated(talk(site.port, request('a.txt', CLOSE, method='HEAD'), host='::1')),
             undated(talk(site.alone, request('a.txt', CLOSE, method='HEAD'))))
    return ''
