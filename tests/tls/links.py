"""Clients that are encrypted: one that says when each of its bytes leaves, and openssl's.

Must not know: what is checked.
"""

import socket
import ssl
import subprocess
from support.nest import Failed

REPLY = 60          # seconds
LINE = b'0123456789012345678901234567890123456789\r\n'


def context(folder, version=None, name='one'):
    """What a client trusts: the certificate of that name; and the one version of TLS that it speaks."""
    made = ssl.create_default_context(cafile=f'{folder}/{name}.pem')
    if version is not None:
        made.minimum_version = made.maximum_version = version
    return made


class Link:
    """An encrypted connection whose records and bytes are seen."""

    def __init__(self, port, trusted, host='one.test', receive=None, segment=None):
        self.socket = socket.socket()
        if segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(REPLY)
        self.socket.connect(('127.0.0.1', port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.come, self.gone = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = trusted.wrap_bio(self.come, self.gone, server_hostname=host)
        self.singly = False     # whether each byte is sent alone
        self.text = b''
        self.ended = False      # the server's close_notify has come

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def push(self):
        """Sends what is ready."""
        data = self.gone.read()
        for part in ([data[i:i + 1] for i in range(len(data))] if self.singly else [data]):
            if part:
                self.socket.sendall(part)

    def pull(self):
        """Receives; False at the end of the stream."""
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError as error:
            raise Failed(f'nothing within {REPLY} s, after {self.text[-100:]!r}') from error
        self.come.write(data) if data else self.come.write_eof()
        return bool(data)

    def shake(self):
        """The handshake; itself."""
        while True:
            try:
                self.tls.do_handshake()
                self.push()
                return self
            except ssl.SSLWantReadError:
                self.push()
                self.pull()

    def send(self, data):
        """Encrypts and sends it."""
        self.tls.write(data)
        self.push()

    def bye(self):
        """Says that it sends no more; the connection stays."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass            # it asks for the server's
        self.push()

    def more(self):
        """Adds to its text; False: nothing follows."""
        while True:
            try:
                data = self.tls.read(1 << 16)
                self.ended = not data
                self.text += data
                return bool(data)
            except ssl.SSLWantReadError:
                self.push()
                self.pull()
            except ssl.SSLZeroReturnError:
                self.ended = True
                return False
            except ssl.SSLError:
                return False

    def take(self, n):
        """The next n bytes, or what is left."""
        while len(self.text) < n and self.more():
            pass
        data, self.text = self.text[:n], self.text[n:]
        return data

    def expect(self, data):
        """The next bytes must be these."""
        got = self.take(len(data))
        if got != data:
            raise Failed(f'expected {data[:100]!r}\nreceived {got[:100]!r}')

    def rest(self):
        """All that is left; Failed if the server has not said that it is the end."""
        while self.more():
            pass
        if not self.ended:
            raise Failed(f'the stream was cut off after {self.text[-100:]!r}')
        data, self.text = self.text, b''
        return data


def client(port, folder, *words, said=b'', host='one.test', name='one'):
    """The output of openssl s_client."""
    command = ['openssl', 's_client', '-connect', f'127.0.0.1:{port}', '-servername', host, '-CAfile',
               f'{folder}/{name}.pem', '-verify_hostname', host, *words]
    try:
        done = subprocess.run(command, input=said, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=REPLY, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f'{command} did not end') from error
    return done.stdout.decode(errors='replace')


def openssl(*words):
    """Runs it to its end."""
    done = subprocess.run(['openssl', *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=REPLY, check=False)
    if done.returncode != 0:
        raise Failed(f'openssl {words}: {done.stdout.decode(errors="replace")}')


def certificate(folder, name, kind='rsa:2048'):
    """Writes NAME.pem and NAME.key, for the host NAME.test."""
    algorithm = [kind] if kind.startswith('rsa') else ['ec', '-pkeyopt', f'ec_paramgen_curve:{kind}']
    openssl('req', '-x509', '-newkey', *algorithm, '-nodes', '-days', '30', '-subj', f'/CN={name}.test',
            '-addext', f'subjectAltName=DNS:{name}.test', '-keyout', f'{folder}/{name}.key',
            '-out', f'{folder}/{name}.pem')


def expired(folder, name):
    """The same; its time is over."""
    with open(f'{folder}/{name}.conf', 'w', encoding='ascii') as out:
        out.write('[ca]\ndefault_ca = it\n[it]\ndatabase = list\nnew_certs_dir = .\nserial = serial\n'
                  'default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n'
                  .replace('= list', f'= {folder}/list').replace('= .', f'= {folder}')
                  .replace('= serial', f'= {folder}/serial'))
    with open(f'{folder}/list', 'w', encoding='ascii'):
        pass
    openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', f'/CN={name}.test',
            '-keyout', f'{folder}/{name}.key', '-out', f'{folder}/{name}.csr')
    openssl('ca', '-batch', '-selfsign', '-notext', '-create_serial', '-config', f'{folder}/{name}.conf',
            '-keyfile', f'{folder}/{name}.key', '-in', f'{folder}/{name}.csr', '-out', f'{folder}/{name}.pem',
            '-startdate', '20200101000000Z', '-enddate', '20210101000000Z')
