"""%option kernelCache: a generated server that puts the kernel in front of itself.

Must not know: which requests the kernel answers.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from accelerated import NEST, ROOT, WAIT, Failed, Site, answer, free_port, same, until
from servers import QUICK

REQUEST = b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n'
SPEC = '''%option eventServer 1000
%option kernelCache 1M
%option metrics 127.0.0.1:9100
%option inputBuffer 32K
%option idleTimeout 1m
%option logging requests
%include "answers.nest"

%%
'''
READY = 'the kernel answers for port'
ALONE = 'the server answers everything itself: '


class Generated(Site):
    """A generated server, which starts nest accelerate itself. `model`: in place of event; `alone`: beside it runs the
    same server without kernelCache."""

    def __init__(self, folder, model='event', spec=SPEC, alone=False):
        super().__init__(folder, server=lambda site: ([], None))
        self.exe, self.model, self.spec = os.path.join(folder, 'build', 'own'), model, spec
        self.state = f'/run/nest-accelerate-{self.port}.sock'
        self.address = f'127.0.0.1:{free_port()}'
        self.config = os.path.join(folder, 'own.conf')
        self.before = []        # words in front of the command
        self.path = f'{os.path.dirname(NEST)}:{os.environ["PATH"]}'
        self.configure()
        if alone:
            self.second = [self.exe, '--config', self.config, '--set', f'serverPort={self.alone}', '--set', 'kernelCache=0',
                           '--set', f'metrics=127.0.0.1:{free_port()}']

    def configure(self, **options):
        """Writes the configuration, which HUP reads again."""
        place = {} if 'listen' in options else {'serverPort': self.port}
        options = {'fileRoot': self.www, 'metrics': self.address, **place, **options}
        with open(self.config, 'w', encoding='utf-8') as file:
            file.writelines(f'{name} {value}\n' for name, value in options.items())

    def build(self):
        """Makes the server, once."""
        if os.path.exists(self.exe):
            return
        folder = os.path.dirname(self.exe)
        shutil.copytree(os.path.join(ROOT, 'examples', 'web'), folder, dirs_exist_ok=True)
        with open(os.path.join(folder, 'own.nest'), 'w', encoding='utf-8') as file:
            file.write(self.spec)
        subprocess.run([NEST, 'build', '--model', self.model, 'own.nest'], cwd=folder, check=True, timeout=600,
                       capture_output=True, env={**os.environ, **QUICK})

    def start(self, ready=READY):
        self.build()
        with open(self.told, 'w', encoding='utf-8') as told:
            self.process = subprocess.Popen([*self.before, self.exe, '--config', self.config], stdout=told,
                                            stderr=told, env={**os.environ, 'PATH': self.path})
        if self.second and not self.beside:
            self.beside = subprocess.Popen(self.second, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(f'"{ready}" is said', lambda: ready in self.said() or self.process.poll() is not None)
        if ready not in self.said():
            raise Failed(f'the server ended: {self.said()}')

    def metric(self, name):
        """What the server tells of the kernel's answers."""
        with urllib.request.urlopen(f'http://{self.address}/metrics', timeout=WAIT) as got:
            found = re.search(rf'^nest_kernel_cache_{name}(?:_total)? (\d+)$', got.read().decode(), re.MULTILINE)
        if not found:
            raise Failed(f'there is no nest_kernel_cache_{name}')
        return int(found[1])

    def helpers(self):
        """The processes of nest accelerate for this port."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
                if b'accelerate' in words and str(self.port).encode() in words:
                    found.append(int(pid))
        return found

    def workers(self):
        """The children of the server that have its name."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/stat', encoding='latin-1') as file:
                name, _, rest = file.read().partition(')')
                if name.endswith('(own') and int(rest.split()[1]) == self.process.pid:
                    found.append(int(pid))
        return found


