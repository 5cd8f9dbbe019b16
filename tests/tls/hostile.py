"""Handshakes that are disturbed anywhere, and each cipher that a client may offer.

Must not know: models, and how a server encrypts.
"""

import contextlib
import random
import socket
import ssl
import subprocess
from support import sample
from support.expect import WAIT, same
from support.nest import Failed
from links import client, context

# Mozilla's intermediate profile, version 5.7, as OpenSSL names its ciphers; by the kind of the certificate's key.
INTERMEDIATE = {
    'ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305',
    'DHE-RSA-AES128-GCM-SHA256', 'DHE-RSA-AES256-GCM-SHA384', 'DHE-RSA-CHACHA20-POLY1305'}
SUITES = {'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'}
DISTURBED = 200


def offered(*words):
    """What openssl's client can offer."""
    done = subprocess.run(['openssl', 'ciphers', '-s', *words], stdout=subprocess.PIPE, timeout=WAIT, check=True)
    return set(done.stdout.decode().strip().split(':'))


def ciphers(case):
    """Each cipher that a client can offer is accepted if the profile has it, and only then."""
    with case.server(names=('one', 'two')) as server:
        for name, kind in ('one', 'RSA'), ('two', 'ECDSA'):
            old = offered('-tls1_2', 'ALL:COMPLEMENTOFALL:@SECLEVEL=0') - SUITES
            rows = [('-tls1_2', '-cipher', one + ':@SECLEVEL=0', one in INTERMEDIATE and f'-{kind}-' in one) for one in old]
            rows += [('-tls1_3', '-ciphersuites', one, one in SUITES) for one in
                     SUITES | {'TLS_AES_128_CCM_SHA256', 'TLS_AES_128_CCM_8_SHA256'}]
            for version, option, one, wanted in sorted(rows):
                said = client(server.port, case.folder, version, option, one, host=f'{name}.test', name=name)
                agreed = f'Cipher is {one.partition(":")[0]}' in said
                if agreed != wanted:
                    raise Failed(f'{one} with a key of {kind} is {"accepted" if agreed else "refused"}: {said[:600]}')


def disturb(chance, data):
    """The same bytes with something wrong, or only in pieces."""
    data, at = bytearray(data), chance.randrange(len(data))
    way = chance.choice(('flip', 'flip', 'zero', 'drop', 'twice', 'insert', 'record', 'length', 'none'))
    if way == 'flip':
        data[at] ^= 1 << chance.randrange(8)
    elif way == 'zero':
        data[at:at + chance.randrange(1, 40)] = bytes(chance.randrange(1, 40))
    elif way == 'drop':
        del data[at:at + chance.randrange(1, 40)]
    elif way == 'twice':
        data += data[at:]
    elif way == 'insert':
        data[at:at] = chance.randbytes(chance.randrange(1, 2000))
    elif way == 'record':       # of any kind and size
        size = chance.choice((0, 1, 2, 100, 16384, 16640, 20000))
        data[:0] = bytes((chance.randrange(18, 26), 3, chance.randrange(5))) + size.to_bytes(2, 'big') + chance.randbytes(size)
    elif way == 'length':
        data[3:5] = chance.randrange(65536).to_bytes(2, 'big')
    return bytes(data)


def disturbed(server, trusted, chance):
    """One handshake, in which one flight or more is wrong; then the client goes in one way or another."""
    come, gone = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusted.wrap_bio(come, gone, server_hostname='one.test')
    with socket.create_connection(('127.0.0.1', server.port), WAIT) as link, contextlib.suppress(OSError):
        link.settimeout(chance.choice((0.01, 0.05)))
        for _ in range(6):
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLError):
                tls.do_handshake()
                tls.write(b'abc\n')
            data = gone.read()
            if data and chance.random() < 0.7:
                data = disturb(chance, data)
            cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 5))))
            for start, end in zip([0, *cuts], [*cuts, len(data)]):
                link.sendall(data[start:end])
            if chance.random() < 0.1:
                link.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                got = link.recv(1 << 16)
                come.write(got) if got else come.write_eof()


def fuzzed(case):
    """Disturbed handshakes harm no worker, and others are served between them."""
    versions = [context(case.folder, version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]
    with case.server('lingerTimeout=1s', 'readTimeout=5s') as server:
        for number in range(DISTURBED):
            chance = random.Random(f'{sample.SEED}-{number}')
            disturbed(server, chance.choice(versions), chance)
            if number % 20 == 0:
                with case.link(server) as link:
                    link.send(b'QUIT\n')
                    same(f'one that is served behind handshake {number}', link.rest(), b'Hello.\r\nGoodbye.\r\n')
        said = server.said()
        if 'killed' in said or 'crash' in said:
            raise Failed(said)
        same('its status', server.stop(), 0)


CASES = (('all ciphers', ciphers), ('disturbed handshakes', fuzzed))
