"""cc-condition --by preload: the same servers, faults and refusals without held calls."""

import contextlib
import errno
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import faults
from conditioned import CONDITION, Conditioned, apache, good, missing, nginx, stops
from refusals import DENY, DYNAMIC, once, said, without_root
from support import BUILD, WAIT, Client, environment, expect, free_port, until
from trials import TINY

PRELOAD = ['--by', 'preload']


def nginx_serves():
    """nginx serves IPv4 and IPv6, reloads, and does not see incomplete requests."""
    if missing('nginx'):
        return missing('nginx')
    with Conditioned('nginx', nginx, 'request,timeout=4s', 'check,slashes=refuse', options=PRELOAD) as server:
        good(server.port, 20)
        good(server.port, 2, '::1')
        with Client(server.port) as slow:
            slow.send('GET / HTTP/1.1\r\n')
            slow.ended()
            expect(b' 408 ' in slow.have, f'{slow.have!r}')
        server.process.send_signal(signal.SIGHUP)
        good(server.port, 20)
        stops(server, signal.SIGQUIT)
    return ''


def nginx_reloads():
    """nginx reloads five times under load: not one failed request."""
    return missing('nginx') or faults.reloads('nginx', nginx, signal.SIGHUP, ['request', 'pass'], PRELOAD)


def apache_prefork_reloads():
    """Apache prefork reloads five times under load: not one failed request."""
    return missing('apache2') or faults.reloads('apache2', apache('prefork'), signal.SIGUSR1, ['request'], PRELOAD)


def apache_event_reloads():
    """Apache event reloads five times under load: not one failed request."""
    return missing('apache2') or faults.reloads('apache2', apache('event'), signal.SIGUSR1, ['request'], PRELOAD)


def python():
    """Python's http.server, which asks for its address, serves with --options."""
    def command(_, port):
        return ['python3', '-m', 'http.server', '--bind', '127.0.0.1', str(port)]
    with Conditioned('python3', command, 'request', options=[*PRELOAD, '--options']) as server:
        good(server.port, 10)
        stops(server, signal.SIGTERM, 128 + signal.SIGTERM)


def address():
    """The server learns the client's address, and one from a PROXY header, from accept."""
    def command(_, port):
        text = ('import socket\ns = socket.create_server(("127.0.0.1", int(%d)))\n'
                'while True:\n  c, a = s.accept()\n  c.sendall(b"%%s %%d\\n" %% (a[0].encode(), a[1]))\n  c.close()')
        return ['python3', '-c', text % port]
    for options in (PRELOAD, []):
        with Conditioned('python3', command, 'proxy,trust=127.0.0.1/32', options=options) as server:
            for header, want in (('TCP4 192.0.2.7 192.0.2.1', '192.0.2.7'),
                                 ('TCP6 2001:db8::7 2001:db8::1', '192.0.0.8'),     # its socket is IPv4
                                 ('TCP6 ::ffff:192.0.2.9 2001:db8::1', '192.0.2.9')):
                with Client(server.port, '127.0.0.1') as client:
                    client.send(f'PROXY {header} 4711 80\r\n')
                    client.ended()
                    expect(client.have == f'{want} 4711\n'.encode(), f'{options} {header}: {client.have!r}')


def nginx_and_ipv6():
    """nginx on an IPv4 socket answers a client whose address in a PROXY header is IPv6."""
    if missing('nginx'):
        return missing('nginx')
    for options in (PRELOAD, []):
        with Conditioned('nginx', nginx, 'proxy', options=options) as server, Client(server.port) as client:
            client.send('PROXY TCP6 2001:db8::7 2001:db8::1 4711 80\r\n')
            expect(client.get('/index.html').answer() == (200, 'hello\n'), f'{options}: no answer')
    return ''


def filters_die():
    """Filters are killed at random: what was passed on is answered."""
    faults.filters_die('prefork', PRELOAD)


def chain_dies():
    """cc-chain is killed again and again: not one request fails."""
    faults.chain_dies('epoll', PRELOAD)


def launcher_dies():
    """The launcher is killed under load: the server ends, and what it had read is answered."""
    faults.launcher_dies('prefork', PRELOAD)


def workers_die():
    """Workers are killed: only what each had in hand is lost, and the others go on."""
    faults.workers_die('prefork', PRELOAD)


def few_descriptors():
    """A server that has no descriptor for a client gets the client later."""
    for options in (PRELOAD, []):
        with faults.Logged('few', 'request', options=options) as server:
            with faults.Storm(server.port) as storm:
                storm.goes_on(30)
            faults.judge(storm, server.seen())
            expect(not storm.failed(), f'{options}: {storm.failed()[:3]}')


def without_seccomp():
    """It serves where held calls are refused."""
    if without_root():
        return without_root()
    port = free_port()
    once(said([DYNAMIC, str(port)], '--filter', 'request', before=[DENY, f'seccomp={errno.ENOSYS}', '--']), 69,
         '--by preload does without')
    process = subprocess.Popen([DENY, f'seccomp={errno.ENOSYS}', f'pidfd_getfd={errno.EPERM}', '--', CONDITION, *PRELOAD,
                                '--filter', 'request', '--', DYNAMIC, str(port)],
                               stdin=subprocess.DEVNULL, env=environment())
    try:
        def up():
            with contextlib.suppress(OSError):
                good(port)
                return True
            return False
        until(up, 'it does not serve')
        good(port, 5)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT)
    return ''


def refused():
    """Programs that would not load the library are refused, and scripts are judged by what runs them."""
    once(said([TINY, '1'], *PRELOAD, '--filter', 'pass'), 69, 'is linked statically')
    with tempfile.TemporaryDirectory() as place:
        script, copy = f'{place}/script', f'{place}/copy'
        with open(script, 'w', encoding='ascii') as file:
            file.write(f'#!{TINY}\n')
        os.chmod(script, 0o755)
        once(said([script], *PRELOAD, '--filter', 'pass'), 69, f'{TINY} is linked statically')
        shutil.copy(DYNAMIC, copy)
        os.chmod(copy, 0o755 | stat.S_ISUID)
        once(said([copy, '1'], *PRELOAD, '--filter', 'pass'), 69, 'gains privileges')
        once(said(['touch', f'{place}/x'], *PRELOAD, '--check'), 2, '--check examines held calls')
        once(said(['touch', f'{place}/x'], '--by', 'magic', '--filter', 'pass'), 2, '--by takes')
        expect(not os.path.exists(f'{place}/x'), 'it was started')
        once(said(['/there/is/none'], *PRELOAD, '--filter', 'pass'), 127, 'No such file')


def bypass():
    """A server that listens without the C library is noticed and ended."""
    port = free_port()
    once(said([DYNAMIC, str(port), 'raw'], *PRELOAD, '--filter', 'pass'), 69, f'listens on port {port} without the library')
    # The same below a shell, by a static program.
    once(said(['sh', '-c', f'{TINY} {port}; :'], *PRELOAD, '--filter', 'pass'), 69, 'without the library')


TESTS = [nginx_serves, nginx_reloads, apache_prefork_reloads, apache_event_reloads, python, address, nginx_and_ipv6,
         filters_die, chain_dies, launcher_dies, workers_die, few_descriptors, without_seccomp, refused, bypass]
