#!/usr/bin/env python3
"""Sizes of the code: lines and semicolons, as Table 1 of the paper has them."""

import glob
import os

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAPER = {'library': '244 (89)', 'ccserver': '236 (80)', 'request': '687 (248)', 'persist': '+76 (+26)',
         'priority': '531 (211)', 'slowread': '587 (212)', 'frame, without packaging': '413 (152)'}
PACKAGING = ['pack.c', 'ccfpack.h', 'http.c', 'httpframe.c', 'ccfhttp.h', 'tree.c', 'ccftree.h', 'nets.c',
             'nets.h']


def sizes(files):
    """Lines and semicolons of files."""
    texts = []
    for name in files:
        with open(os.path.join(TOP, name), encoding='utf-8') as file:
            texts.append(file.read())
    return sum(t.count('\n') for t in texts), sum(t.count(';') for t in texts)


def main():
    """Prints the table."""
    frame = sorted(glob.glob('frame/*.[ch]', root_dir=TOP))
    packaging = [f for f in frame if os.path.basename(f) in PACKAGING]
    rows = [('library', glob.glob('libcc/*.[ch]', root_dir=TOP)),
            ('frame, without packaging', [f for f in frame if f not in packaging]),
            ('packaging, HTTP, tables', packaging), ('cc-chain', glob.glob('chain/*.[ch]', root_dir=TOP))]
    for name in ('request', 'persist', 'priority', 'slowread', 'check', 'ratelimit', 'proxy', 'pass'):
        rows.append((name, glob.glob(f'filters/{name}/*.[ch]', root_dir=TOP)))
    rows.append(('ccserver', glob.glob('ccserver/*.c', root_dir=TOP)))
    print('| part | lines | semicolons | the paper |\n|---|---:|---:|---|')
    for name, files in rows:
        lines, semicolons = sizes(files)
        print(f'| {name} | {lines} | {semicolons} | {PAPER.get(name, "")} |')


if __name__ == '__main__':
    main()