def generated(folder):
    """A generated server has the kernel answer for itself, counts the answers, and follows changes."""
    with Generated(folder) as site:
        site.write('a.txt', b'first')
        site.keep('a.txt')
        before, count = site.counts(), 1000
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            for _ in range(count):
                client.sendall(REQUEST)
                same('an answer', answer(client)[1], b'first')
        after = site.counts()
        hits = after['answers'] - before['answers']
        same('answered here or passed on', hits + after['passed'] - before['passed'], count)
        if hits < count // 2:
            raise Failed(f'the kernel answered only {hits} of {count}')
        until('the server counts these answers', lambda: site.metric('hits') == site.counts()['answers'])
        same('other counts', [site.metric(name) for name in ('ports', 'files')], [1, 1])
        site.write('a.txt', b'second')
        since = time.monotonic()
        until('the change is seen', lambda: site.get('a.txt')[1] == b'second')
        if time.monotonic() - since > 5:        # a second, on a machine that does nothing else
            raise Failed(f'the file was old for {time.monotonic() - since:.1f} s')
        site.keep('a.txt')
        os.remove(os.path.join(site.www, 'a.txt'))
        until('the file is gone', lambda: b' 404 ' in site.get('a.txt')[0])
        site.write('a.txt', b'third')
        site.keep('a.txt')

        # The configuration may have changed what the server answers.
        site.process.send_signal(signal.SIGHUP)
        until('HUP makes the kernel forget', lambda: site.counts()['kept_answers'] == 0)
        site.keep('a.txt')
        same('the processes of nest accelerate', len(site.helpers()), 1)
        site.end()
        same('the status', site.process.returncode, 0)
        same('what is left of nest accelerate', site.helpers(), [])
    return f'{hits} of {count} requests answered by the kernel'


def logged(folder):
    """The server's log has a line for each request, also where the kernel answers; HUP changes all lines."""
    site, access = Generated(folder), os.path.join(folder, 'server.log')
    request, sent = b'GET /b.txt HTTP/1.1\r\nHost: test\r\nUser-Agent: test\r\n\r\n', 0
    kernel = r'\S+Z info - message kernelCache out=\d+ peer=127\.0\.0\.1:\d+ request="GET /b\.txt HTTP/1\.1" status=200'

    def lines(pattern):
        """nest asks for the file, too; it says so."""
        with open(access, encoding='utf-8') as file:
            return [line for line in file.read().splitlines()
                    if re.fullmatch(pattern, line) and 'nest-accelerate' not in line]

    def ask(count):
        nonlocal sent
        for _ in range(count):
            client.sendall(request)
            same('an answer', answer(client)[1], b'body')
        sent += count

    def seen(pattern):
        ask(10)
        return lines(pattern)

    def change(**options):
        site.configure(accessLog=access, **options)
        site.process.send_signal(signal.SIGHUP)

    def silent():
        """Answers of the kernel have no line. At first it has none, because HUP makes it forget."""
        hits, before = site.metric('hits'), len(lines('.*kernelCache.*'))
        until('the kernel answers', lambda: ask(10) or site.metric('hits') > hits)
        time.sleep(0.2)
        return len(lines('.*kernelCache.*')) == before
    site.configure(accessLog=access)
    site.write('b.txt', b'body')
    with site, socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
        until('the kernel has lines', lambda: len(seen(kernel)) >= 100)
        ask(100)
        site.end()
    answered = len(lines(kernel))
    same('lines at the end', len(lines(r'.* request="GET /b\.txt HTTP/1\.1" .*status=200.*')), sent)
    same('lines with what is not known', lines(r'.*kernelCache.* (in|us)=.*'), [])

    site = Generated(folder)
    site.configure(accessLog=access)
    with site, socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
        for form, pattern in (
                ('combined', r'127\.0\.0\.1 - - \[[^]]+\] "GET /b\.txt HTTP/1\.1" 200 \d+ "-" "-"'),
                ('json', r'\{"time":"[^"]+","level":"info","event":"message","rule":"kernelCache","out":\d+,'
                         r'"peer":"127\.0\.0\.1:\d+","request":"GET /b\.txt HTTP/1\.1","status":200\}'),
                ('logfmt', r'time=\S+ level=info event=message rule=kernelCache out=\d+ peer=127\.0\.0\.1:\d+ '
                           r'request="GET /b\.txt HTTP/1\.1" status=200')):
            change(logFormat=form)
            until(f'lines are {form}', lambda pattern=pattern: seen(pattern))
        change(logging='errors')
        until('nothing is logged', silent)
    return f'{answered} of {sent} lines are the kernel\'s'


