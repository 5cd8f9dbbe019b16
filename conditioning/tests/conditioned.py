"""Servers of Debian, unmodified, behind filters."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from support import (BUILD, WAIT, Chain, Client, Wrong, children, environment, expect, free_port,
                     once, until)

CONDITION = os.path.join(BUILD, 'cc-condition')
NGINX = '''daemon off; worker_processes {workers}; pid {place}/pid; error_log {place}/error info;
events {{ worker_connections 512; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; listen [::1]:{port};
root {place}/site; keepalive_timeout {keep}; }} }}
'''
APACHE = '''ServerRoot {place}
ServerName localhost
LoadModule mpm_{mpm}_module /usr/lib/apache2/modules/mod_mpm_{mpm}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
PidFile {place}/pid
ErrorLog {place}/error
Listen 127.0.0.1:{port}
DocumentRoot {place}/site
MaxRequestWorkers {most}
{more}
'''


class Conditioned(Chain):
    """An unmodified server behind filters. `command` gets the folder and the port."""

    def __init__(self, name, command, *filters, options=()):
        self.folder = tempfile.TemporaryDirectory(prefix='cc-')
        self.place, self.port, self.name = self.folder.name, free_port(), name
        os.chmod(self.place, 0o755)
        os.mkdir(f'{self.place}/site')
        with open(f'{self.place}/site/index.html', 'w', encoding='ascii') as file:
            file.write('hello\n')
        self.errors = open(f'{self.place}/errors', 'w+b')
        chosen = [word for f in filters for word in ('--filter', f)]
        self.process = subprocess.Popen(
            [CONDITION, *options, *chosen, '--', *command(self.place, self.port)],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors, cwd=f'{self.place}/site',
            env=environment())
        try:
            until(self.ready, 'the server does not answer')
            if hasattr(self, 'state'):
                until(self.settled, 'the filters have not begun')
        except Wrong as wrong:
            self.close()
            raise Wrong(f'{wrong}: {self.text}') from None

    def server(self):
        """The server's first process."""
        return children(self.process.pid)[self.name][0]

    def chain(self):
        """The process of cc-chain, or 0."""
        return children(self.process.pid).get('cc-chain', [0])[0]

    def said(self):
        """What was written to standard error; also after the end."""
        if not self.errors.closed:
            self.text = super().said()
        return self.text


def nginx(place, port, workers=2, keep=75):
    """The command of nginx."""
    with open(f'{place}/nginx.conf', 'w', encoding='ascii') as file:
        file.write(NGINX.format(place=place, port=port, workers=workers, keep=keep))
    return ['nginx', '-c', f'{place}/nginx.conf']


def apache(mpm, most=16, more=''):
    """The command of Apache with one of its models."""
    def command(place, port):
        with open(f'{place}/apache.conf', 'w', encoding='ascii') as file:
            file.write(APACHE.format(place=place, port=port, mpm=mpm, most=most, more=more))
        return ['apache2', '-d', place, '-f', f'{place}/apache.conf', '-DFOREGROUND']
    return command


def fetch(port, address='127.0.0.1'):
    """One request on a connection of its own."""
    client = http.client.HTTPConnection(address, port, timeout=WAIT)
    with contextlib.closing(client):
        client.request('GET', '/index.html', headers={'Connection': 'close'})
        answer = client.getresponse()
        return answer.status, answer.read()


def good(port, times=1, address='127.0.0.1'):
    """Fails unless requests are answered."""
    for _ in range(times):
        status, body = fetch(port, address)
        expect(status == 200 and body == b'hello\n', f'{status} {body!r}')


def missing(*programs):
    """A reason if a program is not installed."""
    return ', '.join(f'{p} is not installed' for p in programs if shutil.which(p) is None)


class Load:
    """Requests without end in two threads; counts those that fail."""

    def __init__(self, port):
        self.port, self.done, self.failed, self.stop = port, 0, [], False
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(2)]

    def run(self):
        """One client after the other."""
        while not self.stop:
            try:
                good(self.port)
                self.done += 1
            except (OSError, Wrong, http.client.HTTPException) as error:
                self.failed.append(repr(error))
            time.sleep(0.005)

    def goes_on(self, requests):
        """Waits until so many more were answered."""
        before = self.done
        until(lambda: self.done >= before + requests, f'no more answers; failed: {self.failed[:3]}')

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        for thread in self.threads:
            thread.join()


