"""Generates docs/messages.md: every message of the compiler, from the pages that `nest explain` prints,
with the current output of nest for each example.

Must not know: how pages are tested.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.nest import ROOT, environment                          # noqa: E402

NAME = 'messages.md'
PAGES = os.path.join(ROOT, 'crates/nest-diag/codes')
BESIDE = {'common.nest': 'NL "\\r"?"\\n"\n%%\n'}    # files that examples include
PARTS = (
    ('E00', 'Text and structure'),
    ('E01', 'Declarations'),
    ('E02', 'Rules and conditions'),
    ('E03', 'Patterns'),
    ('E04', 'Actions and directives'),
    ('E05', 'C around the rules'),
    ('E06', 'Options'),
    ('E07', 'Filters'),
    ('E08', 'Shared data'),
    ('W', 'Warnings'),
)
HEAD = """# Messages

Every message of the compiler has a code. The page of a code explains the message, and shows an example, the output
of nest for it, and the corrected example. `nest explain E0301` prints the page in a terminal. `nest check --format
json` prints the code, the location and the help of each finding as JSON, one finding per line.

Codes of errors begin with E; nest then generates nothing. Codes of warnings begin with W; nest builds the server.

"""


# What draws a code, if it is not `nest check`.
COMMANDS = {'E0701': ['build', '--filter', 'request', '-o', 'filter'],
            'E0702': ['build', '--filter', 'request', '-o', 'filter'],
            'E0703': ['build', '--filter', 'persist', '-o', 'filter']}


def said(nest, folder, page, example):
    """The output of nest for the example on a page."""
    for name, text in dict(BESIDE, **{'example.nest': example}).items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
    command = COMMANDS.get(os.path.basename(page)[:5], ['check'])
    done = subprocess.run([nest, *command, 'example.nest'], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                          env=environment(NO_COLOR='1'), check=False)
    lines = done.stdout.decode(errors='replace').rstrip('\n').split('\n')
    # The last line counts the findings; the page shows one.
    return '\n'.join(line for line in lines if not line.startswith('nest: ')).rstrip('\n')


def section(nest, folder, page):
    """The page of a code, as a section."""
    with open(page, encoding='utf-8') as file:
        text = '#' + '#' + file.read()
    example = re.search(r'\n```nest\n(.*?\n)```\n', text, re.DOTALL)
    if example is None:
        return text
    # An unnamed `nest` fence is one that compiles; this one does not.
    shown = (f'\n```text\n{example[1]}```\n\nnest says:\n\n'
             f'```text\n{said(nest, folder, page, example[1])}\n```\n')
    return text.replace(example[0], shown).replace('\n```nest fixed\n', '\n```nest\n')


def whole(nest):
    """The text of docs/messages.md."""
    out = [HEAD.rstrip('\n')]
    pages = sorted(glob.glob(os.path.join(PAGES, '*.md')))
    with tempfile.TemporaryDirectory(prefix='nest-messages-') as folder:
        for start, title in PARTS:
            out.append(f'## {title}')
            out += [section(nest, folder, page).rstrip('\n') for page in pages
                    if os.path.basename(page).startswith(start)]
    return '\n\n'.join(out) + '\n'


def check(nest, write):
    """Why the page is not what the compiler has; nothing if it is. `write`: makes it so."""
    path, text = os.path.join(ROOT, 'docs', NAME), whole(nest)
    try:
        with open(path, encoding='utf-8') as file:
            old = file.read()
    except FileNotFoundError:
        old = ''
    if old == text:
        return ''
    if write:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return ''
    at = next((i for i, (a, b) in enumerate(zip(old + '\n', text)) if a != b), 0)
    number = old[:at].count('\n') + 1
    return f'line {number} differs; tests/book/run.py --write renews it:\n{text[at:at + 200]}'
