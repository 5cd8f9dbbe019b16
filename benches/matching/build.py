"""Makes the programs: each matcher of each task, whole and for pieces.

Must not know: inputs, measurements.
"""

import os
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVERS, SPECS = os.path.join(HERE, 'drivers'), os.path.join(HERE, 'specs')
CFLAGS = ['-std=gnu17', '-O2', '-pthread', '-Wall', '-Wextra', '-Werror']
OTHERS = '-w'                       # what tools make has no need to please our compiler
RE2C = ['re2c', '-W', '--tags', '--no-debug-info', '--no-generation-date']
LLHTTP, LLHTTP_INCLUDE = '/usr/share/llhttp', '/usr/share/include'
EMPTY = '%%\n"x" { }\n'             # nest: what every server has
TIME = 900


class Failed(Exception):
    """A tool that makes a matcher did not."""


def run(*words, **more):
    """Runs a tool; what it wrote, and the seconds that it took."""
    began = time.monotonic()
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIME, check=False, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f'{words[0]}: {error}') from error
    text = done.stdout.decode(errors='replace')
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}: status {done.returncode}\n{text[:3000]}')
    return text, time.monotonic() - began


def filled(text, task, whole):
    """A specification: its lines of verbs for each verb, and what depends on the mode."""
    out = []
    for line in text.split('\n'):
        if not line.startswith('@verb'):
            out.append(line)
            continue
        for kind, verb in enumerate(task.verbs):
            out.append(line[6:].replace('KIND', str(kind)).replace('VERB', verb)
                       .replace('(*MARK:MARK)', f'(*MARK:{chr(ord("0") + kind)})'))
    return '\n'.join(out).replace('write EXEC', 'write exec' + (' noend' if whole else ''))


def size(path):
    """Bytes of code and tables in an object file."""
    fields = run('size', path)[0].splitlines()[1].split()
    return int(fields[0]) + int(fields[1])


