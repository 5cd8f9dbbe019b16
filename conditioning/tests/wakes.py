"""A gate is readable while a connection waits for the server, and not longer: servers that accept once for each event."""

import os
from conditioned import good
from faults import Logged
from support import expect


def nobody(server):
    """How often the server was woken, and no client was there."""
    with open(f'{server.place}/log', encoding='ascii') as file:
        return file.read().split().count('nobody')


def accept_finds_a_client():
    """Each event has its client, also if the server polls before the launcher goes on."""
    with Logged('once', 'request') as server:
        place = {min(os.sched_getaffinity(0))}
        for pid in (server.process.pid, server.server()):
            os.sched_setaffinity(pid, place)
        # The server displaces the launcher as soon as it has its client.
        os.sched_setscheduler(server.process.pid, os.SCHED_IDLE, os.sched_param(0))
        good(server.port, 20)
        expect(nobody(server) == 0, f'{nobody(server)} of 20 events had no client')


TESTS = [accept_finds_a_client]
