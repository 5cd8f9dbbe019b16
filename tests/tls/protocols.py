"""Option alpn: which protocol a server and a client agree on in the handshake, and clients that offer others.

Must not know: how a server chooses.
"""

import os
import signal
import ssl
from links import Link, client, context
from support.expect import same, until
from support.nest import Failed, run
from support.server import Server

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
LONG = 'x' * 255
SPEC = r'''
%option eventServer 100
%option tls none
%option alpn echo/2 "echo/1" ''' + LONG + r'''
NL "\r"?"\n"
%%
START       { $reply("Hello.\r\n"); }
"QUIT" NL   { $reply("Goodbye.\r\n"); $close(); }
[^\r\n]* NL { $reply($1, "\r\n"); }
'''
# what a client offers, what the handshake agrees on; False: it is refused
OFFERS = (
    (('echo/2',), 'echo/2'), (('echo/1', 'echo/2'), 'echo/2'), (('h2', 'echo/1'), 'echo/1'), ((LONG, 'h2'), LONG),
    ((), None), (('h2',), False), (('echo', 'echo/', 'echo/22', 'cho/2', 'ECHO/2', LONG[1:]), False),
)


def agreed(port, folder, offers, version=None, name='one'):
    """The protocol of a connection that is served; False: the server has refused it, with the alert for this."""
    trusted = context(folder, version, name)
    if offers:
        trusted.set_alpn_protocols(list(offers))
    with Link(port, trusted, host=f'{name}.test') as link:
        try:
            link.shake()
            link.send(b'abc\nQUIT\n')
            if link.rest() != b'Hello.\r\nabc\r\nGoodbye.\r\n':
                raise Failed('it is not served')
        except ssl.SSLError as error:
            if 'no application protocol' not in str(error).lower().replace('_', ' '):
                raise
            return False
        return link.tls.selected_alpn_protocol()


def chosen(case):
    """The server's first protocol that is offered, for each host, before and after a reload."""
    with case.server(names=('one', 'two')) as server:
        for name in 'one', 'two':
            for version in VERSIONS:
                for offers, wanted in OFFERS:
                    same(f'{offers} offered', agreed(server.port, case.folder, offers, version, name), wanted)
            if name == 'one':
                os.kill(server.process.pid, signal.SIGHUP)
                until('the reload', lambda: 'the configuration was read again' in server.said())


def others(case):
    """openssl's client; a session that is resumed with another protocol."""
    with case.server() as server:
        for words, wanted in ((('-alpn', 'h2,echo/1'), 'ALPN protocol: echo/1'), ((), 'No ALPN negotiated'),
                              (('-alpn', 'h2'), 'alert number 120')):
            for version in '-tls1_2', '-tls1_3':
                said = client(server.port, case.folder, version, '-ign_eof', *words, said=b'QUIT\n')
                if wanted not in said or ('Goodbye.' in said) != ('alert' not in wanted):
                    raise Failed(f'{words}: {said[:800]}')
        kept = f'{case.folder}/agreed'
        for way, offer in ('-sess_out', 'echo/1'), ('-sess_in', 'echo/2'):
            said = client(server.port, case.folder, '-tls1_2', '-ign_eof', way, kept, '-alpn', offer, said=b'QUIT\n')
            if f'ALPN protocol: {offer}' not in said or 'Goodbye.' not in said:
                raise Failed(f'{way}: {said[:800]}')


def web(exe, folder):
    """examples/web speaks http/1.1, and browsers that can more agree on it."""
    with Server([exe], options=(f'tls={folder}/one.pem {folder}/one.key', f'fileRoot={folder}')) as server:
        for offers, wanted in (('h2', 'http/1.1'), 'http/1.1'), (('http/1.1',), 'http/1.1'), ((), None):
            trusted = context(folder)
            if offers:
                trusted.set_alpn_protocols(list(offers))
            with Link(server.port, trusted).shake() as link:
                same(f'{offers} offered', link.tls.selected_alpn_protocol(), wanted)
                link.send(b'GET /large HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n')
                same('the answer', link.rest()[:15], b'HTTP/1.1 200 OK')
        if 'alert number 120' not in client(server.port, folder, '-alpn', 'h2'):
            raise Failed('h2 alone is not refused')


def build(nest, model, folder):
    """examples/web, with option tls."""
    here = os.path.dirname(os.path.abspath(__file__))
    exe = os.path.join(folder, f'web-{model}')
    run([nest, 'build', '--tls', '--model', model, os.path.join(here, '../../examples/web/web.nest'), '-o', exe])
    return exe


CASES = (('protocols', chosen), ('protocols of other clients', others))
WEB = (('the protocol of HTTP', web),)
