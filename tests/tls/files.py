"""Certificates and keys in files that a server cannot use, or that its clients will refuse: each is told in one line.

Must not know: models, and how the server reads them.
"""

import os
import socket
import subprocess
from support.expect import WAIT, same
from support.nest import Failed, environment
from links import certificate, openssl

PROFILES = {'root': 'basicConstraints=critical,CA:TRUE', 'middle': 'basicConstraints=critical,CA:TRUE',
            'leaf': 'subjectAltName=DNS:one.test', 'late': 'subjectAltName=DNS:one.test'}


def lines(folder, name):
    """Those of a file."""
    with open(f'{folder}/{name}', encoding='ascii') as file:
        return file.read().splitlines(keepends=True)


def write(folder, name, text):
    """A file."""
    with open(f'{folder}/{name}', 'w', encoding='ascii') as file:
        file.write(text)


def issued(folder, name, issuer):
    """NAME.pem and NAME.key, which another one has issued, or nobody (None)."""
    openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', f'/CN={name}', '-keyout', f'{folder}/{name}.key',
            '-out', f'{folder}/{name}.csr')
    write(folder, f'{name}.conf', PROFILES[name])
    by = ['-signkey', f'{folder}/{name}.key'] if issuer is None else \
        ['-CA', f'{folder}/{issuer}.pem', '-CAkey', f'{folder}/{issuer}.key', '-CAcreateserial']
    openssl('x509', '-req', '-in', f'{folder}/{name}.csr', '-days', '30', *by, '-extfile', f'{folder}/{name}.conf',
            '-out', f'{folder}/{name}.pem')


def damaged(text):
    """The lines of a file with one in the middle that is none of base64."""
    return ''.join([*text[:5], '!' * 64 + '\n', *text[6:]])


def made(folder):
    """All files that are tried, but for one.pem, two.pem and old.pem."""
    if os.path.exists(f'{folder}/pipe'):
        return
    os.mkfifo(f'{folder}/pipe')
    write(folder, 'text.pem', 'no certificate\n')
    write(folder, 'empty.pem', '')
    openssl('rsa', '-aes128', '-passout', 'pass:word', '-in', f'{folder}/one.key', '-out', f'{folder}/locked.key')
    openssl('x509', '-in', f'{folder}/one.pem', '-outform', 'DER', '-out', f'{folder}/one.der')
    openssl('pkey', '-in', f'{folder}/one.key', '-outform', 'DER', '-out', f'{folder}/one.keyder')
    openssl('pkcs12', '-export', '-in', f'{folder}/one.pem', '-inkey', f'{folder}/one.key', '-passout', 'pass:word',
            '-out', f'{folder}/one.p12')
    openssl('genpkey', '-algorithm', 'X25519', '-out', f'{folder}/agree.key')
    certificate(folder, 'odd', kind='secp256k1')
    certificate(folder, 'small', kind='rsa:512')
    for name, issuer in (('root', None), ('middle', 'root'), ('leaf', 'middle'), ('late', 'old')):
        issued(folder, name, issuer)
    one, leaf, middle, root = (lines(folder, f'{name}.pem') for name in ('one', 'leaf', 'middle', 'root'))
    write(folder, 'damaged.pem', damaged(one))
    write(folder, 'damaged.key', damaged(lines(folder, 'one.key')))
    write(folder, 'cut.pem', ''.join(one[:8]))
    write(folder, 'second.pem', ''.join(leaf) + damaged(middle) + ''.join(root))
    write(folder, 'begins.pem', ''.join([*leaf, '-----BEGN CERTIFICATE-----\n', *middle[1:]]))
    for name, parts in (('good', (leaf, middle, root)), ('turned', (middle, leaf)), ('mixed', (leaf, root, middle)),
                        ('expired', (lines(folder, 'late.pem'), lines(folder, 'old.pem')))):
        write(folder, f'{name}.pem', ''.join(''.join(part) for part in parts))


