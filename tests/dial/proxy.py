"""examples/proxy in front of two servers that a test controls.

Must not know: models.
"""

import http.server
import os
import socket
import threading
import time

from checks import LIMIT
from support.expect import expect
from support.nest import ROOT
from support.server import Client

SPEC = os.path.join(ROOT, 'examples/proxy/proxy.nest')


class Handler(http.server.BaseHTTPRequestHandler):
    """A server that says who it is, and what it got."""

    protocol_version = 'HTTP/1.1'

    def handle_one_request(self):
        super().handle_one_request()
        if self.server.hurried:         # it closes connections that look open to the proxy
            self.close_connection = True

    def content(self):
        if self.headers.get('Transfer-Encoding') != 'chunked':
            return self.rfile.read(int(self.headers.get('Content-Length') or 0))
        out = b''
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def answer(self):
        body = self.content()
        self.server.seen.append((self.connection.fileno(), dict(self.headers), body))
        if self.server.breaks:
            self.close_connection = True
            return
        if self.path == '/silent':
            self.server.silence.wait(LIMIT)
            self.close_connection = True
            return
        self.send_response(204 if self.path == '/none' else 200)
        text = self.server.name + b' ' + self.path.encode() + b' ' + body
        if self.path == '/chunked':
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            for at in range(0, len(text), 5):
                self.wfile.write(b'%x\r\n%s\r\n' % (len(text[at:at + 5]), text[at:at + 5]))
            self.wfile.write(b'0\r\nX-Trailer: 1\r\n\r\n')
        elif self.path == '/close':
            self.end_headers()
            self.wfile.write(text)
            self.close_connection = True
        else:
            if self.path != '/none':
                self.send_header('Content-Length', str(len(text)))
            self.end_headers()
            if self.command != 'HEAD' and self.path != '/none':
                self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class Backend(http.server.ThreadingHTTPServer):
    """One of the servers behind the proxy."""

    daemon_threads = True

    def __init__(self, name, port=0):
        super().__init__(('127.0.0.1', port), Handler)
        self.name, self.seen, self.connections = name, [], []
        self.hurried = self.breaks = False
        self.silence = threading.Event()
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.02}, daemon=True).start()

    def process_request(self, request, client_address):
        self.connections.append(request)
        super().process_request(request, client_address)

    def end(self):
        self.silence.set()
        self.shutdown()
        self.server_close()
        for one in self.connections:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def head(client):
    """The status and fields of an answer."""
    out = b''
    while not out.endswith(b'\r\n\r\n'):
        got = client.take(1)
        expect(got, f'the end of input after {out!r}')
        out += got
    lines = out.decode().split('\r\n')
    fields = {name.lower(): value.strip() for name, _, value in (text.partition(':') for text in lines[1:] if text)}
    return int(lines[0].split()[1]), fields


def answer(client, bare=False):
    """The status and the content of an answer."""
    status, fields = head(client)
    if bare or status == 204:
        return status, b''
    if fields.get('transfer-encoding') == 'chunked':
        out = b''
        while True:
            size = b''
            while not size.endswith(b'\r\n'):
                size += client.take(1)
            chunk = client.take(int(size, 16) + 2)[:-2]
            out += chunk
            if not chunk:
                return status, out
    if 'content-length' in fields:
        return status, client.take(int(fields['content-length']))
    return status, client.rest()


def get(client, path, method='GET', more='', body=b'', bare=False):
    client.send(f'{method} {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n'.encode() + body)
    return answer(client, bare)


