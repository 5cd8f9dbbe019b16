"""Builds servers to test: generates a project for (specification, model), compiles it once, and
caches it.

Most specifications differ in their matchers and actions, but need the same parts of the runtime. The
runtime is compiled in two units (runner/units.py), and each is kept as an object file for all servers
in which it is the same. The cache key consists of the generated files, the compiler and the flags.
Must not know: conversations.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import threading
import time
from . import scratch, units

MODELS = ('script', 'process', 'prefork', 'thread', 'event', 'uring')
SANITIZE = {'thread': 'thread'}     # others: address,undefined; but see flags
COMPILER = {'process': 'gcc'}       # others: clang, which takes half as long; so both compilers are used
TIME = 300
RECENT = 3600       # seconds


class BuildError(Exception):
    """nest or the C compiler failed, with its output."""


def bounded(command, seconds=TIME, **more):
    """Runs a command with a time limit. Returns (status, output, errors)."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=seconds, **more)
    except subprocess.TimeoutExpired:
        return None, b'', f'{command[0]} did not end within {seconds} s'.encode()
    return done.returncode, done.stdout, done.stderr


def write_files(folder, case):
    """Writes a case's files. Returns the path of the specification."""
    for name, text in case.files.items():
        if name == case.spec and case.missing:
            continue
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    return os.path.join(folder, case.spec)


