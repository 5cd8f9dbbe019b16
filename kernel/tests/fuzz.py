#!/usr/bin/env python3
"""Random conversations with a server behind the kernel: every answer must be, byte for byte apart from its
date, what the server alone gives, in order, and none may be lost.

    fuzz.py [--connections N] [--threads N] [--server nginx|apache|event|uring]     the seed: CHECK_SEED

Requests for kept and other files, fields of browsers and others, conditions in many forms, ranges, POSTs whose bodies
look like requests, made, chunked and slow answers; pipelined, one by one, cut at random bytes; connections of one
request, which ends them; clients that half-close, reset, read slowly or not at all for a while.

Must not know: how the kernel decides.
"""

import argparse
import contextlib
import os
import random
import re
import socket
import struct
import sys
import tempfile
import threading
import time

import browsers
import servers
from accelerated import NEST, ROOT, WAIT, Failed, Report, Site, lacks, sample, undated
from generated import Generated

SMALL = {'a.txt': 10, 'b.txt': 192, 'c.txt': 2000, 'd.txt': 10000, 'e.html': 1023, 'f.html': 1024, 'g.txt': 28000}
LARGE = {'large.txt': 100_000}
SERVERS = {'nginx': servers.nginx, 'apache': servers.apache, 'event': servers.web('event', NEST, ROOT)}
OWN = ('uring',)        # models that nest accelerate does not take without kernelCache
FILES = [*SMALL, 'index.html']
DATE = 'Tue, 14 Nov 2023 22:13:20 GMT'      # when all files were modified


def request(path, method='GET', fields='', body=b'', host='test', version='1.1'):
    return f'{method} {path} HTTP/{version}\r\nHost: {host}\r\n{fields}\r\n'.encode() + body


# Apache tells clients that ask for it that the connection stays open. The prepared answer does not.
KEEPING = ('Connection: keep-alive\r\n', *browsers.SENT.values())
PLAIN = ('', 'User-Agent: x\r\nAccept: */*\r\n', 'Accept-Encoding: gzip\r\nReferer: http://test/\r\n',
         *(fields.replace('Connection: keep-alive\r\n', '') for fields in browsers.SENT.values()))
# Fields that the kernel leaves to the server, and with which the connection goes on.
LEFT = (*browsers.LEFT, 'TE: trailers', 'Keep-Alive: 300', 'Upgrade-Insecure-Request: 1')


def condition(draw, tag):
    """Conditional fields about a file with this ETag: most of them name its version, in many forms."""
    other = 'W/' + tag if tag.startswith('"') else tag.removeprefix('W/')
    tags = draw.choice([
        tag, tag, tag, other, '*', '"-"', f'"-", {tag}', f'{tag},W/"-"', f'"-",W/"a",{other}, "-"', f'"-" , {tag}',
        f'{tag} ', f' {tag}', tag[:-1], tag.strip('W/"'), tag.upper(), f'"-",,{tag}', f'{tag} {tag}', f'{tag},', ''])
    dates = draw.choice([DATE, DATE, DATE, 'Thu, 01 Jan 2037 00:00:00 GMT', 'Tue, 14 Nov 2023 22:13:19 GMT', 'never',
                         DATE + ' ', DATE.lower()])
    none_match, since = f'If-None-Match: {tags}\r\n', f'If-Modified-Since: {dates}\r\n'
    return draw.choice([
        none_match, none_match, none_match, since, since, none_match + since, since + none_match,
        none_match.lower(), since.upper().replace(dates.upper(), dates), none_match.replace(': ', ':'),
        none_match + none_match, since + since, none_match + 'Range: bytes=1-3\r\n',
        none_match + f'If-Match: {tag}\r\n', since + f'If-Unmodified-Since: {DATE}\r\n',
        none_match + f'If-Range: {tag}\r\n'])


def mixed(draw, fields):
    """The fields in another order, some of them twice, left out, or with letters in the other case."""
    lines = [draw.choice([line, line, line, line.lower(), line.upper()]) for line in fields.split('\r\n')[:-1]
             if draw.random() < 0.9]
    lines += draw.sample(lines, draw.randrange(min(3, len(lines) + 1)))
    draw.shuffle(lines)
    return ''.join(line + '\r\n' for line in lines)


