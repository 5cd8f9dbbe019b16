"""Actions that do not come back: actionTimeout ends their process, and nobody else's.

Must not know: how a server notices it.
"""

import contextlib
import os
import re
import socket
import subprocess
import tempfile
import time
from support.cases import built
from support.nest import ONE_CLIENT, SOCKET_MODELS, Failed, environment, program
from support.server import Client, Server, running

SPEC = r'''
%option actionTimeout 400ms
%{
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
%}
%option inetd
NL "\n"
%%
spin  = "spin" NL  { for (volatile int i = 0;; i++) { } }
hang  = "hang" NL  { pause(); }
deaf  = "deaf" NL  { sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, NULL);
                     for (;;) pause(); }
busy  = "busy" NL  { for (double end = now() + 1; now() < end;) { } $reply("done\n"); }
sleep = "sleep" NL { $sleep(1s); $reply("done\n"); }
read  = "read" NL  { $readLine(9); $reply("done\n"); }
block = "block" NL { $block { usleep(1000000); } $reply("done\n"); }
leave = "leave" NL { pthread_exit(NULL); }
hello = "hello" NL { $reply("done\n"); }
pid   = "worker" NL { $reply("%07d\n", (int)getpid()); }
'''
LIMIT, LATEST = 0.4, 10.0       # LATEST: when a busy machine must have noticed


def answered(client, line, later=b''):
    """Raises Failed unless the client gets the answer."""
    client.send(line)
    if later:
        time.sleep(1)
        client.send(later)
    if (got := client.take(5)) != b'done\n':
        raise Failed(f'{line!r}: answered {got!r}')


def ended(server, line, said):
    """Raises Failed unless the client that sends the line loses its connection, and why is said."""
    with Client(server) as client:
        begun = time.monotonic()
        client.send(line)
        try:
            got = client.rest()
        except ConnectionResetError:
            got = b''
        took = time.monotonic() - begun
    if got or not LIMIT <= took <= LATEST:
        raise Failed(f'{line!r}: {got!r} after {took:.2f} s')
    if re.search(said, server.said()) is None:
        raise Failed(f'{line!r}: the server said\n{server.said()}')
    with Client(server) as client:
        answered(client, b'hello\n')


def runs_on(server):
    """an action that does not come back is ended, with a message that names rule, line and client"""
    place = (r'ended, because an action ran for longer than actionTimeout: in rule %s \(.*:\d+\), '
             r'client 127\.0\.0\.1:\d+; ')
    ended(server, b'spin\n', place % 'spin')
    ended(server, b'hang\n', place % 'hang')


def deaf(server):
    """one that blocks every signal is killed"""
    ended(server, b'deaf\n', 'ran for longer than actionTimeout, and the worker did not say where')


def waits(server):
    """time in which an action waits, or in a $block, does not count"""
    with Client(server) as client:
        answered(client, b'sleep\n')
        answered(client, b'read\n', b'rest\n')
        answered(client, b'block\n')


def shared(server, stack):
    """Clients, and the processes that serve them, two at least: one that was killed is replaced after a while."""
    end = time.monotonic() + LATEST
    while time.monotonic() < end:
        talkers = [stack.enter_context(Client(server)) for _ in range(8)]
        workers = []
        for client in talkers:
            client.send(b'worker\n')
            workers.append(client.take(8))
        if len(set(workers)) > 1:
            return talkers, workers
        for client in talkers:
            client.socket.close()
        time.sleep(0.2)
    raise Failed('one process has all clients')


def others(server):
    """clients of other processes stay"""
    with contextlib.ExitStack() as stack:
        talkers, workers = shared(server, stack)
        talkers[0].send(b'spin\n')
        talkers[0].rest()
        for client, worker in zip(talkers, workers):
            if worker != workers[0]:
                answered(client, b'hello\n')


def left(server):
    """an action that has ended its thread does not run"""
    with Client(server) as client:
        client.send(b'worker\n')
        before = client.take(8)
        client.send(b'leave\n')
        client.rest()
    time.sleep(3 * LIMIT + 1)
    with Client(server) as client:
        client.send(b'worker\n')
        if client.take(8) != before:
            raise Failed(f'its process was ended\n{server.said()}')


def unlimited(server):
    """without a limit it goes on"""
    with Client(server) as client:
        answered(client, b'busy\n')


def given(exe):
    """a process that inetd started for one connection ends itself"""
    ours, theirs = socket.socketpair()
    with ours, theirs, running([exe], stdin=theirs, stdout=theirs,
                               stderr=subprocess.DEVNULL, env=environment()) as process:
        theirs.close()
        ours.settimeout(10)
        ours.sendall(b'sleep\n')
        if ours.recv(99) != b'done\n':
            raise Failed('a wait was ended')
        begun = time.monotonic()
        ours.sendall(b'spin\n')
        if ours.recv(99) != b'' or not LIMIT <= time.monotonic() - begun <= LATEST:
            raise Failed(f'not ended after {time.monotonic() - begun:.2f} s')
        if process.wait(10) >= 0:
            raise Failed(f'it ended with status {process.returncode}')


def checks(report, model, options, names):
    """Runs some checks with a server each."""
    exe, *more = options
    for check in names:
        what = check.__doc__.partition('\n')[0] + ''.join(f', {option}' for option in more)
        try:
            with Server([exe], clients=8, options=more) as server:
                check(server)
            report.line(True, model, what, '')
        except (Failed, OSError) as error:
            report.line(False, model, what, '', error)


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'actions that do not come back: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-actions-') as folder:
            exe = built(nest, model, SPEC.replace('%option inetd\n', ''), os.path.join(folder, 'actions'))
            checks(report, model, (exe,), (runs_on, deaf, waits))
            checks(report, model, (exe, 'actionTimeout=none'), (unlimited,))
            if model in ONE_CLIENT:
                checks(report, model, (exe,), (others,))
            if model == 'thread':
                checks(report, model, (exe,), (left,))
            if model == 'event':
                checks(report, model, (exe, 'dispatchers=2'), (runs_on, others))
            exe = built(nest, model, SPEC, os.path.join(folder, 'actions'))
            try:
                given(exe)
                report.line(True, model, given.__doc__, '')
            except (Failed, OSError) as error:
                report.line(False, model, given.__doc__, '', error)
