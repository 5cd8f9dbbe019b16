"""The program of benches/load as the clients of an experiment.

Must not know: which servers there are, what is compared.
"""

import json
import os
import subprocess
from common import processes
from common.driver import TOP
from common.processes import Failed

SERVER_CORES, LOAD_CORES = {0}, {(os.cpu_count() or 1) - 1}


def program(context):
    """The load generator, compiled once."""
    output = os.path.join(context.folder, 'load')
    if not os.path.exists(output):
        folder = f'{TOP}/benches/load'
        sources = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith('.c'))
        done = subprocess.run(['cc', '-O2', '-o', output, *sources, '-lm'], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise Failed(f'cc: {done.stderr[-400:]}')
    return output


class Clients:
    """Clients that begin at once; `more` are options of the load generator."""

    def __init__(self, context, server, seconds, clients, *more, address='127.0.0.1'):
        self.seconds = seconds
        words = [program(context), '--to', f'{address}:{server.port}', '--clients', str(clients), '--requests', '5',
                 '--reopen', '--pause', '0.02', '--timeout', '60', '--warm', '1', '--seconds', str(seconds), *more]
        self.process = processes.start(words, cores=LOAD_CORES, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)

    def result(self):
        """What they have seen; Failed if an answer was wrong."""
        try:
            said, errors = self.process.communicate(timeout=self.seconds + 180)
        except subprocess.TimeoutExpired:
            raise Failed('the clients do not end') from None
        finally:
            processes.end(self.process)
        if self.process.returncode:
            raise Failed(f'the clients: {errors.strip()[-300:]}')
        found = json.loads(said)
        wrong = {name: count for name, count in found['faults'].items() if count}
        if wrong:
            raise Failed(f'answers were wrong or did not come: {wrong}')
        found['rate'] = found['ended'] / found['seconds']
        return found
