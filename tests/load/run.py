#!/usr/bin/env python3
"""The load generator of the benchmarks counts what servers do: answers, faults, connections that they end.

usage: run.py

Must not know: which servers are measured.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from support.expect import expect                                   # noqa: E402
from support.nest import Failed, run                                # noqa: E402
from support.report import Report                                   # noqa: E402

LONG = 60
KEEPS, ENDS, SAYS, LEAVES, NOTHING, SHORT = range(6)    # what a server does, see Served


class Served:
    """A server whose answers have two bytes. With its second request on a connection it ENDS it behind the answer, SAYS so in
    the answer's head, or LEAVES without an answer; with NOTHING it leaves at the first one; SHORT: it has one byte too few."""

    def __init__(self, does):
        self.does = does
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """A thread for each client."""
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """One connection."""
        with client:
            count = 0
            try:
                for count in range(1, 1000):
                    head = b''
                    while not head.endswith(b'\r\n\r\n'):
                        more = client.recv(4096)
                        if not more:
                            return
                        head += more
                    last = count == 2 and self.does in (ENDS, SAYS, LEAVES)
                    if self.does == NOTHING or (last and self.does == LEAVES):
                        return
                    close = b'Connection: close\r\n' if last and self.does == SAYS else b''
                    body = b'x' if self.does == SHORT else b'xx'
                    client.sendall(b'HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s' % (close, len(body), body))
                    if last:
                        return
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def asked(program, does, *options):
    """What eight clients of such a server count, and their faults by name."""
    for seconds in (1, 5, 25):      # a busy machine may get no turn in a second
        with Served(does) as server:
            done = subprocess.run([program, '--to', f'127.0.0.1:{server.port}', '--path', '/', '--body', '2', '--clients', '8',
                                   '--pause', '0.002', '--warm', '0.1', '--seconds', str(seconds), '--timeout', str(LONG), *options],
                                  capture_output=True, text=True, timeout=LONG, check=False)
        expect(done.returncode == 0, f'status {done.returncode}: {done.stderr}')
        found = json.loads(done.stdout)
        if found['answers'] > 0 or any(found['faults'].values()):
            break
    return found, {name: count for name, count in found['faults'].items() if count}


def serves(program):
    """A server that keeps connections: answers, and no fault."""
    found, faults = asked(program, KEEPS, '--requests', '5')
    expect(found['answers'] > 0 and not faults and found['reopened'] == 0, found)


def ended(program):
    """Connections that the server ends are faults, and nothing else is."""
    for does in (ENDS, SAYS, LEAVES):
        _, faults = asked(program, does, '--requests', '5')
        expect(faults and set(faults) <= {'closed', 'reset'}, faults)


def reopened(program):
    """--reopen: the server may end them between two answers."""
    for does in (ENDS, SAYS, LEAVES):
        found, faults = asked(program, does, '--requests', '5', '--reopen')
        expect(found['answers'] > 0 and not faults and found['reopened'] > 0, found)


def unanswered(program):
    """--reopen: a server that answers nothing on a new connection is a fault."""
    found, faults = asked(program, NOTHING, '--requests', '5', '--reopen')
    expect(found['answers'] == 0 and faults and set(faults) <= {'closed', 'reset'}, found)


def wrong(program):
    """An answer of another length is a fault."""
    _, faults = asked(program, SHORT, '--requests', '5', '--reopen')
    expect(set(faults) == {'length'}, faults)


def refused(program):
    """--reopen without --requests is refused."""
    done = subprocess.run([program, '--to', '127.0.0.1:1', '--path', '/', '--body', '2', '--reopen'], capture_output=True,
                          text=True, timeout=LONG, check=False)
    expect(done.returncode == 2 and '--reopen is for clients with --requests' in done.stderr, done.stderr)


def main():
    """The exit status."""
    report = Report('load')
    with tempfile.TemporaryDirectory() as folder:
        program, sources = f'{folder}/load', f'{TOP}/benches/load'
        run(['cc', '-O1', '-g', '-fsanitize=address,undefined', '-o', program,
             *(f'{sources}/{name}' for name in sorted(os.listdir(sources)) if name.endswith('.c')), '-lm'])
        for check in (serves, ended, reopened, unanswered, wrong, refused):
            try:
                check(program)
                report.line(True, 'load', check.__doc__)
            except (Failed, OSError, subprocess.TimeoutExpired) as why:
                report.line(False, 'load', check.__doc__, wrong=why)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
