"""Filters that nest generates from specifications, in front of real servers."""

import functools
import os
import signal
import socket
import subprocess
import tempfile
import time
from conditioned import Conditioned, good, missing, nginx
from support import TOP, Chain, expect, field, free_port, until

# The commands of memcached; what follows a command line is not part of the first message.
MEMO = r'''
%option inputBuffer 300
%option readTimeout 300ms
%option idleTimeout 400ms
NL "\r"?"\n"
KEY [!-~]{1,250}
%%
get = "get" (" " {KEY})+ NL { $reply("END\r\n"); }
set = "set " KEY " " [0-9]{1,10} " " [0-9]{1,10} " " [0-9]{1,7} NL { $reply("NOT_STORED\r\n"); }
version = "version" NL { $reply("VERSION nest\r\n"); }
quit = "quit" NL { $close(); }
'''

# Limits that no machine is too slow for.
PATIENT = ',timeout=60s,idle=60s'

# Redis: an inline command, or the line that counts the strings of a command.
REDIS = r'''
NL "\r"?"\n"
%%
inline = [^*\r\n][^\r\n]* NL { $close(); }
command = "*" [0-9]{1,6} NL { $close(); }
'''

# A message of up to 200 KB, after which comes what the test server expects of a request.
LONG = r'''
%option inputBuffer 200K
%%
post = "POST /" [0-9]+ " HTTP/1.1\r\nContent-Length: " [0-9]+ "\r\n\r\n" "x"* "\n" { $close(); }
'''

# Requests for two paths of a site, and nothing else.
ALLOWED = r'''
%option inputBuffer 4K
CRLF "\r\n"
%%
get = "GET /" ("index.html"|"news/" [0-9]{1,4}) " HTTP/1.1" CRLF
      ([A-Za-z-]+ ": " [ -~]* {CRLF})* CRLF { $close(); }
'''


# Heads of requests, on connections that stay.
HEADS = r'''
CRLF "\r\n"
%%
head = [A-Z]+ " " [!-~]+ " HTTP/1.1" CRLF ([A-Za-z-]+ ": " [ -~]* {CRLF})* CRLF { $reply("x"); }
'''

# Specifications, inputs, and what becomes of the first message: the matching algorithm of the language.
DECISIONS = [
    ('words', r'''
%option inputBuffer 16
%%
a = "a" { $close(); }
aab = "aab" { $close(); }
b = "b"+ { $close(); }
line = "x" [^\n]* "\n" { $close(); }
now = "n"+ NOW { $close(); }
''', [(b'', 'more, then aborted'), (b'a', 'more, then whole 1'), (b'ab', 'whole 1'),
      (b'aa', 'more, then whole 1'), (b'aac', 'whole 1'), (b'aab', 'whole 3'), (b'aabaab', 'whole 3'),
      (b'bbb', 'more, then whole 3'), (b'bbbab', 'whole 3'), (b'c', 'malformed'), (b'nn', 'whole 1'),
      (b'x12345678901234', 'more, then aborted'), (b'x1234567\n\n', 'whole 9'),
      (b'x12345678901234\n', 'whole 16'), (b'x123456789012345\n', 'oversized'),
      (b'b' * 15 + b'a', 'whole 15'), (b'b' * 16, 'oversized')]),
    ('states', r'''
%{
#include <time.h>
%}
%state A B
%%
START { if (time(NULL) % 2) $seen(A); else $seen(B); }
A: a = "a" "a"* "\n" { $close(); }
A: one = "1" { $close(); }
B: b = "a"+ "\n\n" { $close(); }
B: long = "12" "3"* { $close(); }
''', [(b'aa\n', 'whole 3'), (b'1', 'whole 1'), (b'a', 'more, then aborted'), (b'b', 'malformed')]),
    ('packets', r'''
%option framing message
%%
any = (?s) .+ { $reply("x"); }
''', [(b'abc', 'whole 3'), (b'', 'more, then aborted')]),
    ('timers', r'''
%%
TIMEOUT(1s) { $close(); }
a = "a"{2,4} "\n" { $close(); }
''', [(b'aaaa\n', 'whole 5'), (b'aaaaa', 'malformed'), (b'\0', 'malformed')]),
]


