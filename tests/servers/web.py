"""Tests examples/web with common clients: curl, netcat, Python, load generators, a browser.

Must not know: how the server is made.
"""

import concurrent.futures
import email.utils
import functools
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from support.nest import Failed, Missing, ROOT, SOCKET_MODELS, environment, program, run as run_program
from support.server import Client, Server

sys.path.insert(0, os.path.join(ROOT, 'conformance'))
from runner import files                                            # noqa: E402
from runner.case import load_all                                    # noqa: E402

SPEC = os.path.join(ROOT, 'examples', 'web', 'web.nest')
COPS = os.path.join(ROOT, 'examples', 'web', 'cops-http.nest')  # the same server with other options
BIG = bytes(i * 7 % 251 for i in range(5_000_000))
PAGE = b'''<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>none</title><link rel="stylesheet" href="style.css">
<link rel="icon" href="logo.svg"><h1>Hello</h1><img src="logo.svg" alt="logo"><p id="said"></p>
<script type="module" src="app.js"></script></html>
'''
SITE = {
    'index.html': PAGE,
    'style.css': b'h1 { color: rgb(1, 2, 3); }\n',
    'app.js': b'''import { word } from './word.mjs';
const style = getComputedStyle(document.querySelector('h1')).color;
const data = await (await fetch('data.json')).json();
const image = document.querySelector('img');
await image.decode();
document.querySelector('#said').textContent = [word, style, data.n, image.naturalWidth].join('|');
''',
    'word.mjs': b"export const word = 'modules';\n",
    'data.json': b'{"n": 42}\n',
    'logo.svg': b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="M0 0h8v8z"/></svg>\n',
    'big.bin': BIG,
    'small.txt': b'0123456789' * 20,
    'empty.txt': b'',
    'docs/index.html': b'<h1>docs</h1>\n',
    'docs/a b & c.txt': b'odd\n',
    'folder/one.txt': b'1\n',
    'up/kept.txt': b'kept\n',
    'up/later/x.txt': b'x\n',
}
SAID = 'modules|rgb(1, 2, 3)|42|8'
LOAD = 3                            # seconds for each load generator
OLD = time.time() - 86400           # when the files were changed last


def build(nest, model, folder, spec=SPEC):
    """The server's program."""
    exe = os.path.join(folder, 'web')
    run_program([nest, 'build', '--model', model, spec, '-o', exe])
    return exe


class Site(Server):
    """The server of a folder of its own."""

    def __init__(self, exe, *more, **variables):
        self.exe = exe
        self.root = tempfile.mkdtemp(prefix='nest-web-')
        for name, data in SITE.items():
            path = self.path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                file.write(data)
            os.utime(path, (OLD, OLD))
        super().__init__([exe], options=(f'fileRoot={self.root}', 'maxClients=100', 'accessLog=./access',
                                        'lingerTimeout=30s'),     # a busy machine makes clients slow
                         arguments=('--uploads', 'up', '--upload-limit', '10M', '--listings', *more), **variables)

    def path(self, name):
        """A file of the site."""
        return os.path.join(self.root, name)

    def content(self, name):
        """What a file of the site holds."""
        with open(self.path(name), 'rb') as file:
            return file.read()

    @staticmethod
    def log(path):
        """What its log holds."""
        with open(path, 'rb') as file:
            return file.read()

    def url(self, path=''):
        """The address of a file."""
        return f'http://127.0.0.1:{self.port}/{path}'

    def close(self):
        super().close()
        shutil.rmtree(self.root)


def bounded(words, data=None, status=0, seconds=60):
    """Runs a client to its end; (output, errors). Failed if it ends otherwise than with `status`."""
    try:
        done = subprocess.run(words, input=data, capture_output=True, timeout=seconds,
                              env=environment())
    except subprocess.TimeoutExpired as error:
        raise Failed(f'{" ".join(words)}: no end within {seconds} s') from error
    if done.returncode != status:
        raise Failed(f'{" ".join(words)}: status {done.returncode}\n{done.stderr.decode()[-1000:]}')
    return done.stdout, done.stderr


def curl(site, path, *options, data=None, status=0):
    """What curl gets: (the last answer's status, its fields, its content)."""
    out, _ = bounded(['curl', '-sS', '-i', '--max-time', '50', *options, site.url(path)], data,
                     status)
    while True:
        head, blank, rest = out.partition(b'\r\n\r\n')
        if not blank:
            raise Failed(f'curl {options} {path}: no head: {out[:300]!r}')
        lines = head.decode('latin-1').split('\r\n')
        number = int(lines[0].split()[1])
        if not (rest.startswith(b'HTTP/1.1 ') and (number == 100 or number == 301)):
            fields = [line.partition(': ') for line in lines[1:]]
            return number, {name.lower(): value for name, _, value in fields}, rest
        out = rest


