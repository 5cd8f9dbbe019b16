"""The servers of the experiments, by model; each serves one file.

Must not know: loads, what is measured.
"""

import contextlib
import http.client
import os
import shutil
import subprocess
import tempfile
from common import processes
from common.driver import TOP
from common.processes import Failed

PATH, SIZE = '/lex.ll', 2048
CLIENTS, FILES = 150, 4000      # of models with a process or a thread for each client; of the others
NGINX = '''daemon off; worker_processes {cores}; pid {work}/pid; error_log {work}/error crit; worker_rlimit_nofile {files};
events {{ worker_connections {files}; }}
http {{ access_log off; sendfile on; client_body_temp_path {work}/body; proxy_temp_path {work}/proxy;
fastcgi_temp_path {work}/fastcgi; uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
server {{ listen {address}:{port} backlog={backlog}; root {site}; }} }}
'''
LIGHTTPD = '''server.document-root = "{site}"
server.port = {port}
server.bind = "{address}"
server.max-connections = {files}
server.max-fds = {files}
server.max-worker = {cores}
server.listen-backlog = {backlog}
server.upload-dirs = ( "{work}" )
'''
H2O = '''num-threads: {cores}
max-connections: {files}
pid-file: {work}/pid
listen: {{ host: {address}, port: {port} }}
hosts: {{ default: {{ paths: {{ /: {{ file.dir: {site} }} }} }} }}
'''
APACHE = '''ServerRoot {work}
ServerName localhost
DefaultRuntimeDir {work}
LoadModule mpm_{mpm}_module /usr/lib/apache2/modules/mod_mpm_{mpm}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
{user}
PidFile {work}/pid
ErrorLog {work}/error
LogLevel crit
Listen {address}:{port}
ListenBacklog {backlog}
DocumentRoot {site}
MaxConnectionsPerChild 0
'''
PREFORK = 'ServerLimit {n}\nMaxRequestWorkers {n}\nStartServers {n}\nMinSpareServers {n}\nMaxSpareServers {n}\n'
THREADS = 'ThreadLimit 75\nThreadsPerChild 75\nServerLimit 2\nStartServers 2\nMaxRequestWorkers {n}\nMinSpareThreads {n}\nMaxSpareThreads {n}\n'


def _apache(mpm):
    def command(server):
        user = 'User www-data\nGroup www-data\n' if os.geteuid() == 0 else ''
        more = (PREFORK if mpm == 'prefork' else THREADS).format(n=CLIENTS)
        path = server.write('apache.conf', APACHE.format(mpm=mpm, user=user, **server.words) + more)
        return ['apache2', '-d', server.work, '-f', path, '-DFOREGROUND']
    return command


def _mini_httpd(server):
    user = ['-u', 'nobody'] if os.geteuid() == 0 else []
    return ['mini_httpd', '-D', '-h', server.address, '-p', str(server.port), '-d', server.site, '-i', f'{server.work}/pid', *user]


def _nginx(server):
    return ['nginx', '-c', server.write('nginx.conf', NGINX.format(**server.words))]


def _lighttpd(server):
    return ['lighttpd', '-D', '-f', server.write('lighttpd.conf', LIGHTTPD.format(**server.words))]


def _h2o(server):
    user = 'user: root\n' if os.geteuid() == 0 else ''
    return ['h2o', '-m', 'worker', '-c', server.write('h2o.conf', user + H2O.format(**server.words))]


def _nest(model):
    def command(server):
        clients = FILES // 2 if model in ('event', 'uring') else CLIENTS
        more = ['--set', 'user=root'] if os.geteuid() == 0 else []
        more += ['--set', f'dispatchers={server.cores}'] if model in ('event', 'uring') else []
        return [server.built('examples/web/web.nest', '--model', model), '--set', f'listen={server.address}:{server.port}',
                '--set', f'fileRoot={server.site}',
                '--set', f'maxClients={clients}', '--set', 'logging=errors', *more]
    return command


# For each figure: what the report calls a server, the program that must be there, how it is started.
MODELS = {
    'process': [('nest, process', '', _nest('process')), ('nest, prefork', '', _nest('prefork')),
                ('Apache prefork', 'apache2', _apache('prefork')), ('mini_httpd', 'mini_httpd', _mini_httpd)],
    'event': [('nest, event', '', _nest('event')), ('nest, uring', '', _nest('uring')), ('nginx', 'nginx', _nginx),
              ('lighttpd', 'lighttpd', _lighttpd), ('h2o', 'h2o', _h2o)],
    'thread': [('nest, thread', '', _nest('thread')), ('Apache worker', 'apache2', _apache('worker')),
               ('Apache event', 'apache2', _apache('event'))],
}


class Server:
    """A running server; a context manager that ends it. `size`: of what it serves."""

    cores, backlog = 2, 1024    # that it may use; of its listener
    address = '127.0.0.1'

    def __init__(self, context, label, program, command, size=SIZE):
        self.label, self.context, self.size = label, context, size
        if program and shutil.which(program) is None:
            raise Failed(f'{label}: {program} is not installed')
        self.folder = tempfile.TemporaryDirectory(prefix='experiment-')
        self.work, self.port = self.folder.name, processes.free_port()
        os.chmod(self.work, 0o755)
        self.site = self.filled()
        self.words = {'work': self.work, 'port': self.port, 'site': self.site, 'files': FILES,
                      'address': self.address, 'cores': self.cores, 'backlog': self.backlog}
        with open(f'{self.work}/said', 'w+b') as errors:
            self.process = processes.start(command(self), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                           cwd=self.work)
        try:
            processes.until(self.answers, 'it does not answer', 60)
        except Failed as failed:
            with open(f'{self.work}/said', errors='replace', encoding='utf-8') as file:
                said = file.read()[-300:]
            self.close()
            raise Failed(f'{label}: {failed}: {said}') from None

    def filled(self):
        """The folder that it serves."""
        site = os.path.join(self.work, 'site')
        os.mkdir(site, 0o755)
        with open(site + PATH, 'wb') as file:
            file.write(b'x' * SIZE)
        return site

    def write(self, name, text):
        """The path of a file with this text."""
        path = os.path.join(self.work, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    def built(self, spec, *options):
        """A specification, compiled once with these options."""
        output = os.path.join(self.context.folder, '-'.join([os.path.basename(spec).removesuffix('.nest'), *options]))
        if not os.path.exists(output):
            if not os.access(self.context.nest, os.X_OK):
                raise Failed(f'{self.context.nest} is missing: run cargo build --release')
            done = subprocess.run([self.context.nest, 'build', *options, f'{TOP}/{spec}', '-o', output],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed(f'nest build: {done.stderr[-400:]}')
        return output

    def answers(self):
        """Whether it serves the file."""
        if self.process.poll() is not None:
            raise Failed('it ended at once')
        with contextlib.suppress(OSError, http.client.HTTPException):
            client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
            with contextlib.closing(client):
                client.request('GET', PATH, headers={'Connection': 'close'})
                answer = client.getresponse()
                return answer.status == 200 and len(answer.read()) == self.size
        return False

    def cpu(self):
        """Nanoseconds of its processes."""
        return processes.cpu(self.process.pid)

    def close(self):
        """Ends it."""
        processes.end(self.process)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
