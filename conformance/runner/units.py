"""Divides server.c into units that can be compiled alone: two of the runtime, and the rest.

A specification has sizes, such as the number of its rules. Few files of the runtime read those in which
specifications differ most. The unit of the others defines only the sizes that it reads, so it is the same
for many servers. Must not know: compilers, caches.
"""

import functools
import os
import re

# Sizes in which specifications seldom differ; a file that reads no others is common to many servers.
SELDOM = {'CONDITIONS', 'TAGS', 'REGISTERS', 'MESSAGES', 'PIPES', 'SPLICES', 'FALLBACK', 'LOG_REQUESTS', 'LOG_MARKS'}
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
_DEFINED = re.compile(r'^#define NEST__(\w+) .*\n', re.M)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.M)
_TASKS = re.compile(r'^const .* nest__task(s\[\]|_count) = ')     # the one list that is no file
_NAME = re.compile(r'\bNEST__(\w+)')
_MARKS = ('/* Begin sizes */', '/* End sizes */', '/* Begin runtime */', '/* End runtime */',
          '/* Begin join points */')


def divide(server, texts):
    """([(file name, unit, {name: text of the files that it uses})], the rest). `texts`: the files of the
    project, as bytes."""
    for mark in _MARKS:
        if mark not in server:
            raise ValueError(f'it has no {mark}')
    sizes, defined, files, end, join = map(server.index, _MARKS)
    # What both units begin with, besides sizes: the interface, and the join points.
    head = server[defined:files]
    given = set(_DEFINED.findall(server[sizes:defined]))
    allowed = _closure(_paths(head, texts), texts)[0] | SELDOM
    common, own = [], []
    for line in server[files:end].splitlines(keepends=True):
        found = _INCLUDED.match(line)
        if _TASKS.match(line):
            common.append(line)
        elif found is None and line.strip() and line.strip() != _MARKS[2]:
            raise ValueError(f'a line of the runtime includes no file: {line.strip()}')
        elif found is not None:
            reads = _closure(_paths(line, texts), texts)[0] & given
            (common if reads <= allowed else own).append(line)
    units = [_unit(name, server[sizes:defined], head, lines, texts)
             for name, lines in (('common.c', common), ('own.c', own)) if lines]
    return units, server[sizes:join] + server[end:]


def _unit(name, sizes, head, lines, texts):
    """One unit, with the sizes that it or a file that it includes reads."""
    body = head + ''.join(lines)
    names, used = _closure(_paths(body, texts), texts)
    names = names | set(_NAME.findall(body))
    kept = _DEFINED.sub(lambda size: size[0] if size[1] in names else '', sizes)
    return name, kept + body, {path: texts[path] for path in sorted(used)}


def _closure(paths, texts):
    """The names NEST__… without their beginning in some files and all files that they include, and these."""
    names, seen, left = set(), set(), list(paths)
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            found, included = _read(texts[path])
            names |= found
            left += [_resolved(name, os.path.dirname(path), texts) for name in included]
    return names, seen


def _paths(text, texts):
    """The paths of what a text in the project's folder includes."""
    return [_resolved(name, '', texts) for name in _INCLUDED.findall(text)]


def _resolved(name, folder, texts):
    """The path of an included file of the project."""
    for base in (folder, ''):
        path = os.path.normpath(os.path.join(base, name))
        if path in texts:
            return path
    raise ValueError(f'{name} is included and is not in the project')


@functools.lru_cache(maxsize=4096)
def _read(text):
    """The names NEST__… in a file, and the files that it includes."""
    text = _COMMENT.sub(' ', text.decode())
    return frozenset(_NAME.findall(text)), tuple(_INCLUDED.findall(text))
