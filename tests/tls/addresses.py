"""Servers of which some addresses say tls: these are encrypted from their beginning, the others in clear.

Must not know: how a server encrypts.
"""

import os
import re
import signal
import smtplib
import socket
import subprocess
import tempfile
from links import Link, context
from support.expect import WAIT, same, until
from support.nest import Failed, environment
from support.server import Server

BOTH = 'listen=127.0.0.1:0 127.0.0.1:0 tls'


def ports(server):
    """The one in clear and the encrypted one."""
    return [int(n) for n in re.findall(r'127\.0\.0\.1:(\d+)', server.ready)[:2]]


def no_handshake(port):
    """Text in clear gets an alert at most."""
    with socket.create_connection(('127.0.0.1', port), WAIT) as link:
        link.sendall(b'QUIT\n')
        try:
            got = link.recv(100)
        except ConnectionResetError:
            got = b''
        same('an alert at most', got[:1] in (b'', b'\x15'), True)


def both(case, clear, encrypted):
    """What clients say and get at both addresses, before and after a reload."""
    with case.server(BOTH) as server:
        plain, secure = ports(server)
        for turn in range(2):
            with socket.create_connection(('127.0.0.1', plain), WAIT) as link:
                link.sendall(clear[0])
                same('in clear', link.makefile('rb').read(), clear[1])
            with Link(secure, context(case.folder)).shake() as link:
                link.send(encrypted[0])
                same('encrypted', link.rest(), encrypted[1])
            no_handshake(secure)
            if turn == 0:
                os.kill(server.process.pid, signal.SIGHUP)
                until('the reload', lambda: 'the configuration was read again' in server.said())


def addressed(case):
    """Without $startTLS."""
    both(case, (b'QUIT\n', b'Hello.\r\nGoodbye.\r\n'), (b'abc\nQUIT\n', b'Hello.\r\nabc\r\nGoodbye.\r\n'))


def beside(case):
    """With $startTLS, which an encrypted connection refuses."""
    both(case, (b'STATE\nQUIT\n', b'Hello.\r\n1\r\nGoodbye.\r\n'),
         (b'STATE\nSTART\nQUIT\n', b'Hello.\r\n2\r\ngo on\r\n1\r\nGoodbye.\r\n'))


def unfit(case):
    """What does not fit is said before anything listens."""
    for listen, tls, wanted in (
            ('*:0 tls', 'none', 'listen *:0 tls needs a certificate, but option tls is none'),
            ('tls', case.tls('one')[4:], "'tls' must follow an address, once"),
            ('*:0 tls tls', case.tls('one')[4:], "'tls' must follow an address, once")):
        with tempfile.TemporaryDirectory(prefix='nest-tls-') as folder:
            with open(f'{folder}/config.nest', 'w', encoding='ascii') as out:
                out.write(f'listen {listen}\ntls {tls}\n')
            for more in ([], ['--check-config']):
                done = subprocess.run([case.exe, *more], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, check=False)
                said = done.stderr.decode(errors='replace')
                if done.returncode == 0 or wanted not in said or b'listening' in done.stdout:
                    raise Failed(f'{listen}: status {done.returncode}\n{said}')


def submission(exe, folder):
    """The mail server on both kinds of address: STARTTLS in clear, AUTH at once where it is encrypted."""
    options = (BOTH, 'serverName=one.test', f'fileRoot={folder}', f'tls={folder}/one.pem {folder}/one.key')
    with Server([exe], options=options, arguments=('--user', 'ann:secret')) as server:
        plain, secure = ports(server)
        with smtplib.SMTP('127.0.0.1', plain, timeout=WAIT) as client:
            client.ehlo()
            same('in clear', (client.has_extn('starttls'), client.has_extn('auth')), (True, False))
        trusted = context(folder)
        trusted.check_hostname = False      # the address is none of the certificate's names
        with smtplib.SMTP_SSL('127.0.0.1', secure, timeout=WAIT, context=trusted) as client:
            client.ehlo()
            same('encrypted', (client.has_extn('starttls'), client.has_extn('auth')), (False, True))
            same('the password', client.login('ann', 'secret')[0], 235)


CASES = (('addresses that say tls', addressed), ('unfit addresses', unfit))
LATER = (('addresses that say tls, and $startTLS', beside),)
MAIL = (('submission', submission),)
