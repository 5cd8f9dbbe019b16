"""The servers of these experiments, alone and behind the kernel; each serves a folder with files of several sizes.

Must not know: loads, what is measured.
"""

import os
import re
import subprocess
from common import processes
from common.driver import TOP
from common.processes import Failed
from kernel import network
from nest import servers

SIZES = (64, 192, 1024, 2000, 10_000, 28_000, 100_000, 1_000_000)
LARGEST = 28_000    # of those that the kernel answers
# Its best configuration: open files are kept, and small ones are read and sent with the header instead of by sendfile.
NGINX = servers.NGINX.replace('sendfile on;', 'sendfile off; open_file_cache max=4000 inactive=1h; open_file_cache_valid 1s; '
                              'keepalive_timeout 600; keepalive_requests 1000000000; default_type text/plain;')


def foreign(label):
    """The command of a server that is not ours, by its name in the report of the thesis."""
    return next((program, command) for rows in servers.MODELS.values() for name, program, command in rows if name == label)


def nginx(config):
    """The command of nginx with this configuration."""
    return lambda server: ['nginx', '-c', server.write('nginx.conf', config.format(**server.words))]


def _floor(server):
    """A loop with epoll that answers anything with a constant and parses nothing; it serves no file."""
    output = os.path.join(server.context.folder, 'floor')
    if not os.path.exists(output):
        done = subprocess.run(['cc', '-O2', '-o', output, f'{TOP}/benches/floors/epoll.c'], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f'cc: {done.stderr[-400:]}')
    return [output, '--port', str(server.port), '--bytes', str(server.size + 250)]


def _kernel(command):
    """The server of this command, with the kernel in front."""
    return lambda server: [server.context.nest, 'accelerate', '--port', str(server.port), '--root', server.site, '--state',
                           f'{server.work}/state', '--', *command(server)]


# It opens the file for each request.
REOPENS = ('nginx, sendfile', *foreign('nginx'))
LOOP = ('epoll loop, constant', '', _floor)
ALL = {row[0]: row for row in (
    ('nginx', 'nginx', nginx(NGINX)), ('Apache event', *foreign('Apache event')), ('lighttpd', *foreign('lighttpd')),
    ('h2o', *foreign('h2o')), ('nest, event', *foreign('nest, event')), ('nest, uring', *foreign('nest, uring')),
    ('nginx, kernel', 'nginx', _kernel(nginx(NGINX))), ('nest, event, kernel', '', _kernel(foreign('nest, event')[1])))}


class Server(servers.Server):
    """A running server in the namespace of servers. `size`: of the file that is asked for."""
    cores, address = 1, network.SERVER

    def __init__(self, context, label, program, command, size=2000):
        self.site = ''
        super().__init__(context, label, program, lambda server: context.net.serving(command(server)), size)
        if 'kernel' in label and size <= LARGEST:
            try:
                processes.until(self.hit, 'the kernel does not answer')
            except Failed:
                self.close()
                raise

    def filled(self):
        """The folder that it serves."""
        site = os.path.join(self.work, 'site')
        os.mkdir(site, 0o755)
        for size in SIZES:
            path = f'{site}/{size}'
            with open(path, 'wb') as file:
                file.write(b'x' * size)
            os.utime(path, (10**9, 10**9))
        return site

    def hit(self):
        """Asks for the file twice on one connection; whether the kernel has answered any. It answers what it has seen asked for, no file
        that was changed in the last seconds, and of some servers not the first request of a connection."""
        self.answers(2)
        said = network.run(self.context.nest, 'accelerate', '--port', str(self.port), '--state', f'{self.work}/state', '--metrics')
        return re.search(r'^nest_kernel_answers\S* [1-9]', said, re.MULTILINE)

    @property
    def path(self):
        """What is asked for."""
        return f'/{self.size}'

    def answers(self, times=1):
        """Whether it serves the file, asked from the clients' side so many times on one connection."""
        if self.process.poll() is not None:
            raise Failed('it ended at once')
        url = f'http://{self.address}:{self.port}{self.path}'
        done = subprocess.run(self.context.net.asking(['curl', '-s', '-m', '5', '-w', '%{http_code}', *['-o', '/dev/null', url] * times]),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout == '200' * times
