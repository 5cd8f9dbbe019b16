"""Listeners with the word `proxy`: who the client is, and which headers end the connection.

Must not know: how the server reads a header.
"""

import concurrent.futures
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from support.cases import attempt, built
from support.headers import BAD, GOOD, SIGNATURE, four
from support.nest import Failed, program
from support.server import Client, Server, running

SPEC = r'''
%option eventServer 60
%option listen 127.0.0.1:0 proxy
%option perAddress 2 /32 /128
%option logging connections
%option readTimeout 1m
%{
#include <unistd.h>
%}
NL "\n"
%%
START { $reply("hello\n"); }
OVERLOAD { $reply("too many\n"); }
peer = "peer" NL { $reply("%s\n", $peer()); }
crash = "crash" NL { __builtin_trap(); }
'''
TIMEOUT = 20
LISTEN = ('listen=127.0.0.1:0 proxy',)


def talk(server, header, pieces=None, client=None):
    """Sends a header and requests together, or the pieces one after another; expects the address."""
    with Client(server) as link:
        own = '127.0.0.1:%d' % link.socket.getsockname()[1]
        for piece in pieces or (header + b'peer\npeer\n',):
            link.send(piece)
        told = f'{client or own}\n'.encode()
        link.expect(b'hello\n' + told + told)
        link.half_close()
        if link.rest():
            raise Failed('more is sent')


def good(server):
    """every form of the header says who the client is; requests may come with it"""
    for header, client in GOOD:
        talk(server, header, client=client)


def cut(server):
    """a header is cut at every byte"""
    for header, client in GOOD:
        whole = header + b'peer\npeer\n'
        places = range(1, len(whole)) if len(whole) < 300 else (1, 16, 27, 28, 29, 5000, len(header) - 1, len(header))
        for place in places:
            talk(server, header, (whole[:place], whole[place:]), client)
    for header, client in GOOD[0], GOOD[9]:
        whole = header + b'peer\npeer\n'
        talk(server, header, [whole[i:i + 1] for i in range(len(whole))], client)


def heard(server, text):
    """The server has said it, at last."""
    end = time.monotonic() + TIMEOUT
    while text not in server.said():
        if time.monotonic() > end:
            raise Failed(f'it has not said {text!r}: {server.said()}')
        time.sleep(0.01)


def bad(server):
    """a malformed header ends the connection at once, without START, and a message says why"""
    for header in BAD:
        with Client(server) as link:
            link.send(header)
            if link.rest() != b'':
                raise Failed(f'{header!r} is answered')
    heard(server, 'its PROXY header is malformed')
    talk(server, GOOD[0][0], client=GOOD[0][1])


def short(server):
    """the end of file within a header is told; without a byte it is a check of the proxy"""
    time.sleep(1.1)     # messages are at most one a second
    with Client(server) as link:
        link.half_close()
        if link.rest() != b'':
            raise Failed('it is answered')
    for header in GOOD[0][0], GOOD[9][0]:
        for place in 1, 20, len(header) - 1:
            with Client(server) as link:
                link.send(header[:place])
                link.half_close()
                if link.rest() != b'':
                    raise Failed('half a header is answered')
    heard(server, 'its PROXY header ends before it is complete')


def slow(server):
    """a header that is not complete in time ends the connection, however its bytes arrive"""
    begun, places = time.monotonic(), []
    for pieces in ((), (b'P',), (SIGNATURE,), [b'PROXY ', *[b'x'] * 6]):
        link = Client(server)
        places.append((link, iter(pieces)))
    while places:
        left = []
        for link, pieces in places:
            try:
                link.send(next(pieces, b''))
                link.socket.settimeout(0.05)
                if link.socket.recv(9) != b'':
                    raise Failed('it is answered')
                link.socket.close()
            except TimeoutError:
                left.append((link, pieces))
            except OSError:
                link.socket.close()
        places = left
        if time.monotonic() - begun > TIMEOUT:
            raise Failed(f'{len(places)} wait after {TIMEOUT} s')
    if time.monotonic() - begun < 0.4:
        raise Failed('they ended before readTimeout')
    heard(server, 'has not arrived in time')


