"""Code that the tests of files and blocks share: a folder to serve, requests, comparisons.

Must not know: what is checked.
"""

import os
import socket
import struct
import threading
from support.nest import Failed, Missing, one_client
from support.server import Client, Server
from support.timed import again

BYTES = bytes(i * 7 % 251 for i in range(1 << 20))


def serve(exe, root, **more):
    """A server of the folder `root`."""
    return Server([*more.pop('before', ()), exe], options=(f'fileRoot={root}',), **more)


def ask(server, question):
    """All that the server says to one question."""
    with Client(server) as client:
        client.send(question if isinstance(question, bytes) else question.encode())
        client.half_close()
        return client.rest()


def same(what, got, wanted):
    """Failed unless they are."""
    if got != wanted:
        raise Failed(f'{what}: expected {wanted[:300]!r}, got {got[:300]!r}' if
                     isinstance(wanted, (bytes, str)) else
                     f'{what}: expected {wanted!r}, got {got!r}')


def answers(server, pairs):
    """Each question has its answer."""
    for question, wanted in pairs:
        same(question[:80], ask(server, question), wanted)


def put(root, name, data):
    """A file to serve."""
    with open(os.path.join(root, name), 'wb') as file:
        file.write(data)


def content(root, name):
    """What a file holds."""
    with open(os.path.join(root, name), 'rb') as file:
        return file.read()


def homes(root):
    """The folders that servers have made for uploads under way; a server removes its own at its end."""
    return sorted(name for name in os.listdir(root) if name.startswith('.nest-upload-'))


def hidden(root):
    """What uploads have left, in the folder for uploads under way or beside their places."""
    names = [name for name in os.listdir(root) if name.startswith('.')]
    return sorted([f'{name}/{inside}' for name in names if name in homes(root)
                   for inside in (os.listdir(f'{root}/{name}') if os.path.isdir(f'{root}/{name}')
                                  else [''])] +
                  [name for name in names if name not in homes(root)])


def reset(client):
    """Closes so that the server sees a reset."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    client.socket.close()


def together(count, work):
    """work(0) to work(count - 1) at once; the first failure of any."""
    failures = []

    def one(number):
        try:
            work(number)
        except (Failed, OSError) as error:
            failures.append(error)
    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def ends(server):
    """It stops with status 0, and nothing was said that a sanitizer says."""
    same('exit status', server.stop(), 0)
    for word in ('Sanitizer', 'runtime error', 'crashed'):
        if word in server.said():
            raise Failed(server.said())


def shares_syncs(folder, exe, shim, question, answer):
    """24 clients at once, each with a file of one directory that is to be on disk: `question(i)`."""
    if one_client(exe):
        raise Missing('a process has one client')

    def once(number):
        os.mkdir(f'{folder}/{number}')
        _shares_syncs(f'{folder}/{number}', exe, shim, question, answer)
    again(once)


def _shares_syncs(folder, exe, shim, question, answer):
    strace = ['strace', '-f', '-qq', '--seccomp-bpf', '-e', 'trace=fsync', '-o', f'{folder}/calls',
              '-E', f'LD_PRELOAD={shim}', '-E', 'SHIM=slow']
    os.mkdir(f'{folder}/root')
    with serve(exe, f'{folder}/root', before=strace) as server:
        together(24, lambda i: same('sync', ask(server, question(i)), answer))
        same('exit status', server.stop(server.family()[1]), 0)
    calls = content(folder, 'calls').count(b'fsync(')
    if not 24 < calls <= 24 + 16:
        raise Failed(f'{calls} calls of fsync for 24 files in one directory')