def same(what, got, wanted):
    """Failed unless they are."""
    if got != wanted:
        raise Failed(f'{what}: expected {str(wanted)[:300]}, got {str(got)[:300]}')


# -- checks

def curl_reads(site):
    """curl reads: whole files, heads, ranges, dates, tags, redirects, resumed downloads"""
    for name, data in SITE.items():
        path = urllib.parse.quote(name)
        number, fields, content = curl(site, path, '--compressed')
        same(name, (number, content, fields['content-length']), (200, data, str(len(data))))
        number, heads, content = curl(site, path, '-I')
        same(f'HEAD {name}', (number, content), (200, b''))
        same(f'HEAD {name}', {**heads, 'date': ''}, {**fields, 'date': ''})
    tag, changed = (curl(site, 'small.txt')[1][name] for name in ('etag', 'last-modified'))
    same('Last-Modified', email.utils.parsedate_to_datetime(changed).timestamp(), int(OLD))
    small = SITE['small.txt']
    for options, wanted in (
            (('-r', '0-99'), (206, small[:100])), (('-r', '-7'), (206, small[-7:])),
            (('-r', '150-'), (206, small[150:])), (('-r', '0-1,5-6'), (200, small)),
            (('-H', f'If-None-Match: "x", W/{tag}'), (304, b'')),
            (('-H', f'If-None-Match: {tag}', '-r', '0-4'), (304, b'')),
            (('-H', f'If-Match: W/{tag}'), (412, b'412 Precondition Failed\n')),
            (('-H', f'If-Match: "x",{tag}'), (200, small)),
            (('-H', f'If-Range: {tag}', '-r', '0-4'), (206, small[:5])),
            (('-H', f'If-Range: {changed}', '-r', '0-4'), (206, small[:5])),
            (('-H', 'If-Range: "x"', '-r', '0-4'), (200, small)),
            (('-z', site.path('small.txt')), (304, b'')),
            (('-z', 'Mon, 01 Jan 2001 00:00:00 GMT'), (200, small)),
            (('-z', '-Mon, 01 Jan 2001 00:00:00 GMT'), (412, b'412 Precondition Failed\n')),
            (('-0',), (200, small)), (('-X', 'OPTIONS'), (204, b''))):
        number, _, content = curl(site, 'small.txt', *options)
        same(' '.join(options), (number, content), wanted)
    same('redirect', curl(site, 'docs', '-L')[::2], (200, SITE['docs/index.html']))
    number, _, page = curl(site, 'folder/')
    if number != 200 or b'href="./one.txt"' not in page:
        raise Failed(f'the listing lacks a file: {number} {page!r}')
    part = site.path('part')
    with open(part, 'wb') as file:
        file.write(BIG[:1_234_567])
    bounded(['curl', '-sS', '-C', '-', '-o', part, site.url('big.bin')])
    same('a resumed download', site.content('part'), BIG)
    out, _ = bounded(['curl', '-sS', '-o', '/dev/null', '-w', '%{http_code} %{num_connects}\n',
                      site.url('[1-3]'), '-o', '/dev/null', '-o', '/dev/null'])
    same('one connection for all', out, b'404 1\n404 0\n404 0\n')


