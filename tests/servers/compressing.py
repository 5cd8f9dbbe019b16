"""Tests what examples/web compresses while it sends it (--gzip), with sanitizers: curl, Python's gzip, clients that
read slowly, that leave, and files that change.

Must not know: how the server is made.
"""

import contextlib
import gzip
import os
import random
import shutil
import socket
import struct
import tempfile
import time
import zlib
from support.driver import SANITIZED, built, sanitizers, tried
from support.nest import SOCKET_MODELS, Failed, program
from support.server import Client, Server
from web import SPEC, bounded, curl, same

WORDS = b' '.join(b'%d of words' % (i * 7919 % 10007) for i in range(80_000))[:1_000_000]
NOISE = random.Random(20).randbytes(6_000_000)       # no smaller when it is compressed: more than the kernel takes
FILES = {'words.txt': WORDS, 'noise.txt': NOISE, 'changing.txt': NOISE, 'empty.txt': b'', 'other.html': WORDS[:20_000],
         'data.json': WORDS[:16_384], 'made.html': WORDS[:3000], 'picture.png': WORDS[:5000], 'above.txt': b'x' * 6_000_001,
         'beside.css': WORDS[:4000]}
SETTINGS = ('--gzip', '--gzip-sizes', '0-6000000', '--precompressed', '--cache', '*.txt=60')
GZIP = ('-H', 'Accept-Encoding: gzip')
PATIENT = ('writeTimeout=none', 'minimumRate=0')     # a busy machine makes the clients slower than they mean to be
WAIT = 60                           # seconds, for what happens soon
SLICE = 50_000


class Site(Server):
    """A server that compresses."""

    def __init__(self, exe):
        self.root = tempfile.mkdtemp(prefix='nest-compressing-')
        for name, data in FILES.items():
            with open(self.path(name), 'wb') as file:
                file.write(data)
        with gzip.open(self.path('beside.css.gz'), 'wb') as file:
            file.write(FILES['beside.css'])
        super().__init__([exe], options=(f'fileRoot={self.root}', 'maxClients=40', 'accessLog=./access', *PATIENT),
                         arguments=SETTINGS, **SANITIZED)

    def path(self, name):
        """A file of the site."""
        return os.path.join(self.root, name)

    def url(self, path=''):
        """The address of a file."""
        return f'http://127.0.0.1:{self.port}/{path}'

    def opened(self, name):
        """How often a file is open in the server."""
        count = 0
        for pid in self.family():
            with contextlib.suppress(OSError):              # it may end in the meantime
                for entry in os.scandir(f'/proc/{pid}/fd'):
                    with contextlib.suppress(OSError):      # it may be closed
                        count += os.readlink(entry.path) == self.path(name)
        return count

    def close(self):
        super().close()
        shutil.rmtree(self.root)


def coding(answer):
    """(status, coding) of an answer of curl, whose fields and content must fit to each other."""
    number, fields, content = answer
    made = 'transfer-encoding' in fields
    same('Vary', fields.get('vary'), 'Accept-Encoding')
    same('lengths', made and 'content-length' in fields, False)
    if made:
        same('fields', (fields['transfer-encoding'], fields['content-encoding'], 'accept-ranges' in fields),
             ('chunked', 'gzip', False))
        content = gzip.decompress(content)
    return number, fields.get('content-encoding', 'identity'), content


def contents(site):
    """curl --compressed gets each file, byte for byte"""
    for name, data in FILES.items():
        out, _ = bounded(['curl', '-sS', '--compressed', '--max-time', '50', site.url(name)])
        same(name, out == data, True)
    for name, wanted in (('words.txt', True), ('empty.txt', True), ('data.json', True), ('picture.png', False),
                         ('above.txt', False), ('beside.css', False)):
        number, fields, content = curl(site, name, *GZIP)
        same(f'{name} is compressed meanwhile', (number, 'transfer-encoding' in fields), (200, wanted))
        if wanted:
            same(name, coding((number, fields, content)), (200, 'gzip', FILES[name]))