def drawn(draw, long, keeping=True, tags=None):
    """One request that keeps the connection open. `long`: also such whose answer takes a while; `tags`: the
    ETags of files, by name."""
    if long and draw.random() < 0.15:
        return request(draw.choice(['/large.txt', '/slow/s.txt']))
    name = draw.choice(FILES)
    kind = draw.randrange(26)
    if tags and draw.random() < 0.25:
        return request(f'/{name}', draw.choice(['GET', 'GET', 'HEAD']),
                       draw.choice(PLAIN) + condition(draw, tags.get(name, '"-"')))
    inner = request(f'/{name}') * draw.randrange(1, 3)
    if kind < 10:
        return request(f'/{name}', fields=draw.choice(PLAIN + KEEPING if keeping else PLAIN))
    return [
        lambda: request(f'/{name}', 'HEAD'),
        lambda: request('/'),
        lambda: request(f'/{name}', fields='Range: bytes=1-3\r\n'),
        lambda: request(f'/{name}', fields='If-Modified-Since: Thu, 01 Jan 2037 00:00:00 GMT\r\n'),
        lambda: request(f'/{name}', fields='If-None-Match: *\r\n'),
        lambda: request(f'/{name}?query'),
        lambda: request(f'/{name}', fields='Cookie: a=b\r\n'),
        lambda: request('/none'),
        lambda: request('/none', 'HEAD'),
        lambda: request('/made'),
        lambda: request('/made', 'POST', f'Content-Length: {len(inner)}\r\n', inner),
        lambda: request('/made', 'GET', f'Content-Length: {len(inner)}\r\n', inner),
        lambda: request('/made', 'POST', 'Transfer-Encoding: chunked\r\n',
                        b'%x\r\n%s\r\n0\r\n\r\n' % (len(inner), inner)),
        lambda: request('/chunks/c.txt'),
        lambda: request(f'/{name}', fields=draw.choice(PLAIN) + draw.choice(LEFT) + '\r\n'),
        lambda: request(f'/{name}', fields=mixed(draw, draw.choice(PLAIN))),
    ][kind - 10]()


def last(draw):
    """A request after which the server ends the connection."""
    name = draw.choice(FILES)
    return draw.choice([
        request(f'/{name}', fields='Connection: close\r\n'),
        request(f'/{name}', version='1.0'),
        b'GET\r\n\r\n',
        request(f'/{name}', fields='Host: twice\r\n'),
    ])


def closing(draw, tags):
    """A request for a file that ends its connection."""
    name = draw.choice(FILES)
    fields = draw.choice(PLAIN) + (condition(draw, tags.get(name, '"-"')) if draw.random() < 0.15 else '')
    old = draw.random() < 0.4
    if not old or draw.random() < 0.2:
        fields += draw.choice(['Connection: close', 'connection: Close', 'Connection:close']) + '\r\n'
    path = draw.choice([f'/{name}'] * 20 + ['/', '/none', '/large.txt', f'/{name}?x'])
    return request(path, draw.choice(['GET', 'GET', 'GET', 'HEAD']), fields, version='1.0' if old else '1.1')


class Alone:
    """What the server alone answers, learnt once for each request."""

    def __init__(self, site, keeping=True):
        self.site, self.known, self.lock, self.keeping = site, {}, threading.Lock(), keeping
        # No other request has this answer.
        self.end = request('/end.txt', fields='Connection: close\r\n')
        self.ended = undated(self.talk(self.end))
        heads = {name: self.talk(request(f'/{name}', 'HEAD', 'Connection: close\r\n')) for name in FILES}
        found = {name: re.search(rb'\r\nETag: ([^\r]*)', head) for name, head in heads.items()}
        self.tags = {name: tag[1].decode() for name, tag in found.items() if tag}

    def talk(self, data):
        with socket.create_connection(('127.0.0.1', self.site.alone), WAIT) as client:
            client.sendall(data)
            return rest(client)

    def __call__(self, data, ends=False):
        """The answer, and whether the connection ends with it."""
        with self.lock:
            if data not in self.known:
                got = undated(self.talk(data if ends else data + self.end))
                ends = ends or not got.endswith(self.ended)
                self.known[data] = got if ends else got[:-len(self.ended)], ends
            return self.known[data]