def curl_writes(site):
    """curl writes: uploads of known length, in chunks, from a pipe, with and without a 100"""
    big = site.path('big.bin')
    for what, options, data in (
            ('length', ('-T', big), None), ('chunks', ('-T', '-'), BIG),
            ('expected', ('-T', big, '-H', 'Expect: 100-continue'), None),
            ('unexpected', ('-T', '-', '-H', 'Expect:'), BIG),
            ('empty', ('-T', '-'), b'')):
        wanted = BIG if data is None else data
        same(what, curl(site, f'up/{what}', *options, data=data)[0], 201)
        same(what, site.content(f'up/{what}'), wanted)
        same(f'{what} again', curl(site, f'up/{what}', *options, data=data)[0], 204)
        same(f'{what} back', curl(site, f'up/{what}')[2], wanted)
    tag = curl(site, 'up/kept.txt')[1]['etag']
    for options, wanted in (
            (('-H', 'If-None-Match: *'), 412), (('-H', 'If-Match: "x"'), 412),
            (('-H', f'If-Match: {tag}'), 204), (('-H', f'If-Match: {tag}'), 412)):
        same(f'{options}', curl(site, 'up/kept.txt', '-T', '-', *options, data=b'new\n')[0], wanted)
    same('kept', site.content('up/kept.txt'), b'new\n')
    with open(site.path('huge'), 'wb') as file:
        file.truncate(11 << 20)
    same('too long', curl(site, 'up/huge', '-T', site.path('huge'))[0], 413)
    with open(site.path('huge'), 'rb') as file:
        same('too long, in chunks', curl(site, 'up/huge', '-T', '-', data=file.read())[0], 413)
    for path, wanted in (('up/no/x', 409), ('up/.x', 403), ('index.html', 405)):
        same(path, curl(site, path, '-T', site.path('small.txt'))[0], wanted)
    same('files', sorted(os.listdir(site.path('up'))),
         ['chunks', 'empty', 'expected', 'kept.txt', 'later', 'length', 'unexpected'])


def refused(site):
    """uploads that are refused before they come: clients send them all the same, and get the answer"""
    def put(path, length, wanted):
        piece = bytes(10_000)
        with Client(site) as client:
            try:
                client.send(f'PUT /{path} HTTP/1.1\r\nHost: a\r\n'
                            f'Content-Length: {length}\r\n\r\n'.encode())
                time.sleep(0.05)
                for _ in range(30):
                    client.send(piece)
                    time.sleep(0.002)
            except OSError as error:
                raise Failed(f'PUT {path}: {error} instead of {wanted}') from error
            same(f'PUT {path}', client.take(12), f'HTTP/1.1 {wanted}'.encode())
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for path, length, wanted in (('none', 300_000, 405), ('up/none', 300_000_000, 413),
                                     ('up/.none', 300_000, 403)):
            list(pool.map(put, [path] * 40, [length] * 40, [wanted] * 40))


def at_once(site):
    """uploads of one file at once, while others read it: nobody sees a mixture"""
    def work(number):
        data = bytes([65 + number]) * 300_000
        for _ in range(5):
            if number % 2:
                curl(site, 'up/one', '-T', '-', data=data)
            number_got, _, got = curl(site, 'up/one')
            if number_got == 200 and (len(got) != 300_000 or len(set(got)) != 1):
                raise Failed(f'a mixture of {len(got)} bytes: {set(got)}')
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    same('left', [name for name in os.listdir(site.path('up')) if name.startswith('.')], [])


def conditions(site):
    """lists of tags: in several lines, of any length, in any place: what they name is found; what is no date is ignored"""
    others = ', '.join(f'"other-{n}"' for n in range(500))
    for name, lines, reads, writes in (
            ('If-None-Match', (others + ',TAG',), 304, 412),
            ('If-None-Match', ('TAG', '"x"'), 304, 412),
            ('If-None-Match', ('"x"', others, 'W/"x", TAG'), 304, 412),
            ('If-None-Match', ('W/TAG, TAG',), 304, 412),
            ('If-None-Match', ('"xTAG', '"TAGx"'), 200, 400),
            ('If-None-Match', (others, '"x"'), 200, 204),
            ('If-Match', ('W/TAG, TAG',), 200, 204),
            ('If-Match', ('"x"', others + ', TAG'), 200, 204),
            ('If-Match', ('"x,TAG',), 412, 412)):
        tag = curl(site, 'up/kept.txt')[1]['etag']
        given = [f'{name}: {line}'.replace('TAG', tag) for line in lines]
        options = [word for line in given for word in ('-H', line)]
        same(str(given)[-90:], curl(site, 'up/kept.txt', *options)[0], reads)
        same(f'PUT, {given}'[-90:],
             curl(site, 'up/kept.txt', '-T', '-', *options, data=b'kept\n')[0], writes)
    os.utime(site.path('up/later/x.txt'), (-86400, -86400))
    for date, wanted in (('Wed, 31 Dec 1969 00:00:00 GMT', 304), ('never', 200)):
        same(f'before 1970, {date}', curl(site, 'up/later/x.txt', '-H', f'If-Modified-Since: {date}')[0], wanted)