def weights(site):
    """the client says by weights what it takes"""
    for value, wanted in (('gzip', 'gzip'), ('x-gzip', 'gzip'), ('GZIP', 'gzip'), ('*', 'gzip'), ('gzip;q=0.001', 'gzip'),
                          ('br, deflate;q=1, gzip;q=0.2', 'gzip'), ('gzip;q=0.5, identity;q=0.5', 'gzip'),
                          ('identity;q=0, *', 'gzip'), ('identity;q=0, gzip;q=0.1', 'gzip'), ('', 'identity'),
                          ('gzip;q=0', 'identity'), ('gzip;q=0, *', 'identity'), ('gzip;q=0.5, identity', 'identity'),
                          ('*;q=0, identity', 'identity'), ('br', 'identity'), ('identity', 'identity')):
        field = f'Accept-Encoding: {value}' if value else 'Accept-Encoding;'
        same(value, coding(curl(site, 'made.html', '-H', field)), (200, wanted, FILES['made.html']))
    same('no field', coding(curl(site, 'made.html')), (200, 'identity', FILES['made.html']))
    for value in ('*;q=0', 'identity;q=0', 'identity;q=0, gzip;q=0'):
        same(value, curl(site, 'made.html', '-H', f'Accept-Encoding: {value}')[0], 406)


