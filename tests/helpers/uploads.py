"""Tests files received from clients: stored completely or not at all, and on disk when the server says so.

Must not know: how the server writes them.
"""

import fcntl
import os
import time
from checks import (BYTES, answers, ask, content, ends, hidden, homes, put, reset, same, serve, shares_syncs,
                    together)
from support.nest import Failed, Missing
from support.server import Client


def whole(folder, exe):
    """Files of all sizes come to their places, and what follows them is understood."""
    put(folder, 'a', b'hello\n')
    with serve(exe, folder) as server:
        for how in ('put', 'sync'):
            for size in (0, 1, 5000, 65_536, 65_537, 1 << 20):
                same(f'{how} {size}', ask(server, f'{how} up {size}\n'.encode() + BYTES[:size] +
                                          b'get a\n'), b'took %d\nfile 6\nhello\n' % size)
                same('content', content(folder, 'up'), BYTES[:size])
        same('left', hidden(folder), [])
        ends(server)


def places(folder, exe):
    """A place must be one; a mode is kept, a link replaced, and refused bytes are taken."""
    outside = b'error Invalid cross-device link\n'
    root = f'{folder}/root'
    os.makedirs(f'{root}/sub')
    os.symlink('..', f'{root}/up')
    os.symlink('a', f'{root}/link')
    os.mkfifo(f'{root}/fifo')
    put(root, 'a', b'hello\n')
    put(root, 'private', b'old')
    os.chmod(f'{root}/private', 0o640)
    with serve(exe, root) as server:
        answers(server, [
            ('put no/x 3\nabcget a\n', b'error No such file or directory\nfile 6\nhello\n'),
            ('put sub 3\nabcget a\n', b'error Is a directory\nfile 6\nhello\n'),
            ('put sub/ 3\nabc', b'error Is a directory\n'),
            ('put a/x 3\nabc', b'error Not a directory\n'),
            ('put ../x 3\nabc', outside), ('put up/x 3\nabc', outside),
            ('put fifo 3\nabc', b'error No such device or address\n'),
            ('put link 3\nabc', b'took 3\n'), ('put private 3\nnew', b'took 3\n'),
            ('put /sub/x 3\nabc', b'took 3\n'),
            (f'put {"n" * 300} 3\nabc', b'error File name too long\n'),
            ('put a 10\nabc', b'error Broken pipe\n')])
        same('link', (os.path.islink(f'{root}/link'), content(root, 'a')), (False, b'hello\n'))
        same('mode', oct(os.stat(f'{root}/private').st_mode & 0o7777), '0o640')
        same('left', hidden(root) + hidden(f'{root}/sub'), [])
        same('outside', sorted(os.listdir(folder)), ['root'])
        ends(server)


def cut(folder, exe):
    """An upload that ends early leaves the old file and nothing else."""
    put(folder, 'up', b'old')
    with serve(exe, folder) as server:
        for number in range(12):
            client = Client(server)
            client.send(b'sync up 900000\n' + BYTES[:number * 80_000 + 1])
            time.sleep(0.01)
            reset(client) if number % 2 else client.socket.close()
        ends(server)
    same('old', content(folder, 'up'), b'old')
    same('left', hidden(folder), [])


def killed(folder, exe):
    """A server that is killed leaves old files or new ones, and at most a named temporary."""
    old, new = b'o' * 300_000, b'n' * 300_000
    for number in range(8):
        put(folder, 'up', old)
        with serve(exe, folder) as server:
            with Client(server) as client:
                how = b'put' if number % 2 else b'sync'
                client.send(how + b' up 300000\n' + new)
                time.sleep(number * 0.002)
                server.kill()
        if content(folder, 'up') not in (old, new):
            raise Failed('a file that is neither old nor new')
        for name in hidden(folder):
            if not name.startswith('.nest-upload-'):
                raise Failed(f'it left {name}')
        end = time.monotonic() + 20
        while homes(folder):    # a process of the killed server may still end, and hold its folder
            if time.monotonic() > end:
                raise Failed(f'the next server does not remove {homes(folder)}')
            with serve(exe, folder) as server:
                ends(server)