def places(server):
    """perAddress counts the clients behind the proxy, not the proxy"""
    def one(source):
        link = Client(server)
        link.send(four(source, 5))
        return link, link.take(6)

    def begin(source):
        end = time.monotonic() + TIMEOUT
        while True:     # places of clients that left come back soon
            link, told = one(source)
            if told == b'hello\n':
                return link
            link.socket.close()
            if time.monotonic() > end:
                raise Failed(f'{source} is told {told!r}')
            time.sleep(0.01)

    links = [begin(source) for source in ('203.0.113.1', '203.0.113.1', '203.0.113.2', '203.0.113.2')]
    for source in '203.0.113.1', '203.0.113.2':
        link, told = one(source)
        link.socket.close()
        if told not in (b'too ma', b''):
            raise Failed(f'a third of {source} is told {told!r}')
    for link in links:
        link.socket.close()


def many(server):
    """many at the same time, each with its own address"""
    def one(i):
        source = f'198.51.{i // 250}.{i % 250 + 1}'
        header = four(source, i + 1) if i % 2 else f'PROXY TCP4 {source} 192.0.2.1 {i + 1} 80\r\n'.encode()
        talk(server, header, (header[:i % 20 + 1], header[i % 20 + 1:] + b'peer\n', b'peer\n'), f'{source}:{i + 1}')

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        list(pool.map(one, range(300)))


def logs(server):
    """lines about connections have the client's address"""
    talk(server, four('203.0.113.77', 4242), client='203.0.113.77:4242')
    heard(server, '203.0.113.77:4242')


def crash(server):
    """the message about a crash has the client's address"""
    with Client(server) as link:
        link.send(four('203.0.113.78', 4243) + b'crash\n')
        link.rest()
    heard(server, 'client 203.0.113.78:4243')


def stop(server):
    """a stop waits for no header"""
    links = [Client(server) for _ in range(3)]
    links[1].send(b'PROXY TCP4')
    talk(server, GOOD[0][0], client=GOOD[0][1])
    begun = time.monotonic()
    if server.stop() != 0:
        raise Failed(f'it ended badly: {server.said()}')
    if time.monotonic() - begun > TIMEOUT:
        raise Failed('it waited')
    for link in links:
        link.socket.close()


def plain(nest, folder, model):
    """a server whose specification has no such listener refuses the word, and takes a header for input"""
    text = SPEC.replace(' proxy', '')
    base = built(nest, model, text, os.path.join(folder, f'plain-{model}'))
    try:
        with Server([base], options=LISTEN):
            raise Failed('it accepts the word')
    except Failed as error:
        if 'needs a server that can read the header of a proxy' not in str(error):
            raise
    with Server([base]) as server, Client(server) as link:
        link.send(b'PROXY UNKNOWN\r\npeer\n')
        if link.rest() != b'hello\n':
            raise Failed('a header is not refused as input')


def beside(base):
    """beside a listener with the word, another one has no header; `proxy` must follow an address"""
    with Server([base], options=('listen=127.0.0.1:0',)) as server, Client(server) as link:
        link.send(b'peer\n')
        link.expect(b'hello\n127.0.0.1:%d\n' % link.socket.getsockname()[1])
    for value in 'proxy', 'proxy 127.0.0.1:0', '127.0.0.1:0 proxy proxy':
        try:
            with Server([base], options=(f'listen={value}',)):
                raise Failed(f'it accepts {value}')
        except Failed as error:
            if 'must follow an address, once' not in str(error):
                raise


