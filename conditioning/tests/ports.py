"""Servers of others on the library: Debian's mini-httpd and Apache with the prefork MPM, by patches."""

import contextlib
import http.client
import os
import resource
import signal
import subprocess
import tempfile
from support import BUILD, CHAIN, LIBEXEC, TOP, WAIT, Client, environment, expect, free_port, once, until

IDLE = 2000         # clients; fewer if there are too few descriptors
LARGE = 300_000     # bytes of a body: more than a message between filters holds
FILE = 20 << 20     # more than the buffers of two sockets hold


def _build(name, script, source):
    """(program, ''), or (None, why it cannot be built here)."""
    program = os.path.join(BUILD, name)
    done = subprocess.run([f'{TOP}/port/{script}', program, BUILD], capture_output=True, text=True, check=False,
                          timeout=600, env={**os.environ, 'LDFLAGS_MORE': '-fsanitize=address,undefined'})
    if done.returncode == 77:
        return None, f'the source of {source} cannot be had here: {done.stderr[-200:]}'
    expect(done.returncode == 0, done.stderr[-3000:])
    return program, ''


def _up(port):
    try:
        with Client(port, wait=2) as client:
            return client.get('/a.txt').answer()[0] == 200
    except OSError:
        return False


def _children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(child) for child in file.read().split()]


