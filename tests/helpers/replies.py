"""Tests files that are sent to clients: inside and outside of the root, all sizes, files that change.

Must not know: how the server reads them.
"""

import os
import socket
import threading
import time
from checks import BYTES, answers, ask, content, ends, put, same, serve, together
from support.nest import Failed
from support.server import Client

OUTSIDE = b'error Invalid cross-device link\n'
SIZES = (0, 1, 49151, 49152, 49153, 65535, 65536, 65537, 200_000, 1 << 20)


def tree(root, outside):
    """Names of every kind, in and out of the folder."""
    os.makedirs(f'{root}/sub')
    put(root, 'a', b'hello\n')
    put(outside, 'secret', b'secret')
    for name, target in (('absolute', f'{outside}/secret'), ('up', '..'), ('in', 'sub/../a'),
                         ('folder', 'sub'), ('loop', 'loop'),
                         ('root', '/proc/self/root/etc/passwd'), ('fd', '/proc/self/fd/0')):
        os.symlink(target, f'{root}/{name}')
    os.mkfifo(f'{root}/fifo')
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f'{root}/socket')


def beneath(folder, exe):
    """Nothing outside the root is opened, and nothing that is no file."""
    root = f'{folder}/root'
    os.mkdir(root)
    tree(root, folder)
    inside, kind = b'file 6\nhello\n', b'error No such device or address\n'
    with serve(exe, root) as server:
        answers(server, [(f'get {path}\n', inside)
                         for path in ('a', '/a', '//a', './a', 'sub/../a', 'in', 'folder/../a')])
        answers(server, [(f'get {path}\n', OUTSIDE)
                         for path in ('..', '../secret', 'sub/../../secret', '/../secret',
                                      'absolute', 'up/secret', 'root', 'fd')])
        answers(server, [(f'get {path}\n', kind) for path in ('fifo', 'socket')])
        answers(server, [
            ('get no\n', b'error No such file or directory\n'),
            ('get a/\n', b'error Not a directory\n'),
            ('get loop\n', b'error Too many levels of symbolic links\n'),
            (f'get {"n" * 300}\n', b'error File name too long\n'),
            (f'get {"n/" * 2500}\n', b'error File name too long\n'),
            ('get sub\n', b'file 0\n'), ('get /\n', b'file 0\n'),
            ('raw sub\n', b'error Is a directory\n')])
        ends(server)


def walked(folder, exe, shim):
    """Without openat2 links and ".." are refused, and all else is found."""
    root = f'{folder}/root'
    os.mkdir(root)
    tree(root, folder)
    with serve(exe, root, LD_PRELOAD=shim, SHIM='openat2') as server:
        answers(server, [(f'get {path}\n', b'file 6\nhello\n') for path in ('a', '//a', './a')])
        answers(server, [
            ('get ..\n', OUTSIDE), ('get sub/../a\n', OUTSIDE),
            ('get in\n', b'error Too many levels of symbolic links\n'),
            ('get up/secret\n', b'error Not a directory\n'), ('get /\n', b'file 0\n'),
            ('get a/\n', b'error Not a directory\n'),
            ('put sub/b 3\nabc', b'took 3\n'), ('get sub//b\n', b'file 3\nabc')])
        ends(server)
        if 'openat2' not in server.said():
            raise Failed('it does not say that links are not followed')


def renamed(folder, exe):
    """Names that change under a path never lead outside."""
    root, over = f'{folder}/root', threading.Event()
    os.makedirs(f'{root}/x/y/z')
    put(root, 'secret', b'inner')
    put(folder, 'secret', b'outer')

    def rename():
        while not over.is_set():
            os.rename(f'{root}/x/y', f'{folder}/y')
            os.rename(f'{folder}/y', f'{root}/x/y')
    mover = threading.Thread(target=rename, daemon=True)
    mover.start()
    try:
        with serve(exe, root) as server, Client(server) as client:
            client.send(b'get x/y/z/../../../secret\n' * 2000)
            client.half_close()
            if b'outer' in client.rest():
                raise Failed('a file outside was sent')
    finally:
        over.set()
        mover.join()


