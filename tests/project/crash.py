"""Tests actions that crash or end their process: which clients are lost, and what the reports say.

Must not know: how crashes are noticed.
"""

import contextlib
import os
import re
import time
from support.nest import ONE_CLIENT, SOCKET_MODELS, Failed
from support.server import Client, Server

SIGNALS = {'null': 'SIGSEGV', 'abort': 'SIGABRT', 'divide': 'SIGFPE', 'stack': 'SIGSEGV'}
ENDED = 'ended, because an action called pthread_exit:'
EXITED = 'ended, because an action called exit:'
EXITS = {'exit': 0, 'three': 3, 'within': 0}    # rule: status; they call exit
SKIPS = {'skip': 0, 'four': 4, 'forge': 0}      # they call _exit; the last one says before that all is well
LOOPS = [model for model in SOCKET_MODELS if model in ('event', 'uring')]


def line_of(spec, rule):
    """Where a rule is written."""
    with open(spec, encoding='utf-8') as file:
        return next(n for n, text in enumerate(file, 1) if text.startswith(f'{rule} = '))


def said(server, wanted):
    """Failed unless stderr has such a text."""
    end = time.monotonic() + 20
    while re.search(wanted, server.said()) is None:
        if time.monotonic() > end:
            raise Failed(f'no report like {wanted}\n{server.said()}')
        time.sleep(0.05)


def reported(server, spec, rule):
    """Failed unless stderr has the report."""
    what = f'crashed: {SIGNALS[rule]}' if rule in SIGNALS else re.escape(EXITED if rule in EXITS else ENDED)
    wanted = (rf'{what} in rule {rule} '
              rf'\((?:[^() ]*/)?{os.path.basename(spec)}:{line_of(spec, rule)}\), client 127\.0\.0\.1:\d+; ')
    wanted += ('only this client is lost' if server.model in ONE_CLIENT else
               'the server continues, but the other clients of this process are disconnected')
    said(server, wanted)


def by_itself(server, status):
    """Failed unless the supervisor says that a worker ended."""
    said(server, rf'worker [0-9]+ ended by itself with status {status}')


def ping(client):
    """Failed unless the client is served."""
    client.send(b'PING\n')
    client.expect(b'pong\n')


def crash(server, spec, rule):
    """One client's action crashes; others are looked at."""
    with Client(server) as other, Client(server) as client:
        ping(other)
        ping(client)
        client.send(rule.upper().encode() + b'\n')
        if client.rest():
            raise Failed('a reply to an action that crashed')
        if rule in SKIPS:
            by_itself(server, SKIPS[rule])
        else:
            reported(server, spec, rule)
        if rule in EXITS:
            by_itself(server, EXITS[rule])
        if server.model in ONE_CLIENT:
            ping(other)
        elif other.rest():
            raise Failed('a reply nobody asked for')
        with Client(server) as later:
            ping(later)


def loop_left(server, spec, rule):
    """An action ends the thread of a loop, or a helper thread, while another helper thread lives: that is
    a crash of the process, which would otherwise serve nobody, or lack a helper, for ever."""
    with Client(server) as client:
        client.send(b'BLOCK\n')
        client.expect(b'done\n')
    crash(server, spec, rule)
    status, rest = server.stop(), server.rest()
    if status != 0 or 'stopped after 4 clients: 2 crash, 2 eof\n' not in rest:
        raise Failed(f'status {status}: {rest}')


def closed(server):
    """An action closes descriptors of the server: the process ends, and another serves."""
    with Client(server) as client:
        ping(client)
        client.send(b'SHUT\n')
        said(server, 'a descriptor of the server was closed, probably by an action; its process ends')
    with Client(server) as later:
        ping(later)


def deaf(server):
    """An action closes the listening socket: the process ends when the next client comes, and another serves it."""
    with Client(server) as client:
        client.send(b'DEAF\n')
        client.expect(b'deaf\n')
        with Client(server) as later:
            ping(later)
        said(server, 'a descriptor of the server was closed, probably by an action; its process ends')
        if client.rest():
            raise Failed('a reply nobody asked for')


