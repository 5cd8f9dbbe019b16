"""Handshakes while memory runs out, at each allocation in turn, those of OpenSSL as well.

What must hold: a handshake succeeds, or its connection ends; others are served meanwhile; in the end no descriptor and no memory
is left over. Must not know: models, and how a handshake works.
"""

import contextlib
import os
import re
import socket
import ssl
from support.connection import exactly
from support.expect import WAIT, same, until
from support.memory import Memory
from links import context


def asleep(server):
    """Whether all its threads are: what they have begun is done."""
    for pid in server.family():
        with contextlib.suppress(FileNotFoundError):
            for task in os.listdir(f'/proc/{pid}/task'):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                        open(f'/proc/{pid}/task/{task}/stat', encoding='latin-1') as file:
                    if file.read().rpartition(')')[2].split()[0] not in 'SZ':
                        return False
    return True


def runs_out(case, met, attempt):
    """Memory runs out in each attempt. `met`: the context manager of a client that is served; it gives what asks, and expects
    the answer."""
    short = Memory(case.folder)
    with case.server('lingerTimeout=1s', **short.environment) as server:
        def attempted(how):
            with met(case, server) as asks:
                until('it waits for the next question', lambda: asleep(server))     # it needs memory for that, too
                with how():
                    attempt(case, server)
                    if met is clear:    # a record of TLS needs memory
                        asks()
                asks()
            with met(case, server):
                pass

        def quiet():
            until('descriptors are closed', lambda: server.descriptors() <= before)
        attempted(contextlib.nullcontext)       # all that begins once has begun
        until('all have ended', lambda: server.said().count('end ') == 3)
        before = server.descriptors()
        count = short.rests(attempted, quiet, counted=case.loops, sampled=True)
        same('allocations are many', count > 100, True)
        same('what is said of workers', re.findall('.*worker.*', server.said()), [])
        case.note(f'handshakes of {count} allocations, each of which, or of a sample, failed')


@contextlib.contextmanager
def encrypted(case, server):
    """A client after its handshake."""
    with case.link(server) as link:
        link.expect(b'Hello.\r\n')

        def asks():
            link.send(b'abc\n')
            link.expect(b'abc\r\n')
        yield asks


@contextlib.contextmanager
def clear(_, server):
    """A client in clear."""
    with socket.create_connection(('127.0.0.1', server.port), WAIT) as link:
        same('its greeting', exactly(link, 8), b'Hello.\r\n')

        def asks():
            link.sendall(b'abc\n')
            same('the answer', exactly(link, 5), b'abc\r\n')
        yield asks


def shakes(case, server):
    """A handshake from the beginning; it may fail."""
    with socket.create_connection(('127.0.0.1', server.port), WAIT) as link, contextlib.suppress(ssl.SSLError, ConnectionError):
        with context(case.folder).wrap_socket(link, server_hostname='one.test') as safe:
            same('the greeting, or nothing', exactly(safe, 8) in (b'Hello.\r\n', b''), True)


def upgrades(case, server):
    """$startTLS; it may fail."""
    with socket.create_connection(('127.0.0.1', server.port), WAIT) as link, contextlib.suppress(ssl.SSLError, ConnectionError):
        if exactly(link, 8) != b'Hello.\r\n':
            return
        link.sendall(b'START\n')
        if exactly(link, 7) != b'go on\r\n':
            return
        with context(case.folder).wrap_socket(link, server_hostname='one.test') as safe:
            same('the answer, or nothing', exactly(safe, 9) in (b'welcome\r\n', b''), True)


CASES = (('handshakes without memory', lambda case: runs_out(case, encrypted, shakes)),)
LATER = (('handshakes without memory, begun later', lambda case: runs_out(case, clear, upgrades)),)
