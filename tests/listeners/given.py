"""Sockets from outside: systemd's protocol, by hand and by systemd-socket-activate.

Must not know: how a server is built.
"""

import os
import shutil
import signal
import socket
import subprocess

from ends import Started, Talk, free_port, listening, within
from support.expect import WAIT, same, until
from support.nest import Missing
from support.server import alive


def passed_on(folder, exe, sockets, *options, pid='$$', names=''):
    """The server with these as descriptors 3 and up, as sd_listen_fds(3) has it."""
    # the numbers that were inherited may be those that are to be set: first out of the way
    high = [socket.socket(fileno=os.dup2(one.fileno(), 50 + i)) for i, one in enumerate(sockets)]
    script = ''.join(f'exec {3 + i}<&{50 + i} {50 + i}<&-; ' for i in range(len(sockets)))
    variables = f'LISTEN_PID={pid} LISTEN_FDS={len(sockets)} LISTEN_FDNAMES={names}'
    words = ['bash', '-c', f'{script}{variables} exec "$0" "$@"', exe]
    for option in ('listen=systemd',) + options:
        words += ['--set', option]
    try:
        return Started(folder, words, pass_fds=[50 + i for i in range(len(sockets))])
    finally:
        for one in high:
            one.close()


def talks(folder, exe):
    """TCP and Unix sockets beside an address of its own; children do not get them."""
    path = os.path.join(folder, 'given.sock')
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen(8)
    tcp, address = listening()
    with tcp, local, passed_on(folder, exe, [tcp, local], f'listen=systemd unix:{path}.own',
                               names='web:local').ready() as server:
        said = server.said(0)
        for name in (f'127.0.0.1:{address[1]}', f'unix:{path},', f'unix:{path}.own'):
            within('the first line', name, said)
        for place in (address, path, path + '.own'):
            with Talk(place) as client:
                same('its greeting', client.line(), 'hello')
                same('LISTEN_FDS of a child', client.ask('env LISTEN_FDS'), '-')
                same('LISTEN_PID of a child', client.ask('env LISTEN_PID'), '-')
        same('exit status', server.stop(), 0)
        same('its own socket is gone, the given one is not',
             (os.path.exists(path), os.path.exists(path + '.own')), (True, False))


def successor(folder, exe):
    """Who waits on a given listener when the server stops is served by the next one."""
    tcp, address = listening()
    with tcp:
        with passed_on(folder, exe, [tcp], 'maxClients=1').ready() as server, \
                Talk(address) as first, Talk(address) as second:
            same('the first greeting', first.line(), 'hello')
            second.send('say still here\n')
            same('exit status', server.stop(), 0)
            same('the first client has ended', first.line(), '')
            with passed_on(folder, exe, [tcp]).ready() as next_one:
                same('the second greeting', second.line(), 'hello')
                same('its answer', second.line(), 'still here')
                same('exit status', next_one.stop(), 0)


def refusals(folder, exe):
    """One clear message for each thing that cannot be."""
    tcp, _ = listening()
    udp, _ = listening(socket.SOCK_DGRAM, False)
    silent, _ = listening(listens=False)
    with tcp, udp, silent:
        for sockets, pid, names, message in (
                ([], '$$', '', "LISTEN_FDS is '0'"),
                ([tcp], '1', '', 'it has passed no socket to this process'),
                ([tcp, udp], '$$', 'web:dns', 'socket dns (descriptor 4): it is not a stream socket'),
                ([silent], '$$', '', 'without a name (descriptor 3): it does not listen')):
            with passed_on(folder, exe, sockets, pid=pid, names=names) as server:
                same(f'exit status where {message}', server.end(), 1)
                within('its message', message, server.said())
                same('one line of it', server.said().count('\n'), 1)


def unix_listens(path):
    """Whether a Unix socket listens at that path: it exists before it does."""
    with open('/proc/net/unix', encoding='utf-8', errors='replace') as sockets:
        found = [line.split() for line in sockets if line.rstrip().endswith(path)]
    return any(words[3] == '00010000' for words in found)