def filtered(nest, folder, model):
    """`%filter proxy` says who the client is as well; the word `proxy` is refused behind filters"""
    text = SPEC.replace('listen 127.0.0.1:0 proxy', 'listen 127.0.0.1:0').replace(
        'NL "', '%filter proxy timeout=5s\nNL "', 1)
    base = built(nest, model, text, os.path.join(folder, f'filtered-{model}'))
    known = [(header, client) for header, client in GOOD if len(header) < 200 and client != 'unix']
    with Server([base], options=('perAddress=none',)) as server:
        for header, client in known:
            talk(server, header, client=client)
            talk(server, header, (header[:9], header[9:] + b'pe', b'er\npeer\n'), client)
        for header in b'peer\n', b'PROXY TCP4 192.0.2.1\r\n', GOOD[0][0][:20]:
            with Client(server) as link:
                link.send(header)
                if link.rest() != b'':
                    raise Failed(f'{header!r} is answered')
        logs(server)
        if server.stop() != 0:
            raise Failed(f'it ended badly: {server.said()}')
    with Server([base]) as server:
        places(server)
    try:
        with Server([base], options=LISTEN):
            raise Failed('it accepts the word')
    except Failed as error:
        if "the word 'proxy' is not for servers with filters" not in str(error):
            raise


HAPROXY = '''
defaults
  mode tcp
  timeout connect 10s
  timeout client 30s
  timeout server 30s
listen one
  bind 127.0.0.1:{one}
  server s 127.0.0.1:{port} send-proxy check inter 200ms
listen two
  bind 127.0.0.1:{two}
  server s 127.0.0.1:{port} send-proxy-v2 check inter 200ms
'''


def free():
    """A port that was free a moment ago."""
    with socket.socket() as link:
        link.bind(('127.0.0.1', 0))
        return link.getsockname()[1]


def haproxy(base, folder):
    """HAProxy in front: its clients' addresses, and its health checks"""
    with Server([base], options=LISTEN) as server:
        ports = {'one': free(), 'two': free(), 'port': server.port}
        path = os.path.join(folder, 'haproxy.cfg')
        with open(path, 'w', encoding='ascii') as file:
            file.write(HAPROXY.format(**ports))
        with running([shutil.which('haproxy', path=os.environ['PATH'] + ':/usr/sbin'), '-q', '-db', '-f', path],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            for name in 'one', 'two':
                end = time.monotonic() + TIMEOUT
                while True:
                    try:
                        link = socket.create_connection(('127.0.0.1', ports[name]), TIMEOUT)
                        link.sendall(b'peer\n')
                        told = b''
                        while told.count(b'\n') < 2:
                            chunk = link.recv(100)
                            if not chunk:
                                raise ConnectionResetError
                            told += chunk
                        break
                    except (ConnectionResetError, ConnectionRefusedError) as error:
                        if time.monotonic() > end:
                            raise Failed(f'{name}: {error!r}: {server.said()}') from error
                        time.sleep(0.05)
                if told != b'hello\n127.0.0.1:%d\n' % link.getsockname()[1]:
                    raise Failed(f'{name}: it is told {told!r}')
                link.close()
            heard(server, 'eof')
        if re.search('PROXY header', server.said()):
            raise Failed(f'it complains: {server.said()}')


def one_model(report, nest, folder, model):
    """All cases of a model."""
    base = built(nest, model, SPEC, os.path.join(folder, f'proxied-{model}'))
    freely = ('perAddress=none', 'drainTimeout=1m')
    with Server([base], options=LISTEN + freely) as server:
        for case in (good, cut, bad, short, many, logs, crash, stop):
            attempt(report, model, 'proxied', case.__doc__, lambda case=case: case(server))
    with Server([base], options=LISTEN + ('readTimeout=500ms',)) as server:
        attempt(report, model, 'proxied', slow.__doc__, lambda: slow(server))
    with Server([base], options=LISTEN) as server:
        attempt(report, model, 'proxied', places.__doc__, lambda: places(server))
    attempt(report, model, 'proxied', plain.__doc__, lambda: plain(nest, folder, model))
    attempt(report, model, 'proxied', filtered.__doc__, lambda: filtered(nest, folder, model))
    attempt(report, model, 'proxied', beside.__doc__, lambda: beside(base))
    if shutil.which('haproxy', path=os.environ['PATH'] + ':/usr/sbin') is None:
        report.note('skipped: HAProxy is not installed')
    else:
        attempt(report, model, 'proxied', haproxy.__doc__, lambda: haproxy(base, folder))


def run(report, models):
    """All, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'proxied: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-proxied-') as folder:
            one_model(report, nest, folder, model)
