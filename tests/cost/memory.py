"""Allocations of warm requests, wake-ups of an idle server, the size of a session.

Must not know: system calls, instructions.
"""

import contextlib
import glob
import mmap
import os
import time
from calls import LINE
from support.nest import MODELS, SOCKET_MODELS, Failed, run
from support.server import Client, Server

WARM, COUNTED = 32, 200
IDLE = 3            # seconds
CROWD = 100         # connections that rest, with the limits that a server has by default
HERE = os.path.dirname(os.path.abspath(__file__))


class Counter:
    """The shared count of allocations, zero at first."""

    def __init__(self, folder):
        self.library = os.path.join(folder, 'mallocs.so')
        self.path = os.path.join(folder, 'count')
        if not os.path.exists(self.library):
            run(['cc', '-std=c17', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-Werror', '-shared',
                 '-fPIC', '-o', self.library, os.path.join(HERE, 'mallocs.c')])
        with open(self.path, 'wb') as file:
            file.write(bytes(mmap.PAGESIZE))

    def environment(self):
        """What a server needs to be counted."""
        return {'LD_PRELOAD': self.library, 'COUNT_FILE': self.path}

    def value(self):
        """The count now."""
        with open(self.path, 'rb') as file:
            return int.from_bytes(file.read(8), 'little')


def whole(client, request, reply):
    """A message that arrives whole."""
    client.send(request)
    client.expect(reply)


def in_pieces(client, request, reply):
    """A message that arrives byte by byte."""
    for byte in request:
        client.send(bytes([byte]))
        time.sleep(0.001)
    client.expect(reply)


SHAPES = (
    ('a constant answer', whole, b'HELLO\n', b'hello\n'),
    ('$1 and $reply with a format', whole, b'ADD abc 0\n', b'abc 0\n'),
    ('$reply with strings', whole, b'ECHO abc def\n', b'def abc\n'),
    ('16 pipelined requests', whole, 16 * b'ECHO abc def\n', 16 * b'def abc\n'),
    ('a message in pieces of 1 byte', in_pieces, b'ADD abc 0\n', b'abc 0\n'),
)


def check_mallocs(report, servers, folder):
    """Every shape of a request, warm."""
    report.heading(f'Allocations of {COUNTED} warm requests (one client)')
    for model in SOCKET_MODELS:
        counter = Counter(folder)
        with Server([servers[model]], **counter.environment()) as server, \
                Client(server) as client:
            settled(server)     # its threads have begun
            for what, talk, request, reply in SHAPES:
                rounds = COUNTED // 10 if talk is in_pieces else COUNTED
                for _ in range(WARM):
                    whole(client, request, reply)
                talk(client, request, reply)
                before = counter.value()
                for _ in range(rounds):
                    talk(client, request, reply)
                found = counter.value() - before
                report.line(found == 0, model, what, f'{found}', f'in {rounds} rounds')
            before = counter.value()
            whole(client, b'MALLOC\n', b'done\n')
            found = counter.value() - before
            report.line(found == 1, model, 'an action that allocates once is counted', f'{found}')


def check_lines(report, servers, folder):
    """Lines of an upload, as many as are gathered."""
    report.heading(f'Allocations of {COUNTED} lines that are written to a file')
    for model in SOCKET_MODELS:
        counter = Counter(folder)
        with Server([servers[model]], **counter.environment()) as server, \
                Client(server) as client:
            for _ in range(WARM):
                whole(client, LINE, b'kept\n')
            settled(server)
            before = counter.value()
            for _ in range(COUNTED):
                whole(client, LINE, b'kept\n')
            found = counter.value() - before
            report.line(found == 0, model, 'a line of 60 bytes', f'{found}',
                        f'in {COUNTED} rounds')


def switches(server):
    """{task: context switches so far, None if it does not sleep} of all its processes and threads."""
    tasks = (task for pid in server.family() for task in glob.glob(f'/proc/{pid}/task/*/status'))
    out = {}
    for task in tasks:
        with contextlib.suppress(OSError), open(task, encoding='latin-1') as file:   # it may end
            fields = dict(line.split(':', 1) for line in file)
            sleeps = fields['State'].split()[0] == 'S'
            out[task] = sum(int(fields[f'{how}voluntary_ctxt_switches']) for how in ('', 'non')) if sleeps else None
    return out


def settled(server):
    """Their switches, once they are the same for a while."""
    last, end = None, time.monotonic() + 15
    while (now := switches(server)) != last or None in now.values():    # a task may wait for a processor
        if time.monotonic() > end:
            raise Failed('the server never came to rest')
        last = now
        time.sleep(0.5)
    return now


def check_idle(report, servers):
    """Nobody runs while nothing happens."""
    report.heading(f'Wake-ups of an idle server in {IDLE} s (context switches of all its tasks)')
    for model in SOCKET_MODELS:
        with Server([servers[model]], clients=CROWD + 8) as server:
            clients = []
            for count in (0, 8, CROWD):
                while len(clients) < count:
                    clients.append(Client(server))
                    whole(clients[-1], b'HELLO\n', b'hello\n')
                before = settled(server)
                time.sleep(IDLE)
                after = switches(server)
                found = sum(abs((after.get(task, 0) or 0) - before.get(task, 0))
                            for task in set(before) | set(after))
                report.line(found == 0, model, f'{count} idle connections, {len(before)} tasks',
                            f'{found}')
            for client in clients:
                whole(client, b'HELLO\n', b'hello\n')
                client.socket.close()


def check_size(report, projects):
    """A session is one cache line."""
    report.heading('Size of a session')
    for model in MODELS:
        project = projects[model]
        with open(os.path.join(project, 'server.c'), encoding='utf-8') as file:
            sizes = [line for line in file if line.startswith('#define NEST__')]
        probe = os.path.join(project, 'size.c')
        with open(probe, 'w', encoding='utf-8') as file:
            file.writelines(sizes)
            file.write('#include "runtime/seam.h"\n#include <stdio.h>\n'
                       '_Static_assert(sizeof(struct nest_session) == 64, "one line of cache");\n'
                       'int main(void) {\n'
                       '    printf("%zu", sizeof(struct nest_session));\n}\n')
        program = os.path.join(project, 'size')
        try:
            run(['cc', '-std=c17', '-I', project, '-o', program, probe])
            report.line(True, model, 'sizeof(struct nest_session)', run([program]) + ' bytes')
        except Failed as error:
            report.line(False, model, 'sizeof(struct nest_session)', '', error)
