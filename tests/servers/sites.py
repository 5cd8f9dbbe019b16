"""Tests the settings of examples/web with common clients: curl and slowhttptest.

Must not know: how the server is made.
"""

import base64
import contextlib
import email
import functools
import gzip
import http.client
import os
import select
import shutil
import subprocess
import tempfile
from support.nest import SOCKET_MODELS, Failed, program
from support.server import Client, Server
from web import OLD, attempt, bounded, build, curl, same

TEXT = b'a line of text\n' * 4000
FILES = {'one.example/a.txt': TEXT, 'one.example/index.html': b'<h1>one</h1>', 'two.example/index.html': b'<h1>two</h1>',
         'one.example/up/kept': b'kept', 'errors/404.html': b'<h1>lost</h1>', 'secret': b'secret'}
SETTINGS = ('--hosts', '--precompressed', '--ranges', '5', '--cache', '*.txt=600', '--errors', 'errors',
            '--uploads', 'one.example/up', '--delete')
ONE = ('-H', 'Host: one.example')
SLOW = '$2y$11$xxGqsRrKvXxfSzXwXCRejO92FgL6/DHSAj23d8nbhtsGwY8xOFsK2'   # of no password that is tried
QUICK = '$6$nest$W7imo74LSF7t.Sn.Q9oti8efJhkADB3WS/UiU2ReUKeUGLvi6QZVCvoQ//mNm6dKuvMJjRzINjvbPWku3Pfb0.'   # of 'secret'
GUESSES = 10


class Sites(Server):
    """A server of two hosts."""

    def __init__(self, exe):
        self.root = tempfile.mkdtemp(prefix='nest-sites-')
        for name, data in FILES.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), 'wb') as file:
                file.write(data)
        with gzip.open(self.path('one.example/a.txt.gz'), 'wb') as file:
            file.write(TEXT)
        super().__init__([exe], options=(f'fileRoot={self.root}', 'maxClients=300', 'accessLog=./access'),
                         arguments=SETTINGS)

    def path(self, name):
        """A file of the site."""
        return os.path.join(self.root, name)

    def url(self, path=''):
        """The address of a file."""
        return f'http://127.0.0.1:{self.port}/{path}'

    def close(self):
        super().close()
        shutil.rmtree(self.root)


def tags(site):
    """curl keeps the entity tag of each coding: --etag-save, --etag-compare"""
    for coding, length in (('identity', len(TEXT)), ('gzip', os.path.getsize(site.path('one.example/a.txt.gz')))):
        kept, options = site.path(f'tag-{coding}'), (*ONE, '-H', f'Accept-Encoding: {coding}')
        number, fields, _ = curl(site, 'a.txt', *options, '--etag-save', kept)
        same(coding, (number, fields['content-length'], fields['vary'], fields['cache-control']),
             (200, str(length), 'Accept-Encoding', 'max-age=600'))
        same(f'{coding} again', curl(site, 'a.txt', *options, '--etag-compare', kept)[0], 304)
        other = 'gzip' if coding == 'identity' else 'identity'
        same(f'{other} by the tag of {coding}',
             curl(site, 'a.txt', *ONE, '-H', f'Accept-Encoding: {other}', '--etag-compare', kept)[0], 200)
    out, _ = bounded(['curl', '-sS', '--compressed', *ONE, site.url('a.txt')])
    same('--compressed', out, TEXT)


def preferred(site):
    """of several files that are compressed in advance, all newer than the plain one, the client gets what it prefers"""
    for age, (ending, data) in enumerate((('.br', b'br'), ('.gz', b'gz'), ('', TEXT))):
        with open(site.path(f'one.example/b.txt{ending}'), 'wb') as file:
            file.write(data)
        os.utime(file.name, (OLD - age, OLD - age))
    for field, coding, content in (('br, gzip;q=0.5', 'br', b'br'), ('br;q=0.5, gzip', 'gzip', b'gz')):
        number, fields, got = curl(site, 'b.txt', *ONE, '-H', f'Accept-Encoding: {field}')
        same(field, (number, fields.get('content-encoding'), got), (200, coding, content))