def sizes(folder, exe):
    """Files of all sizes arrive, alone and one behind the other, also from the disk."""
    for size in SIZES:
        put(folder, f'f{size}', BYTES[:size])
    with serve(exe, folder) as server:
        answers(server, [(f'get f{n}\n', b'file %d\n' % n + BYTES[:n]) for n in SIZES])
        same('all', ask(server, ''.join(f'get f{n}\n' for n in SIZES)),
             b''.join(b'file %d\n' % n + BYTES[:n] for n in SIZES))
        os.sync()
        for size in SIZES:          # out of the cache
            with open(f'{folder}/f{size}', 'rb') as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        answers(server, [(f'get f{n}\n', b'file %d\n' % n + BYTES[:n]) for n in SIZES])
        ends(server)


def large(folder, exe):
    """A sparse file of 1 GB arrives, in little memory."""
    with open(f'{folder}/sparse', 'wb') as file:
        file.truncate(1 << 30)
    with serve(exe, folder) as server, Client(server) as client:
        client.send(b'raw sparse\n')
        left = 1 << 30
        buffer = bytearray(1 << 20)
        while left > 0:
            n = client.socket.recv_into(buffer)
            if n == 0 or any(buffer[:n:4096]):
                raise Failed(f'{left} bytes before the end: {n}')
            left -= n
        with open(f'/proc/{server.family()[-1]}/status', encoding='ascii') as file:
            anonymous = [line for line in file if line.startswith('RssAnon')]
        if 'asan' not in exe and 'tsan' not in exe and int(anonymous[0].split()[1]) > 8192:
            raise Failed(f'memory: {anonymous[0]}')


def shrunk(folder, exe):
    """A file that shrinks while it is sent ends in a reset, one that grows as it was."""
    with open(f'{folder}/short', 'wb') as file:
        file.truncate(1 << 28)
    put(folder, 'long', BYTES)
    with serve(exe, folder) as server:
        with Client(server, receive=4096) as client:
            client.send(b'raw short\n')
            client.take(1000)
            os.truncate(f'{folder}/short', 1000)
            try:
                while client.socket.recv(1 << 16):
                    pass
                raise Failed('an end that looks like the file\'s')
            except ConnectionResetError:
                pass
        with Client(server, receive=4096) as client:
            client.send(b'get long\n')
            client.take(1000)
            with open(f'{folder}/long', 'ab') as file:
                file.write(b'more')
            client.half_close()
            same('length', 1000 + len(client.rest()), len(b'file 1048576\n') + len(BYTES))
        same('exit status', server.stop(), 0)
        if 'shrank' not in server.said():
            raise Failed('it does not say why it closed the connection')


def slow(folder, exe):
    """Many slow readers get their files, and others are served meanwhile."""
    count = 200 if 'event' in exe else 40
    put(folder, 'big', BYTES)
    put(folder, 'a', b'hello\n')

    def read(number):
        if number == count:
            time.sleep(0.2)
            same('meanwhile', ask(server, 'get a\n'), b'file 6\nhello\n')
            return
        with Client(server, receive=8192) as client:
            client.send(b'raw big\n')
            client.half_close()
            got = bytearray()
            while chunk := client.socket.recv(30_000):
                got += chunk
                time.sleep(0.001)
            if got != BYTES:
                raise Failed(f'a slow reader got {len(got)} bytes')
    with serve(exe, folder) as server:
        together(count + 1, read)
        ends(server)


def opened(folder, exe):
    """An action has a bounded number of files open, and they are closed with it."""
    put(folder, 'a', b'hello\n')
    with serve(exe, folder) as server:
        for _ in range(30):
            same('many', ask(server, 'many a\nmany a\n'), b'16 Too many open files\n' * 2)
        same('late', ask(server, 'keep a\nlate\n'), b'0\n-1 Bad file descriptor\n')
        # what is kept for who asks next is one file, and no longer than a second
        same('kept open', len(held(server)) <= 1, True)
        end = time.monotonic() + 30
        while held(server) and time.monotonic() < end:
            time.sleep(0.05)
        same('left open', held(server), [])
        same('content', content(folder, 'a'), b'hello\n')
        ends(server)


def held(server):
    """The descriptors of the file that a server's processes have."""
    return [link for pid in server.family() for link in links(pid) if link.endswith('/a')]


def links(pid):
    """What a process has open; nothing if it ends meanwhile."""
    folder, found = f'/proc/{pid}/fd', []
    try:
        for fd in os.listdir(folder):
            found.append(os.readlink(f'{folder}/{fd}'))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


PLAIN = (beneath, renamed, sizes, large, shrunk, slow, opened)
SHIMMED = (walked,)
