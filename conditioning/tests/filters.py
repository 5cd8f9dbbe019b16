"""What each filter decides."""

import os
import re
import signal
import socket
import struct
import time
from support import WAIT, Chain, expect, field, once, until

OVERDUE = ['request,timeout=300ms']


def request_refuses():
    """request: overdue, malformed and oversized requests are told apart and counted."""
    cases = [('GET / HTTP/1.1\r\nHost', 408, 'overdue'), ('GARBAGE\r\n\r\n', 400, 'malformed'),
             ('GET / HTTP/1.1\r\nA: ' + 'x' * 17000, 431, 'head too large'),
             ('POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n', 413, 'body too large'),
             ('POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n', 400,
              'malformed')]
    for filters, some in ((OVERDUE, cases[:1]), (['request,timeout=60s'], cases[1:])):     # a client may be slow, too
        with Chain(filters) as chain:
            for data, want, reason in some:
                before = chain.metrics().get((reason, 'request'), 0)
                with chain.client() as client:
                    client.send(data)
                    expect(client.answer()[0] == want, f'{data[:40]!r} does not get {want}')
                    expect(client.ended(), 'not closed')
                expect(chain.metrics()[reason, 'request'] == before + 1, f'{reason} is not counted')
            expect(not chain.requests(), 'the server has seen something')
    with Chain(OVERDUE) as chain, chain.client() as client:     # a byte now and then prolongs nothing
        start = time.monotonic()
        while not client.closed_now():
            expect(time.monotonic() - start < WAIT, 'a trickle is not overdue')
            try:
                client.send('G')
            except OSError:
                break
            time.sleep(0.05)


def request_sheds():
    """request: at its limit it ends the oldest connection of the heaviest network."""
    with Chain(['request,limit=20,timeout=60s']) as chain:
        rare = chain.client('127.200.0.1')
        rare.send('GET')
        heavy = [chain.client('127.9.9.9') for _ in range(19)]
        until(lambda: chain.metrics()['held', 'request'] == 20, 'not all are held')
        more = [chain.client('127.9.9.9') for _ in range(10)]
        until(lambda: chain.metrics().get(('crowded', 'request'), 0) >= 10, 'nobody was ended')
        ended = [client.closed_now() for client in heavy]
        expect(all(ended[:10]) and not any(ended[12:]), f'not the oldest: {ended}')
        expect(not rare.closed_now(), 'the rare visitor was ended')
        rare.send(' / HTTP/1.1\r\nHost: a\r\n\r\n')
        expect(rare.answer()[0] == 200, 'the rare visitor is not served')
        for client in heavy + more + [rare]:
            client.close()


def request_holds_many():
    """request: two thousand clients that send nothing do not keep others from being served."""
    with Chain(['request,timeout=60s', 'priority']) as chain:
        idle = [socket.create_connection(('127.0.0.1', chain.port)) for _ in range(2000)]
        until(lambda: chain.metrics()['held', 'request'] >= 2000, 'not all are held')
        start = time.monotonic()
        expect(all(once(chain.port)[0] == 200 for _ in range(50)), 'an answer')
        expect(time.monotonic() - start < 5, 'others wait')
        for client in idle:
            client.close()
        until(lambda: not chain.metrics()['held', 'request'], 'some are still held')


def persist_ends_idle():
    """persist: an idle connection lives so long; at the limit the oldest makes room; pieces may come."""
    with Chain(['request', 'persist,idle=400ms,limit=4']) as chain:
        quick = False
        for _ in range(9):
            with chain.client() as client:
                start = time.monotonic()
                expect(client.get('/').answer()[0] == 200, 'first')
                client.send('GET / HT')
                quick = time.monotonic() - start < 0.4      # else the idle time may have been over: again
                if not quick:
                    continue
                time.sleep(0.6)
                start = time.monotonic()
                client.send('TP/1.1\r\nHost: a\r\n\r\n')
                expect(client.answer()[0] == 200, 'a request that had begun was cut')
                expect(client.ended() and time.monotonic() - start > 0.39, 'idle time')
                break
        expect(quick, 'this machine is too slow to tell')
    with Chain(['request', 'persist,idle=60s,limit=4']) as chain:
        clients = [chain.client() for _ in range(8)]
        for client in clients:
            expect(client.get('/').answer()[0] == 200, 'an answer')
            time.sleep(0.02)
        until(lambda: sum(c.closed_now() for c in clients) >= 4, 'nobody made room')
        closed = [c.closed_now() for c in clients]
        expect(all(closed[:4]) and not closed[7], f'not the oldest: {closed}')


