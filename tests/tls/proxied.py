"""Addresses that say `proxy tls`: the header of a proxy in clear, then the handshake.

Must not know: how a server reads a header, nor how it encrypts.
"""

import concurrent.futures
import os
import re
import signal
import socket
import subprocess
import time
from links import Link, client, context
from support.expect import WAIT, same, until
from support.headers import BAD, GOOD, SIGNATURE, four
from support.nest import Failed
from support.server import Server, running

# Beside the encrypted address there is one of each other kind. `$tls()` says which it is.
SPEC = r'''
%option eventServer 200
%option listen 127.0.0.1:0 proxy tls
%option tls one.pem one.key
%option perAddress 2 /32 /128
%option metrics 127.0.0.1:0
%{
#include <stdio.h>
%}
NL "\r"?"\n"
%%
START       { $reply("Hello.\r\n"); }
END         { fprintf(stderr, "end %s.\n", $reasonText()); }
OVERLOAD    { $reply("too many\r\n"); }
"PEER" NL   { $reply($peer(), $tls() == NEST_TLS_ON ? " encrypted" : " in clear", "\r\n"); }
"READ" NL   { char *line = $readLine(100); $reply("read ", line == NULL ? "nothing" : line, "\r\n"); }
"QUIT" NL   { $reply("Goodbye.\r\n"); $close(); }
'''
FREELY = ('perAddress=none', 'readTimeout=1m')
ONE = ('listen=127.0.0.1:0 proxy tls',)
HEADER = GOOD[0][0]
HAPROXY = '/usr/sbin/haproxy'


def server(case, *options):
    """A running one."""
    return Server([case.exe], options=(*ONE, case.tls('one'), *FREELY, *options))


class Proxied(Link):
    """An encrypted connection whose first bytes are a header, cut in pieces or together with the handshake."""

    def __init__(self, port, folder, header, cuts=None, version=None):
        super().__init__(port, context(folder, version))
        self.own = '127.0.0.1:%d' % self.socket.getsockname()[1]
        self.header, self.cuts = header, cuts

    def push(self):
        """The first time with the header."""
        data, self.header = self.header + self.gone.read(), b''
        last = 0
        for place in self.cuts or ():
            self.socket.sendall(data[last:place])
            last = place
            time.sleep(0.002)       # the pieces may come together all the same: the test is easier then
        self.cuts = None
        for part in ([data[i:i + 1] for i in range(last, len(data))] if self.singly else [data[last:]]):
            if part:
                self.socket.sendall(part)


def talk(case, port, header, named=None, cuts=None, singly=False, version=None):
    """A conversation, which has the client that the header names."""
    with Proxied(port, case.folder, header, cuts, version) as link:
        link.singly = singly
        link.shake().send(b'PEER\nREAD\nyes\nQUIT\n')
        wanted = f'Hello.\r\n{named or link.own} encrypted\r\nread yes\r\nGoodbye.\r\n'
        same(f'behind {header[:60]!r}', link.rest(), wanted.encode())


def silent(port, data, shut=False, alert=False):
    """Nothing is answered to these bytes, or an alert at most, and the connection ends."""
    with socket.create_connection(('127.0.0.1', port), WAIT) as link:
        link.sendall(data)
        if shut:
            link.shutdown(socket.SHUT_WR)
        try:
            got = link.recv(100)
            if not alert or got[:1] != b'\x15':
                same(f'the answer to {data[:60]!r}', got, b'')
        except ConnectionResetError:
            pass


def together(case):
    """Every form of the header, with the handshake behind it in the same packet."""
    with server(case) as it:
        for header, named in GOOD:
            talk(case, it.port, header, named)
        same('messages', re.findall('PROXY header', it.said()), [])


def cut(case):
    """The header and the handshake are cut at every byte, and each byte of them comes alone."""
    def one(place):
        header, named = GOOD[place % 2 * 8]
        talk(case, it.port, header, named, (place // 2 + 1,))
    with server(case) as it:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(2 * (len(HEADER) + 3))))
        for header, named in GOOD[0], GOOD[4], GOOD[7], GOOD[9], GOOD[11]:
            if len(header) < 400:
                talk(case, it.port, header, named, singly=True)
            talk(case, it.port, header, named, (1, len(header) - 1, len(header), len(header) + 1, len(header) + 5))


