"""What hostile clients try. Each check gets a World. Must not know: models."""

import contextlib
import itertools
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from support.connection import all_of
from support.expect import expect
from support.nest import Failed
from world import BIG, LIMIT, Control


def bounces(world):
    """PORT and EPRT to another address, or to a low port, are refused, and nothing is connected"""
    with socket.socket() as victim:
        victim.bind(('127.0.0.2', 0))
        victim.listen()
        port = victim.getsockname()[1]
        with Control(world) as c:
            c.ask(f'PORT 127,0,0,2,{port >> 8},{port & 255}', 501)
            c.ask(f'EPRT |1|127.0.0.2|{port}|', 501)
            c.ask('PORT 127,0,0,1,0,25', 501)
            c.ask('EPRT |1|127.0.0.1|25|', 501)
            c.ask('EPRT |2|::1|4000|', 501)
            c.ask('EPRT |3|x|4000|', 522)
            for wrong in ('PORT 1,2,3', 'PORT 127,0,0,1,999,1', 'PORT 127,0,0,1,4,1,1', 'EPRT |1|127.0.0.1|4000', 'EPRT |||', 'EPRT |'):
                c.ask(wrong, 501)
            c.ask('LIST', 425)
        expect(not select.select([victim], [], [], 0.2)[0], 'somebody has connected')
    with Control(world, six=True) as c:
        c.ask('PASV', 425)
        c.ask('EPSV 1', 522)
        c.ask('EPSV ALL', 200)
        c.ask('PASV', 503)
        c.ask('EPRT |2|::1|4000|', 503)


def steals(world):
    """A passive data connection from another address is reset, and the client still gets the file"""
    world.put('alice/mine', b'mine')
    with Control(world) as c:
        port = int(c.ask('EPSV', 229).split('|')[3])
        thief = socket.create_connection(('127.0.0.1', port), LIMIT, source_address=('127.0.0.3', 0))
        c.send('RETR mine')
        try:
            expect(thief.recv(100) == b'', 'the thief got something')
        except ConnectionResetError:
            pass
        own = socket.create_connection(('127.0.0.1', port), LIMIT)
        c.code(150)
        expect(all_of(own) == b'mine', 'the client did not get it')
        c.code(226)
        try:    # the port is for one connection
            socket.create_connection(('127.0.0.1', port), LIMIT).close()
            raise Failed('the port is still open')
        except ConnectionRefusedError:
            pass


def climbs(world):
    """No path leads out of the home: not "..", not links to elsewhere or to others, not what the server keeps to itself"""
    world.put('bob/private', b'private')
    with open(os.path.join(os.path.dirname(world.root), 'secret'), 'wb') as file:
        file.write(b'secret')
    for name, target in (('out', '../../secret'), ('other', '../bob/private'), ('others', '../bob'), ('all', '/etc')):
        if not os.path.lexists(world.path(f'alice/{name}')):
            os.symlink(target, world.path(f'alice/{name}'))
    with Control(world) as c:
        for name in ('../bob/private', '/../bob/private', 'x/../../bob/private', 'out', 'other', 'others/private', 'all/passwd',
                     '/etc/passwd', '../../secret', 'others/', '.nest-upload-1/x'):
            for verb in ('SIZE', 'MDTM', 'RETR', 'STAT', 'CWD', 'MLST', 'LIST'):
                c.send(f'{verb} {name}')
                code, text = c.reply()
                expect(code == 550, f'{verb} {name}: {text}')
        for verb in ('STAT', 'LIST', 'NLST'):
            c.ask(f'{verb} */.nest-upload-1', 550)
        for command in ('RNFR others/private', 'RNFR all/passwd', 'RNFR ../../secret', 'RNFR .nest-upload-1/x', 'DELE .nest-upload-1/x',
                        'DELE all/passwd', 'DELE others/private', 'SITE CHMOD 777 other', 'MFMT 20200102030405 other', 'MKD others/x', 'RMD others',
                        'MKD .nest-upload-1', 'STOR others/new', 'APPE others/private', 'STOR .nest-upload-1'):
            c.ask(command, 550)
        c.ask('APPE other', 553)
        c.ask('CWD ../../..', 250)
        expect('"/"' in c.ask('PWD', 257), 'the folder')
        c.ask('RNFR out', 350)
        c.ask('RNTO others/stolen', 550)
    expect(world.get('bob/private') == b'private' and sorted(os.listdir(world.path('bob'))) == ['private'], 'another home was changed')


class Swapper(threading.Thread):
    """Gives a name in turns to a folder and to a link."""

    def __init__(self, name, folder, link):
        super().__init__(daemon=True)
        self.moves, self.ends = [(folder, name), (name, folder), (link, name), (name, link)], threading.Event()

    def run(self):
        while not self.ends.is_set():
            for old, new in self.moves:
                os.rename(old, new)

    def end(self):
        self.ends.set()
        self.join()


