"""Errors in a specification's C are reported where they are written; gdb sees a waiting action.

Must not know: how lines are emitted.
"""

import os
import re
import shutil
import subprocess
import time
from support.nest import Failed, environment
from support.server import Client, Server

SPEC = '''%option eventServer 4
%include "second.nest"
%{
static int before;
static int file_scope = FILE;
%}
NL \\n
%%
int first = 1;
struct { int a; int b; } both = {1,
    INITIAL};
char text[] = "x";
x = "x" NL {
    int local = 1; /* $1
    */ local += ACTION;
    $reply("%d %s %d\\n", local, $1,
           ARGUMENT);
}
y = "y" NL { $reply("%d\\n", first + both.a + before + file_scope + helper()); }
%%
before = 1;
before = STARTUP;
static int helper(void) {
    return HELPER;
}
'''
SECOND = '''%%
int third;
z = "z\\n" {
    third = INCLUDED;
}
'''
PLACES = {'FILE': 'in %{ %}', 'INITIAL': 'in a per-connection initialiser',
          'ACTION': 'in an action', 'ARGUMENT': 'in an argument on its own line',
          'STARTUP': 'in the start-up section', 'HELPER': 'in a function of the start-up section',
          'INCLUDED': 'in an action of an included file'}


def check_lines(report, nest, folder):
    """An undeclared name in each place, by each compiler."""
    report.heading('C errors point into the specification')
    files = {'places.nest': SPEC, 'second.nest': SECOND}
    for cc in ('gcc', 'clang'):
        for place, what in PLACES.items():
            for name, text in files.items():
                for other in PLACES:
                    text = text.replace(other, 'undeclared_name' if other == place else '7')
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                    file.write(text)
            source = 'second.nest' if place == 'INCLUDED' else 'places.nest'
            line = next(n for n, text in enumerate(files[source].splitlines(), 1) if place in text)
            done = subprocess.run([nest, 'build', '--cc', cc, 'places.nest'], cwd=folder,
                                  capture_output=True, env=environment(), timeout=120)
            said = done.stderr.decode(errors='replace')
            found = re.findall(r'^(\S+?):(\d+):(?:\d+:)? error: .*undeclared_name', said, re.M)
            good = done.returncode == 1 and set(found) == {(source, str(line))}
            report.line(good, cc, what, f'{source}:{line}', said[-2000:])
    done = subprocess.run([nest, 'check', 'places.nest'], cwd=folder, capture_output=True,
                          env=environment(), timeout=120)
    if done.returncode != 0:
        raise Failed('the specification itself is wrong\n' + done.stderr.decode())


# The registers that the switch saved, in the layout of runtime/platform/context.h on x86-64.
_UNWIND = '''set pagination off
set $sp_ = (unsigned long *)((struct nest__waiter *)slots.records[SLOT].waiter)->context.sp
set $rsp = (unsigned long)($sp_ + 8)
set $r15 = $sp_[1]
set $r14 = $sp_[2]
set $r13 = $sp_[3]
set $r12 = $sp_[4]
set $rbx = $sp_[5]
set $rbp = $sp_[6]
set $rip = $sp_[7]
bt
'''


def stack(pid, commands, folder):
    """What gdb says of a process."""
    path = os.path.join(folder, 'commands')
    with open(path, 'w', encoding='ascii') as file:
        file.write(commands)
    done = subprocess.run(['gdb', '-nx', '-q', '-batch', '-ex', 'set print demangle off',
                           '-ex', 'set print asm-demangle off', '-p', str(pid), '-x', path],
                          capture_output=True, timeout=60, env=environment(DEBUGINFOD_URLS=''))
    return (done.stdout + done.stderr).decode(errors='replace')


def check_gdb(report, server, folder):
    """Two actions wait, each on a stack of its own; gdb unwinds them and the loop."""
    report.heading('gdb unwinds through stacks')
    if shutil.which('gdb') is None or os.uname().machine != 'x86_64':
        report.skip('event', 'the stacks of waiting actions', 'needs gdb on x86-64')
        return
    with Server([server], 8) as running:
        clients = [Client(running, 4096) for _ in range(2)]
        for client in clients:
            client.expect(b'welcome\n')
            client.send(b'NAME x\nBIG 12000\n')
            time.sleep(0.5)
        wanted = (
            ('the loop, on a third stack', 'bt\n', ['loops_run', 'nest__context_begin']),
            ('an action that waits, down to the loop below it', _UNWIND.replace('SLOT', '0'),
             ['nest__wait', 'lines', 'wide_rule_', 'loops_run', 'nest__context_begin']),
            ('another', _UNWIND.replace('SLOT', '1'),
             ['nest__wait', 'lines', 'wide_rule_', 'loops_run', 'nest__context_begin']))
        for what, commands, names in wanted:
            said = stack(running.family()[-1], commands, folder)
            frames = re.findall(r'^#\d+ .*$', said, re.M)
            at, good = 0, 'corrupt' not in said and 'previous frame' not in said.lower()
            for name in names:
                at = next((i for i in range(at, len(frames)) if name in frames[i]), None)
                good = good and at is not None
                at = at or 0
            good = good and names[-1] in frames[-1]
            report.line(good, 'event', what, f'{len(frames)} frames',
                        f'expected {" > ".join(names)}\n{said[-3000:]}')
        for client in clients:
            client.socket.close()
