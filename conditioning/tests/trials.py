"""cc-condition --check: what it says of servers, and that it leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from conditioned import CONDITION, apache, missing, nginx
from support import BUILD, HERE, WAIT, Wrong, children, environment, expect, free_port, until

TINY = os.path.join(BUILD, 'tiny')


def plain(style, log='/dev/null'):
    """The command of the server that knows nothing of filters."""
    return lambda _, port: [sys.executable, os.path.join(HERE, 'plain.py'), style, str(port), log]


def check(command, *more, wait=30):
    """(status, output, errors, port) of a check. Nobody listens on the port afterwards."""
    with tempfile.TemporaryDirectory(prefix='cc-') as place:
        os.chmod(place, 0o755)
        os.mkdir(f'{place}/site')
        port = free_port()
        done = subprocess.run([CONDITION, '--check', '--wait', str(wait), *more, '--', *command(place, port)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=2 * WAIT + wait, env=environment())
        with socket.socket() as s:
            expect(s.connect_ex(('127.0.0.1', port)) != 0, f'the server has stayed: {done}')
        for mark in ('Sanitizer', 'runtime error'):
            expect(mark not in done.stderr, done.stderr)
        return done.returncode, done.stdout, done.stderr, port


def works(command, name, *more, call='accept4'):
    """Fails unless the check passes; returns what it said."""
    status, said, errors, port = check(command, *more)
    expect(status == 0, f'{status} {said} {errors}')
    expect(f'TCP 127.0.0.1:{port}\n' in said, said)
    expect('made by bind, listen' in said and f'    {call} returned a client\n' in said, said)
    expect(said.endswith(f'{name} can run behind filters\n'), said)
    return said


def refused(command, why, *more, status=69, wait=30):
    """Fails unless the check says in one message why it does not work."""
    got, said, errors, _ = check(command, *more, wait=wait)
    mine = [line for line in errors.splitlines() if line.startswith('cc-')]
    expect(got == status and len(mine) == 1 and why in mine[0], f'{got} {said} {errors}')
    expect('can run behind' not in said, said)
    return said


def nginx_works():
    """nginx: both of its sockets, the calls on them, and how it is linked."""
    if missing('nginx'):
        return missing('nginx')
    said = works(nginx, 'nginx', '--filter', 'request')
    expect(said.count('TCP ') == 2 and 'TCP [::1]:' in said, said)
    expect('epoll_ctl' in said and 'nginx is linked dynamically' in said, said)
    expect('io_uring is not used' in said and '--options' not in said, said)
    return ''


def apache_works():
    """Apache's processes, which block in accept."""
    return missing('apache2') or works(apache('prefork'), 'apache2') and ''


def blocking_works():
    """Processes that wait in accept."""
    works(plain('prefork'), sys.executable)


def static_works():
    """A program without shared libraries is called static, and can run behind held calls."""
    said = works(lambda _, port: [TINY, str(port)], TINY, call='accept')
    expect(f'{TINY} is linked statically' in said, said)


def wants_options():
    """Python's http.server dies when its address is not answered; the check says which option helps."""
    def command(_, port):
        return ['python3', '-m', 'http.server', '--bind', '127.0.0.1', str(port)]
    refused(command, 'it ended with status 1 after it had called getsockname; try --options')
    works(command, 'python3', '--options')


def reasons():
    """Each reason has one message: UDP, no socket, an early end, io_uring, the background, no program."""
    for wait in (1, 5, 15):     # on a busy machine it may not have its socket sooner
        try:
            said = refused(plain('udp'), f'has not listened on a TCP port in {wait} s, only on UDP', wait=wait)
            break
        except Wrong:
            if wait == 15:
                raise
    expect('UDP 127.0.0.1:' in said, said)
    refused(plain('never'), 'has not listened on a TCP port in 1 s', wait=1)
    said = refused(plain('dies'), 'it ended with status 3')
    expect('no call returned a client' in said, said)
    said = refused(plain('single'), 'it ended with status 0 after it had accepted the client of this check at 127.0.0.1:')
    expect('accept4 returned a client' in said, said)
    said = refused(plain('ring'), 'it ended with status 4 before it listened')
    expect('called io_uring_setup' in said, said)
    refused(lambda *_: ['/there/is/none'], '/there/is/none: No such file', status=127)
    refused(lambda *_: ['sh', '-c', 'kill -9 $$'], 'it was killed by signal 9')
    refused(plain('epoll'), 'there is no filter nothing', '--filter', 'nothing', status=2)


def background():
    """A server that goes to the background is refused, and ended with all of its processes."""
    if missing('nginx'):
        return missing('nginx')

    def command(place, port):
        words = nginx(place, port)
        with open(words[2], encoding='ascii') as file:
            text = file.read()
        with open(words[2], 'w', encoding='ascii') as file:
            file.write(text.replace('daemon off', 'daemon on'))
        return words
    refused(command, 'goes to the background')
    return ''


def interrupted():
    """TERM ends a check and the server."""
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen([CONDITION, '--check', '--', *plain('never', log.name)('', free_port())],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
        pid = until(lambda: [p for n, l in children(process.pid).items() if n.startswith('python') for p in l],
                    'it does not start')[0]
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=WAIT)[1].decode()
        expect(process.returncode == 69, f'{process.returncode} {said}')
        expect(not os.path.exists(f'/proc/{pid}'), 'the server has stayed')


TESTS = [nginx_works, apache_works, blocking_works, static_works, wants_options, reasons, background, interrupted]