def swaps(world):
    """A folder that becomes a link to another home while a command is under way leads nowhere, by any command"""
    own, other = world.path('alice/own'), world.path('bob')
    os.makedirs(own)
    os.makedirs(os.path.join(other, 'kept'))
    world.put('bob/private', b'private')
    os.chmod(world.path('bob/private'), 0o640)
    os.symlink('../bob', world.path('alice/link'))
    before = os.stat(world.path('bob/private'))
    at = os.open(own, os.O_RDONLY)
    swapper, seen = Swapper(world.path('alice/swap'), own, world.path('alice/link')), set()
    turns = 0
    swapper.start()
    try:
        with Control(world) as c:
            while turns < 150 or (len(seen) < 3 and turns < 3000):     # few commands succeed in a server with sanitizers
                turns += 1
                with open(os.open('private', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=at), 'wb') as file:
                    file.write(b'own')
                for verb, kind in (('RETR swap/private', 'I'), ('RETR swap/private', 'A'), ('LIST swap', 'I'), ('NLST swap/*', 'I')):
                    c.ask(f'TYPE {kind}', 200)
                    with c.passive() as data:
                        c.send(verb)
                        code, _ = c.reply()
                        if code == 150:
                            got = all_of(data) or b''
                            expect(b'kept' not in got and got != b'private', f'{verb}: {got!r}')
                            seen.add(verb)
                            c.code(226)
                with c.passive() as data:
                    c.send('STOR swap/stored')
                    if c.reply()[0] == 150:
                        data.sendall(b'stored')
                        data.close()
                        c.reply()
                for text in ('DELE swap/private', 'MKD swap/made', 'RMD swap/kept', 'SITE CHMOD 666 swap/private', 'RNFR swap/private',
                             'RNTO taken', 'RNFR taken', 'RNTO swap/given', 'MFMT 20200102030405 swap/private'):
                    c.send(text)
                    code, text = c.reply()
                    expect(code in (200, 213, 250, 257, 350, 503, 550), text)
                expect(sorted(os.listdir(other)) == ['kept', 'private'], f'{os.listdir(other)}')
    finally:
        swapper.end()
        os.close(at)
    now = os.stat(world.path('bob/private'))
    expect(world.get('bob/private') == b'private' and (now.st_mode, now.st_mtime_ns) == (before.st_mode, before.st_mtime_ns),
           'a file of another home was changed')
    expect(len(seen) == 3, f'only {seen} has succeeded at all')
    os.rmdir(os.path.join(other, 'kept'))


def follows(world):
    """A link through ".." that stays in the home leads to its file also while somebody renames others"""
    os.mkdir(world.path('alice/through'))
    world.put('alice/target', b'12345')
    world.put('alice/turn', b'')
    os.symlink('../target', world.path('alice/through/link'))
    turns = 'import os\nwhile True:\n    os.rename("turn", "turned")\n    os.rename("turned", "turn")'
    with subprocess.Popen([sys.executable, '-c', turns], cwd=world.path('alice')) as other:
        try:
            with Control(world) as c:
                for _ in range(3000):
                    expect(c.ask('SIZE through/link', 213) == '213 5\r\n', 'its size')
        finally:
            other.kill()


def explodes(world):
    """Patterns that take other servers for ever, REST beyond the end, and numbers without end"""
    world.put('alice/' + 'a' * 200, b'')
    with Control(world) as c:
        data = c.passive()
        since = time.monotonic()
        c.send('LIST ' + '*a' * 400 + 'b')
        c.code(150)
        expect(all_of(data) == b'', 'something matches')
        c.code(226)
        expect(time.monotonic() - since < 5, 'it took long')
        c.ask('LIST */*/*/../*/*/*', 550)
        c.ask('REST 999999999999999999', 350)
        c.ask('RETR mine', 554)
        c.ask('REST 5', 350)
        c.ask('STOR fresh', 554)
        c.ask('REST 99999999999999999999999', 501)
        c.ask('CWD ' + 'x' * 1100, 500)
        c.ask('CWD ' + 'x/' * 400, 550)


def floods(world):
    """A client that sends commands without end, or a line without end, holds nobody up"""
    with Control(world) as flood, Control(world) as other:
        flood.socket.setblocking(False)
        try:
            for _ in range(1000):
                flood.socket.send(b'NOOP\r\n' * 2000)
        except BlockingIOError:
            pass
        since = time.monotonic()
        for _ in range(20):
            other.ask('NOOP', 200)
        expect(time.monotonic() - since < 5, 'others wait')
    with Control(world) as c:
        try:
            c.socket.sendall(b'A' * 100_000)
        except (ConnectionResetError, BrokenPipeError):
            pass
        expect(all_of(c.socket) in (b'500 A line is too long.\r\n', None), 'it goes on')