def compiler():
    """The compiler: $NEST, or one that was built beside this folder; None if there is none."""
    built = [os.path.join(TOP, '..', 'target', kind, 'nest') for kind in ('release', 'debug')]
    found = [os.environ['NEST']] if 'NEST' in os.environ else [p for p in built if os.path.exists(p)]
    return os.path.abspath(found[0]) if found else None


@functools.cache
def place():
    """A folder for what is built here; it is removed when the program ends."""
    return tempfile.TemporaryDirectory(prefix='cc-')


def nest(*arguments):
    """Runs the compiler; what it says if it fails. With sanitizers, gcc that optimises a little takes
    three times as long as clang that does not."""
    quick = {**os.environ, 'CC': 'clang', 'CFLAGS': '-O0 -Wno-error=format-security'}
    done = subprocess.run([compiler(), *arguments], cwd=place().name, capture_output=True, text=True,
                          check=False, timeout=300, env=quick)
    expect(not done.returncode, f'nest {" ".join(arguments)}: {done.stderr}')


@functools.cache
def built(name, text, *arguments):
    """Builds a specification with sanitizers; the path of the program."""
    file = os.path.join(place().name, f'{name}.nest')
    with open(file, 'w', encoding='ascii') as out:
        out.write(text)
    kind = arguments[1] if arguments else 'server'
    program = os.path.join(place().name, f'{name}-{kind}')
    nest('build', file, '-o', program, '--sanitize', 'address', *arguments)
    return program


def filter_of(name, text, kind='request'):
    """A generated filter."""
    return built(name, text, '--filter', kind)


def needs_nest(test):
    """A test that is not run without the compiler."""
    @functools.wraps(test)
    def run():
        return test() if compiler() else 'nest is not built'
    return run


class Guarded(Conditioned):
    """An unmodified server behind filters, with their counters."""

    def __init__(self, name, command, *filters):
        self.state = os.path.join(place().name, f'state-{free_port()}')
        super().__init__(name, command, *filters, options=('--state', self.state))


def counted(server, program, what, times):
    """Waits until something has happened so many times: `passed`, or a reason to refuse."""
    until(lambda: server.metrics().get((what, program), 0) == times,
          f'{what} is not {times}:\n{server.ask()}')


def read_line(client):
    """A line of the answer."""
    while b'\n' not in client.have and client.more():
        pass
    line, _, client.have = client.have.partition(b'\n')
    return line + b'\n'


@needs_nest
def told_apart():
    """Malformed, oversized, overdue, idle and aborted messages of a line protocol never reach the server."""
    program, server = filter_of('memo', MEMO), built('memo', MEMO)

    def command(_, port):
        return [server, '--port', str(port), '--set', 'user=root']
    # The times of the specification are for the cases that wait for them.
    for times, data, reason in ((PATIENT, b'gets a\r\n', 'malformed'),
                                (PATIENT, b'get ' + b'k' * 251, 'malformed'),
                                (PATIENT, b'get ' + b'k ' * 148, 'oversized'),
                                (',idle=60s', b'get a', 'overdue'), ('', b'', 'idle')):
        with Guarded('memo-server', command, program + times) as chain:
            with chain.client() as client:
                client.send(data)
                expect(client.ended() and not client.have, f'{data[:20]}: {client.have}')
            counted(chain, program, reason, 1)
            counted(chain, program, 'passed', 0)
            stop(chain)
    with Guarded('memo-server', command, program + PATIENT) as chain:
        with chain.client() as client:
            client.send('get a')
            client.socket.shutdown(socket.SHUT_WR)
            client.ended()
        counted(chain, program, 'aborted', 1)
        counted(chain, program, 'passed', 0)
        with chain.client() as client:
            for byte in b'get a b\r\nversion\r\nquit\r\n':
                client.send(bytes([byte]))
            client.ended()
            expect(client.have == b'END\r\nVERSION nest\r\n', f'{client.have}')
        counted(chain, program, 'passed', 1)
        stop(chain)


def stop(server):
    """Ends the launcher and its server."""
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)


