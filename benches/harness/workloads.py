"""What is asked of the servers, and what this project sets itself: workloads and targets.

A workload is driven in every variant against each of its servers; a row of its table is a server
and a variant. Must not know: how a server is started, how a figure is taken.
"""

import dataclasses
import os

SIZES = (192, 1024, 2048, 10240, 65536, 1048576)
CACHED = (50, 2048, 10240)
IDLE, MIX_CLIENTS, CLIENTS = 10_000, 1024, 64
RATES = (1000, 2000, 4000, 8000, 12000, 16000, 20000, 25000)
FLOORS = {'nest-event': 'floor-epoll', 'nest-uring': 'floor-uring',
          'nest-thread': 'floor-thread',
          'nest-process': 'floor-process', 'nest-prefork': 'floor-process'}


@dataclasses.dataclass(frozen=True)
class Target:
    """`figure` of `row`, divided by the best of `others`, is at most `most`; without others, the
    figure itself is at least `most`. Of a latency or a cost less is better."""

    row: str
    figure: str                         # cost, p50, p99, p99.9, jain
    most: float
    others: tuple = ()


@dataclasses.dataclass(frozen=True)
class Workload:
    """`load`: arguments of the load generator; `variants`: {name: further ones}."""

    name: str
    about: str
    servers: tuple
    serve: str = 'files'                # or 'minimal', by the least specification; 'constant': 192 bytes
    path: str = '/constant'             # '': the mix
    load: tuple = ()
    variants: tuple = (('', ()),)
    clients: int = CLIENTS              # at once, at most
    workers: int = 0                    # processes or threads; 0: one for each client
    longer: float = 1                   # than other measurements
    closing: bool = False
    share: float = 0                    # of what a server can do at most: the rate of an open loop
    httperf: bool = False
    once: bool = False                  # one round: a table, not a ratio
    targets: tuple = ()

    @property
    def size(self):
        """Bytes of the file that is asked for; 0: of several."""
        return int(self.path[1:]) if self.path[1:].isdigit() else 0

    @property
    def mean(self):
        """The same, or what the files of the mix have on average."""
        return self.size if self.path else round(sum(102.4 * 10 ** k * share for k, share in enumerate(CLASSES))
                                                 * sum((k + 1) * share for k, share in enumerate(FILES)))


def keep_alive(size):
    """Files of a size."""
    peers = ('nginx-copy', 'nginx-sendfile', 'h2o', 'lighttpd', 'apache-event')
    return Workload(f'file-{size}', f'a file of {size:,} bytes, keep-alive, 64 connections',
                    ('nest-event', 'nest-observed', 'nest-cached', 'nest-uring', 'floor-epoll', *peers),
                    path=f'/{size}',
                    targets=(Target('nest-event', 'cost', 1, peers[:2]),
                             Target('nest-observed', 'cost', 1.05, ('nest-event',)),
                             Target('nest-cached', 'cost', 1, ('h2o',))))


def cached(size):
    """A file that the server has in memory, by the least specification."""
    return Workload(f'cached-{size}', f'a file of {size:,} bytes from memory, keep-alive, 64 connections',
                    ('nest-cached', 'floor-constant', 'h2o', 'nginx-copy'), serve='minimal', path=f'/{size}',
                    targets=(Target('nest-cached', 'cost', 1.25, ('floor-constant',)),
                             Target('nest-cached', 'cost', 1, ('h2o',))))


def constant():
    """The least that can be answered, in each model."""
    names = tuple(name for pair in FLOORS.items() for name in pair)
    return Workload('constant', 'an answer of 192 bytes, keep-alive, 64 connections', names,
                    serve='constant', targets=(
                        Target('nest-event', 'cost', 1.05, ('floor-epoll',)),
                        Target('nest-uring', 'cost', 1.10, ('floor-uring',)),
                        Target('nest-uring', 'cost', 0.85, ('nest-event',)),
                        Target('nest-thread', 'cost', 1.10, ('floor-thread',)),
                        Target('nest-process', 'cost', 1.10, ('floor-process',)),
                        Target('nest-prefork', 'cost', 1.10, ('floor-process',))))


def close():
    """A connection for each request."""
    apache = ('apache-event', 'apache-worker', 'apache-prefork')
    return Workload('close', 'a connection for each request, 64 at once, a file of 2,048 bytes',
                    ('floor-epoll', 'nest-event', 'floor-uring', 'nest-uring', 'floor-thread', 'nest-thread',
                     'floor-fork', 'nest-process', 'floor-process', 'nest-prefork', 'nginx-copy', 'h2o', *apache,
                     'mini-httpd'),
                    path='/2048', closing=True, targets=(
                         Target('nest-event', 'cost', 1.05, ('floor-epoll',)),
                         Target('nest-event', 'cost', 1, ('h2o',)),
                         Target('nest-uring', 'cost', 1.10, ('floor-uring',)),
                         Target('nest-uring', 'cost', 0.85, ('nest-event',)),
                         Target('nest-thread', 'cost', 1 / 1.8, apache[:2]),
                         Target('nest-process', 'cost', 1 / 3, ('mini-httpd',)),
                         Target('nest-process', 'cost', 1, ('apache-prefork',)),
                         Target('nest-prefork', 'cost', 1.10, ('floor-process',)),
                         Target('nest-prefork', 'cost', 1 / 2, ('apache-prefork',))))


