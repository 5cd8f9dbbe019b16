"""Remembers which cells have passed, so that they are not repeated while nothing that they depend on
has changed: the server, the case, the runner, the tools.

Must not know: how a cell works.
"""

import contextlib
import json
import os
import time
from .build import digest

KEPT = 30 * 86400       # seconds after its last use that a result is removed


class Passed:
    """Results in a folder. `common`: a digest of all that every cell depends on. The methods may be called
    from several threads."""

    def __init__(self, folder, common):
        self.folder, self.common = folder, common.encode()
        os.makedirs(folder, exist_ok=True)

    def key(self, case, binary, *more):
        """The name of a result. The name of the server's file is a digest of what it was made from."""
        with open(case.path, 'rb') as file:
            return digest(self.common, file.read(), os.path.basename(binary).encode(),
                          repr(more).encode())

    def cells(self, key):
        """The cells, if they have passed; else None."""
        path = os.path.join(self.folder, key)
        try:
            with open(path, encoding='utf-8') as file:
                found = [tuple(cell) for cell in json.load(file)]
            os.utime(path)
            return found
        except (OSError, ValueError):
            return None

    def keep(self, key, cells):
        """Remembers the cells, unless one of them failed."""
        if any(outcome == 'failed' for _, outcome, _ in cells):
            return
        path = os.path.join(self.folder, key)
        near = f'{path}.{os.getpid()}'
        with open(near, 'w', encoding='utf-8') as file:
            json.dump(cells, file)
        os.rename(near, path)

    def prune(self):
        """Removes results that were not used for long."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            with contextlib.suppress(FileNotFoundError):
                if os.path.getmtime(path) < time.time() - KEPT:
                    os.remove(path)