@needs_nest
def ends_with_the_client():
    """A message that could go on is complete when its client sends no more."""
    text = '%%\nb = "b"+ { $reply($0, "\\n"); }\n'
    program, server = filter_of('bees', text), built('bees', text)

    def command(_, port):
        return [server, '--port', str(port), '--set', 'user=root']
    with Guarded('bees-server', command, program + PATIENT) as chain:
        for wait in (True, False):
            with chain.client() as client:
                client.send('bbb')
                if wait:
                    until(lambda: chain.metrics()['held', program] == 1, 'it does not wait')
                client.socket.shutdown(socket.SHUT_WR)
                client.ended()
                expect(client.have == b'bbb\n', f'{client.have}')
        counted(chain, program, 'passed', 2)
        expect(('aborted', program) not in chain.metrics(), chain.ask())
        stop(chain)


@needs_nest
def memcached_serves():
    """memcached behind the filter of its protocol: values, pipelines and half commands."""
    if missing('memcached'):
        return missing('memcached')
    program = filter_of('memo', MEMO)

    def command(_, port):
        return ['memcached', '-u', 'root', '-l', '127.0.0.1', '-p', str(port), '-t', '2']
    with Guarded('memcached', command, program + ',idle=60s') as chain:
        with chain.client() as client:
            client.send('set a 0 0 5\r\nhello\r\nget a\r\n')
            said = b''.join(read_line(client) for _ in range(4))
            expect(said == b'STORED\r\nVALUE a 0 5\r\nhello\r\nEND\r\n', f'{said}')
            client.send('delete a\r\n')     # only the first message is one of the specification
            expect(read_line(client) == b'DELETED\r\n', 'a later message is not answered')
        with chain.client() as half:
            half.send('get a')
            expect(half.ended() and not half.have, f'{half.have}')
        counted(chain, program, 'overdue', 1)
        counted(chain, program, 'passed', 1)
        stop(chain)
    return ''


