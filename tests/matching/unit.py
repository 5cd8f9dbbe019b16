"""Matchers and their actions, each a program of its own that is quick to compile: driver.c around it.

Must not know: rules, what is expected.
"""

import os
import subprocess
from support.nest import Failed, environment, run

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'driver.c')
FLAGS = ['-std=gnu17', '-O0', '-pipe', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function',
         '-Wno-unused-const-variable', '-Wno-unused-parameter']
# Compiled once for all.
SHARED = '''#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "runtime/platform/scan.h"
'''
UNIT = '''{sizes}
#include "runtime/seam.h"
{joined}
#include "runtime/engine/engine.h"
#include "runtime/engine/threads.c"
#include "runtime/engine/matcher.c"
#include "runtime/engine/parts.c"
#include "runtime/service/backtracking/none.c"
{matchers}
#include "{driver}"
#include "{actions}"
'''
TIME = 60
COMPILERS = {'clang': '.pch', 'gcc': '.gch'}    # what a compiled header is called


def _section(text, name):
    """What stands in a generated file under a name."""
    begin, end = f'/* Begin {name} */', f'/* End {name} */'
    return text[text.index(begin) + len(begin):text.index(end)]


def replace(path, old, new):
    """In a generated file, what must stand there once; what the file was."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    if text.count(old) != 1:
        raise Failed(f'{path} has {text.count(old)} times: {old}')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text.replace(old, new))
    return text


class Bench:
    """A folder in which specifications become programs, some at a time."""

    def __init__(self, nest, folder):
        self.nest, self.folder = nest, folder
        self.shared = os.path.join(folder, 'shared.h')
        self.ready = False

    def _path(self, number, name):
        return os.path.join(self.folder, str(number), name)

    def _prepare(self):
        """Headers are the same in every project."""
        self.ready = True
        with open(self.shared, 'w', encoding='ascii') as file:
            file.write(SHARED)
        for compiler, ending in COMPILERS.items():
            run([compiler, *FLAGS, f'-iquote{self._path(0, "s")}', '-x', 'c-header', self.shared,
                 '-o', self.shared + ending])

    def generate(self, number, text):
        """Place `number` is this specification; its server.c."""
        os.makedirs(self._path(number, ''), exist_ok=True)
        with open(self._path(number, 's.nest'), 'w', encoding='ascii') as file:
            file.write(text)
        project = self._path(number, 's')
        run([self.nest, 'gen', self._path(number, 's.nest'), '--model', 'script', '-o', project])
        with open(os.path.join(project, 'server.c'), encoding='utf-8') as file:
            server = file.read()
        with open(self._path(number, f'unit{number}.c'), 'w', encoding='utf-8') as file:
            file.write(UNIT.format(sizes=_section(server, 'sizes'),
                                   joined=_section(server, 'join points'),
                                   matchers=_section(server, 'matchers'), driver=DRIVER,
                                   actions=os.path.join(project, 'actions.c')))
        return server

    def compile(self, numbers, compiler):
        """The specifications at these places, at once: most of the time is the compiler's start."""
        if not self.ready:
            self._prepare()
        run([compiler, *FLAGS, '-include', self.shared, f'-iquote{self._path(0, "s")}', '-c'] +
            [self._path(number, f'unit{number}.c') for number in numbers], self.folder)
        for number in numbers:
            run(['gcc', '-o', self._path(number, 'program'), f'unit{number}.o'], self.folder)

    def program(self, number):
        """Of this place."""
        return self._path(number, 'program')


def talk(program, buffer, conversations):
    """What conversations, each (one byte at a time, steps), are answered at each step, and how many
    bytes the matcher was given for it; the first step is the connection, None the end of file.
    Failed if it does not live."""
    lines = []
    for slow, steps in conversations:
        lines.append('open bytes' if slow else 'open')
        lines += ['eof' if step is None else step.hex() for step in steps[1:]]
    try:
        done = subprocess.run([program, str(buffer)], input='\n'.join(lines).encode() + b'\n',
                              capture_output=True, timeout=TIME, env=environment())
    except subprocess.TimeoutExpired as error:
        raise Failed(f'the matcher did not end within {TIME} s') from error
    said = done.stdout.decode(errors='replace').splitlines()
    if done.returncode != 0 or len(said) != len(lines):
        at = min(len(said), len(lines) - 1)
        begin = max(i for i in range(at + 1) if lines[i].startswith('open'))
        raise Failed(f'status {done.returncode}, in {lines[begin:at + 1]}\n'
                     f'{done.stderr.decode(errors="replace")[:3000]}{said[-1:]}')
    found, at = [], 0
    for _, steps in conversations:
        mine = [line.split(' ') for line in said[at:at + len(steps)]]
        found.append(([bytes.fromhex(answer) for answer, _ in mine],
                      [int(given) for _, given in mine]))
        at += len(steps)
    return found
