"""The question whether Lex would match faster than libpcre: flex beside nest's matcher and libpcre2."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from common.driver import TOP
from common.processes import Failed

MATCHERS = ('nest', 'flex', 'pcre2')
TASKS = ('recognise', 'smtp', 'ftp', 'lines')


def run(context):
    """Measures by benches/matching."""
    missing = [name for name in ('flex',) if shutil.which(name) is None]
    if missing:
        raise Failed(f'{missing[0]} is not installed')
    record = os.path.join(context.folder, 'matching')
    rounds = ['--rounds', '2', '--seconds', '0.02'] if context.quick else ['--rounds', '9']
    done = subprocess.run([sys.executable, f'{TOP}/benches/matching/bench.py', '--nest', context.nest, '--only', ','.join(TASKS),
                           '--matchers', ','.join(MATCHERS), '--modes', 'whole', '--count', 'none', *rounds, '--record', record],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if not os.path.exists(f'{record}.json'):
        raise Failed(f'benches/matching: {done.stderr[-400:]}')
    with open(f'{record}.json', encoding='utf-8') as file:
        return shown(json.load(file))


def shown(record):
    """The section, of a record of benches/matching."""
    found = {}
    for cell in record['cells']:
        found.setdefault((cell['task'], cell['corpus']), {})[cell['matcher']] = cell
    rows, ratios = [], []
    for (task, corpus), cells in found.items():
        rates = [cells[name]['bytes'] / statistics.median(cells[name]['rounds']) / 1e9 for name in MATCHERS]
        rows.append([f'{task}, {corpus}', *rates])
        ratios.append([f'{task}, {corpus}', *(statistics.median(a / b for a, b in zip(cells['nest']['rounds'], cells[name]['rounds']))
                                              for name in MATCHERS[1:])])
    flex = [row[2] / row[3] for row in rows]       # columns are those of MATCHERS
    return {
        'title': 'Lex or libpcre',
        'paper': 'nest matched with libpcre. Its author left open whether scanners that Lex makes would be faster.',
        'method': 'flex with the fastest of its tables (`-CF`), nest\'s matcher and libpcre2\'s compiler to machine code find the same '
                  'messages in inputs that are whole in memory; [benches/matching](../benches/matching/README.md) says how.',
        'tables': [{'title': 'GB/s:', 'head': ['', *MATCHERS], 'rows': rows},
                   {'title': 'The rate as a share of nest\'s:', 'head': ['', *MATCHERS[1:]], 'rows': ratios}],
        'findings': [f'flex has {min(flex):.2f} to {max(flex):.2f} of the rate of libpcre2.'],
        'limits': ['flex takes its input from a file or a buffer and finds no parts within a message, so it could not match what a client '
                   'sends in pieces, nor give an action its `$1`.'],
    }
