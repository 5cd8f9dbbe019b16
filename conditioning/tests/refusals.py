"""cc-condition says once what cannot work: systems that hold no calls, sockets in use, servers without TCP."""

import errno
import os
import select
import signal
import socket
import subprocess
import tempfile
from conditioned import CONDITION, Conditioned, good, stops
from faults import Logged
from support import BUILD, WAIT, Wrong, environment, expect, free_port, until
from trials import TINY, plain

DENY = os.path.join(BUILD, 'deny')
DYNAMIC = os.path.join(BUILD, 'tiny-dynamic')


def said(command, *words, before=(), **more):
    """(status, messages of cc-condition and cc-chain) of a call that ends by itself."""
    env = environment(**more.pop('env', {}))
    done = subprocess.run([*before, CONDITION, *words, '--', *command], capture_output=True, text=True,
                          check=False, timeout=3 * WAIT, stdin=subprocess.DEVNULL, env=env, **more)
    expect('Sanitizer' not in done.stderr, done.stderr)
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith('cc-')]


def once(got, status, why):
    """Fails unless there was one message with this reason, and this status."""
    expect(got[0] == status and len(got[1]) == 1 and why in got[1][0], f'{got}, not {status} {why}')


def without_root():
    """A reason if the tests cannot take rights away."""
    return '' if os.geteuid() == 0 else 'it needs root'


def old_kernel():
    """A kernel that is too old is refused by its version."""
    with tempfile.TemporaryDirectory() as place:
        got = said(['touch', f'{place}/started'], '--filter', 'pass', before=['setarch', '--uname-2.6'])
        once(got, 69, 'Linux 5.14 with seccomp is needed')
        expect(not os.path.exists(f'{place}/started'), 'the server was started')


def no_seccomp():
    """Without seccomp, or where it may not be used, the server does not start."""
    if without_root():
        return without_root()
    with tempfile.TemporaryDirectory() as place:
        command = ['touch', f'{place}/started']
        got = said(command, '--filter', 'pass', before=[DENY, f'seccomp={errno.ENOSYS}', '--'])
        once(got, 69, 'Linux 5.14 with seccomp is needed')
        got = said(command, '--filter', 'pass', before=[DENY, f'privs={errno.EPERM}', '--'])
        once(got, 69, 'run it with CAP_SYS_ADMIN, or where no_new_privs can be set')
        expect(not os.path.exists(f'{place}/started'), 'the server was started')
    return ''


def without_rights():
    """Without CAP_SYS_ADMIN it works, because no_new_privs is set."""
    if without_root():
        return without_root()
    port = free_port()
    process = subprocess.Popen([DENY, '--', CONDITION, '--filter', 'request', '--', TINY, str(port)],
                               stdin=subprocess.DEVNULL, env=environment())
    try:
        until(lambda: _open(port), 'it does not listen')
        good(port, 5)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT)
    return ''


def _open(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


def no_tracing():
    """Where the launcher may not take the server's socket, the server does not listen without filters."""
    if without_root():
        return without_root()
    port = free_port()
    got = said([TINY, str(port)], '--filter', 'request', before=[DENY, f'pidfd_getfd={errno.EPERM}', '--'])
    once(got, 1, 'cannot take the listening socket')
    return ''


def nested():
    """A second launcher inside the first one is refused."""
    got, lines = said([CONDITION, '--filter', 'pass', '--', 'true'], '--filter', 'pass')
    expect(got == 69 and len(lines) == 2 and 'another program holds them already' in lines[0], lines)
    expect(lines[1] == f'cc-condition: {CONDITION} ended with status 69 before it listened', lines)


def no_filters():
    """Filters that are not installed are refused, with the place where they should be."""
    once(said(['true'], '--filter', 'pass', env={'CC_LIBEXEC': '/nothing'}), 69, '/nothing/cc-chain: No such file')


def bad_filters():
    """A wrong name, key or value is refused before the server starts, with or without --check."""
    with tempfile.TemporaryDirectory() as place:
        for check in ([], ['--check']):
            for text, why in (('nothing', 'there is no filter nothing'), ('request,speed=9', 'there is no option speed'),
                              ('request,timeout=soon',
                               "timeout must be a time from 1 to 86400000 ms, such as 500ms, 5s or 2m, not 'soon'"),
                              ('request,timeout', 'request: the option timeout has no value: write timeout=VALUE'),
                              ('ratelimit,rate=0', 'rate must be'), ('request,,', 'is not NAME[,key=value]')):
                done = subprocess.run([CONDITION, *check, '--filter', text, '--', 'touch', f'{place}/started'],
                                      capture_output=True, text=True, check=False, timeout=WAIT, env=environment())
                expect(done.returncode == 2 and why in done.stderr and done.stderr.count('\n') == 1, f'{text}: {done}')
        expect(not os.path.exists(f'{place}/started'), 'a server was started')


def state_in_use():
    """A state socket in use, or a file in its place, is refused; one that was left behind is not."""
    with tempfile.TemporaryDirectory() as place:
        path = f'{place}/state'
        options = ['--filter', 'pass', '--state', path]
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            other.listen()
            once(said(['true'], *options), 69, 'it is in use; choose another name')
        once(said(['true'], *options), 0, 'true ended with status 0')   # a socket that was left behind
        with open(path, 'wb'):
            pass
        once(said(['true'], *options), 69, 'a file that is no socket')
        expect(os.path.exists(path), 'a file was removed')
        once(said(['true'], '--filter', 'pass', '--state', f'{place}/none/state'), 69, 'No such file')
        once(said(['true'], '--filter', 'pass', '--state', 'x' * 200), 69, 'is longer than')


def port_in_use():
    """If the port is in use, the server ends, and so does the launcher, which says when."""
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        once(said([TINY, str(port)], '--filter', 'request'), 1, f'{TINY} ended with status 1 before it listened')
        with socket.create_connection(('127.0.0.1', port)):
            other.settimeout(WAIT)
            other.accept()[0].close()


def inherited():
    """A socket that listens already would bypass the filters: it is refused."""
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        got = said(['true'], '--filter', 'request', pass_fds=[other.fileno()])
        once(got, 69, f'descriptor {other.fileno()} listens on 127.0.0.1:{other.getsockname()[1]} already')


def no_tcp():
    """A server that has only UDP, or listens late, is said to do so once, and goes on."""
    for style, why in (('udp', 'listens on UDP only after {} s (port '), ('never', 'has not listened on a TCP port after {} s')):
        for wait in (1, 5, 15):     # on a busy machine it may not have its socket sooner
            process = subprocess.Popen([CONDITION, '--filter', 'request', '--wait', str(wait), '--',
                                        *plain(style)('', free_port())], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, env=environment(), text=True)
            line = process.stderr.readline() if select.select([process.stderr], [], [], WAIT)[0] else ''
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=WAIT)[1]
            expect(rest == '', rest)
            # Before it handles signals, the server dies by one.
            if why.format(wait) in line and process.returncode == 0:
                break
        expect(why.format(wait) in line and process.returncode == 0, f'{process.returncode} {line}')
    with Logged('late', 'request', options=['--wait', '1']) as server:
        good(server.port, 5)
        stops(server, signal.SIGTERM)