def forked(server):
    """A process that an action has forked may exit: nothing is reported, and nobody is lost."""
    with Client(server) as client:
        client.send(b'CHILD\n')
        client.expect(b'waited\n')
        ping(client)
    if EXITED in server.said() or 'by itself' in server.said():
        raise Failed(server.said())


def leaves(server):
    """Actions of a thread server end their threads: their clients see the end at once, other clients
    notice nothing, each is counted, and there are as many threads as before."""
    tasks = f'/proc/{server.family()[-1]}/task'
    with contextlib.ExitStack() as clients:
        for _ in range(8):
            ping(clients.enter_context(Client(server)))
        before = len(os.listdir(tasks))     # all threads are there, since each serves a client
    with Client(server) as other:
        ping(other)
        for _ in range(40):       # five times as many as there are threads
            with Client(server) as client:
                ping(client)
                client.send(b'LEAVE\nPING\n')
                if b'pong' in client.rest():
                    raise Failed('a message behind the one that ended the thread was answered')
        ping(other)
    for _ in range(20):
        with Client(server) as client:
            ping(client)
    end = time.monotonic() + 20
    while len(os.listdir(tasks)) != before:
        if time.monotonic() > end:
            raise Failed(f'{len(os.listdir(tasks))} threads in place of {before}')
        time.sleep(0.05)
    lines = re.findall(r'an action ended its thread \(pthread_exit\), client 127\.0\.0\.1:\d+; '
                      r'only this client is lost\n', server.said())
    if len(lines) != 40:
        raise Failed(f'{len(lines)} of 40 are reported\n{server.said()}')
    status, rest = server.stop(), server.rest()
    if status != 0 or 'stopped after 69 clients: 40 crash, 29 eof\n' not in rest:
        raise Failed(f'status {status}: {rest}')


def tried(report, servers, model, what, judge):
    """A line of the report: whether a judge of a new server of the model finds nothing wrong."""
    try:
        with Server([servers[model]], 8) as server:
            server.model = model
            judge(server)
        report.line(True, model, what)
    except Failed as error:
        report.line(False, model, what, '', error)


def stopped(server):
    """Failed unless it ends well."""
    if server.stop() != 0:
        raise Failed(server.said())


def ends(report, servers, spec):
    """Every way to end the process of an action, in every model with sockets."""
    def judged(rule):
        def judge(server):
            if rule == 'child':
                forked(server)
            else:
                crash(server, spec, rule)
            status, rest = server.stop(), server.rest()
            lost = '1 crash, 2 eof' if server.model in ONE_CLIENT else '2 crash, 1 eof'
            if status != 0 or f': {"1 eof" if rule == "child" else lost}\n' not in rest:
                raise Failed(f'status {status}: {rest}')
        return judge
    for model in SOCKET_MODELS:
        for rule, what in (*((rule, 'exit: report with rule, line and client, and the status') for rule in EXITS),
                           *((rule, '_exit: the supervisor reports it') for rule in SKIPS),
                           ('child', 'exit of a process that the action forked: nothing is reported')):
            tried(report, servers, model, f'{rule}: {what}', judged(rule))


def check(report, servers, spec):
    """Every crash in every model with sockets, and threads that end themselves."""
    def crashes(rule):
        return lambda server: (crash(server, spec, rule), stopped(server))
    report.heading('A crash in an action')
    for model in SOCKET_MODELS:
        for rule, name in SIGNALS.items():
            what = f'{rule}: {name}, report with rule and line, ' + (
                'only its client is lost' if model in ONE_CLIENT else 'its clients are lost')
            tried(report, servers, model, what, crashes(rule))
    ends(report, servers, spec)
    for model in ONE_CLIENT:
        tried(report, servers, model, 'pthread_exit: report with rule and line, only its client is lost', crashes('leave'))
    tried(report, servers, 'thread', 'pthread_exit: its client is told and counted, threads are replaced', leaves)
    for model in LOOPS:
        tried(report, servers, model, 'close of descriptors that are not its own: report, and another process serves', closed)
        tried(report, servers, model, 'close of the listening socket: the next client finds another process', deaf)
        for rule in ('leave', 'inside'):
            tried(report, servers, model, f'pthread_exit, {rule}: report with rule and line, its clients are lost',
                  lambda server, rule=rule: loop_left(server, spec, rule))