def race(site):
    """uploads on a condition that are sent at once: one of them succeeds, the others get 412"""
    def put(name, chunked, condition, go):
        length = 'Transfer-Encoding: chunked' if chunked else 'Content-Length: 4'
        with Client(site) as client:
            client.send(f'PUT /up/{name} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n'
                        f'{condition}\r\n{length}\r\n\r\n'.encode())
            client.expect(b'HTTP/1.1 100 Continue\r\n\r\n')
            go.wait()
            client.send(b'4\r\nrace\r\n0\r\n\r\n' if chunked else b'race')
            client.half_close()
            answer = client.rest()
            if not answer:
                raise Failed('no answer')
            return int(answer.split()[1])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for turn in range(10):
            tags = []
            for wanted in (201, 204):
                go = threading.Barrier(8, timeout=30)
                condition = f'If-Match: {tags[0]}' if tags else 'If-None-Match: *'
                got = list(pool.map(lambda n: put(f'race{turn}', n % 2, condition, go), range(8)))
                same(f'{condition}, turn {turn}', sorted(got), [wanted] + 7 * [412])
                tags.append(curl(site, f'up/race{turn}')[1]['etag'])
            os.remove(site.path(f'up/race{turn}'))


def folders(site):
    """a folder for uploads that can be none: it says so, and has status 2"""
    os.symlink(site.path('small.txt'), site.path('link'))
    for name in ('', '.', '..', '/', '/up', 'up//later', 'up/../up', './up', '.git', 'up/nowhere',
                 'small.txt', 'link', 'x' * 300):
        command = [site.exe, '--set', f'fileRoot={site.root}', '--set', 'listen=127.0.0.1:0', '--',
                   '--uploads', name]
        _, errors = bounded(command, status=2)
        if not errors.startswith(f"web: --uploads '{name}' is ".encode()):
            raise Failed(f'--uploads {name!r}: {errors!r}')
    os.remove(site.path('link'))


def types(site):
    """a media type that is longer than RFC 6838 allows: the server says so, and has status 2"""
    path = site.path('types')
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'text/fits fits\ntext/{"x" * 251} long\n')
    command = [site.exe, '--set', f'fileRoot={site.root}', '--set', 'listen=127.0.0.1:0', '--', '--types', path]
    same('what it says', bounded(command, status=2)[1], f"web: --types '{path}': a media type is too long\n".encode())
    os.remove(path)


def python(site):
    """Python's http.client, one connection: reads, conditions, uploads in chunks, errors"""
    client = http.client.HTTPConnection('127.0.0.1', site.port, timeout=30)

    def ask(method, path, body=None, **fields):
        client.request(method, path, body, {k.replace('_', '-'): v for k, v in fields.items()})
        answer = client.getresponse()
        return answer, answer.read()
    answer, content = ask('GET', '/small.txt')
    mine = client.sock.getsockname()
    same('content', content, SITE['small.txt'])
    tag = answer.headers['ETag']
    same('304', ask('GET', '/small.txt', If_None_Match=tag)[0].status, 304)
    same('HEAD', ask('HEAD', '/big.bin')[0].headers['Content-Length'], str(len(BIG)))
    same('chunks', ask('PUT', '/up/python', iter([b'a' * 70_000, b'b', b'c' * 20]))[0].status, 201)
    same('its content', site.content('up/python'), b'a' * 70_000 + b'b' + b'c' * 20)
    same('404', ask('GET', '/no')[0].status, 404)
    same('big', ask('GET', '/big.bin')[1], BIG)
    for _ in range(500):
        same('many', ask('GET', '/small.txt')[1], SITE['small.txt'])
    same('its connection', client.sock.getsockname(), mine)
    same('405', ask('DELETE', '/up/python')[0].headers['Allow'], 'GET, HEAD, OPTIONS, PUT')
    client.close()


def netcat(site):
    """nc: 1,000 pipelined requests, the last of which closes"""
    request = b'GET /small.txt HTTP/1.1\r\nHost: a\r\n\r\n'
    last = request[:-2] + b'Connection: close\r\n\r\n'
    out, _ = bounded(['nc', '-w', '20', '127.0.0.1', str(site.port)], request * 999 + last)
    same('answers', (out.count(b'HTTP/1.1 200 OK\r\n'), out.count(SITE['small.txt'])), (1000, 1000))
    if not out.endswith(SITE['small.txt']):
        raise Failed(f'the end is {out[-100:]!r}')