class Workshop:
    """Where programs are built, each once; `cc` is the C compiler."""

    def __init__(self, folder, nest, cc):
        self.folder, self.nest, self.cc = folder, nest, cc
        self.built, self.empty = {}, None

    def program(self, matcher, task, whole):
        """(path, facts) of a program: seconds to generate, bytes of C and of code."""
        whole = whole or not matcher.two
        key = matcher.name, task.name, whole
        if key not in self.built:
            folder = os.path.join(self.folder, f'{matcher.name}-{task.name}-'
                                               f'{"whole" if whole else "pieces"}')
            os.makedirs(folder)
            self.built[key] = getattr(self, f'make_{matcher.name}')(folder, task, whole)
        return self.built[key]

    def spec(self, folder, task, whole, ending, name):
        """Writes a task's specification for a tool into the folder; its path."""
        with open(os.path.join(SPECS, f'{task.spec}.{ending}'), encoding='utf-8') as file:
            text = filled(file.read(), task, whole)
        path = os.path.join(folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def compile(self, folder, source, *more, name=None):
        """An object file, named as its source if nothing else is said."""
        path = os.path.join(folder, (name or os.path.basename(source)[:-2]) + '.o')
        run(self.cc, *CFLAGS, f'-I{folder}', f'-I{DRIVERS}', *more, '-c',
            source, '-o', path)
        return path

    def link(self, folder, *objects):
        """The program."""
        path = os.path.join(folder, 'program')
        main = self.compile(folder, os.path.join(DRIVERS, 'main.c'))
        run(self.cc, *CFLAGS, '-o', path, main, *objects)
        return path

    # -- one method for each matcher

    def nest_driver(self, folder, driver, spec):
        """A driver around what nest makes of a specification: objects, bytes of C, seconds."""
        made = os.path.join(folder, 'project')
        seconds = run(self.nest, 'gen', spec, '--model', 'event', '-o', made)[1]
        own = os.path.join(folder, driver)      # what it includes is found in the project
        shutil.copy(os.path.join(DRIVERS, driver), own)
        sources = [os.path.join(made, name) for name in ('server.c', 'actions.c')]
        objects = [self.compile(folder, source, f'-iquote{made}') for source in (own, sources[1])]
        return objects, sum(map(os.path.getsize, sources)), seconds

    def of_task(self, folder, task, driver):
        """The same of a task."""
        spec = self.spec(folder, task, True, 'nest', 'task.nest')
        return self.nest_driver(folder, driver, spec)

    def make_nest(self, folder, task, _whole):
        """The matcher alone. Of C and code counts what a server of hardly any rule has not."""
        if self.empty is None:
            empty = os.path.join(self.folder, 'empty')
            os.makedirs(empty)
            spec = os.path.join(empty, 'task.nest')
            with open(spec, 'w', encoding='utf-8') as file:
                file.write(EMPTY)
            objects, c, _ = self.nest_driver(empty, 'nest.c', spec)
            self.empty = c, sum(map(size, objects))
        objects, c, seconds = self.of_task(folder, task, 'nest.c')
        return (self.link(folder, *objects),
                {'generation': seconds, 'c': c - self.empty[0],
                 'code': sum(map(size, objects)) - self.empty[1]})

    def make_engine(self, folder, task, _whole):
        """The engine, and actions."""
        return self.link(folder, *self.of_task(folder, task, 'engine.c')[0]), {}

    def generated(self, folder, source, seconds):
        """Of C that a tool has made, which is driver and matcher in one."""
        code = self.compile(folder, source, OTHERS)
        return (self.link(folder, code),
                {'generation': seconds, 'c': os.path.getsize(source), 'code': size(code)})

    def make_re2c(self, folder, task, whole):
        """By re2c; for pieces a lexer that stores its state."""
        source = os.path.join(folder, 'lexer.c')
        flags, mode = (['--bit-vectors'], 'whole') if whole else (['--storable-state'], 'push')
        seconds = run(*RE2C, *flags, '-I', os.path.join(DRIVERS, f're2c-{mode}'), '-o', source,
                      self.spec(folder, task, whole, 're', 'lexer.re'))[1]
        return self.generated(folder, source, seconds)

    def make_ragel(self, folder, task, whole):
        """By Ragel."""
        source = os.path.join(folder, 'machine.c')
        seconds = run('ragel', '-G2', '-L', '-o', source,
                      self.spec(folder, task, whole, 'rl', 'machine.rl'))[1]
        return self.generated(folder, source, seconds)

    def make_flex(self, folder, task, whole):
        """By flex, with the fastest of its tables."""
        source = os.path.join(folder, 'scanner.c')
        seconds = run('flex', '-CF', '-o', source, self.spec(folder, task, whole, 'l', 'scanner.l'))[1]
        return self.generated(folder, source, seconds)

    def library(self, folder, task, whole, matcher, header, *flags):
        """Of a library that compiles patterns at run time; the program says what that makes."""
        self.spec(folder, task, whole, f'{matcher}.h', header)
        code = self.compile(folder, os.path.join(DRIVERS, f'{matcher}.c'),
                            f'-DSTREAMED={int(not whole)}')
        return self.link(folder, code, *flags), {}

    def make_pcre2(self, folder, task, whole):
        """By libpcre2."""
        return self.library(folder, task, whole, 'pcre2', 'patterns.h', '-lpcre2-8')

    def make_hyperscan(self, folder, task, whole):
        """By libhyperscan."""
        return self.library(folder, task, whole, 'hyperscan', 'patterns.h', '-lhs')

    def make_llhttp(self, folder, task, whole):
        """By llhttp, whose C comes made."""
        self.spec(folder, task, whole, 'llhttp.h', 'callbacks.h')
        include = f'-I{LLHTTP_INCLUDE}'
        sources = [os.path.join(LLHTTP, name) for name in ('llhttp.c', 'api.c', 'http.c')]
        objects = [self.compile(folder, source, include, f'-I{LLHTTP_INCLUDE}/llhttp',
                                OTHERS)
                   for source in sources]
        driver = self.compile(folder, os.path.join(DRIVERS, 'llhttp.c'), include,
                              name='driver')
        return (self.link(folder, driver, *objects),
                {'c': sum(map(os.path.getsize, sources)), 'code': sum(map(size, objects))})

    def make_hand(self, folder, task, _whole):
        """By hand."""
        code = self.compile(folder, os.path.join(DRIVERS, f'hand-{task.name}.c'))
        return self.link(folder, code), {'code': size(code)}

    def make_memchr(self, folder, _task, _whole):
        """The floor."""
        return self.link(folder, self.compile(folder, os.path.join(DRIVERS, 'memchr.c'))), {}