def ports(folder):
    """A generated server at two ports has the kernel answer at both."""
    site = Generated(folder)
    site.configure(listen=f'127.0.0.1:{site.port} 127.0.0.1:{site.alone}')
    site.write('a.txt', b'body')
    with site:
        until('the kernel answers for both', lambda: site.said().count(READY) == 2)

        def hit(port):
            before = site.metric('hits')
            for _ in range(20):
                same('an answer', site.get('a.txt', port)[1], b'body')
            return site.metric('hits') > before
        for port in (site.port, site.alone):
            until(f'the kernel answers at port {port}', lambda port=port: hit(port))
        same('counts', [site.metric(name) for name in ('ports', 'files')], [2, 2])
        pair = [site.state, site.state.replace(str(site.port), str(site.alone))]
        same('the sockets of both', [os.path.exists(path) for path in pair], [True, True])
    same('the sockets after the end', [os.path.exists(path) for path in pair], [False, False])
    return ''


def spoiled(folder):
    """Killed under load, nest accelerate is replaced, no connection breaks, and no old file is answered."""
    with Generated(folder) as site:
        site.write('a.txt', b'old')
        site.keep('a.txt')
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            for _ in range(100):
                client.sendall(REQUEST)
                same('before', answer(client)[1], b'old')
            until('the server counts', lambda: site.metric('hits') == site.counts()['answers'])
            hits = site.metric('hits')
            os.kill(site.helpers()[0], signal.SIGKILL)
            killed = time.monotonic()
            site.write('a.txt', b'new')
            while time.monotonic() < killed + 3:
                asked = time.monotonic()
                client.sendall(REQUEST)
                body = answer(client)[1]
                if body != b'new' and asked > killed + 1:
                    raise Failed(f'{body}, {asked - killed:.1f} s after the kill')
        until('it is replaced', lambda: site.said().count(READY) == 2)
        if not re.search(r'nest accelerate \d+ was killed by .*; it is replaced in \d+ ms', site.said()):
            raise Failed(site.said())
        site.keep('a.txt')
        same('an answer', site.get('a.txt')[1], b'new')
        until('the counts go on', lambda: site.metric('hits') > hits and site.metric('ports') == 1)

        # A worker's death breaks its connections alone.
        for worker in site.workers():
            os.kill(worker, signal.SIGKILL)
        def again():
            with contextlib.suppress(OSError, Failed):
                site.keep('a.txt')
                return True
            return False
        until('the kernel answers for the next worker', again)
        same('how often nest accelerate began', site.said().count(READY), 2)

        # The server's death ends nest accelerate.
        site.process.kill()
        site.process.wait(WAIT)
        until('nest accelerate has ended', lambda: not site.helpers())
        until('nobody listens', lambda: unreachable(site))
        site.start()
        site.keep('a.txt')
    return ''


def restarted(folder):
    """A server that is started again at once after it was killed waits until the nest of the killed one has ended."""
    with Generated(folder) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
        old = site.helpers()[0]
        os.kill(old, signal.SIGSTOP)        # so that it does not end too early
        try:
            site.process.kill()
            site.process.wait(WAIT)
            until('nobody listens', lambda: unreachable(site))
            site.start('listening on')
            until('the next nest has begun', lambda: len(site.helpers()) == 2 or ALONE in site.said())
        finally:
            os.kill(old, signal.SIGCONT)
        until('the kernel answers', lambda: READY in site.said())
        site.keep('a.txt')
    return ''


def unreachable(site):
    """Whether nobody listens on the port."""
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(('127.0.0.1', site.port), WAIT):
        return False
    return True