def load(site):
    """wrk, h2load and ab: no request fails"""
    rates = []
    out, _ = bounded(['wrk', '-t1', '-c50', f'-d{LOAD}s', '--timeout', '30s', site.url('small.txt')])
    if b'Non-2xx' in out or b'Socket errors' in out:
        raise Failed(out.decode())
    rates.append(f'wrk {float(re.search(rb"Requests/sec: *([0-9.]+)", out).group(1)):.0f}/s')
    out, _ = bounded(['h2load', '--h1', '-t1', '-c20', '-m8', '-n20000', site.url('small.txt')])
    if b' 20000 succeeded, 0 failed, 0 errored, 0 timeout' not in out:
        raise Failed(out.decode())
    rates.append(f'h2load {float(re.search(rb"([0-9.]+) req/s", out).group(1)):.0f}/s')
    for options in ((), ('-k',)):
        out, _ = bounded(['ab', '-q', '-n2000', '-c20', *options, site.url('small.txt')])
        if not re.search(rb'Complete requests: +2000\nFailed requests: +0\n', out):
            raise Failed(out.decode())
    return ', '.join(rates)


def slow(site):
    """a head in drops has 30 s, content has longer, and others are served meanwhile: 408, 201, 200"""
    with Client(site) as client, Client(site) as writer:
        client.send(b'GET / HTTP/1.1\r\nHost: a\r\n')
        writer.send(b'PUT /up/later/slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
        begin = time.monotonic()
        client.socket.settimeout(1)
        got, drops = b'', 0
        while not got.endswith(b'408 Request Timeout\n') and time.monotonic() < begin + 45:
            try:
                client.send(b'X-%d: y\r\n' % drops)
                writer.send(b'1\r\n.\r\n')
                drops += 1
                got += client.socket.recv(4096)
            except TimeoutError:
                same('meanwhile', curl(site, 'small.txt')[0], 200)
        took = time.monotonic() - begin
        if not (got.startswith(b'HTTP/1.1 408 ') and 29 < took < 45):
            raise Failed(f'after {took:.0f} s and {drops} drops: {got!r}')
        writer.send(b'0\r\nTrailer: x\r\n\r\n')
        writer.expect(b'HTTP/1.1 201 Created\r\n')
        same('its content', site.content('up/later/slow'), b'.' * drops)


def browser(site):
    """a browser complains of nothing: a page with style, scripts, data and an image"""
    found = [name for name in ('chromium-headless-shell', 'chromium', 'google-chrome')
             if shutil.which(name)]
    if not found:
        raise Missing('no browser here: apt-get install chromium-headless-shell')
    with tempfile.TemporaryDirectory(prefix='nest-browser-') as folder:
        out, errors = bounded([found[0], '--headless', '--no-sandbox', '--disable-gpu',
                               f'--user-data-dir={folder}', '--enable-logging=stderr',
                               '--virtual-time-budget=10000', '--dump-dom', site.url()],
                              seconds=120)
    if SAID.encode() not in out:
        raise Failed(f'the page says {out.decode()[-600:]}\n{errors.decode()[-2000:]}')
    complaints = [line for line in errors.decode(errors='replace').splitlines() if 'CONSOLE' in line]
    same('the console', complaints, [])


def cases(site):
    """the cases of conformance/cases/web that are for script alone, whole: all answers match"""
    found, errors = load_all(ROOT, ['web/*'])
    if errors:
        raise Failed(str(errors))
    talks = 0
    for case in found:
        if 'sockets' not in case.skips or case.passes():
            continue
        with tempfile.TemporaryDirectory(prefix='nest-web-') as base:
            with Server([site.exe], options=(f'fileRoot={files.make(case, base)}', 'maxClients=10'),
                        arguments=case.arguments) as server:
                for name in case.clients():
                    replay(server, case, name)
                    talks += 1
    return f'{talks} conversations'


def replay(server, case, name):
    """What one client of a case sends, all at once; Failed unless it is answered as the case says."""
    with Client(server) as client:
        client.send(b''.join(data for step, data in case.steps(name) if step == 'send'))
        if ('expect-close', None) not in case.steps(name):
            client.half_close()
        got = client.rest()
        if not re.fullmatch(case.expected(name), got, re.S):
            raise Failed(f'{case.name}, client {name}: expected {case.expected(name)[:900]!r}, got '
                         f'{got[:900]!r}')


def logged(site):
    """an answer is a line of the log: request, status, referer and agent"""
    curl(site, 'log/"me"?q', '-e', 'http://a/b c', '-A', 'me \\ "you"')
    curl(site, 'small.txt', '-A', '', '-r', '0-2')
    path, end = os.path.join(site.folder.name, 'access'), time.monotonic() + 20
    wanted = (rb'127\.0\.0\.1 - - \[[^]]+\] "GET /log/\\"me\\"\?q HTTP/1\.1" 404 \d+ "http://a/b c" '
              rb'"me \\\\ \\"you\\""\n', rb'"GET /small\.txt HTTP/1\.1" 206 \d+ "-" "-"\n')
    while not all(re.search(pattern, log := site.log(path)) for pattern in wanted):
        if time.monotonic() > end:
            raise Failed(f'no line of it: {log[-600:]!r}')
        time.sleep(0.05)


def ends(site):
    """it stops, nobody was cut, it has said nothing, and each line of its log is one"""
    path = os.path.join(site.folder.name, 'access')
    same('its status', site.stop(), 0)
    same('its words', site.said(), '')
    combined = rb'[0-9.]+ - - \[[^]]+\] "(?:[^"\\]|\\.)*" \d{3} \d+ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"'
    same('other lines', [line for line in site.log(path).splitlines() if not re.fullmatch(combined, line)], [])


def durable(site):
    """what a disk does not keep is not said to be stored, and the old file stays: unless there is --no-sync"""
    shim = site.path('shim.so')
    run_program(['cc', '-shared', '-fPIC', os.path.join(ROOT, 'tests', 'helpers', 'shim.c'), '-o', shim])
    for more, wanted, content in (((), 500, b'kept\n'), (('--no-sync',), 204, b'new\n')):
        with Site(site.exe, *more, LD_PRELOAD=shim, SHIM='fsync') as other:
            for options in (('-H', 'Transfer-Encoding:', '-H', 'Content-Length: 4'), ('-H', 'Transfer-Encoding: chunked'),
                            ('-H', 'If-Match: *')):
                same(f'{more} {options}', curl(other, 'up/kept.txt', '-T', '-', *options, data=b'new\n')[0], wanted)
                same(f'{more} {options}', other.content('up/kept.txt'), content)


def agreed(site):
    """a tag of text that was compressed meanwhile is that of its version: for uploads; what is for users only is for no shared cache"""
    users = site.path('.users')
    with open(users, 'w', encoding='ascii') as file:
        file.write('alice:$5$nest$3DZRU6ogubD5OW6ZCmVbtcXjehFVvUq6xhoFmB0X2.4\n')
    with Site(site.exe, '--gzip', '--users', users, '--private', 'docs', '--cache', '*=60') as other:
        path, text = 'up/text.txt', b'text ' * 400
        same('new', curl(other, path, '-T', '-', data=text)[0], 201)
        plain, tag = (curl(other, path, '-H', f'Accept-Encoding: {coding}')[1]['etag'] for coding in ('identity', 'gzip'))
        same('a tag of its own', tag, plain[:-1] + '-gzip"')
        same('the other tag', curl(other, path, '-T', '-', '-H', f'If-Match: {tag[:-6]}', data=text)[0], 412)
        same('If-None-Match', curl(other, path, '-T', '-', '-H', f'If-None-Match: {plain}', data=text)[0], 412)
        same('If-Match', curl(other, path, '-T', '-', '-H', f'If-Match: {tag}', data=text)[0], 204)
        same('of an old version', curl(other, path, '-T', '-', '-H', f'If-Match: {tag}', data=text)[0], 412)
        for name, options, wanted in (('small.txt', (), 'max-age=60'), ('docs/', ('-u', 'alice:secret'), 'private, max-age=60')):
            same(name, curl(other, name, *options)[1]['cache-control'], wanted)


CHECKS = (curl_reads, curl_writes, refused, at_once, conditions, race, folders, types, python, netcat, load,
          browser, cases, logged, durable, agreed)


def attempt(report, model, check, work):
    """One check; what it is about is what stands before its colon."""
    about = ' '.join(check.__doc__.split()).partition(':')[0]
    try:
        report.line(True, model, about, work() or '')
    except Missing as reason:
        report.skip(model, about, str(reason))
    except (Failed, OSError, LookupError, ValueError, http.client.HTTPException) as error:
        report.line(False, model, about, '', error if isinstance(error, Failed) else repr(error))


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'web: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-web-') as folder, \
                Site(build(nest, model, folder)) as site, \
                concurrent.futures.ThreadPoolExecutor(1) as pool:
            meanwhile = pool.submit(slow, site)
            for check in CHECKS:
                attempt(report, model, check, functools.partial(check, site))
            attempt(report, model, slow, meanwhile.result)
            attempt(report, model, ends, functools.partial(ends, site))
