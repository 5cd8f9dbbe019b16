#!/usr/bin/env python3
"""Tests the documentation: writes every file, runs every command and every conversation of a page, in
order, in a folder of its own.

    tests/book/run.py                 all pages of docs/SUMMARY.md, the README and those of examples/
    tests/book/run.py tutorial        the pages whose path contains the word
    tests/book/run.py --write         updates the pages that show messages of nest

What a fence does, by its first word:

    nest NAME, c NAME, conf NAME …    becomes the file NAME
    nest                              (without a name) becomes example.nest, and must compile
    sh                                runs, and must succeed
    console                           `$ ` begins a command, and its output follows. A command that
                                      prints "listening on" is a server and keeps running. One that
                                      begins with nc is a conversation, in which lines after `> ` are
                                      typed. `console fails`: the last command fails
    conversation                      the same with the server of the last `nest` without a name
    output                            the output of the server so far; `^C` first: stops the server
    text, or none                     is not run; it must not contain a command

`…` in an output matches any text within the line; alone in a line, any number of lines. Ports 8080 and
9000 are replaced by free ones. A server is stopped by Ctrl-C when the next one starts, at a line `^C`,
and at the end. `$PID` is its process. `~/nest` is the project, of which only the folders are there that
the step of `make check` lists. A page of examples/ runs with a copy of its folder.
"""

import argparse
import glob
import os
import re
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import messages                                                     # noqa: E402
from page import FILES, Wrong, blocks, commands, differs            # noqa: E402
from support import sample                                          # noqa: E402
from support.kernel import lacks                                    # noqa: E402
from support.nest import ROOT, program                              # noqa: E402
from support.report import Report                                   # noqa: E402
from world import World                                             # noqa: E402

KERNEL = 'docs/howto/accelerate.md'     # needs root and what the kernel part needs
GENERATED = ('docs/mistakes.md',)   # pages whose outputs --write renews
USUAL = ('README.md', 'docs/mistakes.md')       # the page that everybody tries, and one that shows what gcc says


def pages():
    """The README, the pages of the book in its order, and the READMEs of the examples."""
    with open(os.path.join(ROOT, 'docs/SUMMARY.md'), encoding='utf-8') as file:
        found = re.findall(r'\]\(([^)]+\.md)\)', file.read())
    examples = glob.glob('examples/*/README.md', root_dir=ROOT)
    return (['README.md'] + ['docs/' + page for page in found if page != messages.NAME] +
            sorted(examples))


def drawn(words, every):
    """The pages with one of these words in their paths; without words a sample, with the first page in any case, or `every`."""
    first, *others = pages()
    if words:
        return [path for path in (first, *others) if any(word in path for word in words)]
    return [first, *(others if every else sample.some(others, len(others) // 2, 'book'))]


class Reader:
    """Carries out the blocks of one page."""

    def __init__(self, world):
        self.world, self.done, self.renewed = world, 0, {}

    def carry_out(self, block):
        """One block."""
        if block.name:
            self.world.write(block.name, block.text)
        elif block.kind == 'nest':
            self.world.stop()
            self.world.write('example.nest', block.text)
            self.world.run('nest check example.nest')
        elif block.kind == 'sh':
            self.world.run('set -e\n' + block.text)
        elif block.kind == 'console':
            self.console(block)
        elif block.kind == 'conversation':
            if self.world.server is None:
                self.world.run('nest build --debug example.nest')
                self.world.serve('./example', ['example: … listening on *:8080, …'])
            self.world.converse('nc -C localhost 8080', block.lines)
        elif block.kind == 'output':
            self.world.output(block.lines)
        elif block.kind in FILES:
            raise Wrong(f'a {block.kind} fence needs the name of the file that it is')
        else:
            return
        self.done += 1

    def console(self, block):
        """Commands, one after the other."""
        todo = commands(block)
        for command in todo:
            expected = [line for line in command.lines if line != '^C']
            if re.match(r'nc\b[^|<]*$', command.text):
                self.world.converse(command.text, expected)
            elif any('listening on' in line.lower() for line in expected):
                self.world.serve(command.text, expected)
            else:
                fails = block.words[1:] == ['fails'] and command is todo[-1]
                said = self.world.run(command.text, fails)
                why = differs(expected, said)
                if why is not None:
                    self.renewed[block.number - 1 + command.first] = (len(command.lines), said)
                    raise Wrong(f'$ {command.text}\n{why}')
            if '^C' in command.lines:
                self.world.stop()


def carry_out(path, nest, cache, write):
    """A whole page: how many of its blocks were carried out. Wrong with the line where it fails."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        text = file.read()
    renewed = {}
    beside = {'examples': os.path.join(ROOT, 'examples')} if path.startswith('examples/') else \
        {f'nest/{name}': os.path.join(ROOT, name) for name in ('conditioning', 'examples')}
    with World(nest, cache, beside, path in USUAL) as world:
        reader = Reader(world)
        for block in blocks(text):
            try:
                reader.carry_out(block)
            except Wrong as error:
                if not (write and reader.renewed):
                    raise Wrong(f'{path}:{block.number}: {error}') from error
                renewed.update(reader.renewed)
                reader.renewed = {}
        world.stop()
    if renewed:
        renew(path, text, renewed)
    return reader.done


def renew(path, text, renewed):
    """Puts other outputs into a page: for a line's number (from 0) how many lines go, and which come."""
    lines = text.split('\n')
    for at, (count, said) in sorted(renewed.items(), reverse=True):
        lines[at:at + count] = said
    with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines))


def main():
    """The command line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('words', nargs='*', metavar='WORD', help='of the paths of pages')
    parser.add_argument('--write', action='store_true', help='renew the pages that show messages')
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)   # nothing is left running
    report, nest = Report('The book'), program()
    report.note(sample.described())
    report.heading('Pages, and how many blocks of each were carried out')
    with tempfile.TemporaryDirectory(prefix='nest-book-cache-') as cache:
        for path in drawn(args.words, args.write):
            missing = lacks(nest) if path == KERNEL else None
            if missing:
                report.skip('book', path, missing)
                continue
            try:
                done = carry_out(path, nest, cache, args.write and path in GENERATED)
                report.line(True, 'book', path, f'{done} blocks')
            except Wrong as error:
                report.line(False, 'book', path, '', error)
        if not args.words or messages.NAME in args.words:
            why = messages.check(nest, args.write)
            report.line(not why, 'book', f'docs/{messages.NAME} is what the compiler has', '', why)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