def several(site):
    """curl -r with several ranges: Python's parser of MIME finds the parts"""
    number, fields, content = curl(site, 'a.txt', *ONE, '-r', '0-9,100-104,-3')
    same('status', number, 206)
    whole = email.message_from_bytes(b'Content-Type: ' + fields['content-type'].encode() + b'\r\n\r\n' + content)
    same('parts', [(part['content-range'], part.get_payload(decode=True)) for part in whole.get_payload()],
         [(f'bytes {begin}-{end}/{len(TEXT)}', TEXT[begin:end + 1])
          for begin, end in ((0, 9), (100, 104), (len(TEXT) - 3, len(TEXT) - 1))])


def hosts(site):
    """a host is a site of its own, and no path leads out of it"""
    same('one', curl(site, '', *ONE)[::2], (200, b'<h1>one</h1>'))
    same('two', curl(site, '', '-H', 'Host: two.example')[::2], (200, b'<h1>two</h1>'))
    for host in ('three.example', '.', '..', 'one.example/..', '%2e%2e', 'errors', '\\..'):
        number = curl(site, 'secret', '-H', f'Host: {host}')[0]
        if number not in (400, 404, 421):
            raise Failed(f'host {host}: {number}')
    for path in ('../secret', '..%2fsecret', '%2e%2e/secret', 'a.txt%00', '../two.example/index.html',
                 'up/../../secret', './/../secret'):
        number, _, content = curl(site, path, *ONE, '--path-as-is')
        if number not in (400, 404) or b'secret' in content:
            raise Failed(f'{path}: {number} {content[:80]!r}')
    same('an own page', curl(site, 'none', *ONE)[::2], (404, b'<h1>lost</h1>'))


def uploads(site):
    """curl stores and deletes: a file of the folder for uploads, and no other"""
    same('stored', curl(site, 'up/x', *ONE, '-T', '-', data=b'x')[0], 201)
    same('deleted', curl(site, 'up/x', *ONE, '-X', 'DELETE')[0], 204)
    same('again', curl(site, 'up/x', *ONE, '-X', 'DELETE')[0], 404)
    same('elsewhere', curl(site, 'a.txt', *ONE, '-X', 'DELETE')[0], 405)
    same('another site', curl(site, 'up/kept', '-H', 'Host: two.example', '-X', 'DELETE')[0], 405)


def hostile(site):
    """1,000 ranges, lists of weights as long as a header: one answer each, and the server lives"""
    for field in ('Range: bytes=' + ','.join(['0-'] * 1000), 'Range: bytes=' + ','.join(f'{n}-{n}' for n in range(1000)),
                  'Accept-Encoding: ' + 'gzip;q=0.999,' * 2000, 'Accept-Encoding: ' + ';q=0,' * 5000,
                  'Accept-Encoding: ' + 'a' * 30_000):
        with Client(site) as client:
            client.send(f'GET /a.txt HTTP/1.1\r\nHost: one.example\r\n{field}\r\nConnection: close\r\n\r\n'.encode())
            same(field[:30], client.rest()[:15], b'HTTP/1.1 200 OK')


def slow(site):
    """slowhttptest in its four modes: others are served meanwhile"""
    served = 0
    for mode, options in (('-H', ()), ('-B', ('-s', '8192')), ('-R', ('-a', '5', '-b', '3000')),
                          ('-X', ('-w', '10', '-y', '20', '-n', '1', '-z', '5', '-k', '3'))):
        command = ['slowhttptest', mode, '-c', '150', '-r', '100', '-i', '2', '-l', '8', '-x', '10', '-p', '5', *options,
                   '-u', site.url('a.txt')]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as attack:
            try:
                while attack.poll() is None:
                    same(f'while {mode}', curl(site, '', *ONE, '--max-time', '20')[0], 200)
                    served += 1
            finally:
                if attack.poll() is None:
                    attack.kill()
        same(f'slowhttptest {mode}', attack.returncode, 0)
        same(f'after {mode}', curl(site, '', *ONE)[0], 200)
    return f'{served} answers meanwhile'


