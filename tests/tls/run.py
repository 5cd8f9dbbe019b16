#!/usr/bin/env python3
"""Encrypted connections, in every model: real clients, cut records, truncated streams, half-done
handshakes, resumption, several certificates, a reload, and what a server says of unusable files.

usage: run.py [MODEL ...]

Without a model: one that CHECK_SEED draws, or with CHECK_ALL=1 all.
Must not know: how a server encrypts.
"""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                                  # noqa: E402
from support.cases import attempt, built                                    # noqa: E402
from support.expect import WAIT, same, until                                # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run                # noqa: E402
from support.report import Report                                           # noqa: E402
from support.server import Server                                           # noqa: E402
import addresses                                                            # noqa: E402
import files                                                                # noqa: E402
import handshakes                                                           # noqa: E402
import hostile                                                              # noqa: E402
import limits                                                               # noqa: E402
import mail                                                                 # noqa: E402
import memory as short                                                      # noqa: E402
import places                                                               # noqa: E402
import plain                                                                # noqa: E402
import private                                                              # noqa: E402
import protocols                                                            # noqa: E402
import proxied                                                              # noqa: E402
from private import shared_memory, ticket_key                               # noqa: E402
from links import LINE, Link, certificate, client, context, expired         # noqa: E402

SPEC = r'''
%option eventServer 200
%option tls one.pem one.key
%{
#include <stdio.h>
#include <unistd.h>
%}
NL "\r"?"\n"
%%
START       { $reply("Hello.\r\n"); }
END         { fprintf(stderr, "end %s.\n", $reasonText()); }
"QUIT" NL   { $reply("Goodbye.\r\n"); $close(); }
"BIG" NL    { for (int i = 0; i < 50000; i++) $reply("0123456789012345678901234567890123456789\r\n"); }
"FILE" NL   { if ($fileReply("large") < 0) $reply("no file\r\n"); }
"READ" NL   { char *line = $readLine(100); $reply("read ", line == NULL ? "nothing" : line, "\r\n"); }
"SLEEP" NL  { $reply("now\r\n"); $flush(); $sleep(100ms); $reply("then\r\n"); }
"DEPTH" NL  { char *line;
              $reply("deep\r\n"); line = $readLine(100);
              for (int i = 0; i < 40; i++) $reply("0123456789012345678901234567890123456789\r\n");
              $reply(line == NULL ? "" : line, "\r\n"); }
[^\r\n]* NL { $reply($1, "\r\n"); }
'''
METERED = SPEC.replace('%{', '%option metrics 127.0.0.1:0\n%{', 1)
# Connections begin in clear.
UPGRADE = r'''
%option eventServer 200
%option tls one.pem one.key
%{
#include <stdio.h>
%}
NL "\r"?"\n"
%%
START       { $reply("Hello.\r\n"); }
END         { fprintf(stderr, "end %s.\n", $reasonText()); }
"STATE" NL  { $reply("%d\r\n", (int)$tls()); }
"START" NL  { $reply("go on\r\n");
              if ($startTLS() == 0) { $reply("welcome\r\n"); }
              else { $reply("%d\r\n", $tls() == NEST_TLS_ON); } }
"READ" NL   { char *line = $readLine(100); $reply("read ", line == NULL ? "nothing" : line, "\r\n"); }
"QUIT" NL   { $reply("Goodbye.\r\n"); $close(); }
[^\r\n]* NL { $reply($1, "\r\n"); }
'''
EOF, GONE = 'closed by the client', 'the client is gone'
LARGE = bytes(i * 7 % 251 for i in range(700000))
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Case:
    """A server of a model, and the folder of its certificates."""

    def __init__(self, exe, folder, note):
        self.exe, self.folder, self.note = exe, folder, note
        self.metered = os.path.join(os.path.dirname(exe), 'metered-' + os.path.basename(exe))
        self.loops = exe.endswith(('event', 'uring'))

    def tls(self, *names):
        """The option's value."""
        return 'tls=' + ' '.join(f'{self.folder}/{name}.pem {self.folder}/{name}.key' for name in names)

    def server(self, *options, names=('one',), **more):
        """A running one; `more`: its environment."""
        return Server([self.exe], options=(self.tls(*names), f'fileRoot={self.folder}', *options), **more)

    def link(self, server, version=None, **more):
        """A client after its handshake."""
        return Link(server.port, context(self.folder, version, more.pop('name', 'one')), **more).shake()


# -- conversations


