"""The servers of these experiments: those of the thesis's, with other files and options.

Must not know: loads, what is measured.
"""

import os
from nest import servers
from nserver import load


class Server(servers.Server):
    """A running server that serves `site`, or the one file of the thesis."""
    cores, backlog = len(load.SERVER_CORES), 511    # Apache's default, and nginx's

    def __init__(self, context, label, program, command, site=None, size=servers.SIZE):
        self.chosen = site
        super().__init__(context, label, program, lambda server: pinned(command(server)), size)

    def filled(self):
        """The folder that it serves."""
        return self.chosen or super().filled()


def pinned(words):
    """The command on the server's core."""
    return ['taskset', '-c', ','.join(map(str, load.SERVER_CORES)), *words]


def foreign(label):
    """A server that is not ours, by its name in the report of the thesis."""
    return next(row for rows in servers.MODELS.values() for row in rows if row[0] == label)


def generated(label, spec, *options, files=True, also=''):
    """A server that nest generates from a specification, with options at its start; `files`: it serves some; `also`: it listens
    at this address first."""
    def command(server):
        listen = ' '.join(f'{address}:{server.port}' for address in (also, '127.0.0.1') if address)
        chosen = [f'listen={listen}', *(['user=root'] if os.geteuid() == 0 else []), *options]
        if files:
            chosen.append(f'fileRoot={server.site}')
        return [server.built(spec), *(word for option in chosen for word in ('--set', option))]
    return label, '', command