class Builder:
    """Builds and caches servers. Its methods may be called from several threads."""

    def __init__(self, nest, cache, cc=None, optimise='-O0', lines=()):
        self.nest, self.cache, self.optimise, self.lines = nest, cache, optimise, lines
        self.used, self.lock, self.busy = set(), threading.Lock(), {}
        self.processors = threading.Semaphore(os.cpu_count() or 1)  # more compilers would only wait for each other
        os.makedirs(cache, exist_ok=True)
        self.compilers = {model: cc or COMPILER.get(model, 'clang') for model in MODELS}
        self.identity = {}
        for name in set(self.compilers.values()):
            status, self.identity[name], errors = bounded([name, '--version'], 30)
            if status != 0:
                said = errors.decode(errors='replace').strip()
                raise BuildError(f'{name} --version failed: {said}')

    def flags(self, model):
        """The flags for a model, in addition to those that its own Makefile requires. With `processors` a
        loop has threads beside it, too."""
        beside = model in ('event', 'uring') and any('option processors' in line for line in self.lines)
        return [self.optimise, '-g1', '-fno-omit-frame-pointer',
                '-fsanitize=' + ('thread' if beside else SANITIZE.get(model, 'address,undefined')),
                '-fno-sanitize-recover=all']

    def server(self, case, model):
        """The path of the server of a case in a model."""
        with scratch.folder('case') as folder:
            spec = write_files(folder, case)
            project = os.path.join(folder, 'project')
            if self.lines and model != 'script':
                with open(spec, 'r+b') as file:
                    text = file.read()
                    file.seek(0)
                    file.write(''.join(f'{line}\n' for line in self.lines).encode() + text)
            status, out, errors = bounded(
                [self.nest, 'gen', '--trace', '--model', model, spec, '-o', project], 60,
                cwd=folder)
            if status != 0:
                raise BuildError('nest gen failed\n' + (out + errors).decode(errors='replace'))
            texts = read_tree(project)
            # The specification's folder appears in #line; without this the cache would never hit.
            texts = {name: text.replace(folder.encode(), b'.') for name, text in texts.items()}
            key = self._key(model, texts, case.files)
            return self._kept(key, lambda place: self._link(project, texts, folder, model, place))

    def _key(self, model, *files):
        """A cache key for {name: text}."""
        return digest(self.identity[self.compilers[model]], json.dumps(self.flags(model)).encode(),
                      *(part for texts in files for name, text in sorted(texts.items())
                        for part in (name.encode(), text if isinstance(text, bytes) else text.encode())))

    def _kept(self, key, make):
        """The path of what has that name; `make` makes it once, at a place that it is given.

        Compilers write it there and this process does not: a file that is open for writing here is open
        in every process that another thread forks meanwhile, and until that process runs its program,
        the system refuses to run the file ("Text file busy"). Another run of the suite may make the
        same; the last one stays."""
        with self.lock:
            self.used.add(key)
            turn = self.busy.setdefault(key, threading.Lock())
        kept = os.path.join(self.cache, key)
        with turn:
            try:
                os.utime(kept)          # so that `prune` of another run keeps it
            except FileNotFoundError:
                near = f'{kept}.{os.getpid()}'
                try:
                    make(near)
                    os.rename(near, kept)
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.remove(near)
        return kept

    def _link(self, project, texts, folder, model, made):
        """Makes a server of the runtime's objects and the rest, at a place."""
        try:
            with open(os.path.join(project, 'server.c'), encoding='utf-8') as file:
                parts, rest = units.divide(file.read(), texts)
        except ValueError as error:
            raise BuildError(f'server.c cannot be divided: {error}') from error
        flags = demanded(project)
        with open(os.path.join(project, 'rest.c'), 'w', encoding='utf-8') as file:
            file.write(rest)
        objects = [self._object(project, model, flags, *part) for part in parts]
        objects += self._filters(project, texts, model, flags)
        # The linker takes a file without a C suffix for an object file.
        self._compile(model, folder, [
            *flags, '-iquote', project, '-iquote', folder, '-o', made, os.path.join(project, 'rest.c'),
            os.path.join(project, 'actions.c'), *objects, '-lm', *demanded(project, 'NEST_LDLIBS')])

    def _object(self, project, model, flags, name, unit, used):
        """The path of the object file of a unit of the runtime, which uses these files."""
        def make(place):
            with open(os.path.join(project, name), 'w', encoding='utf-8') as file:
                file.write(unit)
            self._compile(model, project, [*flags, '-iquote', '.', '-c', '-o', place, name])

        return self._kept(self._key(model, used, {name: unit, 'flags': ' '.join(flags)}), make)

    def _filters(self, project, texts, model, flags):
        """The object files of the filters in a server."""
        folders = [word for name in ('chain', 'frame', 'libcc', 'protocol')
                   for word in ('-iquote', f'conditioning/{name}')]
        used = {name: text for name, text in texts.items()
                if name.startswith('conditioning/') and not name.startswith('conditioning/server/')}
        made = []
        for name in demanded(project, 'FILTERS', needed=False):
            unit = name.removesuffix('.o') + '.c'

            def make(place, unit=unit):
                self._compile(model, project, [*flags, *folders, '-c', '-o', place, unit])
            made.append(self._kept(self._key(model, used, {unit: texts[unit], 'flags': ' '.join(flags)}), make))
        return made

    def _compile(self, model, folder, words):
        with self.processors:
            status, out, errors = bounded([self.compilers[model], *self.flags(model), *words], cwd=folder)
        if status != 0:
            raise BuildError(f'{self.compilers[model]} failed\n' + (out + errors).decode(errors='replace'))

    def check(self, case):
        """The findings of `nest check`: a list of its JSON objects."""
        with scratch.folder('case') as folder:
            spec = write_files(folder, case)
            status, out, errors = bounded(
                [self.nest, 'check', '--format', 'json', os.path.basename(spec)], 60, cwd=folder)
            if status not in (0, 1):
                raise BuildError(f'nest check ended with {status}\n'
                                 + (out + errors).decode(errors='replace'))
            found = []
            for line in (out + b'\n' + errors).splitlines():
                if line.startswith(b'{'):
                    found.append(json.loads(line))
            return found, status

    def prune(self):
        """Removes servers that this run did not use, unless they are so new that another run may
        use them."""
        for name in os.listdir(self.cache):
            path = os.path.join(self.cache, name)
            with contextlib.suppress(FileNotFoundError):        # another run may remove it too
                if name not in self.used and os.path.getmtime(path) < time.time() - RECENT:
                    os.remove(path)


def demanded(project, variable='NEST_FLAGS', needed=True):
    """The flags that a generated project's Makefile uses whatever CFLAGS and LDLIBS contain; the words of
    another variable."""
    with open(os.path.join(project, 'Makefile'), encoding='utf-8') as file:
        found = re.search(rf'^{variable} =(.*)$', file.read(), re.M)
    if found is None and needed:
        raise BuildError(f'the generated Makefile has no line {variable}')
    return found.group(1).split() if found else []


def digest(*parts):
    """A hash of some content."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, 'little'))
        made.update(part)
    return made.hexdigest()[:40]


def read_tree(folder):
    """{relative path: bytes} of all files below."""
    out = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, 'rb') as file:
                out[os.path.relpath(path, folder)] = file.read()
    return out