ANEW = 'copy the file anew from where it was made'
REFUSED = (
    ('missing.pem one.key', 'cannot read missing.pem: No such file or directory'),
    ('one.pem missing.key', 'cannot read missing.key: No such file or directory'),
    ('text.pem one.key', 'text.pem does not begin with a certificate in PEM format: it has no line -----BEGIN CERTIFICATE-----'),
    ('one.pem text.pem', 'text.pem contains no private key in PEM format: it has no line -----BEGIN PRIVATE KEY-----'),
    ('one.key one.pem', 'one.key contains a key, but no certificate; write the file of the certificate first, and then that of '
     'the key'),
    ('one.pem two.key', 'the key in two.key does not belong to the certificate in one.pem'),
    ('one.pem locked.key', 'the key in locked.key is encrypted; write it without a password, readable for the server alone'),
    ('pipe one.key', 'cannot read pipe: it is not a file'),
    ('one.pem pipe', 'cannot read pipe: it is not a file'),
    ('empty.pem one.key', 'empty.pem is empty; it must contain the certificate in PEM format, and behind it those of its issuers'),
    ('one.pem empty.pem', 'empty.pem is empty; it must contain the key in PEM format'),
    *((f'{name} one.key', f'{name} is not in PEM format, but binary; convert it with openssl x509 -inform DER, or with openssl '
       'pkcs12 -nokeys if it is PKCS #12') for name in ('one.der', 'one.p12')),
    *((f'one.pem {name}', f'{name} is not in PEM format, but binary; convert it with openssl pkey -inform DER, or with openssl '
       'pkcs12 -nocerts -nodes if it is PKCS #12') for name in ('one.keyder', 'one.p12')),
    ('damaged.pem one.key', f'the certificate in damaged.pem is damaged; {ANEW}'),
    ('cut.pem one.key', f'the certificate in cut.pem is damaged; {ANEW}'),
    ('second.pem leaf.key', f'certificate 2 of 3 in second.pem is damaged, or one before it; {ANEW}'),
    ('begins.pem leaf.key', f'certificate 2 of 2 in begins.pem is damaged, or one before it; {ANEW}'),
    ('one.pem damaged.key', f'the key in damaged.key is damaged, or of a kind that OpenSSL does not know; {ANEW}'),
    ('turned.pem leaf.key', 'the key in leaf.key belongs to certificate 2 in turned.pem; write that one first, and each issuer '
     'behind what it has issued'),
    *((f'{of}.pem {name}.key', f'the key in {name}.key is of a kind with which TLS does not sign; make one of RSA, prime256v1 or '
       'ED25519') for of, name in (('one', 'agree'), ('odd', 'odd'))),
    ('small.pem small.key', 'the key of certificate 1 in small.pem has only 512 bits; make one with an RSA key of 2048 bits, or a '
     'key of prime256v1'))
VALUES = (
    ('one.pem', "'one.pem' is not none, nor the file of a certificate"),
    ('one.pem one.key one.pem', 'is not none, nor the file of a certificate'))


def files(case):
    """What cannot be used is said before anything listens, with its name."""
    made(case.folder)
    for value, wanted in (*((value, f'tls: {wanted}\n') for value, wanted in REFUSED), *VALUES):
        for more in ([], ['--check-config']):
            done = subprocess.run([case.exe, '--set', 'listen=127.0.0.1:0', '--set', f'tls={value}', *more],
                                  cwd=case.folder, env=environment(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, check=False)
            said = done.stderr.decode(errors='replace')
            if done.returncode == 0 or wanted not in said or said.count('tls: ') > 1 or b'listening' in done.stdout:
                raise Failed(f'{value}: status {done.returncode}\n{said}\nexpected {wanted}')
    with case.server('tls=none') as server, socket.create_connection(('127.0.0.1', server.port)) as link:
        link.settimeout(WAIT)
        same('without encryption', link.recv(8), b'Hello.\r\n')


def warned(case):
    """What clients will refuse is said, and used."""
    made(case.folder)
    for pem, key, wanted in (
            ('old', 'old', 'the certificate in {} has expired on Jan  1 00:00:00 2021 GMT; clients will refuse it'),
            ('expired', 'late', 'certificate 2, of an issuer, in {} has expired on Jan  1 00:00:00 2021 GMT; clients will refuse it'),
            ('mixed', 'leaf', 'certificate 2 in {} is not that of the issuer of certificate 1; clients may refuse them; write each '
             'issuer behind what it has issued'),
            ('good', 'leaf', None), ('leaf', 'leaf', None)):
        path = f'{case.folder}/{pem}.pem'
        with case.server(f'tls={path} {case.folder}/{key}.key') as server:
            said = [line for line in server.said().splitlines() if 'tls: ' in line]
            same(f'what is said of {pem}.pem', [line.partition('tls: ')[2] for line in said],
                 [wanted.format(path)] if wanted else [])


CASES = (('files', files), ('files that clients refuse', warned))
