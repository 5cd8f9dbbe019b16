#!/usr/bin/env python3
"""Counts the lines of a server: written, reused, generated. Keeps the tables in the READMEs of examples true.

    tests/project/count.py              fails if a table is more than a tenth off, or lacks a row
    tests/project/count.py --write      renews the tables

Lines that are blank or only a comment do not count. Must not know: what a server does.
"""

import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.nest import ROOT, Failed, program, run                 # noqa: E402

LIBRARY = ('http.nest', 'requests.nest', 'conditions.nest', 'ranges.nest')      # in examples/web
OTHERS = ('cops-http.nest',)      # other options for a server that is counted
OF_LIBRARY = ('api', 'web')     # that include it
COUNTED = ('api', 'ftp', 'web')        # examples whose README has the table
MODELS = ('event', 'thread', 'process')
_TABLE = re.compile(r'(<!-- counted by tests/project/count\.py -->\n\n).*?\n(?=\n)', re.S)
_DATA = re.compile(r'[-\d\sxXa-fA-FuUlL,{}]*')


def lines(text):
    """The lines that count."""
    bare = re.sub(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|(?<![\w:])//[^\n]*',
                  lambda found: found[1] or '\n' * found[0].count('\n'), text, flags=re.S)
    return [line for line in bare.splitlines() if line.strip()]


def read(path):
    """The lines of a file that count."""
    with open(path, encoding='utf-8') as file:
        return lines(file.read())


def counts(nest, name):
    """[(what, lines)] of an example."""
    home, web = (os.path.join(ROOT, 'examples', folder) for folder in (name, 'web'))
    own = [file for file in sorted(os.listdir(home)) if file.endswith('.nest') and file not in LIBRARY + OTHERS]
    found = [('written: ' + ', '.join(own), sum(len(read(os.path.join(home, file))) for file in own))]
    if name in OF_LIBRARY:
        found.append(('reused specification: ' + ', '.join(LIBRARY), sum(len(read(os.path.join(web, file))) for file in LIBRARY)))
    for model in MODELS:
        with tempfile.TemporaryDirectory(prefix='nest-count-') as folder:
            project = os.path.join(folder, 'p')
            run([nest, 'gen', '--model', model, os.path.join(home, f'{name}.nest'), '-o', project])
            runtime = [os.path.join(place, file) for place, _, files in os.walk(os.path.join(project, 'runtime'))
                       for file in files] + [os.path.join(project, 'nest.h')]
            server = read(os.path.join(project, 'server.c'))
            code = [line for line in server if not _DATA.fullmatch(line)]
            found += [(f'reused runtime, {model} model', sum(len(read(path)) for path in runtime)),
                      (f'generated code, {model} model', len(code)),
                      (f'generated tables, {model} model', len(server) - len(code))]
    return found


def table(found):
    """The rows of a README."""
    return '| lines | of what |\n|---:|---|\n' + ''.join(f'| {count:,} | {what} |\n' for what, count in found)


def near(text, found):
    """Whether the table of a README has these rows, with numbers that are at most a tenth off."""
    rows = re.findall(r'^\| ([\d,]+) \| (.*) \|$', text, re.M)
    return [what for _, what in rows] == [what for what, _ in found] and all(
        abs(int(row[0].replace(',', '')) - count) <= max(count, 10) / 10 for row, (_, count) in zip(rows, found))


def check(nest, write=False):
    """Compares or renews all tables; Failed with the first that is wrong."""
    for name in COUNTED:
        path, found = os.path.join(ROOT, 'examples', name, 'README.md'), counts(nest, name)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        held = _TABLE.search(text)
        if not held:
            raise Failed(f'examples/{name}/README.md has no table of lines')
        if write:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text[:held.end(1)] + table(found) + text[held.end():])
        elif not near(held[0], found):
            raise Failed(f'examples/{name}/README.md: renew its table by tests/project/count.py --write; now\n{table(found)}')
    return f'{len(COUNTED)} tables'


if __name__ == '__main__':
    print(check(program(), '--write' in sys.argv[1:]))