def activated(folder, exe):
    """By systemd-socket-activate itself."""
    if shutil.which('systemd-socket-activate') is None:
        raise Missing('systemd-socket-activate is not installed')
    port, path = free_port(), os.path.join(folder, 'activated.sock')
    words = ['systemd-socket-activate', '-l', f'127.0.0.1:{port}', '-l', path,
             '--fdname=web:local', exe, '--set', 'listen=systemd']
    with Started(folder, words) as server:
        until('its sockets', lambda: unix_listens(path))
        with Talk(('127.0.0.1', port)) as client, Talk(path) as other:
            same('the greetings', (client.line(), other.line()), ('hello', 'hello'))
            same('an answer', client.ask('say it'), 'it')
        same('exit status', server.stop(), 0)
        within('its last line', 'stopped after 2 clients', server.said(0))


def accepted(folder, exe):
    """systemd's Accept=yes, with inetd's descriptors."""
    if shutil.which('systemd-socket-activate') is None:
        raise Missing('systemd-socket-activate is not installed')
    port = free_port()
    words = ['systemd-socket-activate', '-l', f'127.0.0.1:{port}', '--accept', '--inetd', exe]
    with Started(folder, words) as server:
        until('its socket', lambda: 'Listening on' in server.said())
        talk = [Talk(('127.0.0.1', port)) for _ in range(3)]
        same('the greetings', [one.line() for one in talk], ['hello'] * 3)
        same('the answers', [one.ask('say it') for one in talk], ['it'] * 3)
        pids = [int(one.ask('pid')) for one in talk]
        same('a server for each', len(set(pids)), 3)
        for one in talk:
            one.socket.close()
        until('the servers to end', lambda: not any(alive(pid) for pid in pids))


def pipes(folder, exe):
    """Two pipes; a file; nothing but the conversation is in what they get."""
    del folder
    for given in (subprocess.PIPE, 'file'):
        text = b'peer\nlog x\nsay it\nbye\nsay more\n'
        file = None
        if given == 'file':
            file = open(os.memfd_create('input'), 'w+b')        # noqa: SIM115
            file.write(text)
            file.flush()
            file.seek(0)
        done = subprocess.run([exe], input=None if file else text, stdin=file,
                              capture_output=True, timeout=WAIT, check=False)
        if file:
            file.close()
        same('its answers', done.stdout.decode(), 'hello\npipe\nlogged\nit\nbye\n')
        within('its log', 'said x', done.stderr.decode())
        same('exit status', done.returncode, 0)


def pair(folder, exe):
    """The same connection on 0, 1 and 2: what is printed and logged does not get into it."""
    del folder
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([exe], stdin=theirs, stdout=theirs, stderr=theirs)
    theirs.close()
    ours.settimeout(WAIT)
    with ours:
        ours.sendall(b'log x\npeer\nsay it\n')
        ours.shutdown(socket.SHUT_WR)
        got = b''
        while chunk := ours.recv(4096):
            got += chunk
    same('its answers', got.decode(), 'hello\nlogged\nunix\nit\n')
    same('exit status', process.wait(WAIT), 0)


def wrong_settings(folder, exe):
    """A mistake is not told to the client."""
    del folder
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen([exe, '--set', 'idleTimeout=never'], stdin=theirs, stdout=theirs,
                                   stderr=theirs)
        theirs.close()
        ours.settimeout(WAIT)
        same('what the client gets', ours.recv(100), b'')
        same('exit status', process.wait(WAIT), 2)


def stopped(folder, exe):
    """TERM while the one client is there: it is told good-bye by the end of the connection."""
    del folder
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen([exe], stdin=theirs, stdout=theirs)
        theirs.close()
        ours.settimeout(WAIT)
        same('its greeting', ours.recv(100), b'hello\n')
        process.send_signal(signal.SIGTERM)
        same('then', ours.recv(100), b'')
        same('exit status', process.wait(WAIT), 0)


SYSTEMD = (talks, successor, refusals, activated)
INETD = (accepted, pipes, pair, wrong_settings, stopped)