def rest(client):
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b''.join(parts)


def cut(draw, data):
    """The data in pieces."""
    at = sorted(draw.randrange(1, len(data)) for _ in range(draw.randrange(1, 6)))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)]) if a != b]


class Reader:
    """Reads what is expected, and compares."""

    def __init__(self, client):
        self.client, self.got, self.wanted, self.length = client, b'', b'', 0

    def expect(self, data):
        self.wanted += data
        # A date is left out of what is compared, but not of what is read.
        self.length += len(data) + data.count(b'\r\nDate: -\r\n') * 28

    def read(self):
        while len(self.got) < self.length:
            part = self.client.recv(65536)
            if not part:
                break
            self.got += part

    def compare(self):
        got = undated(self.got)
        if got != self.wanted:
            at = next((i for i, (a, b) in enumerate(zip(got, self.wanted)) if a != b), min(len(got), len(self.wanted)))
            raise Failed(f'{len(got)} of {len(self.wanted)} bytes; they differ at {at}:\n'
                         f'got    {got[max(0, at - 60):at + 100]!r}\nwanted {self.wanted[max(0, at - 60):at + 100]!r}')


def converse(site, alone, seed):
    """One connection. Raises Failed with what is wrong."""
    draw = random.Random(seed)
    manner = draw.choice(['one', 'one', 'pipelined', 'cut', 'cut', 'half', 'half', 'reset', 'slow'])
    if draw.random() < 0.35:
        return single(site, alone, draw)
    # nginx gives up an answer that it could not send whole when its client half-closes.
    requests = [drawn(draw, manner != 'half', alone.keeping, alone.tags)
                for _ in range(draw.choice([1, 1, 2, 3, 5, 8]))]
    if draw.random() < 0.3:
        # Mostly hits, one after the other.
        names = [draw.choice(FILES) for _ in range(draw.randrange(1, 20))]
        plain = draw.choice(PLAIN)
        requests = [request(f'/{name}', fields=plain + (condition(draw, alone.tags.get(name, '"-"'))
                            if draw.random() < 0.3 else '')) for name in names]
    answers, end = [], False
    for data in requests:
        wanted, end = alone(data)
        answers.append(wanted)
        if end:
            break
    requests = requests[:len(answers)]
    if not end and manner in ('one', 'pipelined', 'cut') and draw.random() < 0.3:
        requests.append(last(draw))
        answers.append(alone(requests[-1], ends=True)[0])
        end = True
    with socket.socket() as client:
        client.settimeout(WAIT)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if manner == 'slow':
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(('127.0.0.1', site.port))
        reader = Reader(client)
        if manner in ('one', 'cut', 'half', 'reset'):
            for i, (data, wanted) in enumerate(zip(requests, answers)):
                # The server may end the connection at the first bytes of the last request.
                cuts = manner == 'cut' and not (end and i == len(requests) - 1) and draw.random() < 0.6
                pieces = cut(draw, data) if cuts else [data]
                for piece in pieces:
                    client.sendall(piece)
                    if len(pieces) > 1:
                        time.sleep(draw.choice([0, 0.0005, 0.002]))
                reader.expect(wanted)
                if manner == 'half' and i == len(requests) - 1:
                    client.shutdown(socket.SHUT_WR)
                if manner == 'reset' and draw.random() < 0.3:
                    break
                if manner != 'cut' or draw.random() < 0.4:
                    reader.read()
        else:
            whole = b''.join(requests)
            for piece in cut(draw, whole) if draw.random() < 0.5 else [whole]:
                client.sendall(piece)
            if manner == 'slow':
                time.sleep(draw.choice([0.01, 0.05, 0.2]))
            for wanted in answers:
                reader.expect(wanted)
        if manner == 'reset':
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            reader.wanted = reader.wanted if len(reader.got) == reader.length else None
            if reader.wanted is None:
                return
        else:
            reader.read()
            if manner == 'half' or end:
                reader.got += rest(client)
        reader.compare()


