#!/usr/bin/env python3
"""Compiles the BPF object, which is committed so that nobody who builds nest needs clang.

    build.py            writes accelerate.bpf, and accelerate.sum with the digest of its sources
    build.py --check    says whether the object belongs to the sources; where clang is the one that made
                        it, also whether clang makes the same object again

Must not know: what the programs do, and how they are loaded.
"""

import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ['accelerate.c', 'answers.c', 'conditions.h', 'connections.c', 'heads.h', 'requests.c', 'segments.h', 'singles.c', 'types.h', 'build.py']
FLAGS = ['-std=gnu17', '-g', '-O2', '-target', 'bpf', '-mcpu=v3', '-Wall', '-Wextra', '-Werror',
         '-Wno-unused-function', '-fdebug-compilation-dir=.']
OBJECT = os.path.join(HERE, 'accelerate.bpf')
SUM = os.path.join(HERE, 'accelerate.sum')


def digest(paths):
    """One digest of the names and the bytes of files."""
    whole = hashlib.sha256()
    for path in paths:
        with open(os.path.join(HERE, path), 'rb') as file:
            data = file.read()
        whole.update(f'{os.path.basename(path)} {len(data)}\n'.encode() + data)
    return whole.hexdigest()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def compiler():
    """The clang that runs, in one line."""
    return output('clang', '--version').splitlines()[0]


def compile_to(path):
    """Compiles. The headers that depend on the processor are those of this one: the target bpf has none."""
    machine = output('gcc', '-print-multiarch').strip()
    subprocess.run(['clang', *FLAGS, f'-I/usr/include/{machine}', '-c', 'accelerate.c', '-o', path],
                   cwd=HERE, check=True, timeout=300)
    subprocess.run(['llvm-strip', '-g', path], check=True, timeout=60)


def facts():
    """What the sum says of the sources and the object."""
    return {'sources': digest(SOURCES), 'object': digest(['accelerate.bpf'])}


def written():
    with open(SUM, encoding='utf-8') as file:
        return dict(line.split(' ', 1) for line in file.read().splitlines())


def check():
    known, now = written(), facts()
    for name in ('sources', 'object'):
        if known[name] != now[name]:
            return f'the {name} of kernel/bpf changed since the object was made; run kernel/bpf/build.py'
    if known['compiler'] != compiler():
        print(f'the object was made by {known["compiler"]}; this is {compiler()}, so it is not made again')
        return None
    with tempfile.TemporaryDirectory() as folder:
        again = os.path.join(folder, 'accelerate.bpf')
        compile_to(again)
        with open(again, 'rb') as new, open(OBJECT, 'rb') as old:
            if new.read() != old.read():
                return 'clang makes another object of the same sources; run kernel/bpf/build.py'
    return None


def main():
    if sys.argv[1:] == ['--check']:
        sys.exit(check())
    if sys.argv[1:]:
        sys.exit(__doc__)
    compile_to(OBJECT)
    with open(SUM, 'w', encoding='utf-8') as file:
        file.write(''.join(f'{name} {value}\n' for name, value in facts().items()))
        file.write(f'compiler {compiler()}\n')


if __name__ == '__main__':
    main()