def rising(name, about, **more):
    """Connections at rising rates, whether they are served or not."""
    return Workload(name, about, ('nest-event', 'nest-thread', 'nest-process', 'nginx-copy',
                                  'apache-event', 'apache-prefork', 'mini-httpd'),
                    path='/2048', closing=True, once=True, clients=4000, workers=256,
                    variants=tuple((f'{rate}/s', ('--rate', str(rate))) for rate in RATES), **more)


WORKLOADS = {workload.name: workload for workload in (
    constant(),
    Workload('pipelined', '16 requests at a time, an answer of 192 bytes, 64 connections',
             ('nest-event', 'nest-uring', 'floor-epoll', 'nginx-copy'), serve='constant',
             load=('--depth', '16'),
             targets=(Target('nest-event', 'cost', 1 / 8, ('nginx-copy',)),)),
    close(),
    *(keep_alive(size) for size in SIZES),
    *(cached(size) for size in CACHED),
    Workload('cached-pipelined', '16 requests at a time, a file of 2,048 bytes from memory, 64 connections',
             ('nest-event', 'nest-cached', 'nginx-copy', 'h2o'), serve='minimal', path='/2048', load=('--depth', '16'),
             targets=(Target('nest-cached', 'cost', 1 / 4, ('nginx-copy',)),)),
    Workload('mix', f'{MIX_CLIENTS:,} clients, keep-alive, files as SPECweb99 asks for them',
             ('nest-event', 'nest-cached', 'floor-constant', 'nginx-copy', 'nginx-sendfile', 'h2o', 'lighttpd',
              'apache-event'),
             path='', load=('--clients', str(MIX_CLIENTS), '--warm', '1'), clients=MIX_CLIENTS,
             longer=4,                  # so that each client has many answers
             targets=(Target('nest-event', 'jain', .999),
                      Target('nest-event', 'cost', .9, ('nginx-copy', 'nginx-sendfile')),
                      Target('nest-cached', 'cost', .6, ('nginx-copy', 'nginx-sendfile')))),
    Workload('latency', 'at 70 % of what each can do, arrivals at random: 192 bytes, keep-alive',
             ('nest-event', 'floor-epoll', 'nginx-copy'), serve='constant', share=.7,
             targets=tuple(Target('nest-event', figure, 1.25, ('floor-epoll',))
                           for figure in ('p50', 'p99', 'p99.9'))),
    Workload('idle', f'64 busy connections, without and with {IDLE:,} idle ones beside them',
             ('nest-event', 'floor-epoll', 'nginx-copy'), serve='constant',
             clients=CLIENTS + IDLE,
             variants=(('', ()), ('+idle', ('--idle', str(IDLE)))),
             targets=(Target('nest-event +idle', 'cost', 1.05, ('nest-event',)),)),
    rising('rates', 'connections arrive at random at a rate; each wants a file of 2,048 bytes',
           load=('--clients', '4000', '--timeout', '2')),
    rising('httperf', 'the same, by httperf: evenly, and no more than 1,024 at once',
           httperf=True),
)}

# SPECweb99's classes: files of 0.1, 1, 10 and 100 KB times 1 to 9, how often each class and each
# file of a class is asked for; directories by Zipf's law.
CLASSES = (.35, .50, .14, .01)
FILES = (.039, .059, .088, .178, .353, .118, .071, .050, .044)
DIRECTORIES = 20


def content(size, turn=0):
    """Bytes that are like no other file's."""
    line = b''.join(b'%08x' % ((i + turn) * 2654435761 & 0xffffffff) for i in range(1021))
    return (line * (size // len(line) + 1))[:size]


def write(path, data):
    """A file that every server may read."""
    with open(path, 'wb') as file:
        file.write(data)


def make_files(root):
    """All files that are asked for, and the list of the mix; its path."""
    os.makedirs(root)
    for size in sorted({*SIZES, *CACHED}):
        write(os.path.join(root, str(size)), content(size))
    total = sum(1 / (k + 1) for k in range(DIRECTORIES))
    lines = []
    for k in range(DIRECTORIES):
        os.mkdir(os.path.join(root, f'dir{k}'))
        for order, often in enumerate(CLASSES):
            for n, share in enumerate(FILES):
                size, name = int(102.4 * 10 ** order * (n + 1)), f'/dir{k}/class{order}_{n + 1}'
                write(root + name, content(size, k * 40 + order * 10 + n))
                weight = often * share / sum(FILES) / (k + 1) / total
                lines.append(f'{weight:.9f} {size} {name}\n')
    mix = os.path.join(os.path.dirname(root), 'mix')
    write(mix, ''.join(lines).encode())
    return mix
