"""The fenced blocks of a page of the documentation, in order.

Must not know: how anything is run.
"""

import dataclasses
import re

# What a fence may be, by the first word behind its backticks. A second word is the name of a file.
CARRIED_OUT = ('sh', 'console', 'conversation', 'output')
FILES = ('nest', 'c', 'conf', 'ini', 'html', 'markdown', 'make', 'dockerfile', 'toml', 'python')
SHOWN = ('', 'text', 'ebnf')


class Wrong(Exception):
    """What a page says is not so; the text is for people."""


@dataclasses.dataclass
class Block:
    """A fenced block: its words, its lines, and the number of the line behind the opening."""
    words: list
    lines: list
    number: int

    @property
    def kind(self):
        """Its first word."""
        return self.words[0] if self.words else ''

    @property
    def name(self):
        """The file that it is, if it is one."""
        return self.words[1] if self.kind in FILES and len(self.words) > 1 else ''

    @property
    def text(self):
        """Its lines as one text."""
        return ''.join(line + '\n' for line in self.lines)


@dataclasses.dataclass
class Command:
    """A command behind `$ `, and the lines that follow it; where these stand in the block."""
    text: str
    lines: list
    first: int


def blocks(text):
    """All fenced blocks; Wrong if one is of no known kind, or shows a command that nobody runs."""
    found, fence, current = [], None, None
    for number, line in enumerate(text.split('\n'), 1):
        if fence is None:
            opening = re.match(r'( {0,3})(`{3,})([^`]*)$', line)
            if opening:
                fence, current = opening[2], Block(opening[3].split(), [], number + 1)
        elif line.strip() == fence:
            found.append(_known(current))
            fence = None
        else:
            current.lines.append(line)
    if fence is not None:
        raise Wrong(f'line {current.number}: a fence does not end')
    return found


def _known(block):
    if block.kind not in CARRIED_OUT + FILES + SHOWN:
        raise Wrong(f'line {block.number}: "{block.kind}" is no kind of fence')
    if block.kind in SHOWN and any(re.match(r'[$>] ', line) for line in block.lines):
        raise Wrong(f'line {block.number}: commands and conversations stand in a console fence, '
                    'where they are carried out')
    return block


def commands(block):
    """The commands of a console block, each with what is expected of it."""
    found = []
    lines = iter(enumerate(block.lines))
    for at, line in lines:
        if line.startswith('$ '):
            text = line[2:]
            while text.endswith('\\'):
                at, more = next(lines)
                text += '\n' + more
            found.append(Command(text, [], at + 1))
        elif found:
            found[-1].lines.append(line)
        else:
            raise Wrong(f'line {block.number}: a console fence begins with "$ "')
    return found


def differs(expected, received):
    """Why these lines are not those; None if they are. `…` stands for anything within a line, and
    alone in a line for any lines."""
    parts = []
    for line in expected:
        if line.strip() == '…':
            parts.append(r'(?:[^\n]*\n)*?')
        else:
            parts.append('[^\n]*?'.join(re.escape(part) for part in line.split('…')) + r'\n')
    text = ''.join(line.rstrip() + '\n' for line in received)
    if re.fullmatch(''.join(parts), text):
        return None
    return 'expected:\n' + _indented(expected) + 'received:\n' + _indented(received)


def _indented(lines):
    return ''.join(f'  | {line}\n' for line in lines) or '  (nothing)\n'