def idle(folder):
    """The idle timer does not end a connection that the kernel answers; too short a time turns the kernel off."""
    with Generated(folder) as site:
        site.write('a.txt', b'body')
        site.configure(idleTimeout='4s')
        site.process.send_signal(signal.SIGHUP)
        site.keep('a.txt')

        def lasts():
            """Asks for three times the limit. False: this client was too slow to tell."""
            before, began = site.counts()['answers'], time.monotonic()
            with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
                last = time.monotonic()
                while last < began + 12:
                    time.sleep(0.2)
                    if time.monotonic() - last > 1.5:
                        return False
                    last = time.monotonic()
                    client.sendall(REQUEST)
                    same('an answer', answer(client)[1], b'body')
            return site.counts()['answers'] - before > 20
        until('a connection lasts', lasts)
        site.configure(idleTimeout='3s')
        site.process.send_signal(signal.SIGHUP)
        until('the server says why', lambda: f'{ALONE}kernelCache needs an idleTimeout' in site.said())
        until('nest accelerate has ended', lambda: not site.helpers())
        same('an answer', site.get('a.txt')[1], b'body')
        until('no port is counted', lambda: site.metric('ports') == 0)
        site.configure(idleTimeout='5s')
        site.process.send_signal(signal.SIGHUP)
        until('the kernel answers again', lambda: site.said().count(READY) == 2)
        site.keep('a.txt')
    return ''


def halted(folder):
    """A stop under load breaks no answer, and leaves no process."""
    for _ in range(3):
        with Generated(folder) as site:
            site.write('a.txt', b'body' * 500)
            site.keep('a.txt')
            clients = [socket.create_connection(('127.0.0.1', site.port), WAIT) for _ in range(16)]
            whole, open_still = 0, list(clients)
            for turn in range(100_000):
                if turn == 100:
                    site.process.terminate()
                for client in list(open_still):
                    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                        client.sendall(REQUEST)
                        data = client.recv(65536)
                        if data:
                            same('an answer', answer(client, data=data)[1], b'body' * 500)
                            whole += 1
                            continue
                    open_still.remove(client)
                if not open_still:
                    break
            same('connections that did not end', len(open_still), 0)
            for client in clients:
                client.close()
            same('the status', site.process.wait(WAIT), 0)
            same('what is left of nest accelerate', site.helpers(), [])
            if whole < 1600:
                raise Failed(f'only {whole} answers')
            shown = [line for line in site.said().splitlines() if 'signal' in line or 'killed' in line]
            same('what was killed', shown, [])
    return f'{whole} answers'


def without(folder):
    """Without rights, without nest, by choice, and in models for which it cannot: the server says so and serves."""
    site = Generated(folder)
    site.write('a.txt', b'body')
    os.chmod(folder, 0o755)

    def serves(reason):
        try:
            site.start(f'{ALONE}{reason}')
            for _ in range(20):
                same('an answer', site.get('a.txt')[1], b'body')
            lines = [line for line in site.said().splitlines() if 'answers everything' in line or 'error' in line]
            same('how many lines say it', len(lines), 1)
            until('nest accelerate has ended', lambda: not site.helpers())
            same('ports', site.metric('ports'), 0)
        finally:
            site.end()
    site.before = ['setpriv', '--reuid', '65534', '--clear-groups']
    serves('nest lacks CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON')
    site.before, path = [], site.path
    site.path = folder
    serves('cannot run nest: No such file or directory; install it where PATH finds it, or set kernelCache=0')
    site.path = path
    site.configure(kernelCache=0)
    site.start('listening on')
    try:
        site.get('a.txt')
        same('processes of nest accelerate', site.helpers(), [])
        same('lines', ALONE in site.said(), False)
    finally:
        site.end()
    for options, reason in (({'kernelCache': '63K'}, 'must be at least 64K, or 0 for none'),
                            ({'idleTimeout': '3s'}, 'needs an idleTimeout of at least 4s')):
        site.configure(**options)
        told = subprocess.run([site.exe, '--config', site.config], capture_output=True, text=True, timeout=WAIT,
                              check=False)
        if told.returncode == 0 or f'kernelCache {reason}' not in told.stderr:
            raise Failed(f'{options}: {told.returncode} {told.stderr}')
    shutil.rmtree(os.path.dirname(site.exe))
    site.model = 'thread'
    site.configure()
    serves('the server reads from blocking sockets')
    return ''
