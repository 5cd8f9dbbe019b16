"""The servers: this project's, the floors, and those of others in the configuration that suits them.

Must not know: what is asked of them, what is measured.
"""

import dataclasses
import http.client
import os
import re
import resource
import shutil
import subprocess
import time

from .machine import Failed, Group, read

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
READY = 30                              # seconds until a server must answer
HEAD = 67                               # bytes before a file's, as specs/files.nest has them
CFLAGS = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
SPARE = 16                              # clients beyond those of a workload


@dataclasses.dataclass(frozen=True)
class Server:
    """One that can be measured. `words` has placeholders in braces, `conf` a template."""

    name: str
    about: str
    words: str
    kind: str = 'peer'                  # or 'nest', 'floor'
    package: str = ''                   # what has to be installed
    conf: str = ''
    settings: tuple = ()                # of the template
    constant: int = 0                   # bytes of its constant answer's body; 0: it has none
    model: str = ''                     # of this project's servers and of floors
    option: str = ''                    # one more, in the specification


def nest(model, about, name='', option='', log='{quiet}'):
    """This project's server of a model, perhaps with an option more. `log`: settings of its log."""
    return Server(f'nest-{name or model}', about,
                  f'{{nest}} --port {{port}} --set fileRoot={{root}} --set maxClients={{clients}} {log}', 'nest',
                  constant=126, model=model, option=option)


def floor(model, about, package='', name='', serve='{serve}'):
    """The least that the system calls of a model cost. `package`: a library that it needs."""
    return Server(f'floor-{name or model}', about, f'{{floor}} --port {{port}} {serve} --workers {{workers}}',
                  'floor', package, constant=126, model=model)


def apache(mpm, about):
    """Apache with one of its models."""
    return Server(f'apache-{mpm}', about, 'apache2 -f {conf} -DFOREGROUND', package='apache2-bin',
                  conf='apache.conf.in', settings=(('MPM', mpm),))


def nginx(name, sendfile, about):
    """nginx with sendfile or without."""
    return Server(name, about, 'nginx -p {work} -c {conf}', package='nginx-light',
                  conf='nginx.conf.in', settings=(('SENDFILE', sendfile),), constant=52)


SERVERS = {server.name: server for server in (
    nest('event', 'eventServer'),
    nest('uring', 'uringServer'),
    nest('event', 'eventServer, with fileCache', 'cached', 'fileCache S3-FIFO 256M'),
    nest('event', 'eventServer, with metrics and a line for each request in the format combined', 'observed',
         'metrics 127.0.0.1:0', '--set accessLog={work}/access'),
    nest('thread', 'threadServer, a thread for each client'),
    nest('process', 'processServer, a process for each client'),
    nest('prefork', 'preforkServer, processes that serve one client after another'),
    floor('epoll', 'an edge-triggered loop that receives and sends'),
    floor('epoll', 'the same loop; its answer is as long as the file, and always the same', name='constant',
          serve='--bytes {bytes}'),
    floor('uring', 'a ring with multishot accept and receive', 'liburing-dev'),
    floor('thread', 'threads in accept, then in recv'),
    floor('process', 'processes in accept, then in recv'),
    floor('fork', 'the same, and each serves one connection'),
    nginx('nginx-copy', 'off', '1 worker, open_file_cache, sendfile off (better for small files)'),
    nginx('nginx-sendfile', 'on', '1 worker, open_file_cache, sendfile and tcp_nopush on'),
    Server('h2o', '1 thread, HTTP/1.1', 'h2o -m worker -c {conf}', package='h2o',
           conf='h2o.conf.in'),
    Server('lighttpd', '1 process, epoll, sendfile, stat cache', 'lighttpd -D -f {conf}',
           package='lighttpd', conf='lighttpd.conf.in'),
    apache('event', 'event MPM, 64 threads a process, sendfile, no .htaccess'),
    apache('worker', 'worker MPM, a thread for each client'),
    apache('prefork', 'prefork MPM, a process for each client'),
    Server('mini-httpd', 'forks a process for each connection',
           'mini_httpd -D -p {port} -d {root} {user} -i {work}/pid', package='mini-httpd'),
)}


def missing(names):
    """{name: package} of those whose program or library is not installed."""
    return {name: SERVERS[name].package for name in names
            if SERVERS[name].package and not installed(SERVERS[name])}


def installed(server):
    """Whether the program of a peer, or the library of a floor, is there."""
    if server.kind == 'floor':
        return os.path.exists('/usr/include/liburing.h')
    return shutil.which(server.words.split()[0]) is not None


