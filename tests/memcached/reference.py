"""Debian's memcached, the server that the example is compared with.

Must not know: what is compared.
"""

import contextlib
import os
import re
import tempfile
import time
from support.nest import Failed
from support.server import running

LIMIT = 60                      # seconds until it must listen


class Reference:
    """Debian's memcached on a port of loopback that the kernel chooses."""

    def __init__(self):
        self.port = None

    @contextlib.contextmanager
    def here(self):
        """While it runs."""
        words = ['memcached', '-l', '127.0.0.1', '-p', '-1', '-U', '0', '-t', '1']
        with tempfile.TemporaryDirectory(prefix='nest-memcached-') as folder:
            told = f'{folder}/ports'
            with running(words + (['-u', 'root'] if os.geteuid() == 0 else []),
                         env={**os.environ, 'MEMCACHED_PORT_FILENAME': told}):
                end = time.monotonic() + LIMIT
                while not os.path.exists(told):     # it gets its name when it is complete
                    if time.monotonic() > end:
                        raise Failed('memcached does not listen')
                    time.sleep(0.01)
                with open(told, encoding='ascii') as file:
                    self.port = int(re.search(r'TCP INET: (\d+)', file.read())[1])
                yield self
