"""Tests actions that crash: which clients are lost, and what the report says.

Must not know: how crashes are noticed.
"""

import os
import re
import time
from support.nest import SOCKET_MODELS, Failed
from support.server import Client, Server

SIGNALS = {'null': 'SIGSEGV', 'abort': 'SIGABRT', 'divide': 'SIGFPE', 'stack': 'SIGSEGV'}


def line_of(spec, rule):
    """Where a rule is written."""
    with open(spec, encoding='utf-8') as file:
        return next(n for n, text in enumerate(file, 1) if text.startswith(f'{rule} = '))


def reported(server, spec, rule):
    """Failed unless stderr has the report."""
    wanted = (rf'crashed: {SIGNALS[rule]} in rule {rule} '
              rf'\((?:[^() ]*/)?{os.path.basename(spec)}:{line_of(spec, rule)}\), client 127\.0\.0\.1:\d+; ')
    wanted += ('only this client is lost' if server.model == 'process' else
               'the server continues, but its other clients are disconnected')
    end = time.monotonic() + 20
    while re.search(wanted, server.said()) is None:
        if time.monotonic() > end:
            raise Failed(f'no report like {wanted}\n{server.said()}')
        time.sleep(0.05)


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
        reported(server, spec, rule)
        if server.model == 'process':
            ping(other)
        elif other.rest():
            raise Failed('a reply nobody asked for')
        with Client(server) as later:
            ping(later)


def check(report, servers, spec):
    """Every crash in every model with sockets."""
    report.heading('A crash in an action')
    for model in SOCKET_MODELS:
        for rule, name in SIGNALS.items():
            what = f'{rule}: {name}, report with rule and line, ' + (
                'only its client is lost' if model == 'process' else 'its clients are lost')
            try:
                with Server([servers[model]], 8) as server:
                    server.model = model
                    crash(server, spec, rule)
                    status = server.stop()
                    if status != 0:
                        raise Failed(f'its exit status is {status}, not 0')
                report.line(True, model, what)
            except Failed as error:
                report.line(False, model, what, '', error)