def priority_chooses():
    """priority: a rare visitor is served before the requests of a busy network that wait."""
    with Chain(['request', 'priority']) as chain:
        first = chain.client('127.1.1.1').get('/hold')
        until(lambda: '/hold' in chain.requests(), 'not begun')
        server = chain.server()
        os.kill(server, signal.SIGSTOP)     # it does not end before all wait
        heavy = [chain.client('127.1.1.1').get(f'/heavy{i}') for i in range(15)]
        until(lambda: chain.metrics()['held', 'priority'] == 15, 'the requests do not wait there')
        rare = chain.client('127.77.1.1').get('/rare')
        until(lambda: chain.metrics()['held', 'priority'] == 16, 'the rare one does not wait')
        os.kill(server, signal.SIGCONT)
        for client in [first, rare, *heavy]:
            expect(client.answer()[0] == 200, 'an answer')
        expect(chain.requests()[1] == '/rare', f'the order was {chain.requests()}')
    # Filters behind it do not hoard what it should choose from.
    with Chain(['request', 'priority', 'check', 'pass']) as chain:
        chain.client('127.1.1.1').get('/hold')
        until(lambda: '/hold' in chain.requests(), 'not begun')
        heavy = [chain.client('127.1.1.1').get(f'/heavy{i}') for i in range(15)]
        until(lambda: chain.metrics()['held', 'priority'] >= 15, 'others hoard')
        rare = chain.client('127.77.1.1').get('/rare')
        expect(rare.answer()[0] == 200, 'an answer')
        expect(chain.requests().index('/rare') <= 2, f'the order was {chain.requests()}')
        for client in heavy:
            expect(client.answer()[0] == 200, 'an answer')


def priority_sheds():
    """priority: when it is full, the busiest network makes room."""
    with Chain(['request', 'priority,limit=10']) as chain:
        chain.client('127.1.1.1').get('/hold')
        until(lambda: '/hold' in chain.requests(), 'not begun')
        heavy = [chain.client('127.1.1.1').get('/h') for _ in range(12)]
        rare = chain.client('127.50.1.1').get('/rare')
        expect(rare.answer()[0] == 200, 'the rare visitor')
        answers = [client.answer()[0] for client in heavy]
        expect(503 in answers and answers.count(200) >= 8, f'{answers}')


def slowread_limits():
    """slowread: a network has its share of the server; more waits, or is refused."""
    for mode in ('delay', 'reject'):
        quick = False
        for _ in range(9):
            with Chain(['request', f'slowread,of=20,mode={mode}'], 'prefork') as chain:
                # 10 % of 20 for a /24, 15 % for a /16, 25 % for a /8.
                start = time.monotonic()
                clients = [chain.client('127.3.3.3').get('/slow') for _ in range(6)]
                other = chain.client('127.3.4.4').get('/other')
                expect(other.answer()[0] == 200, f'{mode}: the neighbour')
                # Else a slow one may have been over before all had come: again.
                quick = time.monotonic() - start < 0.29
                if not quick:
                    continue
                answers = [client.answer()[0] for client in clients]
                took = time.monotonic() - start
                if mode == 'delay':
                    expect(answers == [200] * 6 and took > 0.85, f'{answers} in {took:.2f} s')
                else:
                    expect(answers.count(200) == 2 and answers.count(503) == 4, f'{answers}')
                # An answer is there before the server has given its share back.
                until(lambda: once(chain.port, address='127.3.3.3')[0] == 200, f'{mode}: afterwards')
                until(lambda: not chain.metrics()['held', 'slowread'], 'something is still held')
                break
        expect(quick, f'{mode}: the neighbour waited')


def slowread_before_request():
    """slowread: before request, where a client may speak any protocol, one that is refused gets no answer."""
    with Chain(['slowread,of=20,mode=reject', 'request']) as chain:
        have = [chain.client('127.3.3.3') for _ in range(2)]
        until(lambda: chain.metrics()['held', 'request'] == 2, 'not all are held')
        with chain.client('127.3.3.3') as more:
            more.ended()
            expect(more.have == b'', f'{more.have}')
        for client in have:
            expect(client.get('/').answer()[0] == 200, 'one that has its share')
            client.close()


def slowread_dead_server():
    """slowread: the share of a process that died is free again."""
    with Chain(['request', 'slowread,of=10'], 'prefork') as chain:
        for _ in range(4):
            expect(once(chain.port, '/die')[0] == 0, 'dead')
        expect(once(chain.port)[0] == 200, 'the share is lost')