def outlived(folder, exe):
    """A folder that processes of a killed server still used at the start is removed at the end."""
    left = f'{folder}/.nest-upload-0123456789abcdef0123456789abcdef'
    os.mkdir(left)
    put(left, '1-1', b'half')
    holder = os.open(left, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    with serve(exe, folder) as server:
        same('another upload', ask(server, b'put up 3\nnew'), b'took 3\n')
        same('at the start', content(left, '1-1'), b'half')
        os.close(holder)
        ends(server)
    same('left', homes(folder), [])


def removed(folder, exe):
    """Another program may remove the folder of uploads while a server runs: it is made again."""
    put(folder, 'up', b'first')
    with serve(exe, folder) as server, Client(server) as other:
        for text in (b'second', b'third'):
            same('content', ask(server, b'put up %d\n' % len(text) + text), b'took %d\n' % len(text))
            if not homes(folder):
                raise Failed('no folder for uploads was made, so nothing was removed')
            for name in homes(folder):
                os.rmdir(f'{folder}/{name}')
            other.send(b'sync up 4\nlast')
            other.expect(b'took 4\n')
            same('content', content(folder, 'up'), b'last')
        ends(server)
    same('left', homes(folder), [])


def foreign(folder, exe):
    """No client's path leads to an upload that is under way, even if the client knows its name."""
    attempts = 1_000_000 if os.environ.get('NEST_ALL') else 20_000
    batch, refused = 1000, (b'error Permission denied\n', b'error No such file or directory\n')
    put(folder, 'up', b'first')
    with serve(exe, folder) as server, Client(server) as writer, Client(server) as attacker:
        answers_of = attacker.socket.makefile('rb')
        for number in range(attempts // batch):
            mine = b'mine %05d' % number
            writer.send(b'put up %d\n' % len(mine) + mine)
            names = [f'{name}/{inside}' for name in homes(folder)
                     for inside in [f'{server.process.pid}-{number}', *os.listdir(f'{folder}/{name}')]]
            names += ['.nest-upload-1', './.NEST-UPLOAD-1/x', 'sub/../.nest-upload-1-1']
            question = ''.join(f'put {names[i % len(names)]} 4\nevil' for i in range(batch))
            attacker.send(question.encode())
            writer.expect(b'took %d\n' % len(mine))
            for _ in range(batch):
                said = answers_of.readline()
                if said not in refused:
                    raise Failed(f'attempt: {said!r}')
            same('content', content(folder, 'up'), mine)
        if not homes(folder):
            raise Failed('no folder for uploads was made, so nothing was tried')
    with serve(exe, folder) as server:
        ends(server)
    same('left', homes(folder), [])


def unnamed(folder, exe, shim):
    """Where files must have names from the beginning, they are gone when they are cut."""
    put(folder, 'up', b'old')
    with serve(exe, folder, LD_PRELOAD=shim, SHIM='tmpfile') as server:
        with Client(server) as client:
            client.send(b'put up 600000\n' + BYTES[:400_000])
            end = time.monotonic() + 20
            while not hidden(folder):
                if time.monotonic() > end:
                    raise Failed('no temporary file')
                time.sleep(0.01)
            if not hidden(folder)[0].startswith('.nest-upload-'):
                raise Failed(f'it is called {hidden(folder)}')
        answers(server, [('put up 3\nnew', b'took 3\n'), ('sync up2 3\nnew', b'took 3\n')])
        ends(server)
    same('left', hidden(folder), [])
    same('new', content(folder, 'up'), b'new')


def failing(folder, exe, shim):
    """What could not be synced is not acknowledged; an old file stays if the new one was not."""
    put(folder, 'up', b'old')
    with serve(exe, folder, LD_PRELOAD=shim, SHIM='fsync') as server:
        same('file', ask(server, 'sync up 3\nnew'), b'error Input/output error\n')
        same('without', ask(server, 'put other 3\nnew'), b'took 3\n')
        ends(server)
    same('old', content(folder, 'up'), b'old')
    with serve(exe, folder, LD_PRELOAD=shim, SHIM='directory slow') as server:
        together(8, lambda i: same('directory', ask(server, f'sync up{i} 3\nnew'),
                                   b'error Input/output error\n'))
        ends(server)
    same('left', hidden(folder), [])


def grouped(folder, exe, shim):
    """Uploads that wait for a directory's sync share it."""
    shares_syncs(folder, exe, shim, lambda i: f'sync s{i} 3\nnew', b'took 3\n')


def too_large(folder, exe):
    """A file beyond the server's limit is an error, and its bytes are taken."""
    put(folder, 'a', b'hello\n')
    with serve(exe, folder, before=['prlimit', '--fsize=500000']) as server:
        answers(server, [('put up 900000\n'.encode() + BYTES[:900_000] + b'get a\n',
                          b'error File too large\nfile 6\nhello\n')])
        ends(server)
    same('left', sorted(os.listdir(folder)), ['a'])


def full(folder, exe):
    """A full disk is an error, of that file alone, and there is room again afterwards."""
    if os.geteuid() != 0:
        raise Missing('mounting a small disk takes root')
    disk = f'{folder}/disk'
    os.mkdir(disk)
    # a mount namespace of the server's own: it ends with it, whatever happens
    mount = ['unshare', '-m', 'sh', '-c', f'mount -t tmpfs -o size=512k none {disk} && exec "$@"',
             'sh']
    with serve(exe, disk, before=mount) as server:
        big, small = b'put up 900000\n' + BYTES[:900_000], b'sync small 3\nnew'
        for _ in range(3):
            same('full', ask(server, big + small),
                 b'error No space left on device\ntook 3\n')
        same('room', ask(server, b'put up 300000\n' + BYTES[:300_000] + b'raw small\n'),
             b'took 300000\nnew')
        names = os.listdir(f'/proc/{server.process.pid}/root{disk}')
        same('names', sorted(name for name in names if name[0] != '.'), ['small', 'up'])
        ends(server)


PLAIN = (whole, places, cut, killed, outlived, removed, foreign, too_large, full)
SHIMMED = (unnamed, failing, grouped)