def passwords(exe):
    """wrong passwords with a slow hash: an upload does not wait for them"""
    with tempfile.TemporaryDirectory(prefix='nest-users-') as folder:
        for name in ('up', 'staff'):
            os.makedirs(f'{folder}/site/{name}')
        with open(f'{folder}/users', 'w', encoding='ascii') as file:
            file.write('joe:' + SLOW + '\n')
        with Server([exe], options=(f'fileRoot={folder}/site', 'maxClients=20', 'helpers=2', 'idleTimeout=5m'),
                    arguments=('--uploads', 'up', '--users', f'{folder}/users', '--private', 'staff')) as server, \
                contextlib.ExitStack() as stack:
            guesses = [stack.enter_context(Client(server)) for _ in range(GUESSES)]
            for client in guesses:
                client.send(b'GET /staff/ HTTP/1.1\r\nHost: a\r\nAuthorization: Basic am9lOm5v\r\n\r\n')
            answered = select.select([client.socket for client in guesses], [], [], 60)[0]
            same('the first hash', bool(answered), True)
            with Client(server) as client:
                client.send(b'PUT /up/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx')
                client.expect(b'HTTP/1.1 201 Created\r\n')
            answered = select.select([client.socket for client in guesses], [], [], 0)[0]
            if len(answered) > GUESSES // 2:
                raise Failed(f'{len(answered)} of {GUESSES} hashes came first')
            for client in guesses:
                client.expect(b'HTTP/1.1 401 Unauthorized\r\n')


def members(exe):
    """who is added to the file of users is admitted at once, and who is taken out is not, also on a connection that was admitted"""
    with tempfile.TemporaryDirectory(prefix='nest-users-') as folder:
        os.makedirs(f'{folder}/site')
        with open(f'{folder}/site/x', 'w', encoding='ascii') as file:
            file.write('x')

        def write(*names):
            with open(f'{folder}/new', 'w', encoding='ascii') as file:
                file.writelines(f'{name}:{QUICK}\n' for name in names)
            os.replace(f'{folder}/new', f'{folder}/users')

        write('joe')
        with Server([exe], options=(f'fileRoot={folder}/site', 'maxClients=20'), arguments=('--users', f'{folder}/users')) as server, \
                contextlib.closing(http.client.HTTPConnection('127.0.0.1', server.port, 60)) as client:
            def ask(name, status):
                login = base64.b64encode(f'{name}:secret'.encode()).decode()
                client.request('GET', '/x', headers={'Authorization': f'Basic {login}'})
                answer = client.getresponse()
                answer.read()
                same(f'the status for {name}', answer.status, status)

            client.connect()
            first = client.sock
            ask('joe', 200)
            ask('ann', 401)
            write('joe', 'ann')
            ask('joe', 200)
            ask('ann', 200)
            write('joe')
            ask('ann', 401)
            ask('joe', 200)
            os.remove(f'{folder}/users')
            ask('joe', 401)
            same('the connection', client.sock, first)


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'the settings of web: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-sites-') as folder, Sites(build(nest, model, folder)) as site:
            for check in (tags, preferred, several, hosts, uploads, hostile, slow):
                attempt(report, model, check, functools.partial(check, site))
            attempt(report, model, members, functools.partial(members, os.path.join(folder, 'web')))
            if model in ('event', 'uring'):     # in other models a client does its own work
                attempt(report, model, passwords, functools.partial(passwords, os.path.join(folder, 'web')))
            same('its status', site.stop(), 0)