def stops(server, number, status=0):
    """Sends a signal; the launcher ends with the server's status and leaves nothing behind."""
    pid = server.server()
    server.process.send_signal(number)
    got = server.process.wait(WAIT)
    expect(got == status, f'exit status {got}, not {status}: {server.said()}')
    until(lambda: not os.path.exists(f'/proc/{pid}'), 'the server has stayed')


def nginx_serves():
    """nginx serves IPv4 and IPv6, and a request that never becomes complete does not reach it."""
    if missing('nginx'):
        return missing('nginx')
    with Conditioned('nginx', nginx, 'request,timeout=4s', 'check,slashes=refuse') as server:
        good(server.port, 20)
        good(server.port, 2, '::1')
        with Client(server.port) as slow:
            slow.send('GET / HTTP/1.1\r\n')
            good(server.port)
            slow.ended()
            expect(b' 408 ' in slow.have, f'{slow.have!r}')
        status, _ = once(server.port, '/' + '/' * 20)
        expect(status == 400, f'many slashes: {status}')
        stops(server, signal.SIGQUIT)
    return ''


def nginx_reads_bodies():
    """A request arrives once and whole, in pieces too; so do the next ones of its connection."""
    if missing('nginx'):
        return missing('nginx')
    with Conditioned('nginx', nginx, 'request') as server, Client(server.port) as client:
        client.send('GET /index.html HT')
        time.sleep(0.1)
        client.send('TP/1.1\r\nHost: a\r\n\r\n')
        expect(client.answer() == (200, 'hello\n'), 'the request in pieces failed')
        client.get('/index.html').get('/index.html')
        for _ in range(2):
            expect(client.answer() == (200, 'hello\n'), 'a later request failed')
        body = 'x' * 200000
        client.send(f'POST /index.html HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}')
        expect(client.answer()[0] == 405, 'nginx has not seen the request')
        client.get('/index.html')
        expect(client.answer() == (200, 'hello\n'), 'nginx has not read the whole body')
        client.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            expect(not client.socket.recv(1), 'there was an answer too many')
    return ''


def nginx_continues():
    """A client may be told twice to send its body, by the filter and by nginx; with continue=server nginx tells it once."""
    if missing('nginx'):
        return missing('nginx')

    def reads(place, port):
        words = nginx(place, port)
        with open(words[2], encoding='ascii') as file:
            text = file.read()
        with open(words[2], 'w', encoding='ascii') as file:
            file.write(text.replace('root ', 'location /read { return 200 "read"; }\nroot '))
        return words
    for option, most in (('', 2), (',continue=server', 1)):
        with Conditioned('nginx', reads, f'request{option}') as server, Client(server.port) as client:
            client.send('POST /read HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n')
            until(lambda client=client: b'\r\n\r\n' in client.have or not client.more(), 'nobody tells the client')
            client.send('body')
            client.get('/index.html', 'Connection: close\r\n').ended()
            answers = re.findall(rb'HTTP/1.1 (\d+)', client.have)
            expect(answers[-2:] == [b'200', b'200'] and 1 <= answers.count(b'100') <= most and
                   len(answers) == 2 + answers.count(b'100'), f'{option}: {client.have}')
    return ''


def launcher_dies():
    """When the launcher is killed, the server and the filters end."""
    if missing('nginx'):
        return missing('nginx')
    with Conditioned('nginx', nginx, 'request') as server:
        good(server.port)
        pids = [server.server(), *children(server.server()).get('nginx', [])]
        pids += children(server.process.pid)['cc-chain']
        server.process.kill()
        server.process.wait()
        until(lambda: not any(os.path.exists(f'/proc/{p}') for p in pids), 'processes have stayed')
    return ''


def _apache(mpm):
    with Conditioned('apache2', apache(mpm), 'request') as server:
        good(server.port, 20)
        with Load(server.port) as load:
            load.goes_on(10)
            server.process.send_signal(signal.SIGUSR1)
            load.goes_on(20)
        expect(not load.failed, f'failed: {load.failed[:3]}')
        stops(server, signal.SIGTERM)
    return ''