def wrong(case):
    """A wrong header, none at all, and half a one end the connection; no alert, no START, and a message."""
    with server(case, 'lingerTimeout=1s') as it:
        hello = Link(it.port, context(case.folder))
        try:
            hello.tls.do_handshake()
        except OSError:         # it wants an answer
            pass
        hello.socket.close()
        hello = hello.gone.read()
        for data in (*BAD, hello, HEADER[:-1] + hello):
            silent(it.port, data)
        until('a message', lambda: 'its PROXY header is malformed' in it.said())
        time.sleep(1.1)         # there is one a second at most
        silent(it.port, b'', True)
        for place in 1, 20, len(HEADER) - 1:
            silent(it.port, HEADER[:place], True)
        until('a message', lambda: 'its PROXY header ends before it is complete' in it.said())
        talk(case, it.port, HEADER, GOOD[0][1])
        until('the end is told', lambda: 'end ' in it.said())
        same('sessions', it.said().count('end '), 1)


def refused(case):
    """What follows a good header must be a handshake: text gets an alert at most; a close ends it."""
    with server(case, 'lingerTimeout=1s') as it:
        for data in (b'PEER\n' * 10, HEADER, bytes(100)):
            silent(it.port, HEADER + data, alert=True)
        silent(it.port, HEADER, True, True)
        same('messages', re.findall('PROXY header', it.said()), [])


def late(case):
    """The header and the handshake have a limit each, and others are served meanwhile."""
    many = 300 if case.loops else 30
    with server(case, 'readTimeout=2s', f'maxClients={many + 10}') as it:
        begun, links = time.monotonic(), []
        for n in range(many):
            link = socket.create_connection(('127.0.0.1', it.port), WAIT)
            link.sendall((b'', b'PROXY', SIGNATURE, HEADER, HEADER + b'\x16\x03\x01', four('192.0.2.1', 1))[n % 6])
            links.append(link)
        talk(case, it.port, HEADER, GOOD[0][1])
        for link in links:
            link.settimeout(WAIT)
            with link:
                try:
                    same('what it is told', link.recv(100), b'')
                except ConnectionResetError:
                    pass
        if time.monotonic() - begun < 1.9:
            raise Failed('they ended before readTimeout')
        until('a message', lambda: 'its PROXY header has not arrived in time' in it.said())
        same('sessions', it.said().count('end '), 1)


def crowd(case):
    """Many at the same time, each with its own address."""
    def one(n):
        source = f'198.51.{n // 250}.{n % 250 + 1}'
        header = four(source, n + 1) if n % 2 else f'PROXY TCP4 {source} 192.0.2.1 {n + 1} 80\r\n'.encode()
        talk(case, it.port, header, f'{source}:{n + 1}', (n % 20 + 1,))
    with server(case) as it:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(one, range(200)))


def limited(case):
    """perAddress counts the clients behind the proxy; handshakes are counted, and headers are none."""
    with server(case, 'perAddress=1') as it:
        where = re.search(r'metrics at \S+:(\d+)', it.said())[1]

        def counts():
            with socket.create_connection(('127.0.0.1', int(where)), WAIT) as link:
                link.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
                text = link.makefile('rb').read().decode()
            return dict(re.findall(r'nest_tls_handshakes_total{end="(\w+)"} (\d+)', text))
        with Proxied(it.port, case.folder, four('203.0.113.1', 1)) as link:
            link.shake().expect(b'Hello.\r\n')
            with Proxied(it.port, case.folder, four('203.0.113.1', 2)) as second:
                same('a second one of the address', second.shake().more() and second.text, b'too many\r\n')
            with Proxied(it.port, case.folder, four('203.0.113.2', 1)) as other:
                other.shake().expect(b'Hello.\r\n')
        silent(it.port, b'', True)
        silent(it.port, b'GET / HTTP/1.0\r\n\r\n')
        until('three handshakes', lambda: counts() == {'full': '3', 'resumed': '0', 'failed': '0'})
        silent(it.port, HEADER, True, True)
        until('one that has failed', lambda: counts()['failed'] == '1')