def requests(site):
    """ranges and HTTP/1.0 get the plain file, HEAD the header, and a connection goes on"""
    _, whole, _ = curl(site, 'words.txt', *GZIP)
    number, head, _ = curl(site, 'words.txt', *GZIP, '-I')
    for fields in (whole, head):
        fields.pop('date')
        fields.pop('expires')
    same('HEAD', (number, head), (200, whole))
    number, head, _ = curl(site, 'words.txt', *GZIP, '-I', '-r', '5-9')
    same('HEAD, which has no ranges', (number, head.get('content-encoding')), (200, 'gzip'))
    same('a range', coding(curl(site, 'words.txt', *GZIP, '-r', '5-9')), (206, 'identity', WORDS[5:10]))
    same('a range of what it was',
         coding(curl(site, 'words.txt', *GZIP, '-r', '5-9', '-H', f'If-Range: {whole["etag"]}')), (200, 'identity', WORDS))
    same('a range, and no plain file',
         coding(curl(site, 'words.txt', '-H', 'Accept-Encoding: gzip, identity;q=0', '-r', '5-9')), (200, 'gzip', WORDS))
    same('HTTP/1.0', coding(curl(site, 'words.txt', *GZIP, '-0')), (200, 'identity', WORDS))
    names = ['words.txt', 'empty.txt', 'picture.png', 'beside.css', 'other.html']
    out, _ = bounded(['curl', '-sS', '--compressed', '-w', '%{num_connects}', *(site.url(name) for name in names)])
    same('one connection', out == b''.join(FILES[name] + (b'0' if i else b'1') for i, name in enumerate(names)), True)
    with Client(site) as client:    # each answer ends where the next begins
        request = b'HEAD /words.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n'
        client.send(request * 2 + request.replace(b'HEAD', b'GET').replace(b'words', b'empty')
                    + b'GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        answers = client.rest()
        same('pipelined', (answers.count(b'HTTP/1.1 200 OK\r\n'), answers.count(b'\r\n0\r\n\r\nHTTP/1.1 404')), (3, 1))


def tags(site):
    """each coding has its own entity tag: curl --etag-save, --etag-compare"""
    for name in ('identity', 'gzip'):
        kept, other = site.path(f'tag-{name}'), 'gzip' if name == 'identity' else 'identity'
        same(name, curl(site, 'words.txt', '-H', f'Accept-Encoding: {name}', '--etag-save', kept)[0], 200)
        number, fields, content = curl(site, 'words.txt', '-H', f'Accept-Encoding: {name}', '--etag-compare', kept)
        same(f'{name} again', (number, fields['vary'], 'transfer-encoding' in fields, content),
             (304, 'Accept-Encoding', False, b''))
        same(f'{other} by the tag of {name}',
             curl(site, 'words.txt', '-H', f'Accept-Encoding: {other}', '--etag-compare', kept)[0], 200)


def asked(site, name):
    """A client with little room, which has asked for a file and read the header."""
    client = Client(site, receive=4096)
    client.send(f'GET /{name} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n'.encode())
    head = b''
    while not head.endswith(b'\r\n\r\n'):
        byte = client.take(1)
        if not byte:
            raise Failed(f'no header: {head!r}')
        head += byte
    same('chunks', b'\r\nTransfer-Encoding: chunked\r\n' in head, True)
    return client


def chunks(data):
    """The content in the chunks, and whether the last one is there."""
    content, at = b'', 0
    while True:
        end = data.find(b'\r\n', at)
        size = int(data[at:end], 16) if end != -1 else -1
        if size <= 0 or end + 2 + size > len(data):
            return content, size == 0 and data[end:] == b'\r\n\r\n'
        content += data[end + 2:end + 2 + size]
        at = end + 2 + size + 2


def slow(site):
    """clients that read slowly delay nobody, and get all of it"""
    clients = [asked(site, 'noise.txt') for _ in range(3)]
    try:
        same('the file is open', site.opened('noise.txt') > 0, True)       # so they hold it back
        for _ in range(3):
            same('meanwhile', coding(curl(site, 'words.txt', *GZIP)), (200, 'gzip', WORDS))
        for client in clients:
            data = b''
            while more := client.take(SLICE):
                data += more
            content, whole = chunks(data)
            same('slow', (whole, gzip.decompress(content) == NOISE), (True, True))
    finally:
        for client in clients:
            client.socket.close()


def leave(site):
    """clients that leave in the middle: their files are closed"""
    for _ in range(10):
        with asked(site, 'noise.txt') as client:
            client.take(SLICE)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    end = time.monotonic() + WAIT
    while site.opened('noise.txt') > 0:
        if time.monotonic() > end:
            raise Failed(f'{site.opened("noise.txt")} are open {WAIT} s later')
        time.sleep(0.05)
    same('others', coding(curl(site, 'words.txt', *GZIP)), (200, 'gzip', WORDS))


def changes(site):
    """a file that changes while it is sent is cut off, and nothing of its new version is sent"""
    for change in ('written', 'longer', 'shorter'):
        with asked(site, 'changing.txt') as client:
            with open(site.path('changing.txt'), 'r+b') as file:
                if change == 'shorter':
                    file.truncate(1_000_000)
                else:
                    file.seek(0 if change == 'written' else 6_000_000)
                    file.write(b'new' * 1000)
            content, whole = chunks(client.rest())
            same(change, whole, False)
            got = zlib.decompressobj(31).decompress(content)
            same(f'{change}: what came is old', NOISE.startswith(got) and len(got) < len(NOISE), True)
        with open(site.path('changing.txt'), 'wb') as file:
            file.write(NOISE)
    with asked(site, 'changing.txt') as client:       # another file takes its name
        with open(site.path('new'), 'wb') as file:
            file.write(b'new')
        os.rename(site.path('new'), site.path('changing.txt'))
        content, whole = chunks(client.rest())
        same('replaced', (whole, gzip.decompress(content) == NOISE), (True, True))
    same('the new one', coding(curl(site, 'changing.txt', *GZIP)), (200, 'gzip', b'new'))
    if 'has changed while it was compressed' not in site.said():
        raise Failed(f'it did not say so: {site.said()[-500:]}')


def ends(site):
    """it ends with status 0"""
    same('status', site.stop(), 0)


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        form = f'{model}+{"tsan" if model == "thread" else "asan"}'
        report.heading(f'web compresses: {form}')
        with tempfile.TemporaryDirectory(prefix='nest-compressing-') as folder, Site(built(nest, SPEC, form, folder)) as site:
            for check in (contents, weights, requests, tags, slow, leave, changes, ends):
                tried(report, form, site, check, site, wrong=(Failed, OSError, zlib.error, EOFError))
            sanitizers(report, form, site)
