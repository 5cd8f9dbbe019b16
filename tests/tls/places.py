"""perAddress counts encrypted connections from their handshakes on.

Must not know: models, and where places are kept.
"""

import contextlib
import select
import socket
import time
from support.connection import all_of
from support.expect import WAIT, same, until
from links import Link, context

MOST = 3
SPEC = rf'''
%option eventServer 200
%option tls one.pem one.key
%option perAddress {MOST}
NL "\r"?"\n"
%%
START       {{ $reply("Hello.\r\n"); }}
OVERLOAD    {{ $reply("too many\r\n"); }}
"QUIT" NL   {{ $reply("Goodbye.\r\n"); $close(); }}
'''


def begun(server, stack, source):
    """A connection from this address, which may be cut at once."""
    link = stack.enter_context(socket.socket())
    link.settimeout(WAIT)
    link.bind((source, 0))
    with contextlib.suppress(ConnectionResetError):
        link.connect(('127.0.0.1', server.port))
    return link


def told(case, server):
    """What a client is told; None: nothing."""
    try:
        with Link(server.port, context(case.folder)) as link:
            return link.shake().take(8)
    except OSError:
        return None


def unfinished(case):
    """Half-done handshakes of one address keep out clients of this address alone."""
    with case.server('readTimeout=1h', 'maxClients=50') as server, contextlib.ExitStack() as stack:
        links = [begun(server, stack, '127.0.0.2') for _ in range(5 * MOST)]
        for n, link in enumerate(links):
            with contextlib.suppress(ConnectionError):
                link.sendall(b'\x16\x03\x01\x02'[:n % 5])
        until('those that would get no answer are cut', lambda: len(select.select(links, [], [], 0)[0]) == 3 * MOST)
        stay = [link for link in links if link not in select.select(links, [], [], 0)[0]]
        for link in links:
            same('what is cut', link in stay or all_of(link) in (None, b''), True)
        held = [stack.enter_context(Link(server.port, context(case.folder))) for _ in range(MOST)]
        for link in held:
            same('clients of another address', link.shake().take(8), b'Hello.\r\n')
        same('one too many of it', told(case, server), b'too many')
        for link in held:
            link.send(b'QUIT\n')
            same('the end', link.rest(), b'Goodbye.\r\n')
            link.socket.close()
        for link in stay:
            link.close()
        until('places come back', lambda: told(case, server) == b'Hello.\r\n')

        def one_of_seven():     # places of those that have left come back one after another
            with contextlib.ExitStack() as own:
                again = [begun(server, own, '127.0.0.2') for _ in range(2 * MOST + 1)]
                until('one is cut', lambda: select.select(again, [], [], 0)[0])
                time.sleep(0.2)
                return len(select.select(again, [], [], 0)[0]) == 1
        until('one is cut, no more', one_of_seven)


CASES = (('half-done handshakes by address', unfinished),)
