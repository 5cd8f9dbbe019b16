"""Memory of a server that runs out at an allocation of the test's choice; see memory.c.

Must not know: what a server does.
"""

import contextlib
import mmap
import os
import shutil
import struct
import time
from . import sample
from .expect import expect
from .nest import run

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = 32
STEP = 37       # of so many allocations one fails in a sample
ROUNDS = 6      # in which memory may grow


class Memory:
    """What memory.c shares with the test: the environment of a server, and when allocations fail in it."""

    def __init__(self, folder):
        library = os.path.join(folder, 'memory.so')
        if not os.path.exists(library):
            run([shutil.which('cc') or 'cc', '-O1', '-fno-builtin', '-shared', '-fPIC', '-o', library,
                 os.path.join(HERE, 'memory.c')])
        path = os.path.join(folder, 'memory')
        with open(path, 'wb') as file:
            file.write(bytes(SIZE))
        with open(path, 'r+b') as file:
            self.shared = mmap.mmap(file.fileno(), SIZE)
        self.environment = {'LD_PRELOAD': library, 'MEMORY': path}

    def _set(self, left, ever):
        self.shared[8:16] = struct.pack('Q', ever)
        self.shared[:8] = struct.pack('q', left)

    def failed(self):
        """How many allocations have failed."""
        return struct.unpack('Q', self.shared[16:24])[0]

    def blocks(self):
        """How many blocks are in use."""
        return struct.unpack('q', self.shared[24:32])[0]

    @contextlib.contextmanager
    def short(self, number, ever):
        """The allocation of this number fails, counted from 1; `ever`: and all behind it."""
        self._set(number, ever)
        try:
            yield
        finally:
            self._set(0, 0)

    def each(self, attempt, sampled=False):
        """Calls it with memory that runs out at the first allocation, then at a later one, and so on, until all succeed; once
        for that allocation alone, once for all behind it as well. `sampled`: there are many. How many there were."""
        step, most = STEP if sampled and not sample.ALL else 1, 0
        for ever in (0, 1):
            number, before = 1 + sample.SEED % step, -1
            while self.failed() > before:
                before = self.failed()
                attempt(lambda n=number, e=ever: self.short(n, e))
                number += step
            most = max(most, number - step - 1)
        return most

    def rests(self, attempt, quiet, counted, sampled=False):
        """The same, and no block is left over: if all blocks are `counted`, some round needs no more than the one before. Not
        always the second: what is needed only sometimes is made once and kept. `quiet`: called at the end of a round."""
        blocks = []
        while True:
            count = self.each(attempt, sampled)
            quiet()
            time.sleep(0.1)     # a connection's memory goes after its descriptor
            blocks.append(self.blocks())
            if not counted or len(blocks) > 1 and blocks[-1] <= blocks[-2]:
                return count
            expect(len(blocks) < ROUNDS, f'blocks in use grow in each round: {blocks}')
