"""The real inetd of Debian (openbsd-inetd), nowait and wait; its log by a /dev/log of our own.

Must not know: how a server is built.
"""

import os
import re
import shutil
import socket

from ends import Started, Talk, free_port
from support.expect import same, until
from support.nest import Missing
from support.server import alive

INETD = '/usr/sbin/inetd'


def started(folder, exe, how, *arguments):
    """inetd with one service; it, and the service's address."""
    if not os.path.exists(INETD) and shutil.which('inetd') is None:
        raise Missing('no inetd is installed (Debian: openbsd-inetd)')
    if os.geteuid() != 0:
        raise Missing('inetd has to be started as root')
    port = free_port()
    path = os.path.join(folder, 'inetd.conf')
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'127.0.0.1:{port} stream tcp {how} root {exe} {" ".join((exe,) + arguments)}\n')
    inetd = Started(folder, [shutil.which('inetd') or INETD, '-d', '-R', '1000', path])
    address = ('127.0.0.1', port)

    def listens():
        try:
            with socket.create_connection(address, 1):
                return True
        except OSError:
            return False
    try:
        until('inetd to listen', listens)
    except BaseException:
        inetd.__exit__()
        raise
    return inetd, address


class Syslog:
    """A /dev/log, where there is none; a context manager."""

    def __init__(self):
        self.socket = None
        self.lines = []
        if os.path.exists('/dev/log'):
            raise Missing('/dev/log is somebody else\'s')
        try:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            self.socket.bind('/dev/log')
        except OSError as error:
            self.socket.close()
            raise Missing(f'/dev/log cannot be made: {error}') from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        os.unlink('/dev/log')

    def said(self):
        """All that was logged so far."""
        try:
            while True:
                self.lines.append(self.socket.recv(4096).decode(errors='replace'))
        except BlockingIOError:
            return '\n'.join(self.lines)


def nowait(folder, exe):
    """A server for each client; what it logs and prints does not reach the client."""
    inetd, address = started(folder, exe, 'nowait')
    with inetd, Talk(address) as one, Talk(address) as other:
        same('the greetings', (one.line(), other.line()), ('hello', 'hello'))
        pids = [int(one.ask('pid')), int(other.ask('pid'))]
        same('a server for each', pids[0] != pids[1], True)
        same('its peer', one.ask('peer'), '127.0.0.1:%d' % one.socket.getsockname()[1])
        same('an answer behind a log line', [one.ask('log secret'), one.ask('say it')],
             ['logged', 'it'])
        same('its last answer', other.ask('bye'), 'bye')
        same('and the end', other.line(), '')
        one.socket.close()
        until('the servers to end', lambda: not any(alive(pid) for pid in pids))


def logged(folder, exe):
    """Log lines of a server whose stderr is its client go to the system's log."""
    with Syslog() as log:
        inetd, address = started(folder, exe, 'nowait')
        with inetd, Talk(address) as one:
            same('its greeting', one.line(), 'hello')
            pid = one.ask('pid')
            one.ask('log a % line')
            until('the line', lambda: 'said a % line' in log.said())
            same('whose it is', re.findall(r'<30>\w+\[(\d+)\]: .* info 1 said a % line', log.said()),
                 [pid])


def wrong(folder, exe):
    """A mistake in its arguments is logged, and no client gets to see it."""
    with Syslog() as log:
        inetd, address = started(folder, exe, 'nowait', '--set', 'idleTimeout=7')
        with inetd, Talk(address) as one:
            same('what a client gets', one.line(), '')
            until('the message', lambda: "idleTimeout: '7' is not a duration" in log.said())


def wait(folder, exe):
    """One server for all; it ends when it has had none for idleTimeout, and comes back."""
    inetd, address = started(folder, exe, 'wait', '--set', 'idleTimeout=5s')
    with inetd:
        with Talk(address) as one, Talk(address) as other:
            same('the greetings', (one.line(), other.line()), ('hello', 'hello'))
            same('an answer', one.ask('say it'), 'it')
            parents = [parent(int(talk.ask('pid'))) for talk in (one, other)]
        server = main_of(parents, inetd.process.pid)
        until('it to end', lambda: not alive(server))
        with Talk(address) as again:
            same('the greeting of the next', again.line(), 'hello')
            same('an answer', again.ask('say it'), 'it')
            os.kill(main_of([parent(int(again.ask('pid')))], inetd.process.pid), 15)
            same('after TERM', again.line(), '')
        with Talk(address) as last:
            same('the greeting of the third', last.line(), 'hello')


def parent(pid):
    """The processes from this one up, itself first."""
    up = [pid]
    while up[-1] > 1:
        with open(f'/proc/{up[-1]}/stat', encoding='latin-1') as file:
            up.append(int(file.read().rpartition(')')[2].split()[1]))
    return up


def main_of(families, starter):
    """The one process below `starter` that is over all of these."""
    found = {family[family.index(starter) - 1] for family in families}
    same('one server', len(found), 1)
    return found.pop()


ALL = (nowait, logged, wrong, wait)
