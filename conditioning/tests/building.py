"""Building: both compilers, sanitizers, unit tests, fuzzing, installing, the documentation's filter."""

import glob
import os
import re
import subprocess
import tempfile
from support import BUILD, TOP, Wrong, environment, expect

C = ['-std=c17', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Iframe', '-Ilibcc', '-Iprotocol', '-pthread',
     '-g']
SANITIZE = '-fsanitize=address,undefined -fno-omit-frame-pointer'
PARSERS = ['frame/http.c', 'frame/httpframe.c', 'filters/check/path.c', 'filters/proxy/header.c',
           'libcc/wire.c']


def run(*command, **more):
    """Runs a command in the top folder; its output, or what was wrong."""
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False, timeout=300,
                          **more)
    if done.returncode:
        raise Wrong(f'{" ".join(command[:6])} …: status {done.returncode}\n'
                    f'{(done.stdout + done.stderr)[-3000:]}')
    return done.stdout + done.stderr


def builds():
    """Everything builds with sanitizers, without a warning."""
    run('make', '-s', '-j2', f'BUILD={BUILD}', f'CFLAGS=-O1 -g {SANITIZE}')
    run('cc', *C, '-O1', *SANITIZE.split(), 'tests/server.c', f'{BUILD}/libcc.a', '-o',
        f'{BUILD}/test-server')
    run('cc', *C, '-O1', '-static', 'tests/tiny.c', '-o', f'{BUILD}/tiny')
    run('cc', *C, '-O1', 'tests/tiny.c', '-o', f'{BUILD}/tiny-dynamic')
    run('cc', *C, '-O1', 'tests/deny.c', '-o', f'{BUILD}/deny')


builds.needed = True


def other_compiler():
    """clang has nothing to complain about either."""
    sources = glob.glob('*/*.c', root_dir=TOP) + glob.glob('*/*/*.c', root_dir=TOP)
    run('clang', *C, '-DCC_LIBEXEC=""', '-fsyntax-only', *(s for s in sources if not s.startswith('build')))


def units():
    """Trees, tables, timers, parsers, leases and escapes are right."""
    sources = [os.path.relpath(f, TOP) for f in sorted(glob.glob(f'{TOP}/frame/*.c'))]
    run('cc', *C, '-O1', *SANITIZE.split(), 'tests/unit.c', 'chain/text.c', *sources,
        *PARSERS[2:], '-o', f'{BUILD}/unit')
    said = run(f'{BUILD}/unit', env=environment(ASAN_OPTIONS='detect_leaks=1'))
    expect(' checks, 0 wrong' in said, f'it did not come to its end: {said}')


def fuzz():
    """No input breaks a parser, and none is read differently in pieces."""
    run('clang', *C, '-O1', '-fsanitize=fuzzer,address,undefined', 'tests/fuzz.c', *PARSERS, '-o',
        f'{BUILD}/fuzz')
    run(f'{BUILD}/fuzz', '-seed=1', '-runs=200000', '-max_len=600', f'-artifact_prefix={BUILD}/')


def races():
    """Threads that use the library at once have no data race."""
    run('clang', *C, '-O1', '-fsanitize=thread', 'tests/threads.c', *sorted(
        os.path.relpath(f, TOP) for f in glob.glob(f'{TOP}/libcc/*.c')), '-o', f'{BUILD}/threads')
    for _ in range(10):
        run(f'{BUILD}/threads', env=environment(TSAN_OPTIONS='halt_on_error=1'))


def installs():
    """What is installed suffices for C and C++, and its manual pages are sound."""
    with tempfile.TemporaryDirectory() as place:
        run('make', '-s', '-j2', 'BUILD=build/install', 'install', 'PREFIX=/usr', f'DESTDIR={place}')
        program = os.path.join(place, 'a.c')
        with open(program, 'w', encoding='ascii') as file:
            file.write('#include <cc.h>\nint main(void) { return cc_close(-1, 0) != -1; }\n')
        env = {**os.environ, 'PKG_CONFIG_PATH': f'{place}/usr/lib/pkgconfig',
               'PKG_CONFIG_SYSROOT_DIR': place, 'LD_LIBRARY_PATH': f'{place}/usr/lib'}
        flags = run('pkg-config', '--cflags', '--libs', 'libcc', env=env).split()
        for compiler in ('cc', 'c++'):
            language = ['-x', 'c++'] if compiler == 'c++' else []
            run(compiler, '-Wall', '-Wextra', '-Werror', *language, program, '-x', 'none', *flags,
                '-o', program + '.out')
            run(program + '.out', env=env)
            run('cc', program, '-o', program + '.static', f'{place}/usr/lib/libcc.a', '-pthread',
                f'-I{place}/usr/include')
            run(program + '.static')
        calls = re.findall(r'\b(cc_\w+)\(', open(f'{TOP}/libcc/cc.h', encoding='ascii').read())
        for call in set(calls):
            page = f'{place}/usr/share/man/man3/{call}.3'
            expect(os.path.exists(page), f'{call} has no manual page')
        for page in glob.glob(f'{place}/usr/share/man/man*/*'):
            said = run('groff', '-man', '-ww', '-Tutf8', '-z', f'-I{place}/usr/share/man', page)
            expect(not said, f'{page}: {said}')
        names = run('nm', '-D', '--defined-only', f'{place}/usr/lib/libcc.so.0').split()[2::3]
        expect(set(names) == set(calls), f'the shared library has {set(names) ^ set(calls)}')


def words():
    """In a line of a manual page whose words change the font by turns, no text runs together."""
    for page in glob.glob(f'{TOP}/man/*'):
        with open(page, encoding='ascii') as file:
            for line in file:
                bare = re.sub(r'"[^"]*"', '""', line)
                expect(not re.match(r'\.(BR|BI|IR|IB|RB|RI) .*\b[A-Za-z]+ [A-Za-z]', bare), f'{page}: {line}')


def layers():
    """No file is longer than it should be; libraries know nothing of those who use them."""
    for source in glob.glob('*/*.[ch]', root_dir=TOP) + glob.glob('*/*/*.[ch]', root_dir=TOP):
        with open(os.path.join(TOP, source), encoding='utf-8') as file:
            text = file.read()
        if source.startswith(('build', 'tests')):
            continue
        expect(text.count('\n') <= 280, f'{source} has {text.count(chr(10))} lines')
        if source.startswith('libcc'):
            expect('ccf' not in text, f'{source} knows the frame')
        if source.startswith(('condition', 'preload')):
            expect('ccfilter.h' not in text and 'table.h' not in text, f'{source} knows more than wire.h')
        if source.startswith('frame'):
            expect('table.h' not in text and '"cc.h"' not in text, f'{source} knows the library')


def names():
    """Global names of what a server may contain begin with cc: they must not meet those of the server."""
    units = glob.glob('chain/*.c', root_dir=TOP) + glob.glob('frame/*.c', root_dir=TOP) + \
        glob.glob('protocol/*.c', root_dir=TOP) + ['libcc/wire.c']
    units += [f'filters/{name}/{name}.c' for name in ('pass', 'priority', 'ratelimit', 'slowread')]
    with tempfile.TemporaryDirectory() as folder:
        for unit in units:
            made = os.path.join(folder, 'unit.o')
            run('cc', *C, '-Dmain=cc__main', '-c', unit, '-o', made)
            found = [line.split()[2] for line in run('nm', '-g', '--defined-only', made).splitlines()]
            wrong = [name for name in found if not name.startswith('cc')]
            expect(not wrong, f'{unit} defines {wrong}')


TESTS = [builds, words, layers, names, other_compiler, units, fuzz, races, installs]
