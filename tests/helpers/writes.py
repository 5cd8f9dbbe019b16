"""Tests files that actions write piece by piece, lists of directories, and deletion.

Must not know: how the server gathers what is written.
"""

import contextlib
import os
import re
import subprocess
import time
from checks import (BYTES, answers, ask, content, ends, hidden, put, reset, same, serve, shares_syncs,
                    together)
from support.nest import Failed, Missing, one_client
from support.server import Client

LINE = b'+' + b'x' * 60 + b'\n'


def append(size):
    """Asks for so many bytes to be appended, and sends them."""
    return b'append %d\n' % size + BYTES[:size]


def written(folder, exe):
    """What is written piece by piece is the file, whatever the sizes of the pieces."""
    with serve(exe, folder) as server:
        for how, done in ((b'commit\n', b'stored\n'), (b'settle\n', b'on disk\n')):
            for sizes in ((), (0,), (1, 2, 3), (16_384,), (16_383, 1, 1), (5000, 40_000, 5000, 9),
                          (1 << 20, 1)):
                same(f'{sizes}', ask(server, b'begin up\n' + b''.join(map(append, sizes)) + how +
                                     b'raw up\n'),
                     done + b''.join(BYTES[:size] for size in sizes))
        same('lines', ask(server, b'begin up\n' + LINE * 3000 + b'commit\nbegin up\n' + LINE +
                          b'drop\n'), b'stored\ndropped\n')
        same('content', content(folder, 'up'), b'x' * 180_000)
        same('left', hidden(folder), [])
        ends(server)


def together_written(folder, exe):
    """Many write at once, each its own, and are on disk when they are told so."""
    def one(number):
        talk = b'begin up%d\n' % number + append(number * 3000) + LINE
        for _ in range(3):
            same(f'{number}', ask(server, talk + b'settle\n'), b'on disk\n')
            same('content', content(folder, f'up{number}'), BYTES[:number * 3000] + LINE[1:-1])
    with serve(exe, folder) as server:
        together(16, one)
        ends(server)
    same('left', hidden(folder), [])


def abandoned(folder, exe):
    """What is not committed leaves nothing, however the connection ends."""
    put(folder, 'up', b'old')
    with serve(exe, folder) as server:
        same('ready', ask(server, b'begin up\nsettle\n'), b'on disk\n')  # opens what stays open
        put(folder, 'up', b'old')
        lasting = 'process' not in exe                     # what a process has, ends with it
        before = descriptors(server) if lasting else 0
        for number in range(12):
            client = Client(server)
            client.send(b'begin up\n' + append(number * 9000) + b'begin up\n')
            client.expect(b'error Device or resource busy\n')
            if number % 3 == 0:
                client.send(b'block 20\nsettle\n')        # it goes while its action runs
            reset(client) if number % 2 else client.socket.close()
        end = time.monotonic() + 20
        while lasting and descriptors(server) > before:
            if time.monotonic() > end:
                raise Failed(f'{descriptors(server) - before} descriptors are left')
            time.sleep(0.05)
        kept = Client(server)
        kept.send(b'begin up\n' + append(50_000) + b'drop\nbegin up\n' + append(50_000))
        kept.expect(b'dropped\n')
        ends(server)                                       # while one is open
        kept.socket.close()
    if content(folder, 'up') not in [b'old'] + [BYTES[:number * 9000] for number in (0, 3, 6, 9)]:
        raise Failed('a file that nobody has written')
    same('left', hidden(folder), [])


def descriptors(server):
    """How many are open in the process that has most of them, of those that serve. One that serves nobody has fewer."""
    counts = [0]
    for pid in server.family()[1:]:
        with contextlib.suppress(FileNotFoundError):        # it has ended in the meantime
            counts.append(len(os.listdir(f'/proc/{pid}/fd')))
    return max(counts)


def killed_writing(folder, exe):
    """A server that is killed in the middle leaves the old file, and nothing beside it."""
    put(folder, 'up', b'old')
    with serve(exe, folder) as server:
        with Client(server) as client:
            client.send(b'begin up\n' + append(100_000) + b'begin up\n')
            client.expect(b'error Device or resource busy\n')
            server.kill()
    same('old', content(folder, 'up'), b'old')
    same('left', hidden(folder), [])


