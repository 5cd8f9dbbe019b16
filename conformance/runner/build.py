"""Servers to test: generates a project for (specification, model), compiles it once, keeps it.

The cache is keyed by what was generated, the compiler and the flags. Must not know: cases' talk.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from . import scratch

MODELS = ('script', 'process', 'thread', 'event')
SANITIZE = {'thread': 'thread'}     # others: address,undefined
COMPILER = {'process': 'gcc'}       # others: clang, which needs half as long; so both are met
TIME = 300


class BuildError(Exception):
    """The compiler or the C compiler refused, with what it said."""


def bounded(command, seconds=TIME, **more):
    """Runs a command that must end in time; (status, output, errors)."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=seconds, **more)
    except subprocess.TimeoutExpired:
        return None, b'', f'{command[0]} did not end within {seconds} s'.encode()
    return done.returncode, done.stdout, done.stderr


def write_files(folder, case):
    """Writes a case's files; the path of the specification."""
    for name, text in case.files.items():
        if name == case.spec and case.missing:
            continue
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    return os.path.join(folder, case.spec)


class Builder:
    """Builds and keeps servers. Its methods may be called from several threads."""

    def __init__(self, nest, cache, cc=None, optimise='-O0'):
        self.nest, self.cache, self.optimise = nest, cache, optimise
        self.used, self.lock, self.busy = set(), threading.Lock(), {}
        os.makedirs(cache, exist_ok=True)
        self.compilers = {model: cc or COMPILER.get(model, 'clang') for model in MODELS}
        self.identity = {}
        for name in set(self.compilers.values()):
            status, self.identity[name], errors = bounded([name, '--version'], 30)
            if status != 0:
                said = errors.decode(errors='replace').strip()
                raise BuildError(f'{name} --version failed: {said}')

    def flags(self, model):
        """How a model's servers are compiled, beside what its own Makefile demands."""
        return [self.optimise, '-g1', '-fno-omit-frame-pointer',
                '-fsanitize=' + SANITIZE.get(model, 'address,undefined'),
                '-fno-sanitize-recover=all']

    def server(self, case, model):
        """The path of the server of a case in a model."""
        with scratch.folder('case') as folder:
            spec = write_files(folder, case)
            project = os.path.join(folder, 'project')
            status, out, errors = bounded(
                [self.nest, 'gen', '--trace', '--model', model, spec, '-o', project], 60,
                cwd=folder)
            if status != 0:
                raise BuildError('nest gen failed\n' + (out + errors).decode(errors='replace'))
            texts = read_tree(project)
            # The specification's folder shows in #line; without it the cache would never hit.
            texts = {name: text.replace(folder.encode(), b'.') for name, text in texts.items()}
            key = digest(self.identity[self.compilers[model]], json.dumps(self.flags(model)).encode(),
                         *(part for item in sorted(texts.items())
                           for part in (item[0].encode(), item[1])),
                         *(text if isinstance(text, bytes) else text.encode()
                           for _, text in sorted(case.files.items())))
            with self.lock:
                self.used.add(key)
                turn = self.busy.setdefault(key, threading.Lock())
            with turn:
                kept = os.path.join(self.cache, key)
                if not os.path.exists(kept):
                    self._compile(project, folder, model, kept)
            return kept

    def _compile(self, project, folder, model, kept):
        units = [os.path.join(project, name) for name in ('server.c', 'actions.c')]
        made = os.path.join(folder, 'made')
        status, out, errors = bounded(
            [self.compilers[model], *demanded(project), *self.flags(model),
             '-iquote', project, '-iquote', folder,
             '-o', made, *units, '-lm'], cwd=folder)
        if status != 0:
            raise BuildError(f'{self.compilers[model]} failed\n' + (out + errors).decode(errors='replace'))
        handle, near = tempfile.mkstemp(dir=self.cache, prefix='.new-')
        os.close(handle)
        shutil.copyfile(made, near)
        os.chmod(near, 0o755)
        os.rename(near, kept)

    def check(self, case):
        """What `nest check` says: a list of the JSON objects it prints."""
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
        """Removes servers that this run did not use."""
        for name in os.listdir(self.cache):
            if name not in self.used:
                os.remove(os.path.join(self.cache, name))


def demanded(project):
    """The flags that a generated project's Makefile gives whatever CFLAGS say."""
    with open(os.path.join(project, 'Makefile'), encoding='utf-8') as file:
        found = re.search(r'^NEST_FLAGS = (.*)$', file.read(), re.M)
    if found is None:
        raise BuildError('the generated Makefile has no line NEST_FLAGS')
    return found.group(1).split()


def digest(*parts):
    """A name for some content."""
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