def _tries(limit, user, *options):
    """(status, messages) of a start with a limit, by another user; (None, messages): it has listened."""
    port = free_port()
    command = ['prlimit', limit, 'setpriv', f'--reuid={user}', '--clear-groups', CONDITION, *options, '--filter', 'request',
               '--filter', 'pass', '--', DYNAMIC, str(port)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), text=True) as process:
        try:
            until(lambda: process.poll() is not None or _open(port), f'{limit} {options}: it neither listens nor ends')
            served = process.poll() is None
        except Wrong:
            process.kill()
            raise
        process.send_signal(signal.SIGTERM)
        lines = [line for line in process.communicate(timeout=WAIT)[1].splitlines() if line.startswith('cc-')]
    return None if served else process.returncode, lines


def few_processes():
    """If a process cannot be made, one message says so, and the server does not stay."""
    if without_root():
        return without_root()
    user = 2000000000 + 100 * os.getpid()       # nobody else's processes count
    for options in ([], ['--by', 'preload']):
        for most in range(1, 4):
            user += 1
            got = _tries(f'--nproc={most}', user, *options)
            expect(got[0] in (2, 69) and len(got[1]) == 1, f'{options} {most}: {got}')
        once(got, 69, f'the guard of {DYNAMIC} cannot be started: Resource temporarily unavailable')
        status, lines = _tries('--nproc=5', user + 10, *options)
        expect(status is None and len(lines) == 1 and 'pass cannot be started: Res' in lines[0], f'{status} {lines}')
    return ''


def few_descriptors():
    """If there are too few descriptors, there is one message, and nothing hangs."""
    if without_root():
        return without_root()
    served = []
    for options in ([], ['--by', 'preload']):
        for most in (*range(4, 30), 110, 130):
            got = _tries(f'--nofile={most}', 0, *options)
            served.append(got[0] is None)
            expect(served[-1] or (got[0] != 0 and len(got[1]) == 1), f'{options} {most}: {got}')
    expect(any(served) and not all(served), f'{served}')
    return ''


def ends_early():
    """A server that ends before it listens hands on its status, and one message says so."""
    with tempfile.TemporaryDirectory() as place:
        for options in ([], ['--by', 'preload']):
            for command, status, why in ((['true'], 0, 'true ended with status 0 before it listened'),
                                         (['sh', '-c', 'exit 42'], 42, 'sh ended with status 42 before it listened'),
                                         (['sh', '-c', 'kill -9 $$'], 137, 'sh was killed by signal 9 before it listened'),
                                         ([f'{place}/none'], 127, 'No such file')):
                once(said(command, *options, '--filter', 'pass'), status, why)


def dies():
    """A server that dies hands on its status, and nothing stays."""
    expect(said(plain('dies')('', free_port()), '--filter', 'request') == (3, []), 'status and messages')
    with Conditioned('tiny', lambda _, port: [TINY, str(port)], 'request') as server:
        good(server.port)
        os.kill(server.server(), signal.SIGSEGV)
        expect(server.process.wait(WAIT) == 128 + signal.SIGSEGV, 'status')
        expect(not _open(server.port), 'the filters have stayed')


TESTS = [old_kernel, no_seccomp, without_rights, no_tracing, nested, no_filters, bad_filters, state_in_use,
         port_in_use, inherited, no_tcp, few_processes, few_descriptors, ends_early, dies]