def serves(server, one, two):
    """examples/proxy: connections stay open to both sides, and contents of every kind go through"""
    with Client(server) as client:
        name = get(client, '/a')[1].split()[0]
        backend = one if name == one.name else two
        before = len(backend.connections)
        for path in ('/b', '/chunked', '/c'):
            expect(get(client, path) == (200, name + b' ' + path.encode() + b' '), path)
        expect(get(client, '/h', 'HEAD', bare=True) == (200, b''), 'HEAD')
        expect(get(client, '/none') == (204, b''), '204')
        expect(len(backend.connections) == before, 'the connection to the server was not kept')
        fields = backend.seen[-1][1]
        expect((fields['X-Forwarded-For'], fields['Via'], fields['Host']) == ('127.0.0.1', '1.1 proxy', 'x'), f'fields: {fields}')
        big = os.urandom(300000)
        status, text = get(client, '/p', 'POST', f'Content-Length: {len(big)}\r\n', big)
        expect(status == 200 and text.endswith(b' /p ' + big), 'POST')
        chunked = b''.join(b'%x\r\n%s\r\n' % (len(c), c) for c in (b'one', b'two' * 5000)) + b'0\r\n\r\n'
        status, text = get(client, '/p', 'PUT', 'Transfer-Encoding: chunked\r\n', chunked)
        expect(status == 200 and text.endswith(b' /p one' + b'two' * 5000), 'chunked PUT')
        status, text = get(client, '/p', 'PUT', 'Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n', chunked)
        expect(status == 200 and text.endswith(b' /p one' + b'two' * 5000), 'Connection names Transfer-Encoding')
        client.send(b'GET /x HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\nHost: x\r\n\r\n')
        expect(answer(client)[1].endswith(b' /x ') and answer(client)[1].endswith(b' /y '), 'pipelined')
        client.send(b'PUT /p HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n')
        expect(head(client)[0] == 100, '100 Continue')
        client.send(b'ok')
        expect(answer(client)[1].endswith(b' /p ok'), 'behind 100 Continue')
        expect(get(client, '/close')[1].endswith(b' /close '), 'an answer until the end')
    with Client(server) as client:
        status, _ = get(client, '/o', more='X-Own: 1\r\nConnection: Close, x-own ,host\r\nX-Other: 2\r\n')
        seen = [fields for each in (one, two) for _, fields, _ in each.seen if 'X-Other' in fields]
        expect(status == 200 and client.rest() == b'', 'one of the options of Connection is close')
        expect([sorted(set(fields) & {'Host', 'X-Own'}) for fields in seen] == [['Host']], f'what Connection names: {seen}')
    with Client(server) as client:
        client.send(b'GET /chunked HTTP/1.0\r\n\r\n')
        status, fields = head(client)
        expect(status == 200 and 'transfer-encoding' not in fields, 'HTTP/1.0')
        expect(client.rest().endswith(b' /chunked '), 'chunks for HTTP/1.0')
    with Client(server) as client:
        client.send(b'PUT /old HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nok')
        status, text = answer(client)
        expect(status == 200 and text.endswith(b' /old ok'), f'Expect in HTTP/1.0: {status}')
        seen = [fields for each in (one, two) for _, fields, body in each.seen if body == b'ok' and fields['Via'] == '1.0 proxy']
        expect([fields['Host'] for fields in seen] == ['proxy'], f'the host of a request of HTTP/1.0: {seen}')


def refuses(server, *_):
    """examples/proxy: heads that can be understood in two ways are refused"""
    for more in ('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', 'Content-Length: 3\r\nContent-Length: 4\r\n',
                 'Content-Length: +3\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'Content-Length : 3\r\n',
                 'A: b\r\n c\r\n', 'Content-Length: 3, 3\r\n', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'):
        with Client(server) as client:
            client.send(f'POST / HTTP/1.1\r\nHost: x\r\n{more}\r\nabc'.encode())
            expect(head(client)[0] == 400, more)
    for lines, status in (('GET / HTTP/1.1\r\n', 400), ('GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n', 400),
                          ('CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n', 501)):
        with Client(server) as client:
            client.send(f'{lines}\r\n'.encode())
            expect(head(client)[0] == status, lines)


def survives(server, one, two):
    """examples/proxy: a server that is gone is passed over; an idle connection that was closed is no error"""
    names, end = set(), time.monotonic() + LIMIT
    while len(names) < 2 and time.monotonic() < end:    # one that was late is passed over for a while
        with Client(server) as client:
            names.add(get(client, '/who')[1].split()[0])
    expect(names == {one.name, two.name}, f'not both serve: {names}')
    one.hurried = two.hurried = True
    with Client(server) as client:
        for _ in range(5):
            expect(get(client, '/again')[0] == 200, 'a connection that the server had closed')
        expect(get(client, '/pay', 'POST', 'Content-Length: 0\r\n')[0] == 200, 'POST behind it')
    one.hurried = two.hurried = False
    one.seen.clear()
    two.seen.clear()
    two.breaks = True
    while not two.seen:     # the next one is asked, whose turn it was not
        with Client(server) as client:
            expect(get(client, '/who') == (200, one.name + b' /who '), 'a server that breaks a new connection')
        expect(time.monotonic() < end, 'the server that breaks connections was never asked')
    two.breaks = False
    one.breaks = two.breaks = True
    two.seen.clear()
    one.seen.clear()
    with Client(server) as client:
        expect(get(client, '/pay', 'POST', 'Content-Length: 0\r\n')[0] == 502, 'POST when connections break')
    expect(len(one.seen + two.seen) == 1, 'POST was sent twice')
    one.breaks = two.breaks = False
    with Client(server) as client:
        get(client, '/who')
        two.end()
        for _ in range(10):
            with Client(server) as other:
                expect(get(other, '/who') == (200, one.name + b' /who '), 'one server is gone')
        expect(get(client, '/who') == (200, one.name + b' /who '), 'the server of a connection is gone')
    with Client(server) as client:
        client.send(b'GET /silent HTTP/1.1\r\nHost: x\r\n\r\n')
        expect(head(client)[0] == 504, 'a server that does not answer')
    one.end()
    with Client(server) as client:
        expect(get(client, '/who')[0] == 502, 'all are gone')


ALL = (serves, refuses, survives)