def beside(case):
    """One server has addresses of all kinds, in both orders of the words, before and after a reload."""
    listen = 'listen=127.0.0.1:0 proxy tls 127.0.0.1:0 tls proxy 127.0.0.1:0 tls 127.0.0.1:0 proxy 127.0.0.1:0'
    with Server([case.exe], options=(listen, case.tls('one'), *FREELY)) as it:
        both, other, encrypted, headed, plain = (int(n) for n in re.findall(r'127\.0\.0\.1:(\d+)', it.ready)[:5])
        for turn in range(2):
            talk(case, both, HEADER, GOOD[0][1])
            talk(case, other, HEADER, GOOD[0][1])
            talk(case, encrypted, b'')
            for port, header, named in (headed, HEADER, GOOD[0][1]), (plain, b'', None):
                with socket.create_connection(('127.0.0.1', port), WAIT) as link:
                    own = '127.0.0.1:%d' % link.getsockname()[1]
                    link.sendall(header + b'PEER\nQUIT\n')
                    same('in clear', link.makefile('rb').read(),
                         f'Hello.\r\n{named or own} in clear\r\nGoodbye.\r\n'.encode())
            if turn == 0:
                os.kill(it.process.pid, signal.SIGHUP)
                until('the reload', lambda: 'the configuration was read again' in it.said())


def unsaid(case):
    """If no address says `tls`, option tls encrypts those that say `proxy`, too."""
    with Server([case.exe], options=('listen=127.0.0.1:0 proxy', case.tls('one'), *FREELY)) as it:
        talk(case, it.port, HEADER, GOOD[0][1])


def stop(case):
    """A stop waits for no header, and for no handshake behind one."""
    with server(case) as it:
        links = [socket.create_connection(('127.0.0.1', it.port), WAIT) for _ in range(4)]
        for link, data in zip(links, (b'', b'PROXY', HEADER, HEADER + b'\x16\x03')):
            link.sendall(data)
        talk(case, it.port, HEADER, GOOD[0][1])
        same('its status', it.stop(), 0)
        for link in links:
            link.close()


def balanced(case):
    """HAProxy in front, with both versions, and its health checks; openssl's client behind it."""
    if not os.path.exists(HAPROXY):
        case.note('skipped: HAProxy is not installed')
        return
    with server(case) as it:
        ports = []
        for _ in range(2):
            with socket.socket() as link:
                link.bind(('127.0.0.1', 0))
                ports.append(link.getsockname()[1])
        path = f'{case.folder}/haproxy.cfg'
        with open(path, 'w', encoding='ascii') as file:
            file.write('defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 30s\n  timeout server 30s\n')
            for port, word in zip(ports, ('send-proxy', 'send-proxy-v2')):
                file.write(f'listen {word}\n  bind 127.0.0.1:{port}\n'
                           f'  server s 127.0.0.1:{it.port} {word} check inter 200ms\n')
        with running([HAPROXY, '-q', '-db', '-f', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            for port in ports:
                until('HAProxy passes on', lambda p=port: 'Goodbye.' in client(
                    p, case.folder, '-ign_eof', said=b'PEER\nQUIT\n'))
                talk(case, port, b'')
        same('messages', re.findall('its PROXY header', it.said()), [])


CASES = (
    ('proxy: header and handshake together', together), ('proxy: each byte alone', cut), ('proxy: wrong headers', wrong),
    ('proxy: no handshake', refused), ('proxy: in time', late), ('proxy: many', crowd), ('proxy: limits', limited),
    ('proxy: beside others', beside), ('proxy: with option tls alone', unsaid), ('proxy: stop', stop),
    ('proxy: behind HAProxy', balanced),
)
