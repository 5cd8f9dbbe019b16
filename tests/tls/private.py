"""What a server with all logs and traces never writes: its private key, the keys of its tickets, passwords.

examples/mail logs in a client over TLS, whose session is resumed. A trace that its user asks for (`nest build --trace`) shows what
clients say, so passwords as well; it is for its owner alone. Must not know: models.
"""

import base64
import os
import re
import shutil
import socket
import stat
import subprocess
from support.expect import WAIT, same, until
from support.nest import Failed, run
from support.server import Server
from links import client
from mail import PASSWORD, SPEC, USER

LOGIN = base64.b64encode(f'\0{USER}\0{PASSWORD}'.encode())
SAID = b'EHLO client.example\r\nAUTH PLAIN ' + LOGIN + b'\r\n' \
    b'MAIL FROM:<alice@one.test>\r\nRCPT TO:<bob@one.test>\r\nDATA\r\nSubject: lunch\r\n\r\nAt one?\r\n.\r\nQUIT\r\n'


def key_parts(folder, name):
    """The private numbers of a key and the lines of its file, as they could be written: bytes, either way round, and text."""
    with open(f'{folder}/{name}.key', encoding='ascii') as file:
        found = [row.strip().encode() for row in file if not row.startswith('-') and len(row) > 40]
    run(['openssl', 'rsa', '-in', f'{folder}/{name}.key', '-traditional', '-outform', 'DER', '-out', f'{folder}/{name}.der'])
    text = subprocess.run(['openssl', 'asn1parse', '-inform', 'DER', '-in', f'{folder}/{name}.der'], stdout=subprocess.PIPE,
                          check=True, timeout=WAIT).stdout.decode()
    numbers = [bytes.fromhex(digits) for digits in re.findall(r'INTEGER +:([0-9A-F]{100,})', text)][1:]     # the modulus is public
    same('the private numbers', len(numbers), 6)
    for number in numbers:
        found += pieces(number) + pieces(number[::-1])
    return found


def pieces(secret):
    """Parts of a secret, each as bytes and as text."""
    out = []
    for at in range(0, len(secret) - 15, 16):
        part = secret[at:at + 16]
        out += [part, part.hex().encode(), part.hex().upper().encode()]
    return out


def ticket_key(kept):
    """The name of the key that has made the ticket of a session: its first bytes (RFC 5077, 4)."""
    text = subprocess.run(['openssl', 'sess_id', '-in', kept, '-noout', '-text'], stdout=subprocess.PIPE,
                          check=True, timeout=WAIT).stdout.decode()
    return bytes.fromhex(re.search(r'0000 - ([0-9a-f -]{47})', text)[1].replace('-', ' '))


def shared_memory(pid):
    """What a process shares with others."""
    parts = []
    with open(f'/proc/{pid}/maps', encoding='ascii') as maps, open(f'/proc/{pid}/mem', 'rb') as memory:
        for row in maps:
            place, rights = row.split()[:2]
            first, end = (int(text, 16) for text in place.split('-'))
            if rights.startswith('r') and rights.endswith('s'):
                memory.seek(first)
                parts.append(memory.read(end - first))
    return b''.join(parts)


def ticket_keys(server, kept):
    """The keys of tickets: they stand behind the name that a ticket has."""
    name, memory = ticket_key(kept), shared_memory(server.process.pid)
    at = memory.index(name) + len(name)
    return memory[at:at + 64]


def everything(server, folder):
    """All that the server has written, by its name."""
    found = {}
    for place in (server.folder.name, folder):
        for where, _, names in os.walk(place):
            for name in names:
                with open(os.path.join(where, name), 'rb') as file:
                    found[name] = file.read()
    return found


def served(exe, folder, traced):
    """Logs in twice; what the server has written, and the secrets."""
    place = os.path.join(folder, 'secret')
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(os.path.join(place, 'mail'))
    kept, trace = os.path.join(folder, 'kept'), os.path.join(place, 'trace')
    options = ['serverName=one.test', f'fileRoot={place}/mail', f'tls={folder}/one.pem {folder}/one.key',
               f'accessLog={place}/access', f'errorLog={place}/errors']
    more = {'NEST_TRACE': trace} if traced else {}
    with Server([exe], options=options, arguments=['--user', f'{USER}:{PASSWORD}'], **more) as server:
        for how in ('-sess_out', '-sess_in'):
            said = client(server.port, folder, '-starttls', 'smtp', '-tls1_2', '-ign_eof', how, kept, said=SAID)
            if '235 ' not in said or ('Reused' in said) != (how == '-sess_in'):
                raise Failed(f'{how}: {said}')
        with socket.create_connection(('127.0.0.1', server.port), WAIT) as link:    # no handshake, but text
            link.sendall(b'EHLO x\r\nSTARTTLS\r\n')
            link.makefile('rb').readline()
            link.sendall(b'what is no handshake\r\n')
            link.shutdown(socket.SHUT_WR)
            while link.recv(1000):
                pass
        tickets = ticket_keys(server, kept)
        where = re.search(r'metrics at \S+:(\d+)', server.said())[1]
        with socket.create_connection(('127.0.0.1', int(where)), WAIT) as link:
            link.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
            metrics = link.makefile('rb').read()
        server.stop()
        written = {**everything(server, place), 'metrics': metrics, 'output': server.rest().encode()}
        if traced:
            same('who may read the trace', oct(stat.S_IMODE(os.stat(trace).st_mode)), '0o600')
    return written, key_parts(folder, 'one') + pieces(tickets)


def secrets(nest, model, folder):
    """Searches for them in all that was written."""
    with open(SPEC, encoding='utf-8') as file:
        text = re.sub('%option logging.*', '%option logging requests', file.read())
    debug = '%option mode debug\n%option traceSize 1M\n' if model in ('event', 'uring') else ''
    spec = os.path.join(folder, f'secrets-{model}.nest')
    with open(spec, 'w', encoding='utf-8') as file:
        file.write(f'%option logFormat json\n%option metrics 127.0.0.1:0\n{debug}{text}')
    for traced in (False, True):
        exe = spec[:-5] + ('-traced' if traced else '')
        run([nest, 'build', '--model', model, *(['--trace'] if traced else []), spec, '-o', exe])
        written, keys = served(exe, folder, traced)
        for name in ('access', 'errors', 'stderr', 'metrics', *(['trace'] if traced else [])):
            same(f'{name} was written', bool(written.get(name)), True)
        same('the events', any(name.endswith('.trace') for name in written), bool(debug))
        for name, data in written.items():
            same(f'a key in {name}', [part for part in keys if part in data], [])
            shown = [word for word in (PASSWORD.encode(), LOGIN) if word in data]
            same(f'a password in {name}', shown, [LOGIN] if name == 'trace' else [])