def unable(folder, exe):
    """The first failure is the answer to all that follows; then a new one can be begun."""
    wrong = b'error File too large\n'
    put(folder, 'up', b'old')
    with serve(exe, folder, before=['prlimit', '--fsize=100000']) as server:
        for how in (b'commit\n', b'settle\n'):
            same('large', ask(server, b'begin up\n' + append(200_000) + append(5) + how +
                              b'+\nbegin up\n' + append(9) + b'drop\n'),
                 wrong * 3 + b'error Bad file descriptor\ndropped\n')
            # what is gathered is written by the commit, and it is that which fails
            same('last', ask(server, b'begin up\n' + append(98_304) + append(5000) + how), wrong)
        ends(server)
    same('old', content(folder, 'up'), b'old')
    same('left', hidden(folder), [])


def lists(folder, exe):
    """A folder is listed by name; one too large is said to be, and harms nobody."""
    os.mkdir(f'{folder}/large')
    os.mkdir(f'{folder}/wide')
    os.mkdir(f'{folder}/odd')
    for name in (b'b\xff', b'b\x01', b'a', b' '):
        put(os.fsencode(f'{folder}/odd'), name, b'12')
    os.mkfifo(f'{folder}/odd/fifo')
    for number in range(4000):
        put(f'{folder}/large', f'{number:0255}', b'')
    for number in range(9000):
        put(f'{folder}/wide', f'{number}', b'')
    with serve(exe, folder) as server:
        answers(server, [
            ('list odd\n', b'0 5  :2 a:2 b\x01:2 b\xff:2 fifo:0 0 5\n'),
            ('list large\n', b'-1 0 Value too large for defined data type -1 0\n'),
            ('list wide\n', b'0 9000 0 9000\n'),          # 1 MB in all
            ('delete odd/fifo\n', b'No such device or address\n'),
            ('delete odd/a\ndelete odd/a\n', b'deleted\nNo such file or directory\n')])
        together(8, lambda _: same('wide', ask(server, 'list wide\n' * 3),
                                   b'0 9000 0 9000\n' * 3))
        ends(server)


def calls(folder, exe):
    """A line costs no system call: 16 KB of them are one write."""
    strace = ['strace', '-f', '-qq', '-y', '-e', 'trace=write', '-o', f'{folder}/calls']
    os.mkdir(f'{folder}/root')
    with serve(exe, f'{folder}/root', before=strace) as server:
        same('lines', ask(server, b'begin up\n' + LINE * 2500 + b'commit\n'), b'stored\n')
        same('exit status', server.stop(server.family()[1]), 0)
    same('content', content(f'{folder}/root', 'up'), b'x' * 150_000)
    writes = re.findall(rb'\bwrite\(\d+</[^>]*>[^,]*, "x', content(folder, 'calls'))
    same('writes', len(writes), -(-150_000 // 16_384))


def shared(folder, exe, shim):
    """Commits that wait for a directory's sync share it."""
    shares_syncs(folder, exe, shim, lambda i: b'begin s%d\n' % i + LINE + b'settle\n', b'on disk\n')


def named(folder, exe, shim):
    """Where files must have names from the beginning, none is left."""
    put(folder, 'up', b'old')
    with serve(exe, folder, LD_PRELOAD=shim, SHIM='tmpfile') as server:
        with Client(server) as client:
            client.send(b'begin up\n+x\nlist .\n')
            client.expect(b'0 1 up:3 0 1\n')
            same('beside', len(hidden(folder)), 1)
        answers(server, [('begin up\n+new\ncommit\n', b'stored\n'),
                         ('begin up2\n+new\nsettle\n', b'on disk\n')])
        ends(server)
    same('left', hidden(folder), [])
    same('new', content(folder, 'up'), b'new')


def failing_writes(folder, exe, shim):
    """What could not be synced is not acknowledged."""
    put(folder, 'up', b'old')
    with serve(exe, folder, LD_PRELOAD=shim, SHIM='fsync') as server:
        same('file', ask(server, 'begin up\n+new\nsettle\n'), b'error Input/output error\n')
        ends(server)
    same('old', content(folder, 'up'), b'old')
    same('left', hidden(folder), [])


def scarce(folder, exe):
    """Descriptors for uploads are counted before the server starts."""
    if one_client(exe):
        raise Missing('a process has one client')
    done = subprocess.run(['prlimit', '--nofile=800:800', exe, '--port', '0'], timeout=20,
                          capture_output=True, text=True, cwd=folder, check=False)
    same('status', done.returncode, 1)
    if '300 clients need 9' not in done.stderr:
        raise Failed(done.stderr)


SANITIZED = (written, together_written, abandoned, unable, lists)
PLAIN = SANITIZED + (killed_writing, calls, scarce)
SHIMMED = (shared, named, failing_writes)
