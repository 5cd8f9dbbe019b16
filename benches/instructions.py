#!/usr/bin/env python3
"""User instructions per request of the example servers, in every model; counted by valgrind.

    python3 benches/instructions.py                              # of this compiler
    python3 benches/instructions.py --nest before=OLD --nest after=NEW

Two runs of a server differ by so many requests, and by nothing else: their difference counts. That is all
a server does outside of the kernel: runtime, actions, the C library. Prints a table. Must not know: budgets.
"""

import argparse
import glob
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, 'tests'))
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.server import Client, Server                           # noqa: E402

FEW, MANY = 20, 120
PAGE = b'x' * 1000
HEAD = (b'GET /page HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) '
        b'Gecko/20100101 Firefox/128.0\r\nAccept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n'
        b'Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n'
        b'Connection: keep-alive\r\nCookie: session=7d1c5a90e2b84f; theme=dark\r\nPriority: u=0, i\r\n\r\n')
MAIL = (b'MAIL FROM:<ann@example.org> SIZE=1400\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n',
        b''.join(b'A line of text that is as long as such lines are, %02d.\r\n' % n for n in range(25))
        + b'.\r\n')


class Work:
    """A server, and what a client asks of it: of one connection, or each on a connection of its own."""

    def __init__(self, name, about, ask, hello=None, files=(), arguments=()):
        self.name, self.about, self.ask, self.hello = name, about, ask, hello
        self.files, self.arguments = files, arguments


def asked(request, *answers):
    """Sends, and reads up to the end of each answer in turn."""
    def ask(client):
        client.send(request)
        for answer in answers:
            read_until(client, answer)
    return ask


def read_until(client, end):
    """All up to these bytes."""
    said = b''
    while not said.endswith(end):
        chunk = client.socket.recv(65536)
        if not chunk:
            raise Failed(f'the server closed behind {said[-200:]!r}')
        said += chunk


def mail(client):
    """A message: its commands one by one, as most clients send them."""
    for line, end in zip(MAIL[0].splitlines(keepends=True), (b'\r\n', b'\r\n', b'\r\n')):
        asked(line, end)(client)
    asked(MAIL[1], b'\r\n')(client)


def greeted(*steps):
    """What comes before the first request: None is what the server says by itself."""
    def hello(client):
        for request, answer in steps:
            if request is not None:
                client.send(request)
            read_until(client, answer)
    return hello


def whole(request):
    """A connection of its own: sends, and reads up to its end."""
    def ask(client):
        if request:
            client.send(request)
        while client.socket.recv(65536):
            pass
    return ask


WORKS = (
    Work('web', 'a page of 1,000 bytes, for a browser', asked(HEAD, PAGE), files=('page',)),
    Work('mail', 'a message of 25 lines', mail,
         greeted((None, b'\r\n'), (b'EHLO client.example.org\r\n', b'250 HELP\r\n')),
         arguments=('--domain', 'example.net')),
    Work('files', 'GET of 1,000 bytes', asked(b'GET page\r\n', PAGE),
         greeted((None, b'\r\n'), (b'alice\r\n', b'\r\n'), (b'looking-glass\r\n', b'\r\n')),
         files=('page',)),
    Work('calculator', 'a sum', asked(b'12 + 30\n', b'\n')),
    Work('echo', 'a line', asked(b'a line of some forty bytes, as lines are\n', b'are\n')),
    Work('finger', 'a question, a connection', whole(b'nobody\r\n'), hello=whole),
    Work('time', 'the time, a connection', whole(b''), hello=whole),
)


def spent(nest, work, model, folder, count):
    """User instructions of a server that answers so many requests, of all its processes."""
    server = os.path.join(folder, f'{work.name}-{model}')
    if not os.path.exists(server):
        spec = os.path.join(ROOT, 'examples', work.name, f'{work.name}.nest')
        run([nest, 'build', spec, '--model', model, '-o', server])
    root = tempfile.mkdtemp(dir=folder)
    for name in work.files:
        with open(os.path.join(root, name), 'wb') as file:
            file.write(PAGE)
    out = tempfile.mkdtemp(dir=folder)
    words = ['valgrind', '-q', '--tool=cachegrind', '--cache-sim=no', '--branch-sim=no',
             f'--cachegrind-out-file={out}/%p', server]
    options = [f'fileRoot={root}'] if work.files or work.name == 'mail' else []
    with Server(words, clients=16, options=options, arguments=work.arguments) as running:
        if work.hello is whole:
            for _ in range(count):
                with Client(running) as client:
                    work.ask(client)
        else:
            with Client(running) as client:
                if work.hello:
                    work.hello(client)
                for _ in range(count):
                    work.ask(client)
        running.stop()
    total = 0
    for path in glob.glob(os.path.join(out, '*')):
        with open(path, encoding='utf-8', errors='replace') as file:
            total += int(re.search(r'^summary: (\d+)', file.read(), re.M).group(1))
    return total


def each(nest, work, model, folder):
    """Instructions a request."""
    few, many = (spent(nest, work, model, folder, count) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--nest', metavar='[NAME=]PATH', action='append',
                        help='a compiler, in a column of its own (default: built by cargo)')
    parser.add_argument('--only', metavar='SERVER,…', help='some of: '
                        + ', '.join(work.name for work in WORKS))
    options = parser.parse_args()
    compilers = [('nest', program())]
    if options.nest:
        pairs = (given.rpartition('=') for given in options.nest)
        compilers = [(name or 'nest', os.path.abspath(path)) for name, _, path in pairs]
    only = options.only.split(',') if options.only else [work.name for work in WORKS]
    print(f'| server | request | model | {" | ".join(name for name, _ in compilers)} |')
    print(f'|---|---|---|{"---|" * len(compilers)}')
    for work in (work for work in WORKS if work.name in only):
        for model in SOCKET_MODELS:
            row = []
            for name, nest in compilers:
                with tempfile.TemporaryDirectory(prefix='nest-instructions-') as folder:
                    row.append(f'{each(nest, work, model, folder):,.0f}')
            print(f'| {work.name} | {work.about} | {model} | {" | ".join(row)} |', flush=True)


if __name__ == '__main__':
    try:
        main()
    except Failed as error:
        sys.exit(f'instructions: {error}')