def apache_prefork():
    """Apache prefork serves, and reloads gracefully without a failed request."""
    return missing('apache2') or _apache('prefork')


def apache_worker():
    """Apache worker serves, and reloads gracefully without a failed request."""
    return missing('apache2') or _apache('worker')


def apache_event():
    """Apache event serves, and reloads gracefully without a failed request."""
    return missing('apache2') or _apache('event')


def idle_attackers():
    """300 clients that send half a request do not keep Apache prefork with 16 processes from serving."""
    if missing('apache2'):
        return missing('apache2')
    with Conditioned('apache2', apache('prefork'), 'request,timeout=30s') as server:
        attackers = [Client(server.port) for _ in range(300)]
        for attacker in attackers:
            attacker.send('GET / HTTP/1.1\r\nHost: a\r\n')
        good(server.port, 20)       # each would fail after a time that is shorter than the attackers'
        for attacker in attackers:
            attacker.close()
    return ''


def python():
    """Python's http.server, which asks for its address after listen, serves with --options."""
    def command(_, port):
        return ['python3', '-m', 'http.server', '--bind', '127.0.0.1', str(port)]
    with Conditioned('python3', command, 'request', options=['--options']) as server:
        good(server.port, 10)
        stops(server, signal.SIGTERM, 128 + signal.SIGTERM)
    return ''


def lighttpd():
    """lighttpd serves."""
    if missing('lighttpd'):
        return missing('lighttpd')

    def command(place, port):
        with open(f'{place}/lighttpd.conf', 'w', encoding='ascii') as file:
            file.write(f'server.document-root="{place}/site"\nserver.port={port}\n'
                       'server.bind="127.0.0.1"\nindex-file.names=("index.html")\n')
        return ['lighttpd', '-D', '-f', f'{place}/lighttpd.conf']
    with Conditioned('lighttpd', command, 'request') as server:
        good(server.port, 20)
    return ''


def _said(*arguments):
    done = subprocess.run([CONDITION, *arguments], capture_output=True, text=True, check=False,
                          timeout=WAIT, stdin=subprocess.DEVNULL, env=environment())
    return done.returncode, done.stderr.strip()


def refuses():
    """What cannot work is refused with one message before the server starts; its status is handed on."""
    with tempfile.TemporaryDirectory() as place:
        mark = f'{place}/started'
        for filters, what in ((['request', 'persist'], 'persist needs a server that uses the library'),
                              (['request', 'check'], 'check would change requests'),
                              (['request', 'proxy,mode=out'], 'proxy would change requests'),
                              (['nothing'], 'there is no filter nothing'),
                              (['request,timeout=x'], 'timeout must be')):
            chosen = [word for f in filters for word in ('--filter', f)]
            status, said = _said(*chosen, '--', 'touch', mark)
            expect(status == 2 and what in said and '\n' not in said, f'{filters}: {status} {said}')
        for arguments in (['--', 'touch', mark], ['--filter', 'pass'], ['--filter', 'pass', 'touch'],
                          ['--state', '', '--filter', 'pass', '--', 'touch', mark],
                          ['--ready', '0', '--filter', 'pass', '--', 'touch', mark]):
            status, said = _said(*arguments)
            expect(status == 2 and said.count('cc-condition:') == 1, f'{arguments}: {status} {said}')
        expect(not os.path.exists(mark), 'a server was started')
    status, said = _said('--filter', 'pass', '--', '/there/is/none')
    expect(status == 127 and said.count('\n') == 0, f'{status} {said}')
    for seconds in ('1.5', '5', '15'):      # a busy machine may not say it sooner
        status, said = _said('--filter', 'pass', '--wait', '1', '--', 'sleep', seconds)
        if 'has not listened' in said:
            break
    expect(status == 0 and 'has not listened' in said, f'{status} {said}')
    return ''


TESTS = [nginx_serves, nginx_reads_bodies, nginx_continues, launcher_dies, apache_prefork,
         apache_worker, apache_event, idle_attackers, python, lighttpd, refuses]
