"""slowhttptest in its modes, which the paper did not have: does a regular client still get answers?"""

import contextlib
import shutil
import subprocess
import time
from common import processes
from conditioning import load
from common.processes import Failed
from conditioning.servers import Server, missing

CHAIN = ['request,timeout=60s', 'slowread,of=150,net8=50,net16=40,net24=30', 'priority']
MODES = {'slow headers (-H)': ['-H'], 'slow body (-B)': ['-B'], 'range (-R)': ['-R'],
         'slow read (-X)': ['-X', '-w', '1', '-y', '16', '-z', '1', '-n', '10', '-k', '1']}
VARIANTS = [('apache', []), ('apache', CHAIN), ('nginx', []), ('nginx', CHAIN), ('nest', []), ('nest', CHAIN)]


def attack(context, server, mode, seconds):
    """(share of answered requests, median in ms) of a regular client during an attack."""
    process = processes.start(['slowhttptest', *mode, '-c', '400', '-r', '200', '-l', str(seconds + 5), '-i', '10', '-p', '5', '-u',
                               server.url('/1000000' if mode[0] == '-X' else '/100')],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=context.folder)
    try:
        time.sleep(4)           # 400 connections, 200 a second, and time to see them
        values, end = [], time.monotonic() + seconds - 4
        while time.monotonic() < end:
            values.append(load.fetch(server, '/100', address='127.77.0.1', wait=2))
            time.sleep(.05)
    finally:
        processes.end(process)
    good = [v for v in values if v is not None]
    return len(good) / len(values), load.median(good)


def run(context):
    """Measures every mode on every server."""
    limits, rows, findings = [], [], []
    if shutil.which('slowhttptest') is None:
        raise Failed('slowhttptest is not installed')
    modes = dict(list(MODES.items())[:1]) if context.quick else MODES
    seconds = 6 if context.quick else 9
    for name, filters in VARIANTS[:2] if context.quick else VARIANTS:
        if missing(name):
            limits.append(f'{missing(name)}.')
            continue
        row = []
        for text, mode in modes.items():
            with contextlib.ExitStack() as stack:
                server = stack.enter_context(Server(context.shop, name, context.site, filters))
                share, took = attack(context, server, mode, seconds)
                context.say(f'  {server.label}: {text}: {share:.2f} answered, {took or 0:.1f} ms')
                row += [share, took]
                label = server.label
        rows.append([label, *row])
        findings.append(f'{label}: the least share of answered requests over the modes is {min(row[::2]):.2f}.')
    return {
        'title': 'slowhttptest',
        'paper': 'Not in the paper: slowhttptest is of 2011. The slow read filter of its section 4.2 is not evaluated there.',
        'method': f'slowhttptest opens 400 connections, 200 a second, in each of its modes. After four seconds a client of another network (127.77.0.1) '
                  f'fetches 100 bytes again and again; a request counts as answered within 2 s. The chain is `{" ".join(CHAIN)}`. A new server for each mode.',
        'tables': [{'head': ['', *(h for text in modes for h in (f'{text}: answered', 'ms'))], 'rows': rows}],
        'findings': findings, 'limits': limits,
    }
