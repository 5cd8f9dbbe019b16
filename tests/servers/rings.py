"""Servers of the uring model: what they do without io_uring, and that rings which are far too small lose nothing.

Must not know: how operations are submitted.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from support.nest import ROOT, SOCKET_MODELS, Failed, environment, program, run as run_program
from support.server import Client, Server

SPEC = r'''
%option uringServer 300 WORD
NL "\n"
LINE [^\n]*
%%
LINE NL { $reply("%s\n", $1); }
'''
# What a turn of the loop takes is longer than the time after which writeTimeout looks at a client first.
BUSY = r'''
%option uringServer 100
%option writeTimeout 1s
%{
#include <unistd.h>
%}
NL "\n"
%%
work = "work" NL { usleep(2000); $reply("done\n"); }
'''
SECCOMP = os.path.join(ROOT, 'tests', 'support', 'seccomp.py')
REFUSALS = {'EPERM': 'not permitted', 'ENOSYS': 'this kernel has none', 'EINVAL': 'Linux 6.1'}
UNAVAILABLE = 69    # of sysexits.h
# A queue of one operation, two completions, two buffers: all of them overflow.
TINY = {'RING_SUBMISSIONS': 1, 'RING_COMPLETIONS': 2, 'RING_BUFFERS': 2, 'RING_MESSAGES': 1}
CROWD, LINES = 200, 20
BUSY_CLIENTS, BUSY_ROUNDS = 60, 10


def refusing(error):
    """The words that run a server without rings."""
    return [sys.executable, SECCOMP, error]


def refused(words, why):
    """It ends with one message, and the status says that it is the system's fault."""
    done = subprocess.run([*words, '--set', 'listen=127.0.0.1:0'], capture_output=True, text=True, timeout=60,
                          env=environment())
    lines = done.stderr.splitlines()
    if done.returncode != UNAVAILABLE or len(lines) != 1 or why not in lines[0]:
        raise Failed(f'status {done.returncode}\n{done.stdout}{done.stderr}')
    if 'fallback' not in lines[0] or 'eventServer' not in lines[0]:
        raise Failed(f'it does not say what to do: {lines[0]}')


def falls_back(binary, error):
    """epoll serves; a message says so"""
    with Server([*refusing(error), binary]) as server:
        crowd(server, 20)
        if server.stop() != 0:
            raise Failed(f'it ended badly\n{server.said()}')
        if 'epoll serves' not in server.said() or REFUSALS[error] not in server.said():
            raise Failed(f'it does not say that epoll serves: {server.said()}')


def crowd(server, count):
    """Clients that send many lines at a time, and all get their replies."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(count)]
        lines = [b''.join(b'%d of client %d %s\n' % (n, i, b'x' * (n * 300)) for n in range(LINES))
                 for i in range(count)]
        for client, text in zip(clients, lines):
            client.send(text)
        for client, text in zip(clients, lines):
            client.expect(text)


def tiny(nest, spec, folder):
    """The server with such rings."""
    project = os.path.join(folder, 'tiny')
    run_program([nest, 'gen', spec, '-o', project])
    path = os.path.join(project, 'runtime', 'poller', 'ring.c')
    with open(path, encoding='utf-8') as file:
        text = file.read()
    for name, value in TINY.items():
        text, found = re.subn(rf'\b{name} = [^,\n]*', f'{name} = {value}', text)
        if found != 1:
            raise Failed(f'ring.c has no {name}')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    run_program(['make', 'CC=clang', 'CFLAGS=-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all',
                 'LDFLAGS=-fsanitize=address,undefined'], folder=project)
    return os.path.join(project, 'rings')


def overflow(binary):
    """crowds, one after another, of a server whose rings overflow"""
    with Server([binary]) as server:
        for _ in range(3):
            crowd(server, CROWD)
        if server.stop() != 0 or 'rror' in server.said():
            raise Failed(f'it ended badly\n{server.said()}')


def busy(nest, folder):
    """clients that are all busy get their replies, though a turn of the loop lasts long"""
    spec = os.path.join(folder, 'busy.nest')
    with open(spec, 'w', encoding='ascii') as file:
        file.write(BUSY)
    run_program([nest, 'build', spec, '-o', spec[:-5]])
    with Server([spec[:-5]]) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(BUSY_CLIENTS)]
        for _ in range(BUSY_ROUNDS):
            for client in clients:
                client.send(b'work\n')
            for client in clients:
                client.expect(b'done\n')
        if server.stop() != 0:
            raise Failed(f'it ended badly\n{server.said()}')


def checks(nest, folder):
    """(what, function) of each."""
    binaries = {}
    for word in ('', 'fallback'):
        spec = os.path.join(folder, f'rings{word}', 'rings.nest')
        os.mkdir(os.path.dirname(spec))
        with open(spec, 'w', encoding='ascii') as file:
            file.write(SPEC.replace('WORD', word))
        binaries[word] = spec[:-5]
        run_program([nest, 'build', spec, '-o', spec[:-5]])
    for error in REFUSALS:
        yield f'{error}: refused', lambda error=error: refused([*refusing(error), binaries['']], REFUSALS[error])
        yield f'{error}: epoll serves', lambda error=error: falls_back(binaries['fallback'], error)
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
        nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        words = ['env', '-u', 'NEST_USER', 'prlimit', '--memlock=0', *nobody, binaries['']]
        yield 'no memory may be locked: refused', lambda: refused(words, 'LimitMEMLOCK')
    yield busy.__doc__, lambda: busy(nest, folder)
    yield 'rings that overflow', lambda: overflow(tiny(nest, binaries[''] + '.nest', folder))


def run(report, models=SOCKET_MODELS):
    """All of them, whichever models were drawn: they take a second."""
    report.heading('uring: without rings, and with rings that are too small')
    if 'uring' not in SOCKET_MODELS:
        report.skip('uring', 'rings', 'this kernel gives none')
        return
    with tempfile.TemporaryDirectory(prefix='nest-rings-') as folder:
        for what, check in checks(program(), folder):
            try:
                check()
                report.line(True, 'uring', what, '')
            except Failed as error:
                report.line(False, 'uring', what, '', error)
