"""Encrypted connections (RFC 4217), with Python's own client, curl and lftp. Each check gets a World and a folder. Must not know:
models.
"""

import ftplib
import io
import os
import socket
import ssl
import time
from clients import curl, ran, same, tree
from support.connection import all_of
from support.expect import expect
from support.nest import Failed
from world import BIG, LIMIT, Control


def context(world):
    """Trusts the server's certificate."""
    return ssl.create_default_context(cafile=world.certificate)


def encrypted(world, user='alice', passive=True, six=False, protects=True):
    """Python's own client, logged in on an encrypted connection."""
    ftp = ftplib.FTP_TLS(context=context(world), timeout=LIMIT)
    ftp.connect('::1' if six else '127.0.0.1', world.port6 if six else world.port)
    ftp.login(user, 'secret')
    if protects:
        ftp.prot_p()
    ftp.set_pasv(passive)
    return ftp


class Secure(Control):
    """A control connection that is encrypted before anybody logs in."""

    def __init__(self, world):
        super().__init__(world, None)
        self.ask('AUTH TLS', 234)
        self.socket = context(world).wrap_socket(self.socket, server_hostname='localhost')
        self.lines = self.socket.makefile('rb')
        self.ask('USER alice', 331)
        self.ask('PASS secret', 230)
        self.ask('PBSZ 0', 200)
        self.ask('TYPE I', 200)


def transfers(world, _):
    """AUTH TLS, PBSZ, PROT P and PROT C: files, parts of them, texts and lists, passive and active, IPv4 and IPv6"""
    for passive, six, protects in ((True, False, True), (False, False, True), (True, True, True), (True, False, False)):
        ftp = encrypted(world, passive=passive, six=six, protects=protects)
        ftp.storbinary('STOR safe', io.BytesIO(BIG))
        expect(world.get('alice/safe') == BIG, f'STOR {passive} {six} {protects}')
        out = io.BytesIO()
        ftp.retrbinary('RETR safe', out.write, rest=100_001)
        expect(out.getvalue() == BIG[100_001:], f'RETR {passive} {six} {protects}')
        ftp.storlines('STOR text', io.BytesIO(b'one\ntwo\n'))
        lines = []
        ftp.retrlines('RETR text', lines.append)
        expect(lines == ['one', 'two'] and 'safe' in ftp.nlst() and 'safe' in dict(ftp.mlsd()), 'texts and lists')
        ftp.quit()


def orders(world, _):
    """What is wrong: PROT before AUTH, AUTH twice, other ways of protection; a user has to log in again"""
    with Control(world) as c:
        expect('AUTH TLS' in c.ask('FEAT', 211), 'FEAT')
        c.ask('PBSZ 0', 503)
        c.ask('PROT P', 503)
        c.ask('AUTH KERBEROS_V4', 504)
        c.ask('AUTH TLS', 234)
        c.socket = context(world).wrap_socket(c.socket, server_hostname='localhost')
        c.lines = c.socket.makefile('rb')
        c.ask('PWD', 530)
        c.ask('AUTH TLS', 503)
        c.ask('PROT E', 536)
        c.ask('PROT S', 536)
        c.ask('PROT X', 501)
        c.ask('PBSZ x', 501)
        c.ask('CCC', 533)


def injects(world, _):
    """What comes in clear behind AUTH is dropped, and answers nothing"""
    with Control(world, None) as c:
        c.socket.sendall(b'AUTH TLS\r\nNOOP\r\nUSER mallory\r\n')
        c.code(234)
        c.socket = context(world).wrap_socket(c.socket, server_hostname='localhost')
        c.lines = c.socket.makefile('rb')
        c.ask('SYST', 215)
        c.ask('PASS x', 503)


def truncates(world, _):
    """An encrypted upload that ends without TLS's own end may be incomplete: the old file stays"""
    world.put('alice/kept', b'old')
    with Secure(world) as c:
        c.ask('PROT P', 200)
        for whole in (False, True):
            data = c.passive()
            c.send('STOR kept')
            c.code(150)
            data = context(world).wrap_socket(data, server_hostname='localhost')
            data.sendall(b'new' * 1000)
            if whole:
                data.unwrap().close()
            else:
                data.shutdown(socket.SHUT_RDWR)
                data.close()
            c.code(226 if whole else 426)
            expect(world.get('alice/kept') == (b'new' * 1000 if whole else b'old'), f'the file; whole: {whole}')


def clear(world, _):
    """A data connection in clear, or one that begins no handshake, is refused under PROT P, and the conversation goes on"""
    with Secure(world) as c:
        c.ask('PROT P', 200)
        data = c.passive()
        c.send('STOR kept')
        c.code(150)
        data.sendall(b'this is no handshake' * 10)
        c.code(425)
        data.close()
        data = c.passive()
        c.send('LIST')
        c.code(150)
        data.close()
        c.code(425)
        c.ask('NOOP', 200)


def silent(world, _):
    """A data connection that says nothing under PROT P ends after --data-wait, and what the client has said meanwhile is answered"""
    with Secure(world) as c:
        c.ask('PROT P', 200)
        for verb, code in (('ABOR', 226), ('QUIT', 221)):
            with c.passive():
                since = time.monotonic()
                c.send('LIST')
                c.code(150)
                c.ask(verb, 425)
                c.code(code)
                expect(time.monotonic() - since < 25, 'it took long')
        expect(c.reply()[0] == 0, 'it was not closed')


def aborts(world, _):
    """ABOR ends an encrypted transfer that stalls"""
    world.put('alice/big', BIG * 4)
    with Secure(world) as c:
        c.ask('PROT P', 200)
        data = c.passive()
        c.send('RETR big')
        c.code(150)
        data = context(world).wrap_socket(data, server_hostname='localhost')
        expect(data.recv(1000) != b'', 'nothing came')
        c.ask('ABOR', 426)
        c.code(226)
        data.close()
        c.ask('NOOP', 200)


def slow(world, _):
    """A client that reads an encrypted file slowly gets all of it, and TLS's own end"""
    world.put('alice/big', BIG)
    with Secure(world) as c:
        c.ask('PROT P', 200)
        data = c.passive()
        c.send('RETR big')
        c.code(150)
        data = ssl.create_default_context(cafile=world.certificate).wrap_socket(data, server_hostname='localhost', suppress_ragged_eofs=False)
        expect(all_of(data) == BIG, 'the file differs')
        data.close()
        c.code(226)


def curls(world, folder):
    """curl with --ssl-reqd does the same as in clear"""
    curl(world, folder, '--ssl-reqd', '--cacert', world.certificate)


def lftp(world, folder):
    """lftp mirrors a tree both ways over encrypted connections, and verifies the certificate"""
    source, back = tree(os.path.join(folder, 'source')), os.path.join(folder, 'secured')
    ran('lftp', '-c', f'set cmd:fail-exit yes; set ftp:ssl-force true; set ftp:ssl-protect-data true; set ssl:ca-file {world.certificate};'
        f'set ssl:verify-certificate yes; set net:max-retries 2; set net:timeout 20; open -u alice,secret ftp://localhost:{world.port};'
        f'mirror -R -P 3 "{source}" safe.d; mirror -P 3 safe.d "{back}"; rm -r safe.d; bye')
    expect(same(source, back), 'the trees differ')
    try:
        ran('lftp', '-c', f'set cmd:fail-exit yes; set ftp:ssl-force true; set net:max-retries 1; open -u alice,secret ftp://localhost:{world.port}; ls')
        raise AssertionError
    except Failed:
        pass


ALL = (transfers, orders, injects, truncates, clear, silent, aborts, slow, curls, lftp)
