"""The servers of the experiments, each alone and behind filters.

A server is `Server(NAME, filters)`; without filters it runs alone. Apache, nginx and the server that nest generates
run unmodified behind cc-condition. ccserver and cc-apache, the Apache of conditioning/port, use the library and never run
without filters.

Must not know: loads, what is measured.
"""

import contextlib
import http.client
import os
import shutil
import subprocess
import tempfile
from common import processes
from common.processes import Failed

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, 'conditioning/build')
WORKERS = 150           # Apache's processes, as in the paper
BACKLOG = 1024
NGINX = '''daemon off; worker_processes {cores}; pid {work}/pid; error_log {work}/error crit;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{ access_log off; sendfile on; default_type text/plain; keepalive_timeout 60; keepalive_requests 1000000;
client_header_timeout 60;
client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
server {{ listen 127.0.0.1:{port} backlog={backlog}; root {site}; }} }}
'''
APACHE = '''ServerRoot {work}
ServerName localhost
DefaultRuntimeDir {work}
{own}
{user}
PidFile {work}/pid
ErrorLog {work}/error
LogLevel crit
Listen 127.0.0.1:{port}
ListenBacklog {backlog}
Timeout 300
KeepAliveTimeout 15
MaxKeepAliveRequests 0
DocumentRoot {site}
ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {workers}
MinSpareServers {workers}
MaxSpareServers {workers}
MaxConnectionsPerChild 0
'''


MODULES = ''.join(f'LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n' for name in ('mpm_prefork', 'authz_core'))


class Builder:
    """Builds what the experiments run, once."""

    def __init__(self, nest):
        self.nest = nest
        self.folder = os.path.join(TOP, 'target/experiments')
        os.makedirs(self.folder, exist_ok=True)

    def build(self):
        """Builds conditioning/ and the web server of the examples."""
        run(['make', '-s', '-C', f'{TOP}/conditioning'])
        self.web()

    def web(self):
        """The web server, generated from examples/web."""
        output = os.path.join(self.folder, 'web')
        if not os.path.exists(output):
            if not os.access(self.nest, os.X_OK):
                raise Failed(f'{self.nest} is missing: run cargo build --release')
            run([self.nest, 'build', f'{TOP}/examples/web/web.nest', '-o', output])
        return output

    def cc_apache(self):
        """Debian's Apache with the library; Failed if its source cannot be had here."""
        output = os.path.join(self.folder, 'cc-apache')
        if not os.path.exists(output):
            run([f'{TOP}/conditioning/port/apache-prefork.sh', output, BUILD])
        return output


def run(words):
    """Runs a tool; Failed if it cannot."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f'{" ".join(words)}: {done.stderr[-400:]}')
    return done.stdout


def _nginx(server):
    limit = 19000
    return 'nginx.conf', NGINX.format(files=limit, connections=limit, cores=len(server.cores or '12'), backlog=BACKLOG,
                                      **server.words()), lambda path: ['nginx', '-c', path]


def _apache(server, program='apache2', own=MODULES):
    user = 'User www-data\nGroup www-data' if os.geteuid() == 0 else ''
    return 'apache.conf', APACHE.format(user=user, workers=WORKERS, backlog=BACKLOG, own=own, **server.words()), \
        lambda path: [program, '-d', server.work, '-f', path, '-DFOREGROUND']


def _cc_apache(server):
    return _apache(server, server.shop.cc_apache(), 'AcceptFilter http none\nTypesConfig /dev/null')


def _nest(server):
    return 'unused', '', lambda path: [
        server.shop.web(), '--set', f'listen=127.0.0.1:{server.port}', '--set', f'fileRoot={server.site}',
        '--set', f'maxClients={server.clients}', '--set', 'logging=errors']


CONFIGURED = {'nginx': _nginx, 'apache': _apache, 'cc-apache': _cc_apache, 'nest': _nest}
LABEL = {'nginx': 'nginx', 'apache': 'Apache prefork', 'cc-apache': 'Apache prefork with the library', 'nest': 'nest (examples/web)', 'ccserver': 'ccserver'}


def missing(name):
    """Why a server cannot run here, or ''."""
    program = {'nginx': 'nginx', 'apache': 'apache2', 'cc-apache': 'apr-1-config'}.get(name)
    return f'{program} is not installed' if program and shutil.which(program) is None else ''


class Server:
    """A running server; a context manager that ends it."""

    def __init__(self, shop, name, site, filters=(), cores=None, ready=8, wrap=()):
        self.shop, self.name, self.site, self.filters, self.cores = shop, name, site, list(filters), cores
        self.clients = 500 if wrap else 6000    # in a group with little memory a server refuses what might not fit
        self.folder = tempfile.TemporaryDirectory(prefix='experiment-')
        self.work, self.port = self.folder.name, processes.free_port()
        os.chmod(self.work, 0o755)
        self.errors = open(f'{self.work}/said', 'w+b')
        self.process = processes.start([*wrap, *self.command(ready)], cores=cores, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=self.errors, cwd=self.work,
                                       env={**os.environ, 'CC_LIBEXEC': f'{BUILD}/libexec'})
        try:
            processes.until(self.answers, 'it does not answer', 60)
        except Failed as failed:
            self.close()
            raise Failed(f'{self.label}: {failed}: {self.text}') from None

    @property
    def label(self):
        """What the report calls it."""
        return LABEL[self.name] + (', ' + ' '.join(f.split(',')[0] for f in self.filters) if self.filters else '')

    def words(self):
        """What the configurations name."""
        return {'work': self.work, 'port': self.port, 'site': self.site}

    def command(self, ready):
        """The command line."""
        if self.name == 'ccserver':     # the filter next to the server is the first word
            return [f'{BUILD}/ccserver', f'127.0.0.1:{self.port}', self.site, *reversed(self.filters)]
        path, text, words = CONFIGURED[self.name](self)
        path = os.path.join(self.work, path)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        if self.name == 'cc-apache':
            return [f'{BUILD}/libexec/cc-chain', *self.filters, '--', *words(path)]
        chosen = [word for f in self.filters for word in ('--filter', f)]
        before = [f'{BUILD}/cc-condition', '--ready', str(ready), *chosen, '--'] if chosen else []
        return [*before, *words(path)]

    def answers(self):
        """Whether it serves a file."""
        if self.process.poll() is not None:
            raise Failed('it ended at once')
        with contextlib.suppress(OSError, http.client.HTTPException):
            client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
            with contextlib.closing(client):
                client.request('GET', '/100', headers={'Connection': 'close'})
                return client.getresponse().status == 200
        return False

    def url(self, path='/100'):
        """The address of a file."""
        return f'http://127.0.0.1:{self.port}{path}'

    def cpu(self):
        """Nanoseconds of its processes, filters included."""
        return processes.cpu(self.process.pid)

    def close(self):
        """Ends it and keeps what it has said."""
        processes.end(self.process)
        if not self.errors.closed:
            self.errors.seek(0)
            self.text = self.errors.read()[-300:].decode(errors='replace')
            self.errors.close()
            self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