def tool(words):
    """Runs a compiler; Failed with what it said."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}:\n{done.stdout}{done.stderr}')


class Workshop:
    """Programs that are built for a run, and a directory for all that it writes."""

    def __init__(self, folder, nest_program, files):
        self.folder, self.nest, self.files = folder, nest_program, files
        self.root = os.path.join(folder, 'files')
        self.specs = {'constant': os.path.join(HERE, 'specs', 'constant.nest'), 'files': files,
                      'minimal': os.path.join(HERE, 'specs', 'files.nest')}
        self.built = {}
        self.count = 0

    def once(self, name, words):
        """A program; built the first time."""
        if name not in self.built:
            path = os.path.join(self.folder, name)
            tool(words + ['-o', path])
            self.built[name] = path
        return self.built[name]

    def load(self):
        """The load generator."""
        folder = os.path.join(HERE, 'load')
        sources = [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith('.c')]
        return self.once('load', ['cc', *CFLAGS, *sources, '-lm'])

    def program(self, server, serve):
        """The program of one of this project's servers or floors; `serve`: as in a workload."""
        if server.kind == 'floor':
            source = os.path.join(HERE, 'floors', server.model + '.c')
            libraries = ['-luring'] if server.model == 'uring' else []
            return self.once(f'floor-{server.model}', ['cc', *CFLAGS, '-pthread', source, *libraries])
        if server.kind == 'nest':
            return self.once(f'{server.name}-{serve}',
                             [self.nest, 'build', self.spec(server, serve), '--model', server.model])
        return ''

    def spec(self, server, serve):
        """The specification; with the server's option, a copy that has it."""
        if not server.option:
            return self.specs[serve]
        folder, name = os.path.split(self.specs[serve])
        own = os.path.join(self.folder, f'{server.name}-{serve}-spec')
        if not os.path.exists(own):
            shutil.copytree(folder, own)
            text = read(os.path.join(own, name))
            with open(os.path.join(own, name), 'w', encoding='utf-8') as file:
                file.write(text.replace('\n%option ', f'\n%option {server.option}\n%option ', 1))
        return os.path.join(own, name)

    def quiet(self, serve):
        """What keeps the server from writing a line for each answer, as the others are told too."""
        return '--set logging=errors' if '\n%option logging ' in read(self.specs[serve]) else ''

    def build(self, servers, workloads):
        """All that will be needed, so that a mistake in it is said before anything is measured."""
        self.load()
        for workload in workloads:
            for server in servers:
                if server.name in workload.servers:
                    self.program(server, workload.serve)

    def warm(self, workload):
        """Reads what will be asked for, so that it is in memory: no disk is measured."""
        if workload.serve != 'constant':
            paths = [workload.path]
            if not workload.path:
                with open(os.path.join(self.folder, 'mix'), encoding='ascii') as mix:
                    paths = [line.split()[2] for line in mix]
            for path in paths:
                with open(self.root + path, 'rb') as file:
                    while file.read(1 << 20):
                        pass

    def place(self):
        """A new directory."""
        self.count += 1
        path = os.path.join(self.folder, f'run{self.count}')
        os.mkdir(path)
        os.chmod(path, 0o777)           # servers give up being root
        return path


class Running:
    """A server that runs; `with` ends it, and all that it made."""

    def __init__(self, server, machine, shop, workload):
        self.server, self.machine = server, machine
        shop.warm(workload)
        clients = workload.clients + SPARE
        workers = workload.workers or clients
        self.port = machine.free_port()
        work = shop.place()
        self.output = os.path.join(work, 'output')
        rounded = -(-workers // 64)
        as_root = os.geteuid() == 0
        values = {
            'PORT': self.port, 'ROOT': shop.root, 'WORK': work, 'WORKERS': workers,
            'PROCESSES': rounded, 'THREADS': rounded * 64,
            'FILES': resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            'USER': {'nginx.conf.in': 'user www-data;', 'h2o.conf.in': 'user: www-data',
                     'apache.conf.in': 'User www-data\nGroup www-data',
                     'lighttpd.conf.in': 'server.username = "www-data"',
                     }.get(server.conf, '') if as_root else '',
            **dict(server.settings)}
        conf = ''
        if server.conf:
            conf = os.path.join(work, 'conf')
            with open(conf, 'w', encoding='ascii') as file:
                file.write(re.sub('@([A-Z]+)@', lambda m: str(values[m.group(1)]),
                                  read(os.path.join(HERE, 'peers', server.conf))))
        program = shop.program(server, workload.serve)
        serve = '--bytes 192' if workload.serve == 'constant' else f'--files {shop.root}'
        words = server.words.format(
            nest=program, floor=program, port=self.port, root=shop.root, work=work, conf=conf,
            workers=workers, serve=serve + (' --close' if workload.closing else ''),
            bytes=workload.mean + HEAD, quiet=shop.quiet(workload.serve),
            clients=clients if server.model in ('event', 'uring') else workers,
            user='-u www-data' if as_root else '').split()
        self.group = Group()
        try:
            with open(self.output, 'wb') as out:
                self.process = machine.start('server', words, self.group, cwd=work, stdout=out,
                                             stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            self.wait()
        except BaseException:
            self.close()
            raise

    def said(self):
        """What it wrote, and its log, for whom looks why it does not run."""
        log = os.path.join(os.path.dirname(self.output), 'error.log')
        return (read(self.output) + read(log))[-500:].strip()

    def wait(self):
        """Until it answers."""
        end = time.monotonic() + READY
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failed(f'ended with {self.process.returncode}: {self.said()}')
            try:
                self.ask('/192')
                return
            except OSError:
                time.sleep(.05)
            except http.client.HTTPException as error:
                raise Failed(f'answers what is not HTTP: {error!r}') from error
        raise Failed(f'does not answer: {self.said()}')

    def ask(self, path):
        """(status, body) of one request."""
        def work():
            client = http.client.HTTPConnection(self.machine.network.host, self.port, timeout=5)
            try:
                client.request('GET', path)
                answer = client.getresponse()
                return answer.status, answer.read()
            finally:
                client.close()
        return self.machine.network.inside(work)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it."""
        if hasattr(self, 'process'):
            self.machine.end(self.process)
        self.group.close()


def versions(names):
    """{program: what it says of its version} of the peers that are installed."""
    how = {'nginx': ['nginx', '-v'], 'apache': ['apache2', '-v'], 'h2o': ['h2o', '--version'],
           'lighttpd': ['lighttpd', '-v'], 'mini-httpd': ['mini_httpd', '-V'],
           'httperf': ['httperf', '--version']}
    out = {}
    for name, words in how.items():
        if any(n.startswith(name) for n in names) and shutil.which(words[0]):
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            found = re.search(r'[/ -]v?(\d+\.[\w.+-]+)', done.stdout + done.stderr)
            out[name] = found.group(1) if found else '?'
    return out