def stalls(world):
    """A data connection that takes nothing, says nothing, or never comes, ends in time, and the conversation goes on"""
    world.put('alice/big', BIG * 4)
    with Control(world) as c:
        data = c.passive()
        c.send('RETR big')
        c.code(150)
        c.code(426)     # writeTimeout is 8s here
        data.close()
        c.ask('NOOP', 200)


@contextlib.contextmanager
def scarcity(world, port, spare):
    """Leaves the process that listens on a port only so many descriptors."""
    with open('/proc/net/tcp', encoding='ascii') as file:
        words = [line.split() for line in file]
    door = next(f'socket:[{word[9]}]' for word in words if word[1].endswith(f':{port:04X}') and word[3] == '0A')
    for pid in world.server.family():
        used = {}
        with contextlib.suppress(OSError):      # it has ended in the meantime
            for name in os.listdir(f'/proc/{pid}/fd'):
                with contextlib.suppress(FileNotFoundError):
                    used[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
        if door in used.values():
            break
    else:
        raise Failed(f'nobody listens on {port}')
    free = [number for number in range(max(used) + spare + 2) if number not in used]
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free[spare], hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def scarce(world):
    """While there are few descriptors, an upload loses nothing of a file, and does not wait for a data connection that cannot be taken"""
    codes = set()
    for verb, early, spare in itertools.product(('APPE', 'STOR'), (False, True), range(8)):
        world.put('alice/scarce', b'old')
        with Control(world) as c:
            port = int(c.ask('EPSV', 229).split('|')[3])
            data = socket.create_connection(('127.0.0.1', port), LIMIT) if early else None
            with scarcity(world, port, spare):
                since = time.monotonic()
                c.send(f'{verb} scarce' if early else f'{verb} scarce\r\nSTAT')
                code = c.reply()[0]
                if not early and code != 213:   # that is the answer to STAT, while the server waits for the data connection
                    c.code(211)
                expect(time.monotonic() - since < 4, f'{verb} {spare}: it waits for a connection that is there')
            if code == 213:
                data = socket.create_connection(('127.0.0.1', port), LIMIT)
                c.code(150)
            if code in (150, 213):
                data.sendall(b'new')
            if data is not None:
                data.close()
            if code in (150, 213):
                c.code(226)
            wanted = b'old' if code not in (150, 213) else b'oldnew' if verb == 'APPE' else b'new'
            expect(world.get('alice/scarce') == wanted, f'{verb} {spare}: {code}, {world.get("alice/scarce")}')
            codes.add(code)
    expect({150, 213, 450} <= codes <= {150, 213, 425, 450}, f'{codes}')


def dies(world):
    """kill -9 of what serves, in each phase of an upload: the old file stays whole, and the server goes on"""
    world.put('alice/kept', b'old')
    for phase in range(4):
        with Control(world) as c:
            data = c.passive()
            if phase > 0:
                c.send('STOR kept')
                c.code(150)
            if phase > 1:
                data.sendall(BIG[:1_000_000])
            if phase > 2:
                data.sendall(BIG[1_000_000:])
            for pid in world.server.family()[1:]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            expect(world.get('alice/kept') == b'old', f'phase {phase}: the file has changed')
            data.close()
        for _ in range(100):
            try:
                with Control(world) as c:
                    c.ask('SIZE kept', 213)
                break
            except (OSError, Failed):
                time.sleep(0.1)
        else:
            raise Failed(f'phase {phase}: nobody serves')
    with Control(world) as c:
        expect(world.get('alice/kept') == b'old', 'the file has changed')
        expect('nest-upload' not in c.ask('STAT /', 213), 'something is left')


def leaves(world):
    """A client that is gone when its data ends has not said that the file is whole: the old one stays, and the log says who it was"""
    for number, (kind, verb, resets) in enumerate(itertools.product('IA', ('STOR', 'APPE'), (False, True))):
        name = f'left-{number}'
        world.put(f'alice/{name}', b'old')
        with Control(world) as c:
            c.ask(f'TYPE {kind}', 200)
            data = c.passive()
            c.send(f'{verb} {name}')
            c.code(150)
            data.sendall(b'half of it')
            time.sleep(0.05)    # what takes less than 10 ms is taken as it is
            if resets:
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        data.close()
        end, line = time.monotonic() + LIMIT, None
        while line is None:
            expect(time.monotonic() < end, f'{name} is not in the log')
            with open(world.log, encoding='latin-1') as file:
                line = next((line for line in file if f'/alice/{name} ' in line and line.endswith('\n')), None)
        expect(' 127.0.0.1 ' in line and line.endswith(' i\n'), line)
        expect(world.get(f'alice/{name}') == b'old', f'{kind} {verb} {resets}: {world.get(f"alice/{name}")}')


ALL = (bounces, steals, climbs, swaps, follows, explodes, floods, stalls, scarce, leaves, dies)
