"""Clients that ask a server until they are told to stop.

Must not know: what clients say.
"""

import threading

from checks import until


class Load:
    """Threads that each run `run(number)`, which returns when `over` is set; a context manager. `run` counts
    under `lock` who was answered and who lost a connection, and says in `failed` what may not be."""

    def __init__(self, server, clients):
        self.server, self.over = server, threading.Event()
        self.answered, self.lost, self.failed = 0, 0, []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def run(self, number):
        """What one of them does."""
        raise NotImplementedError

    def more(self, count=30):
        """Waits until as many more are answered."""
        target = self.answered + count
        until('clients are answered', lambda: self.answered >= target or self.failed)
