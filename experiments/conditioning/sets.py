"""Figures 6 and 7: sets of files as SPECweb99 draws them, below and above the memory that may cache them."""

import bisect
import errno
import itertools
import os
import random
import shutil
from conditioning import load
from common import processes
from common.processes import Failed
from common.specweb import CLASSES, DIRECTORY
from conditioning.servers import Server, missing

CGROUP = '/sys/fs/cgroup/memory'
VARIANTS = [('apache', []), ('apache', ['request']), ('nginx', []), ('nginx', ['request']), ('nest', []), ('nest', ['request']),
            ('ccserver', ['request'])]
SCRIPT = '''local paths = {}
for line in io.lines(os.getenv("EXPERIMENT_PATHS")) do paths[#paths + 1] = line end
local at = 0
request = function() at = at % #paths + 1; return wrk.format("GET", paths[at]) end
'''


class Limited:
    """A memory cgroup: a command put before a server moves it in, so that the files it reads count there."""

    def __init__(self, limit):
        self.path = f'{CGROUP}/experiment-{os.getpid()}'
        try:
            os.mkdir(self.path)
            with open(f'{self.path}/memory.limit_in_bytes', 'w', encoding='ascii') as file:
                file.write(str(limit))
        except OSError as error:
            raise Failed(f'no memory cgroup (v1) can be made: {error}') from None
        self.wrap = ['sh', '-c', f'echo $$ > {self.path}/cgroup.procs; exec "$@"', 'sh']

    def close(self):
        """Removes it once its processes have ended, which were told to."""
        processes.until(self._removed, f'{self.path} still has processes')

    def _removed(self):
        try:
            with open(f'{self.path}/memory.force_empty', 'w', encoding='ascii') as file:
                file.write('0')
            os.rmdir(self.path)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True


def make(folder, directories):
    """The files of a set, on disk and out of the page cache."""
    os.makedirs(folder)
    shutil.copy(os.path.join(os.path.dirname(folder), 'site', '100'), folder)
    for d in range(directories):
        os.mkdir(f'{folder}/d{d}')
        for k, (size, _) in enumerate(CLASSES):
            for n in range(1, 10):
                with open(f'{folder}/d{d}/{k}_{n}', 'wb') as file:
                    file.write(os.urandom(size * n))
                    file.flush()
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def draw(directories, count):
    """Paths: directories and files of a class by Zipf. The same for every server."""
    dice = random.Random(directories)
    zipf = list(itertools.accumulate(1 / n for n in range(1, directories + 1)))
    files = list(itertools.accumulate(1 / n for n in range(1, 10)))
    for _ in range(count):
        d = bisect.bisect_left(zipf, dice.random() * zipf[-1])
        k = dice.choices(range(4), [share for _, share in CLASSES])[0]
        yield f'/d{d}/{k}_{1 + bisect.bisect_left(files, dice.random() * files[-1])}'


def run(context):
    """Measures every set, in a group whose memory is limited."""
    limit = (128 if context.quick else 384) * 2**20
    shares = [1.5] if context.quick else [.25, .5, 1.5, 3]
    seconds, rounds = (1, 1) if context.quick else (2, 2)
    script = f'{context.folder}/paths.lua'
    with open(script, 'w', encoding='ascii') as file:
        file.write(SCRIPT)
    os.environ['EXPERIMENT_PATHS'] = f'{context.folder}/paths'
    found, limits, labels = {}, [], []
    for share in shares:
        directories = int(share * limit / DIRECTORY)
        folder = f'{context.folder}/set'
        make(folder, directories)
        with open(os.environ['EXPERIMENT_PATHS'], 'w', encoding='ascii') as file:
            file.writelines(f'{path}\n' for path in draw(directories, 20000))
        values = {}
        for _ in range(rounds):
            for name, filters in VARIANTS[:2] if context.quick else VARIANTS:
                if missing(name):
                    continue
                label, one = measure(context, name, filters, folder, limit, script, seconds)
                values.setdefault(label, []).append(one)
        found[share] = {label: load.median(one) for label, one in values.items()}
        labels = list(values)
        context.say(f'  {share} of the limit: ' + ', '.join(f'{label} {v / 1e6:.0f} MB/s' for label, v in found[share].items()))
        shutil.rmtree(folder)
    points = {label: [[share, found[share][label] / 1e6] for share in shares] for label in labels}
    return {
        'title': 'Figures 6 and 7: sets of files',
        'paper': 'Performance is roughly the same for all sets that fit into memory, and drops where requests are bound by the disk, at 3 GB (Microtel, '
                 '1 GB of memory) and 4 GB (HP, 2 GB). CCServer is almost three times as fast on the HP. Filters cost less than in Figure 4.',
        'method': f'Directories of 36 files of 100 bytes to 900 KB each, with the shares of SPECweb99; directories by Zipf. Server, filters and the files that they '
                  f'read may use {limit >> 20} MB, by a memory cgroup; a set has {", ".join(map(str, shares))} times that size. Each measurement begins '
                  'with an empty cache, and one run of the same load to fill it. wrk with 16 connections, each for one request.',
        'plots': [{'file': 'figure-6', 'title': 'Figures 6 and 7: sets of files', 'x': 'size of the set, as a share of the memory', 'y': 'MB a second',
                   'dashed': [label for label in labels if ', ' not in label], 'series': points}],
        'tables': [{'title': 'MB a second:', 'head': ['', *(f'{s} of memory' for s in shares)],
                    'rows': [[label, *(p[1] for p in points[label])] for label in labels]}],
        'findings': [f'{label}: {points[label][-1][1] / points[label][0][1]:.2f} of the throughput of the smallest set with the largest.'
                     for label in labels if points[label][0][1]],
        'limits': ['The sets are smaller than the paper\'s of 0.5 to 4 GB, and the disk is a virtual one whose own cache may be that of the host.', *limits],
    }


def measure(context, name, filters, folder, limit, script, seconds):
    """(label, bytes a second) of one server."""
    group = Limited(limit)
    try:
        with Server(context.shop, name, folder, filters, wrap=group.wrap) as server:
            load.wrk(server.url(''), seconds, script=script)
            return server.label, load.wrk(server.url(''), seconds, script=script)[2]
    finally:
        group.close()