def check_refuses():
    """check: malformed and suspicious requests do not reach the server; others do, simplified."""
    cases = [('GET / HTTP/1.1\r\nHost: a\r\n\r\n', 200), ('GET / HTTP/1.1\r\n\r\n', 400),
             ('GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400), ('GET / HTTP/1.0\r\n\r\n', 200),
             ('GET / HTTP/1.1\nHost: a\n\n', 400), ('TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 501),
             ('GET /../x HTTP/1.1\r\nHost: a\r\n\r\n', 400),
             ('GET /%2e%2e/x HTTP/1.1\r\nHost: a\r\n\r\n', 400),
             ('GET /' + 'y' * 3000 + ' HTTP/1.1\r\nHost: a\r\n\r\n', 414),
             ('GET / HTTP/1.1\r\nHost: a\r\n' + 'A: b\r\n' * 120 + '\r\n', 431),
             ('OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 200)]
    with Chain(['request', 'check']) as chain:
        for data, want in cases:
            with chain.client() as client:
                client.send(data)
                got = client.answer()[0]
                expect(got == want, f'{data[:60]!r}: {got}, not {want}')
        expect(len(chain.requests()) == 3, 'refused requests were seen')
        _, body = once(chain.port, '/' * 1500 + 'a///b?c//d')
        expect(field(body, 'target') == '/a/b?c//d', body)
    with Chain(['request', 'check,strip=1,slashes=refuse,methods=GET']) as chain:
        expect(field(once(chain.port, '/a//b/c')[1], 'target') == '//b/c', 'strip')
        expect(once(chain.port, '/a////////b')[0] == 400, 'slashes')
        expect(once(chain.port, '/a', method='POST')[0] == 501, 'methods')


def ratelimit_limits():
    """ratelimit: a burst, then a rate; before or behind request; others are not touched."""
    with Chain(['request', 'ratelimit,rate=5,burst=4']) as chain:
        for number in range(9):     # again with another client, if the rate has allowed more meanwhile
            start = time.monotonic()
            answers = [once(chain.port, address=f'127.5.5.{number + 10}')[0] for _ in range(10)]
            expect(answers[:4] == [200] * 4, f'{answers}')
            if time.monotonic() - start < 0.6:
                break
        expect(answers.count(429) >= 4, f'{answers}')
        expect(once(chain.port, address='127.5.5.6')[0] == 200, 'another client')
        time.sleep(0.5)
        expect(once(chain.port, address=f'127.5.5.{number + 10}')[0] == 200, 'after a pause')
    with Chain(['ratelimit,rate=10,burst=1,prefix=8,wait=5s', 'request']) as chain:
        start = time.monotonic()
        clients = [chain.client(f'127.5.{i}.5').get('/') for i in range(8)]
        expect([c.answer()[0] for c in clients] == [200] * 8, 'all are served')
        expect(0.6 < time.monotonic() - start < 5, f'{time.monotonic() - start:.2f} s')


def proxy_reads():
    """proxy: a trusted header says who the client is, in both versions; others are refused."""
    v2 = b'\r\n\r\n\0\r\nQUIT\n\x21\x11' + struct.pack('>H4s4sHH', 12, socket.inet_aton('198.51.100.7'),
                                                     socket.inet_aton('10.0.0.1'), 4711, 80)
    for header, want in ((b'PROXY TCP4 192.0.2.9 10.0.0.1 4711 80\r\n', '192.0.2.9'),
                         (v2, '198.51.100.7'), (b'PROXY TCP6 2001:db8::9 ::1 4711 80\r\n', '192.0.0.8'),
                         (b'PROXY TCP6 ::ffff:192.0.2.8 ::1 4711 80\r\n', '192.0.2.8'),
                         (b'PROXY UNKNOWN\r\n', '127.0.0.1')):
        with Chain(['proxy', 'request', 'priority']) as chain, chain.client() as client:
            for byte in header[:-1]:
                client.send(bytes([byte]))
            client.send(header[-1:] + b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            _, body = client.answer()
            expect(field(body, 'from') == want, f'{header}: {body}')
    with Chain(['proxy,trust=10.0.0.0/8', 'request']) as chain, chain.client() as client:
        expect(client.ended(), 'not closed')
        expect(chain.metrics()['not trusted', 'proxy'] >= 1, 'not counted')
    with Chain(['proxy,timeout=200ms', 'request']) as chain, chain.client() as client:
        client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        expect(client.answer()[0] == 0, 'a connection without header')
        with chain.client() as slow:
            slow.send('PRO')
            expect(slow.ended(), 'a slow header')


def proxy_writes():
    """proxy,mode=out: the server gets a header before the request."""
    with Chain(['request', 'proxy,mode=out,version=1']) as chain:
        _, body = once(chain.port, address='127.4.3.2')
        expect(re.search(r'target=PROXY TCP4 127.4.3.2 127.0.0.1 \d+ \d+ ', body), body)


TESTS = [request_refuses, request_sheds, request_holds_many, persist_ends_idle, priority_chooses, priority_sheds,
         slowread_limits, slowread_before_request, slowread_dead_server, check_refuses, ratelimit_limits, proxy_reads,
         proxy_writes]
