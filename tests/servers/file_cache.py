"""fileCache: every answer is a version of the file that existed within the last second, while files are
replaced, truncated, removed and renamed, and processes of the server are killed.

Must not know: where the server keeps contents.
"""

import contextlib
import os
import random
import re
import subprocess
import tempfile
import threading
import time
import urllib.request
from support import sample
from support.cases import attempt, built
from support.nest import Failed, program
from support.server import Client, Server, running

SPEC = r'''
%option eventServer 60
%option fileCache LRU 1M
%option metrics 127.0.0.1:0
%{
#include <unistd.h>
%}
NL "\n"
%%
get = "get " [!-~]+ NL {
    nest_file file;
    if ($fileOpen($2, &file) < 0 || file.size == 0) { $reply("0\n"); }
    else { $reply("%llu\n", (unsigned long long)file.size); $fileReply(&file); }
}
add = "add " [!-~]+ NL {
    nest_file file;
    nest_upload *upload = $fileCreate($2);
    if (upload == NULL) { $reply("none\n"); return; }
    unsigned long long n = $fileOpen($2, &file) < 0 ? 0 : file.size;
    for (unsigned long long i = 0; i <= n; i++) { $fileWrite(upload, "x", 1); }
    $reply("%llu %d\n", n, $fileCommit(upload, NEST_UNCHANGED));
}
pid = "pid" NL { $reply("%ld\n", (long)getpid()); }
'''
# Of two files the smaller one stays.
CUSTOM = 'custom 1M\n%cache { return uses > 0 && now > 0 && least <= 0 ? -(double)size : 1; }'
STUCK = 'custom 1M\n%cache { volatile int on = 1; while (on) { } return 1; }'
# Answers may begin up to a second after a look at the file; this much more is for slow machines' clocks.
AGE, SLACK = 1.0, 0.3
RESTS = 3.5         # seconds after which a file that nobody has changed is cached
CALLS = 'trace=%file,pread64,preadv2,fstat,sendfile,close,write'
ANSWERS = 50
TIMEOUT, ROUNDS, CLIENTS, FILES, SIZE = 60, 4, 6, 12, 20000
BOUND = 1 << 20


class Cut(Exception):
    """The connection has ended within or before an answer."""


def ask(client, path):
    """What the server answers: the contents; None: there is no such file, or nothing in it."""
    size = b''
    try:
        client.send(f'get {path}\n'.encode())
        while not size.endswith(b'\n'):
            byte = client.take(1)
            if not byte:
                raise Cut
            size += byte
    except OSError as error:
        raise Cut from error
    contents = client.take(int(size))
    if len(contents) < int(size):
        raise Cut
    return contents or None


class Versions:
    """What each path has been: [(from, until, contents)], None for no file. A change takes time: the old
    version ends when it is done, the new one begins when it starts."""

    def __init__(self):
        self.known = {}

    def change(self, path, contents, how):
        """Does what `how` does, which gives the path these contents."""
        begun = time.monotonic()
        versions = self.known.setdefault(path, [])
        versions.append([begun, None, contents])
        how()
        if len(versions) > 1:
            versions[-2][1] = time.monotonic()

    def holds(self, path, asked, answered, contents):
        """Whether that answer may be given."""
        return any(version == contents and begin <= answered
                   and (end is None or end + AGE + SLACK >= asked)
                   for begin, end, version in list(self.known[path]))


