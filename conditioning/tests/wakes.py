"""A gate is readable while a connection waits for the server, and not longer: servers that accept once for each event."""

import os
import signal
from conditioned import good
from faults import Logged
from states import Shown, metrics, value
from support import Client, expect, until


def nobody(server):
    """How often the server was woken, and no client was there."""
    with open(f'{server.place}/log', encoding='ascii') as file:
        return file.read().split().count('nobody')


def accept_finds_a_client(options=()):
    """Each event has its client, also if the server polls before the launcher goes on."""
    with Logged('once', 'request', options=options) as server:
        place = {min(os.sched_getaffinity(0))}
        for pid in (server.process.pid, server.server()):
            os.sched_setaffinity(pid, place)
        # The server displaces the launcher as soon as it has its client.
        os.sched_setscheduler(server.process.pid, os.SCHED_IDLE, os.sched_param(0))
        good(server.port, 20)
        expect(nobody(server) == 0, f'{nobody(server)} of 20 events had no client')


def message_is_a_client():
    """So it is with the library in the server."""
    accept_finds_a_client(['--by', 'preload'])


def many_wait():
    """Of more connections than a gate has room for bytes, none is forgotten."""
    many = 600
    with Shown('request', style='once', options=['--ready', '1024']) as server:
        good(server.port)
        os.kill(server.server(), signal.SIGSTOP)
        clients = [Client(server.port).get('/') for _ in range(many)]
        until(lambda: value(metrics(server.state)[0], 'cc_passed_total', 0) == 1 + many, 'not all were passed on')
        os.kill(server.server(), signal.SIGCONT)
        for client in clients:
            expect(client.answer()[0] == 200, 'not answered')
            client.close()
        expect('lost a byte' not in server.said(), server.said())


TESTS = [accept_finds_a_client, message_is_a_client, many_wait]