def mini_httpd():
    """mini-httpd serves persistent connections, although it answers one request in each process."""
    program, missing = _build('mini-httpd', 'mini-httpd.sh', 'mini-httpd')
    if missing:
        return missing
    port = free_port()
    with tempfile.TemporaryDirectory() as site:
        os.chmod(site, 0o755)
        with open(f'{site}/a.txt', 'w', encoding='ascii') as file:
            file.write('text' * 1000)
        server = subprocess.Popen([program, '-D', '-p', str(port), '-h', '127.0.0.1', '-d', site],
                                  env=environment(), stderr=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            until(lambda: _up(port), 'it does not answer')
            idle = [Client(port) for _ in range(40)]
            for _ in range(2):
                for client in idle:
                    client.get('/a.txt')
                for client in idle:
                    status, body = client.answer()
                    expect(status == 200 and body == 'text' * 1000, f'{status}')
            # Forty clients have a connection open, and no process of the server waits for them.
            until(lambda: not _children(server.pid), 'processes wait for clients')
            for client in idle:
                client.close()
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    return ''


CONF = """
ServerName a
Listen 127.0.0.1:{port}
AcceptFilter http none
PidFile {folder}/pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/errors
CustomLog {folder}/requests "%k %{{remote}}p %>s %U"
TypesConfig /dev/null
DocumentRoot {folder}/site
User nobody
Group nogroup
StartServers 4
MinSpareServers 2
MaxSpareServers 4
MaxRequestWorkers 4
AddHandler cgi-script .cgi
<Directory {folder}/site>
    Options +ExecCGI
    Require all granted
</Directory>
"""


class Apache:
    """Apache with four processes; a context manager that ends it and its filters. Without `filters` it starts its own."""

    def __init__(self, program, filters=()):
        self.folder = tempfile.TemporaryDirectory(prefix='cc-apache-')
        self.port = free_port()
        self.place = self.folder.name
        os.chmod(self.place, 0o755)
        os.mkdir(f'{self.place}/site')
        with open(f'{self.place}/site/a.txt', 'w', encoding='ascii') as file:
            file.write('text' * 1000)
        with open(f'{self.place}/site/large', 'wb') as file:
            file.truncate(FILE)
        with open(f'{self.place}/site/count.cgi', 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%s" "$(wc -c)"\n')
            os.fchmod(file.fileno(), 0o755)
        with open(f'{self.place}/conf', 'w', encoding='ascii') as file:
            file.write(CONF.format(port=self.port, folder=self.place))
        self.output = open(f'{self.place}/output', 'wb')
        command = [program, '-d', self.place, '-f', f'{self.place}/conf', '-DFOREGROUND']
        # The variable is in the environment of all its processes, also of filters, which are not its children.
        self.process = subprocess.Popen([CHAIN, *filters, '--', *command] if filters else command,
                                        env=environment(CC_TEST_APACHE=self.place), stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=self.output, start_new_session=True)

    def read(self, name):
        """A file below its folder, such as a log."""
        with open(f'{self.place}/{name}', encoding='utf-8', errors='replace') as file:
            return file.read()

    def processes(self):
        """{pid: program} of all that it has started, filters too."""
        found, mark = {}, f'CC_TEST_APACHE={self.place}'.encode()
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/environ', 'rb') as file:
                if mark in file.read().split(b'\0'):
                    found[int(pid)] = os.readlink(f'/proc/{pid}/exe')
        return found

    def server(self):
        """Its first process."""
        with open(f'{self.place}/pid', encoding='ascii') as file:
            return int(file.read())

    def gone(self):
        """Waits until it and its filters have ended."""
        self.process.wait(WAIT * 2)
        until(lambda: not self.processes(), f'these go on: {self.processes()}')

    def __enter__(self):
        try:
            until(lambda: _up(self.port), 'it does not answer')
        except BaseException:
            self.__exit__(OSError)
            raise
        return self

    def __exit__(self, kind, *_):
        for pid in sorted(self.processes(), reverse=True):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()
        said = self.read('output')
        self.folder.cleanup()
        if kind is None:
            for mark in ('Sanitizer', 'runtime error'):
                expect(mark not in said, said)


def _answers(apache):
    """Requests on one connection of a client are connections of their own to Apache."""
    client = http.client.HTTPConnection('127.0.0.1', apache.port, timeout=WAIT)
    client.connect()
    sock, port = client.sock, client.sock.getsockname()[1]
    for _ in range(3):
        client.request('GET', '/a.txt')
        answer = client.getresponse()
        expect((answer.status, answer.read()) == (200, b'text' * 1000), f'GET: {answer.status}')
        client.request('POST', '/count.cgi', body=b'x' * LARGE)
        answer = client.getresponse()
        body = answer.read()
        expect((answer.status, int(body)) == (200, LARGE), f'POST: {answer.status} {body}')
        expect(client.sock is sock, 'Apache has ended the connection')
    # %k counts earlier requests of a connection.
    until(lambda: apache.read('requests').count(f'0 {port} 200 ') == 6, apache.read('requests'))
    client.close()
    with Client(apache.port) as pipelining:
        for target in ('/a.txt', '/none', '/a.txt'):
            pipelining.get(target)
        got = [pipelining.answer()[0] for _ in range(3)]
        expect(got == [200, 404, 200], f'pipelined requests: {got}')
        expect(pipelining.get('/a.txt', 'Connection: close\r\n').answer()[0] == 200 and pipelining.ended(), 'not closed')


def _survives(apache):
    """Children that are killed end the answers that they write, and no other connection. A restart ends none."""
    with Client(apache.port) as kept, Client(apache.port) as busy:
        expect(kept.get('/a.txt').answer()[0] == 200, 'not served')
        expect(busy.get('/large').more(), 'no answer')
        killed = _children(apache.server())
        for child in killed:
            os.kill(child, signal.SIGKILL)
        until(lambda: not set(killed) & set(_children(apache.server())), 'a child was not killed')
        busy.ended()
        expect(len(busy.have) < FILE, 'nobody was killed while it answered')
        expect(kept.get('/a.txt').answer()[0] == 200, 'not served after children were killed')
        children = _children(apache.server())
        os.kill(apache.server(), signal.SIGUSR1)
        until(lambda: not set(children) & set(_children(apache.server())), 'children of before the restart go on')
        expect(kept.get('/a.txt').answer()[0] == 200, 'not served after a restart')
    expect(once(apache.port, '/a.txt')[0] == 200, 'a new client is not served')


def _stops(apache):
    """A graceful stop finishes answers and ends everything."""
    with Client(apache.port) as busy:
        expect(busy.get('/large').more(), 'no answer')
        os.kill(apache.server(), signal.SIGWINCH)
        until(lambda: 'shutting down gracefully' in apache.read('errors'), 'it does not stop')
        busy.ended()
        expect(len(busy.have) > FILE, f'{len(busy.have)} bytes of an answer')
    apache.gone()


def _has_no_filters(apache):
    """When the filters have ended, it ends, because nobody brings it clients."""
    # First cc-chain, which would start others.
    found = apache.processes().items()
    for pid, program in sorted(found, key=lambda item: item[1] != CHAIN):
        if program.startswith(LIBEXEC):
            os.kill(pid, signal.SIGKILL)
    apache.gone()


def _has_idle_clients(apache):
    """Thousands of idle connections occupy none of its four processes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle = []
    try:
        for _ in range(min(IDLE, hard // 4)):
            idle.append(Client(apache.port))
            expect(idle[-1].get('/a.txt').answer()[0] == 200, f'client {len(idle)} is not served')
        expect(not any(client.closed_now() for client in idle), 'idle clients were disconnected')
        expect(once(apache.port, '/a.txt')[0] == 200, 'a new client is not served')
        for client in idle[::100]:
            expect(client.get('/a.txt').answer()[0] == 200, 'an idle client is not served')
    finally:
        for client in idle:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    os.kill(apache.server(), signal.SIGWINCH)
    apache.gone()


def apache_prefork():
    """Apache with the prefork MPM serves persistent connections, thousands of idle ones too, and survives kills."""
    if os.environ.get('CHECK_ALL') != '1':
        return 'it is built only with CHECK_ALL=1'
    program, missing = _build('apache-prefork', 'apache-prefork.sh', 'Apache')
    if missing:
        return missing
    with Apache(program) as apache:
        _answers(apache)
        _survives(apache)
        _stops(apache)
    with Apache(program) as apache:
        _has_no_filters(apache)
    with Apache(program, ['request', 'persist,idle=1h']) as apache:
        _has_idle_clients(apache)
    return ''


TESTS = [mini_httpd, apache_prefork]
