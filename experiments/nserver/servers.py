"""The servers of these experiments: those of the thesis's, with other files and options.

Must not know: loads, what is measured.
"""

import os
import subprocess
from common.driver import TOP
from common.processes import Failed
from nest import servers
from nserver import load

BACKLOG = 511               # Apache's default, and nginx's


class Server(servers.Server):
    """A running server that serves `site`, or the one file of the thesis."""

    def __init__(self, context, label, program, command, site=None, size=servers.SIZE):
        self.chosen = site
        super().__init__(context, label, program, lambda server: pinned(command(server)), size)

    def filled(self):
        """The folder that it serves."""
        return self.chosen or super().filled()


def pinned(words):
    """The command on the server's core."""
    return ['taskset', '-c', ','.join(map(str, load.SERVER_CORES)), *words]


def one_core(text):
    """A configuration for one core, with the queue of clients that Apache has."""
    return text.replace('worker_processes 2', 'worker_processes 1').replace('num-threads: 2', 'num-threads: 1') \
               .replace('backlog=1024', f'backlog={BACKLOG}').replace('ListenBacklog 1024', f'ListenBacklog {BACKLOG}')


def foreign(label):
    """A server that is not ours, by its name in the report of the thesis."""
    _, program, command = next(row for rows in servers.MODELS.values() for row in rows if row[0] == label)

    def alone(server):
        words = command(server)
        for name in os.listdir(server.work):
            if name.endswith('.conf'):
                path = os.path.join(server.work, name)
                with open(path, encoding='ascii') as file:
                    text = file.read()
                with open(path, 'w', encoding='ascii') as file:
                    file.write(one_core(text))
        return words
    return label, program, alone


def generated(label, spec, *options, files=True, also=''):
    """A server that nest generates from a specification, with options at its start; `files`: it serves some; `also`: it listens
    at this address first."""
    def command(server):
        output = os.path.join(server.context.folder, os.path.basename(spec).removesuffix('.nest'))
        if not os.path.exists(output):
            done = subprocess.run([server.context.nest, 'build', f'{TOP}/{spec}', '-o', output], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed(f'nest build: {done.stderr[-400:]}')
        listen = ' '.join(f'{address}:{server.port}' for address in (also, '127.0.0.1') if address)
        chosen = [f'listen={listen}', *(['user=root'] if os.geteuid() == 0 else []), *options]
        if files:
            chosen.append(f'fileRoot={server.site}')
        return [output, *(word for option in chosen for word in ('--set', option))]
    return label, '', command
