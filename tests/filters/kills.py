"""Processes of a server are killed while clients ask.

A client may lose its connection before its message was passed on; then it has no answer at all. A
client that was passed on has a whole answer, unless its own worker was killed. Must not know: how
servers are built.
"""

import os
import random
import signal
import time

from checks import FILTERS, LONG, ask, expect, held, named, only, until, worker
from load import Load
from support.nest import Failed
from support.server import Client

CLIENTS, ROUNDS = 6, 12


class Short(Load):
    """Clients that send one message each."""

    def __init__(self, server):
        super().__init__(server, CLIENTS)
        self.partial = []

    def run(self, _number):
        """One client after another."""
        while not self.over.is_set():
            try:
                got = self.one()
            except Failed as error:         # no answer in time: it hangs
                self.failed.append(str(error))
                return
            with self.lock:
                self.answered += got == b'x\nbye\n'
                self.lost += got == b''
                if got not in (b'', b'x\nbye\n'):
                    self.partial.append(got)

    def one(self):
        """What a client gets."""
        try:
            with Client(self.server) as client:
                client.send(b'sa')
                client.send(b'y x\nquit\n')
                return client.rest()
        except (ConnectionError, BrokenPipeError):
            return b''


def judge(load, lost_most):
    """What must hold of a load in any case."""
    expect(not load.failed, f'a client hangs: {load.failed[:1]}')
    expect(load.lost <= lost_most, f'{load.lost} of {load.answered + load.lost} were lost')


def chain(server):
    """The process of cc-chain."""
    return only(server, 'cc-chain')


def replaced(server, pid, name):
    """Waits until another process has taken the place of one."""
    until(f'another {name} runs', lambda: (found := named(server, name)) and pid not in found)


def filters(server, _model):
    """Filters are killed under load: each is replaced, and answers are whole."""
    draw = random.Random(1)
    with Short(server) as load:
        for _ in range(ROUNDS):
            load.more()
            name = draw.choice(FILTERS)
            pid = only(server, name)
            os.kill(pid, signal.SIGKILL)
            replaced(server, pid, name)
        load.more(100)
    # What a filter held is lost; each client of this load has one connection at a time.
    judge(load, ROUNDS * CLIENTS)
    expect(not load.partial, f'an answer is not whole: {load.partial[:1]}')


def chains(server, _model):
    """cc-chain is killed under load: it and its filters are replaced, and answers are whole."""
    with Short(server) as load:
        for _ in range(3):
            load.more()
            pid, before = chain(server), only(server, 'request')
            os.kill(pid, signal.SIGKILL)
            replaced(server, pid, 'cc-chain')
            replaced(server, before, 'request')
            until('one filter of a kind is left', lambda: len(named(server, 'request')) == 1)
        load.more(100)
    judge(load, 3 * 2 * CLIENTS)
    expect(not load.partial, f'an answer is not whole: {load.partial[:1]}')


def workers(server, _model):
    """Workers are killed under load: others serve, and no connection is left with nobody."""
    with Short(server) as load:
        for _ in range(4):
            load.more()
            try:
                os.kill(worker(server), signal.SIGKILL)
            except (Failed, ProcessLookupError, ValueError):
                pass                # its own connection was among those that were lost
        load.more(100)
    judge(load, 4 * 2 * CLIENTS)
    until('no filter has a connection left', lambda: held(server, FILTERS) == 0)


def stopped(server, _model):
    """A filter that stands still delays clients, and loses none; the stop ends one that does."""
    ask(server)
    pid = only(server, 'slowread')
    os.kill(pid, signal.SIGSTOP)
    waiting = [Client(server) for _ in range(5)]
    for client in waiting:
        client.send(b'say x\nquit\n')
    time.sleep(0.05)
    os.kill(pid, signal.SIGCONT)
    for client in waiting:
        expect(client.rest() == b'x\nbye\n', 'one that waited for the filter')
        client.socket.close()
    os.kill(only(server, 'pass'), signal.SIGSTOP)
    os.kill(server.process.pid, signal.SIGTERM)
    os.kill(server.process.pid, signal.SIGINT)
    server.process.wait(LONG)


ALL = (filters, chains, workers, stopped)