def single(site, alone, draw):
    """One connection with one request, which ends it. Raises Failed with what is wrong."""
    data = last(draw) if draw.random() < 0.3 else closing(draw, alone.tags)
    manner = draw.choice(['plain', 'plain', 'plain', 'half', 'slow', 'cut', 'late', 'more', 'gone'])
    with socket.socket() as client:
        client.settimeout(WAIT)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if manner == 'slow':
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, draw.choice([2048, 4096, 16384]))
        client.connect(('127.0.0.1', site.port))
        if manner == 'late':
            time.sleep(draw.choice([0, 0.001, 0.02]))
        # A server may end the connection before it has read all of a request that it does not like.
        for piece in cut(draw, data) if manner == 'cut' and data.count(b'Host') == 1 else [data]:
            client.sendall(piece)
            if manner == 'cut':
                time.sleep(draw.choice([0, 0.0005, 0.002]))
        if manner == 'half':
            client.shutdown(socket.SHUT_WR)
        if manner == 'slow':
            time.sleep(draw.choice([0.01, 0.05, 0.2]))
        if manner == 'gone':
            if draw.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            return
        reader = Reader(client)
        reader.expect(alone(data, ends=True)[0])
        reader.read()
        if manner == 'more':
            # Nobody reads this, and nobody may mind.
            with contextlib.suppress(ConnectionError):
                client.sendall(request('/a.txt') * draw.randrange(1, 3))
        with contextlib.suppress(ConnectionResetError if manner == 'more' else ()):
            reader.got += rest(client)
        reader.compare()


def work(site, alone, seeds, wrong, stop):
    for seed in seeds:
        if stop.is_set():
            return
        try:
            converse(site, alone, seed)
        except (Failed, OSError) as error:
            wrong.append((seed, error))
            if len(wrong) > 5:
                stop.set()


def fuzz(site, count, threads, first, keeping=True):
    """`count` conversations, of seeds from `first`. Returns what was wrong."""
    alone, wrong, stop = Alone(site, keeping), [], threading.Event()
    running = [threading.Thread(target=work, args=(site, alone, range(first + i, first + count, threads), wrong, stop))
               for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return wrong


def behind(folder, name):
    """The server of this name behind the kernel."""
    return Generated(folder, model=name, alone=True) if name in OWN else Site(folder, server=SERVERS[name])


def fill(site):
    for name, size in {**SMALL, **LARGE}.items():
        site.write(name, (name.encode() * size)[:size])
    site.write('end.txt', b'the end')
    site.write('made', b'made\n')          # nginx makes this itself
    site.write('index.html', b'<h1>index</h1>\n')
    site.write('chunks/c.txt', b'<!--#echo var="uri" -->' + b'c' * 3000)
    site.write('slow/s.txt', b's' * 55_000)
    # Apache says of a file that changed a moment ago that its ETag is weak.
    for folder, _, names in os.walk(site.www):
        for name in names:
            os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--connections', type=int, default=3000)
    parser.add_argument('--threads', type=int, default=8)
    parser.add_argument('--server', choices=[*SERVERS, *OWN], default='nginx')
    parser.add_argument('--seed', type=int, default=sample.SEED)
    options = parser.parse_args()
    report = Report('conversations through the kernel')
    missing = lacks()
    if missing:
        report.skip(options.server, 'random conversations', missing)
        return report.close()
    print(f'seed {options.seed}')
    with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
        site = behind(folder, options.server)
        fill(site)
        with site:
            site.keep(*SMALL)
            wrong = fuzz(site, options.connections, options.threads, options.seed,
                         options.server != 'apache')
            counts = site.counts()
    text = '\n'.join(f'seed {seed}: {error!r}' if not isinstance(error, Failed) else f'seed {seed}: {error}'
                     for seed, error in wrong)
    report.line(not wrong, options.server, 'random conversations give what the server alone gives',
                f'{options.connections} connections', text)
    enough = (counts['answers'] > options.connections // 2 and counts['broken'] == 0 and
              counts['unchanged'] > options.connections // 20 and counts['singles'] > options.connections // 20)
    report.line(enough, options.server, 'the kernel answered, and broke no connection',
                f'{counts["answers"]} answers, {counts["unchanged"]} of them 304, {counts["singles"]} single, {counts["held"]} ends held',
                str(counts))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
