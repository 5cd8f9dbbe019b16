"""Tests uploads and lists in a script in which each allocation and each operation on a file fails once.

Must not know: which they are.
"""

import os
import re
import subprocess
from checks import BYTES, content, hidden, put, same
from support.nest import Failed, environment

CONVERSATION = (
    b'begin up\nappend 40000\n' + BYTES[:40_000] + b'+x\ncommit\n', b'begin up\n+y\nsettle\n',
    b'begin up\n+z\ndrop\nlist odd\n', b'delete gone\nbegin up\n+left\n')
VERSIONS = (b'old', BYTES[:40_000] + b'x', b'y')


def quoted(data):
    """As a script has bytes."""
    return '"' + ''.join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f'\\x{b:02x}'
                         for b in data) + '"'


def play(folder, exe, fault, helpers):
    """One conversation, cut into messages, with a fault; whether it has struck, what was said."""
    lines = [helpers, 'open 1', *([fault] if fault else [])]
    for message in CONVERSATION:
        lines += [f'in 1 {quoted(message)}', 'pass 100']
    done = subprocess.run([exe, '--set', f'fileRoot={folder}'], timeout=60, capture_output=True,
                          input='\n'.join(lines + ['drain', 'pass 100']) + '\n', text=True,
                          encoding='latin-1', env=environment(), check=False)
    if done.returncode != 0 or re.search('Sanitizer|runtime error', done.stderr):
        raise Failed(f'{fault}, {helpers}: status {done.returncode}\n{done.stderr[:2000]}')
    return done.stdout


def faults(folder, exe):
    """Whatever fails, a file is old or new, as the client was told, and nothing else is left."""
    os.mkdir(f'{folder}/odd')
    put(f'{folder}/odd', 'name', b'12')
    for helpers in ('helpers 5', 'helpers 0', 'helpers none'):
        for kind in ('memory', 'file EIO', 'file ENOSPC', 'stack'):
            usual, number, alike = play_new(folder, exe, None, helpers), 0, 0
            if usual.count('stored') != 1 or usual.count('on disk') != 1:
                raise Failed(f'without a fault: {usual[:500]}')
            while alike < 3:        # the last one lies behind all that can fail
                number += 1
                said = play_new(folder, exe, f'fail {kind} {number}', helpers)
                alike = alike + 1 if said == usual else 0
                if number > 200:
                    raise Failed(f'{kind}: there is no end of what can fail')
            if number < 6 and kind != 'stack':
                raise Failed(f'{kind}: only {number - 3} failures change anything')


def play_new(folder, exe, fault, helpers):
    """The same in a folder that is as at the beginning; its files are looked at."""
    put(folder, 'up', b'old')
    put(folder, 'gone', b'')
    said = play(folder, exe, fault, helpers)
    # what was said is so; of what was left unsaid, for want of memory, it may have been done
    told = 2 if 'on disk' in said else 1 if 'stored' in said else 0
    found = content(folder, 'up')
    refused = [VERSIONS[1]] if told != 1 and 'error' in said.split('on disk')[0] else []
    if found not in VERSIONS[told:] or found in refused:
        raise Failed(f'{fault}, {helpers}: {said[:300]}\nthe file is {found[:20]!r}, {len(found)}')
    if 'deleted' in said and os.path.exists(f'{folder}/gone'):
        raise Failed(f'{fault}, {helpers}: what was deleted is there')
    same(f'{fault}: left', hidden(folder), [])
    return said


PLAIN = (faults,)