def contents_of(name, number, size):
    """Bytes of which every part names the file and its version."""
    line = f'{name} {number} '.encode()
    return (line * (size // len(line) + 1))[:size]


def write(path, contents):
    """In place of what was there, at once."""
    with open(f'{path}.new', 'wb') as file:
        file.write(contents)
    os.replace(f'{path}.new', path)


def counts(server):
    """The counts of fileCache."""
    address = re.search(r'metrics at (\S+)', server.said())
    with urllib.request.urlopen(f'http://{address[1]}/metrics', timeout=TIMEOUT) as answer:
        text = answer.read().decode()
    return {name: int(value) for name, value in re.findall(r'^nest_file_cache_(\w+?)(?:_total)? (\d+)$', text, re.M)}


def wait(what, condition):
    """Until it holds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise Failed(f'{what}: not within {TIMEOUT} s')
        time.sleep(0.05)


class Folder:
    """The files of a server, and what changes them."""

    def __init__(self, root, rng):
        self.root, self.rng, self.number, self.versions = root, rng, 0, Versions()
        self.paths = [f'{folder}/f{i}' for folder in ('one', 'two') for i in range(FILES // 2)]
        for folder in ('one', 'two', 'spare'):
            os.mkdir(os.path.join(root, folder))
        for path in self.paths:
            self.replace(path)

    def at(self, path):
        """Its real path."""
        return os.path.join(self.root, path)

    def fresh(self, path):
        """Contents that nobody has seen."""
        self.number += 1
        return contents_of(path, self.number, self.rng.choice((1, 50, 1024, 1025, SIZE)))

    def replace(self, path):
        """Another file gets the name."""
        contents = self.fresh(path)
        self.versions.change(path, contents, lambda: write(self.at(path), contents))

    def remove(self, path):
        """The file is there no more."""
        if os.path.exists(self.at(path)):
            self.versions.change(path, None, lambda: os.unlink(self.at(path)))
        else:
            self.replace(path)

    def truncate(self, path):
        """It becomes shorter in place."""
        if not os.path.exists(self.at(path)):
            return
        with open(self.at(path), 'rb') as file:
            contents = file.read()
        short = contents[:len(contents) // 2]
        self.versions.change(path, short or None, lambda: os.truncate(self.at(path), len(short)))

    def link(self, path):
        """A hard link of another file takes the name."""
        contents, other = self.fresh(path), self.at(f'spare/{self.number}')
        write(other, contents)
        os.link(other, f'{other}.link')
        self.versions.change(path, contents, lambda: os.replace(f'{other}.link', self.at(path)))

    def old(self, path):
        """A file that has rested, of another name, takes this one."""
        contents, other = self.fresh(path), self.at(f'spare/{self.number}')
        write(other, contents)
        os.utime(other, (1, 1))
        self.versions.change(path, contents, lambda: os.replace(other, self.at(path)))

    def swap(self):
        """Two folders change their names, with everything in them. In between neither is there."""
        now = {path: self.versions.known[path][-1][2] for path in self.paths}
        begun = time.monotonic()
        for path in self.paths:
            turned = ('two' if path.startswith('one') else 'one') + path[3:]
            self.versions.known[path] += [begun, None, None], [begun, None, now[turned]]
        os.rename(self.at('one'), self.at('three'))
        os.rename(self.at('two'), self.at('one'))
        os.rename(self.at('three'), self.at('two'))
        for path in self.paths:
            for version in self.versions.known[path][-3:-1]:
                version[1] = time.monotonic()


class Load(threading.Thread):
    """A client that asks for files, and looks at every answer."""

    def __init__(self, server, folder, seed):
        super().__init__()
        self.server, self.folder, self.rng = server, folder, random.Random(seed)
        self.over, self.wrong, self.answers, self.cuts = threading.Event(), None, 0, 0

    def run(self):
        while not self.over.is_set() and self.wrong is None:
            with contextlib.suppress(Cut, OSError), Client(self.server) as client:
                for _ in range(50):
                    self.one(client)
            self.cuts += 1

    def one(self, client):
        """One question."""
        path, asked = self.rng.choice(self.folder.paths), time.monotonic()
        contents = ask(client, path)
        answered = time.monotonic()
        self.answers += 1
        if not self.folder.versions.holds(path, asked, answered, contents):
            known = [(round(a - asked, 3), b and round(b - asked, 3), c and c[:24])
                     for a, b, c in self.folder.versions.known[path][-5:]]
            self.wrong = f'{path} is answered {contents and contents[:24]!r}, {answered - asked:.3f} s; it was {known}'
        if self.over.is_set() or self.wrong:
            raise Cut


def kill_one(server, rng):
    """A worker, or the service process: any child of the first process."""
    children = [pid for pid in server.family() if pid != server.process.pid]
    if children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(children), 9)


def changes(server, folder, rng):
    """under load, files change in every way, and processes are killed; each answer is right"""
    load = [Load(server, folder, rng.random()) for _ in range(CLIENTS)]
    for client in load:
        client.start()
    try:
        for turn in range(ROUNDS):
            before = counts(server)['hits'] if turn else 0
            time.sleep(RESTS)
            wait('no file is answered from memory', lambda: counts(server)['hits'] > before + 100)
            for path in folder.paths:
                rng.choice((folder.replace, folder.remove, folder.truncate, folder.link, folder.old))(path)
            if turn % 2 == 1:
                folder.swap()
            kill_one(server, rng)
    finally:
        for client in load:
            client.over.set()
        for client in load:
            client.join(TIMEOUT)
    wrong = [client.wrong for client in load if client.wrong]
    if wrong:
        raise Failed(wrong[0])
    if min(client.answers for client in load) < 10:
        raise Failed('a client got hardly an answer')


def bound(server, folder):
    """four times as much as fits: never more than the bound, and files leave for others"""
    for i in range(4 * BOUND // SIZE):
        write(folder.at(f'spare/large{i}'), contents_of('large', i, SIZE))
    time.sleep(RESTS)

    def all_asked():
        with Client(server) as client:
            for i in range(4 * BOUND // SIZE):
                if ask(client, f'spare/large{i}') != contents_of('large', i, SIZE):
                    raise Failed(f'file {i} is answered wrongly')
        now = counts(server)
        if now['size'] > BOUND:
            raise Failed(f'{now["size"]} bytes are kept instead of {BOUND}')
        return now['evictions'] > 0 and now['size'] > BOUND // 2
    wait('no file makes room for another', all_asked)


def calls_of(client, pid, path, count):
    """The calls on files that this process makes for so many answers."""
    with tempfile.TemporaryDirectory(prefix='nest-calls-') as folder:
        log = os.path.join(folder, 'log')
        with running(['strace', '-f', '-p', str(pid), '-o', log, '-e', CALLS],
                     stderr=subprocess.PIPE) as strace:
            if b'attached' not in strace.stderr.readline():
                raise Failed('strace does not attach')
            for _ in range(count):
                ask(client, path)
            strace.terminate()
            strace.wait(TIMEOUT)
        with open(log, encoding='latin-1') as file:
            return [line for line in file if '(' in line]


def silent(server, folder):
    """a file in memory costs no call but that which sends it"""
    folder.replace(folder.paths[0])
    time.sleep(RESTS)
    with Client(server) as client:
        client.send(b'pid\n')
        pid = b''
        while not pid.endswith(b'\n'):
            pid += client.take(1)

        # Where others keep the machine busy, a look at the file may be late; then it is opened.
        wait('files in memory cost calls', lambda: not calls_of(client, int(pid), folder.paths[0], ANSWERS))
        if len(calls_of(client, int(pid), 'none', ANSWERS)) < ANSWERS:
            raise Failed('the calls for a file that is not there are not seen')


def guarded(server, folder):
    """an upload that replaces only what its action has seen sees the file, not what is in memory"""
    write(folder.at('spare/sum'), b'x')
    time.sleep(RESTS)
    with Client(server) as client:
        for _ in range(ANSWERS):            # it comes into memory
            ask(client, 'spare/sum')
        for n in range(1, 5):
            client.send(b'add spare/sum\n')
            client.expect(b'%d 0\n' % n)


def settled(server):
    """The counts, once nothing is read into memory any more."""
    before = None
    while before is None or counts(server)['loads'] != before['loads']:
        before = counts(server)
        time.sleep(2)
    return before


def left(server, root):
    """Whether a small file leaves when large ones come that together do not fit."""
    write(os.path.join(root, 'small'), b'small')
    large = [f'large{i}' for i in range(4)]
    for name in large:
        write(os.path.join(root, name), contents_of(name, 1, BOUND * 2 // 5))
    time.sleep(RESTS)
    with Client(server) as client:
        def hit():
            before = counts(server)['hits']
            ask(client, 'small')
            return counts(server)['hits'] > before

        def made_room():
            for name in large:
                ask(client, name)
            return counts(server)['evictions'] >= 2 * len(large)
        wait('the small file does not come into memory', hit)
        wait('large files make no room', made_room)
        before = settled(server)
        wait('the small file does not come into memory again', hit)
        return counts(server)['loads'] > before['loads']


def custom(exe, root):
    """the code of %cache says which file leaves; another policy can be chosen at the start"""
    for policy, leaves in ('custom', False), ('LRU', True):
        with Server([exe], options=(f'fileRoot={root}', f'fileCache={policy} 1M')) as server:
            if left(server, root) != leaves:
                raise Failed(f'{policy}: the small file {"stays" if leaves else "leaves"}')


def stuck(exe, root):
    """code of %cache that loops for ever is reported, and files are served nevertheless"""
    write(os.path.join(root, 'small'), b'small')
    time.sleep(RESTS)
    with Server([exe], options=(f'fileRoot={root}',)) as server, Client(server) as client:
        def reported():
            if ask(client, 'small') != b'small':
                raise Failed('the file is not served')
            return 'the code of %cache does not return' in server.said()
        wait('nothing is said of it', reported)


def missing(exe, root):
    """the policy custom is refused where the specification has no code for it"""
    done = subprocess.run([exe, '--set', f'fileRoot={root}', '--set', 'fileCache=custom 1M', '--check-config'],
                          capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode == 0 or 'has no %cache' not in done.stderr:
        raise Failed(f'status {done.returncode}: {done.stderr}')


def sizes(exe, root):
    """a size out of range is refused, also one of more than 64 bits"""
    for value in 'LRU 16777217T', 'LRU 17179869185G', 'LRU 2T', 'LRU 1K', 'LRU T', 'LRU 1TT', 'LRU-Threshold 1M 16777217T':
        done = subprocess.run([exe, '--set', f'fileRoot={root}', '--set', f'fileCache={value}', '--check-config'],
                              capture_output=True, text=True, timeout=TIMEOUT)
        said = [line for line in done.stderr.splitlines() if 'fileCache' in line]
        if done.returncode == 0 or len(said) != 1 or 'from 64K to 1T' not in said[0]:
            raise Failed(f'{value}: status {done.returncode}: {done.stderr}')
    done = subprocess.run([exe, '--set', f'fileRoot={root}', '--set', 'fileCache=LRU-Threshold 128k 65536', '--check-config'],
                          capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise Failed(done.stderr)


def run(report, models):
    """Every case."""
    rng = random.Random(sample.SEED)
    with tempfile.TemporaryDirectory(prefix='nest-file-cache-') as folder:
        for model in models:
            exe = built(program(), model, SPEC, os.path.join(folder, model))
            root = os.path.join(folder, f'files-{model}')
            os.mkdir(root)
            files = Folder(root, rng)
            with Server([exe], options=(f'fileRoot={root}',)) as server:
                attempt(report, model, 'file cache', silent.__doc__, lambda: silent(server, files))
                attempt(report, model, 'file cache', changes.__doc__, lambda: changes(server, files, rng))
                attempt(report, model, 'file cache', guarded.__doc__, lambda: guarded(server, files))
                attempt(report, model, 'file cache', bound.__doc__, lambda: bound(server, files))
            attempt(report, model, 'file cache', missing.__doc__, lambda: missing(exe, root))
            attempt(report, model, 'file cache', sizes.__doc__, lambda: sizes(exe, root))
            exe = built(program(), model, SPEC.replace('LRU 1M', CUSTOM), os.path.join(folder, f'{model}-custom'))
            root = os.path.join(folder, f'files-{model}-custom')
            os.mkdir(root)
            attempt(report, model, 'file cache', custom.__doc__, lambda: custom(exe, root))
            exe = built(program(), model, SPEC.replace('LRU 1M', STUCK), os.path.join(folder, f'{model}-stuck'))
            attempt(report, model, 'file cache', stuck.__doc__, lambda: stuck(exe, root))