def conversation(case):
    """Both versions: lines, many of them at once, long replies, files, waits."""
    with case.server() as server:
        for version in VERSIONS:
            with case.link(server, version) as link:
                link.expect(b'Hello.\r\n')
                link.send(b'abc\n')
                link.expect(b'abc\r\n')
                link.send(b'x' * 5000 + b'\nREAD\nyes\nSLEEP\n' + b'y\n' * 2000)
                link.expect(b'x' * 5000 + b'\r\nread yes\r\nnow\r\nthen\r\n' + b'y\r\n' * 2000)
                link.send(b'BIG\nFILE\nQUIT\n')
                same('what follows', link.rest(), LINE * 50000 + LARGE + b'Goodbye.\r\n')


def cut(case):
    """Each byte of the client comes alone: the handshake, and records."""
    with case.server() as server:
        for version in VERSIONS:
            link = Link(server.port, context(case.folder, version))
            link.singly = True
            with link.shake():
                link.expect(b'Hello.\r\n')
                link.send(b'abc\nREAD\nyes\n')
                link.expect(b'abc\r\nread yes\r\n')
                link.send(b'QUIT\n')
                same('the end', link.rest(), b'Goodbye.\r\n')


def slow(case):
    """A client that reads late, with a small buffer, loses nothing."""
    with case.server() as server:
        with case.link(server, receive=4096) as link:
            link.send(b'BIG\nFILE\nQUIT\n')
            time.sleep(0.2)         # the server's buffers are full by then, or the test is easier
            same('all of it', link.rest(), b'Hello.\r\n' + LINE * 50000 + LARGE + b'Goodbye.\r\n')


def half(case):
    """A client that has said its close_notify still gets its answers, and the server's."""
    with case.server() as server:
        for version in VERSIONS:
            with case.link(server, version) as link:
                link.expect(b'Hello.\r\n')
                link.send(b'SLEEP\nabc\n')
                link.bye()
                same('the answers', link.rest(), b'now\r\nthen\r\nabc\r\n')
        until('the ends are told', lambda: server.said().count('end ') == 2)
        same('the reasons', re.findall(r'end (.*)\.\n', server.said()), [EOF] * 2)


def truncated(case):
    """An end of the connection without close_notify is no end of the stream."""
    with case.server() as server:
        with case.link(server) as link:
            link.expect(b'Hello.\r\n')
            link.send(b'abc\nunfinished')
            link.expect(b'abc\r\n')
            link.socket.shutdown(socket.SHUT_WR)
            while link.pull():
                pass
        until('the end is told', lambda: 'end ' in server.said())
        same('the reason', re.findall(r'end (.*)\.\n', server.said()), [GONE])


def stop(case):
    """A stop tells clients that it is the end."""
    with case.server() as server:
        with case.link(server) as link:
            link.expect(b'Hello.\r\n')
            os.kill(server.process.pid, signal.SIGTERM)
            same('what follows', link.rest(), b'')
        same('its status', server.stop(), 0)


# -- handshakes


def resumed(case):
    """A session is resumed, by a ticket, whichever worker has given it."""
    with case.server() as server:
        for version in ('-tls1_2', '-tls1_3'):
            kept = f'{case.folder}/session'
            first = client(server.port, case.folder, version, '-sess_out', kept, '-ign_eof', said=b'QUIT\n')
            if 'Verify return code: 0 (ok)' not in first or 'Goodbye.' not in first:
                raise Failed(first[-1500:])
            for _ in range(3):
                again = client(server.port, case.folder, version, '-sess_in', kept, '-ign_eof',
                               said=b'QUIT\n')
                if 'Reused, TLSv1' not in again or 'Goodbye.' not in again:
                    raise Failed(again[:1500])
                if version == '-tls1_3' and 'New Session Ticket arrived' not in again:
                    raise Failed(f'no ticket for the next time: {again[-1500:]}')
        if 'Compression: NONE' not in first or 'Secure Renegotiation IS NOT' in client(
                server.port, case.folder, '-tls1_2', '-ign_eof', said=b'QUIT\n'):
            raise Failed(first[:1500])
        said = client(server.port, case.folder, '-tls1_2', said=b'R\nQUIT\n')
        begun, found, after = said.partition('RENEGOTIATING')
        # how the client fails depends on what the server has sent meanwhile
        if not found or 'error:' not in after or 'verify return' in after or 'verify return' not in begun:
            raise Failed(f'renegotiation: {said[-800:]}')


