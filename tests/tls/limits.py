"""writeTimeout and minimumRate for encrypted clients: what counts is what the client takes, although a
record counts as sent only when all of it has left.

The client's segments are small. So the server's system holds little for it, and takes a part of a
record at a time. Must not know: how a server encrypts, nor how it measures progress.
"""

import concurrent.futures
import socket
import time
from support.expect import same
from support.nest import Failed
from support.timed import cut, timed
from links import Link, context

SPEC = r'''
%option eventServer 200
%option tls one.pem one.key
%option writeTimeout 4s
%{
static char block[100001];
%}
NL "\n"
%%
"BIG" NL    { for (int i = 0; i < 30; i++) if ($reply(block) < 0) return; $close(); }
"FILE" NL   { $fileReply("slow"); $close(); }
%%
memset(block, 'x', sizeof block - 1);
'''
SIZE = 3_000_000
SLOWLY = 14         # seconds: a record of 16 KB takes 8 at the rate of the slow clients
EARLY, LATE = 0.1, 1.5


def link(case, server, receive=4096):
    """A client after its handshake, for which the system of the server holds little."""
    made = Link(server.port, context(case.folder), receive=receive, segment=536)
    return made.shake()


def served(case, server, line, seconds, bytes_a_second):
    """Seconds for which a client that reads so many bytes is served, at most `seconds`; the client."""
    client = link(case, server)
    begun, taken = time.monotonic(), 0
    client.send(line)
    while (took := time.monotonic() - begun) < seconds:
        due = int(took * bytes_a_second) - taken
        if due > 0:
            try:
                data = client.socket.recv(due)
            except ConnectionResetError:
                data = b''
            if not data:
                break
            taken += len(data)
            client.come.write(data)
        time.sleep(0.05)
    return took, client


def steady(case, server, line):
    """Gets all of it, at first slowly: writeTimeout is no limit for it."""
    took, client = served(case, server, line, SLOWLY, 2000)
    with client:
        if took < SLOWLY:
            raise Failed(f'{line!r}: cut after {took:.2f} s')
        same(f'{line!r}: bytes', client.rest() == b'x' * SIZE, True)


def silent(case, server, line):
    """A client that reads nothing is cut in time."""
    def measure():
        with link(case, server) as client:
            return cut(client, line)

    timed(f'{line!r}: cut', 4, measure, EARLY, LATE)


def rate(case, server, line, bytes_a_second, stays):
    """minimumRate, 3000 bytes a second, which are those that leave."""
    def measure():
        took, client = served(case, server, line, SLOWLY, bytes_a_second)
        client.socket.close()
        return took

    what = f'{line!r}, {bytes_a_second} bytes a second: served'
    if not stays:
        timed(what, 10, measure, EARLY, LATE)
    elif (took := measure()) < SLOWLY:
        raise Failed(f'{what} for {took:.2f} s')


def limits(case):
    """Slow and steady, silent, too slow and fast enough, all at once: each takes its time."""
    with open(f'{case.folder}/slow', 'wb') as out:
        out.write(b'x' * SIZE)
    with case.server() as server, case.server('minimumRate=3000') as minding, \
            concurrent.futures.ThreadPoolExecutor(8) as pool:
        works = []
        for line in (b'BIG\n', b'FILE\n'):
            works += [pool.submit(steady, case, server, line), pool.submit(silent, case, server, line),
                      pool.submit(rate, case, minding, line, 2000, False),
                      pool.submit(rate, case, minding, line, 6000, True)]
        said = [str(error) for error in (work.exception() for work in works) if error is not None]
        if said:
            raise Failed('\n'.join(said))


CASES = (('slow clients', limits),)