@needs_nest
def redis_serves():
    """Redis and its own client behind a filter of its protocol."""
    if missing('redis-server', 'redis-cli'):
        return missing('redis-server', 'redis-cli')
    program = filter_of('redis', REDIS)

    def command(folder, port):
        return ['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]

    def ask(port, *words):
        done = subprocess.run(['redis-cli', '-p', str(port), *words], capture_output=True, text=True,
                              check=False, timeout=60)
        return done.stdout
    with Guarded('redis-server', command, program + ',timeout=300ms') as chain:
        expect(ask(chain.port, 'SET', 'a', 'x y') == 'OK\n', 'SET')
        expect(ask(chain.port, 'GET', 'a') == 'x y\n', 'GET')
        with chain.client() as client:
            client.send('PING\r\n')
            expect(read_line(client) == b'+PONG\r\n', 'an inline command')
        for data in (b'*1', b'*x\r\n'):
            with chain.client() as client:
                client.send(data)
                expect(client.ended() and not client.have, f'{data}: {client.have}')
        counted(chain, program, 'overdue', 1)
        counted(chain, program, 'malformed', 1)
        counted(chain, program, 'passed', 3)
        stop(chain)
    return ''


@needs_nest
def http_from_a_specification():
    """The filter of the example that describes HTTP heads serves nginx."""
    if missing('nginx'):
        return missing('nginx')
    program = filter_of('status', example('status'))
    with Guarded('nginx', nginx, program + PATIENT) as chain:
        good(chain.port, 5)
        with chain.client() as client:
            client.send('GET /index.html HT')
            time.sleep(0.05)
            client.send('TP/1.1\r\nHost: a\r\n\r')
            client.send('\n')
            expect(client.answer()[0] == 200, 'a request in pieces')
        for data, reason in ((b'GARBAGE\r\n', 'malformed'),
                             (b'GET / HTTP/1.1\r\nA: ' + b'x' * 20000, 'oversized')):
            with chain.client() as client:
                client.send(data)
                expect(client.ended() and not client.have, f'{data[:20]}: {client.have}')
            counted(chain, program, reason, 1)
        counted(chain, program, 'passed', 6)
        stop(chain)
    return ''


def example(name):
    """The specification of an example."""
    with open(os.path.join(TOP, f'../examples/{name}/{name}.nest'), encoding='ascii') as file:
        return file.read()


@needs_nest
def long_messages():
    """Messages of 50 KB and of 150 KB, which are taken out of the socket in pieces, arrive whole."""
    program = filter_of('long', LONG)
    with Chain([program + PATIENT]) as chain:
        for size in (100, 20000, 50000, 150000):
            head = b'POST /%d HTTP/1.1\r\nContent-Length: %d\r\n\r\n' % (size, size)
            with chain.client() as client:
                client.send(head + b'x' * (size - 1))
                until(lambda: chain.metrics()['held', program] == 1, 'it is not held')
                client.send('\n')
                _, body = client.answer()
                expect(field(body, 'size') == str(len(head) + size), f'{size}: {body}')
        with chain.client() as client:
            client.send('POST /1 HTTP/1.1\r\nContent-Length: 250000\r\n\r\n' + 'x' * 250000)
            expect(client.ended(), 'an oversized message is not ended')
        counted(chain, program, 'oversized', 1)


@needs_nest
def checks():
    """A generated check refuses requests that another filter has packaged."""
    program = filter_of('allowed', ALLOWED, 'check')
    with Chain(['request', 'persist', program]) as chain:
        for target, want in (('/index.html', 200), ('/news/12', 200), ('/news/12345', 0), ('/', 0)):
            with chain.client() as client:
                client.get(target)
                expect(client.answer()[0] == want, f'{target} does not get {want}')
        with chain.client() as client:      # each request of a connection is checked
            expect(client.get('/news/1').answer()[0] == 200, 'the first request')
            expect(client.get('/etc/passwd').answer()[0] == 0, 'the second request')
        expect(chain.requests() == ['/index.html', '/news/12', '/news/1'], f'{chain.requests()}')
        counted(chain, program, 'malformed', 3)


@needs_nest
def presents():
    """A generated persist presents each message of a connection, at once or later, as one of its own."""
    request, persist = (filter_of('heads', HEADS, kind) for kind in ('request', 'persist'))
    with Chain([request + PATIENT, persist + PATIENT]) as chain:
        with chain.client() as client:
            client.get('/1').get('/2')
            for target in ('/1', '/2'):
                expect(client.answer()[0] == 200, f'{target} is not answered')
            until(lambda: chain.metrics()['held', persist] == 1, 'it does not wait for a message')
            client.send('GET /3 HT')
            client.send('TP/1.1\r\n\r\n')
            expect(client.answer()[0] == 200, '/3 is not answered')
            client.send('GET\r\n')
            expect(client.ended(), 'a malformed message does not end the connection')
            counted(chain, persist, 'malformed', 1)
        expect(chain.requests() == ['/1', '/2', '/3'], f'{chain.requests()}')
    with Chain([request + PATIENT, persist + ',idle=300ms']) as chain, chain.client() as client:
        expect(client.get('/1').answer()[0] == 200, 'no answer')
        expect(client.ended(), 'an idle connection stays')
        counted(chain, persist, 'idle', 1)


@needs_nest
def decisions():
    """Each message is decided at the byte that decides it in the server, however it is cut."""
    folder = os.path.join(place().name, 'decisions')
    for name, text, cases in DECISIONS:
        file = os.path.join(place().name, f'{name}.nest')
        with open(file, 'w', encoding='ascii') as out:
            out.write(text)
        nest('gen', '--filter', 'request', file, '-o', folder)
        subprocess.run(['cc', '-std=c17', '-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined',
                        f'-I{folder}/frame', os.path.join(TOP, 'tests/decide.c'),
                        f'{folder}/filter.c', f'{folder}/frame/auto.c', '-o', f'{folder}/decide'],
                       check=True, timeout=300)
        for data, want in cases:
            done = subprocess.run([f'{folder}/decide'], input=data, capture_output=True, check=False,
                                  timeout=60)
            said = done.stdout.decode() + done.stderr.decode()
            expect(said == want + '\n', f'{name} {data[:40]}: {said!r}, not {want!r}')


TESTS = [told_apart, ends_with_the_client, memcached_serves, redis_serves, http_from_a_specification,
         long_messages, checks, presents, decisions]