def counted(case):
    """Handshakes are counted by their end, whichever thread or process made them."""
    with Server([case.metered], options=(case.tls('one'), 'readTimeout=5s')) as server:
        where = re.search(r'metrics at \S+:(\d+)', server.said())[1]

        def counts():
            with socket.create_connection(('127.0.0.1', int(where)), WAIT) as link:
                link.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
                text = link.makefile('rb').read().decode()
            return {end: int(n) for end, n in re.findall(r'nest_tls_handshakes_total{end="(\w+)"} (\d+)', text)}
        same('before', counts(), {'full': 0, 'resumed': 0, 'failed': 0})
        kept = f'{case.folder}/counted'
        for data in (b'no handshake, but text\n', b''):        # refused; too late
            with socket.create_connection(('127.0.0.1', server.port), WAIT) as link:
                link.sendall(data)
                try:
                    while link.recv(1000):
                        pass
                except ConnectionResetError:
                    pass
        for version in ('-tls1_2', '-tls1_3'):
            for way in ('-sess_out', '-sess_in', '-sess_in'):
                client(server.port, case.folder, version, way, kept, '-ign_eof', said=b'QUIT\n')
        until('all of them', lambda: counts() == {'full': 2, 'resumed': 4, 'failed': 2})


CLOCK = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *to) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, to);
    FILE *file = id == CLOCK_BOOTTIME ? fopen(getenv("LATER"), "r") : NULL;
    long hours = 0;
    if (file != NULL) {
        (void)!fscanf(file, "%ld", &hours);
        fclose(file);
    }
    to->tv_sec += hours * 3600;
    return result;
}
'''


def rotated(case):
    """All processes share the keys of tickets, after a reload as well, and old keys are forgotten."""
    base = f'{case.folder}/clock'
    with open(f'{base}.c', 'w', encoding='ascii') as out:
        out.write(CLOCK)
    run(['gcc', '-shared', '-fPIC', '-o', f'{base}.so', f'{base}.c', '-ldl'])
    options = [case.tls('one'), *(['dispatchers=3'] if case.loops else [])]

    def later(hours):
        with open(base, 'w', encoding='ascii') as out:
            out.write(str(hours))
    later(0)        # before the server begins: a test of another model has left the file
    with Server([case.exe], options=options, LD_PRELOAD=f'{base}.so', LATER=base) as server:
        def reused():
            said = client(server.port, case.folder, '-tls1_2', '-sess_in', f'{base}.session', '-ign_eof',
                          said=b'QUIT\n')
            same('the conversation', 'Goodbye.' in said, True)
            return 'Reused, TLSv1.2' in said
        client(server.port, case.folder, '-tls1_2', '-sess_out', f'{base}.session', '-ign_eof', said=b'QUIT\n')
        key = ticket_key(f'{base}.session')
        os.kill(server.process.pid, signal.SIGHUP)
        until('the reload', lambda: 'the configuration was read again' in server.said())
        same('resumed after a reload', [reused() for _ in range(6)], [True] * 6)
        later(20)
        same('resumed with the key before', [reused() for _ in range(6)], [True] * 6)
        same('the key before is kept', key in shared_memory(server.process.pid), True)
        later(25)
        os.kill(server.process.pid, signal.SIGHUP)      # wakes the supervisor, for which no hours have passed
        until('the old key is forgotten', lambda: key not in shared_memory(server.process.pid))
        same('resumed with a forgotten key', [reused() for _ in range(3)], [False] * 3)
        client(server.port, case.folder, '-tls1_2', '-sess_out', f'{base}.session', '-ign_eof', said=b'QUIT\n')
        same('resumed with a new key', reused(), True)
        later(60)
        same('resumed after a long time', reused(), False)


def named(case):
    """The host that a client names selects the certificate; a key may be of another kind."""
    with case.server(names=('one', 'two')) as server:
        for name in ('one', 'two', 'one'):
            with case.link(server, name=name, host=f'{name}.test') as link:
                link.expect(b'Hello.\r\n')
        said = client(server.port, case.folder, '-ign_eof', said=b'QUIT\n', host='other.test')
        if 'CN = one.test' not in said:
            raise Failed(f'without a known name: {said[:800]}')


def renewed(case):
    """HUP: new clients see the new certificate, and a connection goes on."""
    shutil.copy(f'{case.folder}/one.pem', f'{case.folder}/now.pem')
    shutil.copy(f'{case.folder}/one.key', f'{case.folder}/now.key')
    with case.server(names=('now',)) as server:
        with case.link(server) as link:
            link.expect(b'Hello.\r\n')
            shutil.copy(f'{case.folder}/two.pem', f'{case.folder}/now.pem')
            os.kill(server.process.pid, signal.SIGHUP)      # the key does not fit: all stays
            until('the refusal', lambda: f'to the certificate in {case.folder}/now.pem; what was read before is still used' in server.said())
            until('the reload', lambda: 'the configuration was read again: no changes' in server.said())
            with case.link(server) as other:
                other.expect(b'Hello.\r\n')
            shutil.copy(f'{case.folder}/two.key', f'{case.folder}/now.key')
            before = server.said().count('the configuration was read again')
            os.kill(server.process.pid, signal.SIGHUP)
            until('the reload', lambda: server.said().count('the configuration was read again') > before)
            until('the new certificate is shown', lambda: 'CN = two.test' in client(
                server.port, case.folder, '-ign_eof', said=b'QUIT\n', host='two.test', name='two'))
            link.send(b'abc\nQUIT\n')
            same('the connection', link.rest(), b'abc\r\nGoodbye.\r\n')


def kept(case):
    """HUP: other files that cannot be used are not taken, and the report says so; the rest is."""
    shutil.copy(f'{case.folder}/one.pem', f'{case.folder}/now.pem')
    with tempfile.TemporaryDirectory(prefix='nest-tls-') as folder:
        path = os.path.join(folder, 'config.nest')

        def configured(tls, seconds):
            with open(path, 'w', encoding='ascii') as file:
                file.write(f'tls {tls}\nidleTimeout {seconds}s\n')

        def greeted(server, encrypted):
            with (case.link(server) if encrypted else socket.create_connection(('127.0.0.1', server.port), WAIT)) as link:
                same('the greeting', link.take(8) if encrypted else link.recv(8), b'Hello.\r\n')
        one, two, mixed = (f'{case.folder}/{a}.pem {case.folder}/{b}.key' for a, b in (('one', 'one'), ('two', 'two'), ('one', 'two')))
        for first in one, 'none':
            configured(first, 100)
            with Server([case.exe, '--config', path]) as server:
                for seconds, value, wanted in ((101, './no ./no', f'tls is still {first}, '), (102, mixed, f'tls is still {first}, '),
                                               (103, first, ''), (104, two, f'tls {two} (was {first}), ')):
                    configured(value, seconds)
                    os.kill(server.process.pid, signal.SIGHUP)
                    wanted = f'read again: {wanted}idleTimeout {seconds}s (was {seconds - 1}s)'
                    until(wanted, lambda wanted=wanted: wanted in server.said())
                    if value != two:
                        greeted(server, first != 'none')
                until('the new certificate is shown', lambda: 'CN = two.test' in client(
                    server.port, case.folder, '-ign_eof', said=b'QUIT\n', host='two.test', name='two'))


# -- encryption that begins later


def clear(server):
    """A client in clear."""
    link = socket.create_connection(('127.0.0.1', server.port), WAIT)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link, link.makefile('rb')


def upgrade(case):
    """A connection becomes encrypted, once."""
    with case.server() as server:
        link, lines = clear(server)
        for said, wanted in ((b'', b'Hello.'), (b'STATE\n', b'1'), (b'START\n', b'go on')):
            link.sendall(said)
            same('in clear', lines.readline(), wanted + b'\r\n')
        with context(case.folder).wrap_socket(link, server_hostname='one.test') as link:
            lines = link.makefile('rb')
            same('what follows', lines.readline(), b'welcome\r\n')
            link.sendall(b'STATE\nSTART\nREAD\nyes\nQUIT\n')
            same('encrypted', lines.read(), b'2\r\ngo on\r\n1\r\nread yes\r\nGoodbye.\r\n')


def injected(case):
    """What comes in clear behind the command is not taken for the client's, however much it is."""
    with case.server() as server:
        for more in (1, 900, 7000, 100000):
            link, lines = clear(server)
            with link:
                same('in clear', lines.readline(), b'Hello.\r\n')
                try:
                    link.sendall(b'abc\nSTART\n' + b'injected\n' * more)
                    same('in clear', lines.readline() + lines.readline(), b'abc\r\ngo on\r\n')
                    with context(case.folder).wrap_socket(link, server_hostname='one.test') as safe:
                        safe.sendall(b'QUIT\n')
                        got = safe.makefile('rb').read()
                except OSError:         # some of it was still in the socket: it is no handshake
                    same('a little is dropped', more > 1, True)
                    continue
                same('encrypted', got, b'welcome\r\nGoodbye.\r\n')


def failed(case):
    """A handshake that fails, or never comes, ends the connection, with END."""
    with case.server('readTimeout=5s') as server:
        for data, reason in ((b'no handshake, but text\n', GONE), (b'', 'timed out')):
            link, lines = clear(server)
            with link:
                link.sendall(b'START\n')
                same('in clear', lines.readline() + lines.readline(), b'Hello.\r\ngo on\r\n')
                link.sendall(data)
                try:
                    got = link.recv(1000)
                except ConnectionResetError:
                    got = b''
                same('an alert at most', got[:1] in (b'', b'\x15'), True)
            until('the end is told', lambda r=reason: f'end {r}.' in server.said())
    with case.server('tls=none') as server:
        link, lines = clear(server)
        with link:
            link.sendall(b'STATE\nSTART\nQUIT\n')
            same('without certificates', lines.read(), b'Hello.\r\n0\r\ngo on\r\n0\r\nGoodbye.\r\n')


# -- memory


def memory(case):
    """What a connection takes whose action waits: no frame of a library stays on its stack."""
    if not case.loops:
        return              # each has a thread or a process of its own
    many = 300
    with case.server(f'maxClients={many + 10}') as server:
        links = []

        def used():
            return sum(int(text.split()[1]) * os.sysconf('SC_PAGESIZE')
                       for _, text in server.each('statm'))
        for n in range(many):
            links.append(case.link(server))
            links[-1].expect(b'Hello.\r\n')
            links[-1].send(b'DEPTH\n')
            links[-1].expect(b'deep\r\n')       # an action waits, on a stack of its own
            if n == 49:
                before = used()
        each = (used() - before) / (many - 50)
        for link in links:
            link.send(b'go on\nQUIT\n')
            same('after the wait', link.rest(), LINE * 40 + b'go on\r\nGoodbye.\r\n')
            link.socket.close()
        if each > 48 * 1024:
            raise Failed(f'a waiting encrypted connection takes {each:.0f} bytes')
        case.note(f'a waiting encrypted connection takes {each:.0f} bytes')


CASES = (
    ('conversation', conversation), ('each byte alone', cut), ('a slow client', slow),
    ('half-close', half), ('truncated stream', truncated), ('stop', stop),
    ('resumption', resumed),
    ('counts', counted), ('keys of tickets', rotated), ('several certificates', named), ('reload', renewed), ('reload of what cannot be used', kept), ('memory', memory),
)
LATER = (('begun later', upgrade), ('injected text', injected), ('failed handshakes', failed))


def main():
    """Runs all; the exit status."""
    report, nest = Report('tls'), program()
    models = sys.argv[1:] or sample.some(SOCKET_MODELS, 1)
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-tls-') as folder:
        certificate(folder, 'one')
        certificate(folder, 'two', kind='prime256v1')
        expired(folder, 'old')
        with open(f'{folder}/large', 'wb') as out:
            out.write(LARGE)
        for model in models:
            for text, cases, kind in ((SPEC, CASES + files.CASES + handshakes.CASES + hostile.CASES + addresses.CASES + short.CASES, ''),
                                      (UPGRADE, LATER + handshakes.LATER + addresses.LATER + short.LATER, 'later-'),
                                      (limits.SPEC, limits.CASES, 'limits-'),
                                      (places.SPEC, places.CASES, 'places-'),
                                      (proxied.SPEC, proxied.CASES, 'proxied-'),
                                      (protocols.SPEC, protocols.CASES, 'protocols-')):
                exe = built(nest, model, text, os.path.join(folder, kind + model))
                if text == SPEC:
                    built(nest, model, METERED, Case(exe, folder, report.note).metered)
                for name, case in cases:
                    attempt(report, model, 'tls', name,
                            lambda c=case, e=exe: c(Case(e, folder, report.note)))
            exe = mail.build(nest, model, folder)
            attempt(report, model, 'tls', 'a server without it', lambda m=model: plain.absent(nest, m, folder))
            attempt(report, model, 'tls', 'secrets in what is written', lambda m=model: private.secrets(nest, m, folder))
            for name, case in mail.CASES + addresses.MAIL:
                attempt(report, model, 'tls', name, lambda c=case, e=exe: c(e, folder))
            exe = protocols.build(nest, model, folder)
            for name, case in protocols.WEB:
                attempt(report, model, 'tls', name, lambda c=case, e=exe: c(e, folder))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
