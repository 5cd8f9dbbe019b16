"""What the server answers changes although the file does not: a new configuration, rights of a folder, files of rules.
Also the log that is opened anew, and a server that does not know every host.

Must not know: how the kernel decides.
"""

import os
import re
import signal
import socket
import sys
import time

from accelerated import WAIT, Site, answer, same, until

# Its configuration is the file `fields`, which its answers have. On HUP it makes the file `hup`. While there is a file
# `strict`, it closes connections whose Host it does not know.
SERVER = '''
import asyncio, os, signal, sys
port, folder = int(sys.argv[1]), sys.argv[2]
def heard():
    open(folder + '/hup', 'w').close()
async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b'\\r\\n\\r\\n')
            if b'\\r\\nHost: test\\r\\n' not in head and os.path.exists(folder + '/strict'):
                break
            with open(folder + '/fields', 'rb') as file:
                fields = file.read()
            body = b'' if head.startswith(b'HEAD') else b'body'
            writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n' + fields + b'\\r\\n' + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, heard)
    server = await asyncio.start_server(serve, '127.0.0.1', port)
    await server.serve_forever()
asyncio.run(main())
'''
FOREVER = ['--age', '86400']        # no answer is compared again because of its age


def configured(site, version):
    """Writes the configuration of the server."""
    path = os.path.join(site.folder, 'fields')
    with open(path + '.new', 'w', encoding='ascii') as file:
        file.write(f'X-Version: {version}\r\n')
    os.rename(path + '.new', path)


def made(site):
    """The server."""
    configured(site, 0)
    return [sys.executable, '-c', SERVER, str(site.port), site.folder], None


def heads(site, name, count=20):
    """The heads of so many answers on one connection, most of them the kernel's if it keeps the file."""
    with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
        for _ in range(count):
            client.sendall(f'GET /{name} HTTP/1.1\r\nHost: test\r\n\r\n'.encode())
            yield answer(client)[0]


def versions(site):
    """The versions of the configuration that these have."""
    return {int(re.search(rb'X-Version: (\d+)', head)[1]) for head in heads(site, 'a.txt')}


def hup(site):
    """Tells nest, which passes it on."""
    mark = os.path.join(site.folder, 'hup')
    if os.path.exists(mark):
        os.remove(mark)
    site.process.send_signal(signal.SIGHUP)
    until('the server is told', lambda: os.path.exists(mark) or site.process.poll() is not None)
    same('the status of nest', site.process.poll(), None)


def reloaded(folder):
    """What a server answers after SIGHUP, but by its old configuration, does not last in the kernel."""
    with Site(folder, FOREVER, server=made) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
        for version in range(1, 20):
            began = time.monotonic()
            hup(site)
            site.keep('a.txt')
            configured(site, version)
            if time.monotonic() - began < 5:    # a slower machine tries again
                break
        until('all answers are new', lambda: versions(site) == {version})
        site.keep('a.txt')
        same('the version in the kernel', versions(site), {version})
    return ''


def rights(folder):
    """A folder that the server may not read any more, or a file of rules, makes the kernel forget at once."""
    with Site(folder, FOREVER) as site:
        site.write('sub/a.txt', b'body')
        site.keep('sub/a.txt')
        sub = os.path.join(site.www, 'sub')
        os.chmod(sub, 0o700)
        until('all answers are 403', lambda: {head[:12] for head in heads(site, 'sub/a.txt')} == {b'HTTP/1.1 403'})
        os.chmod(sub, 0o755)
        site.keep('sub/a.txt')
        same('what is kept', site.counts()['kept_answers'], 1)
        with open(os.path.join(sub, '.htaccess'), 'w', encoding='ascii') as file:
            file.write('Require all denied\n')
        until('the kernel forgets', lambda: site.counts()['kept_answers'] == 0)
        site.keep('sub/a.txt')          # nginx has no such rules
    return ''


def relogged(folder):
    """A log that cannot be opened anew goes on where it was, nest says so, and the server gets its HUP."""
    logs = os.path.join(folder, 'logs')
    log, kept = os.path.join(logs, 'kernel.log'), os.path.join(folder, 'kept', 'kernel.log')
    os.mkdir(logs)

    def size(path):
        return os.path.getsize(path) if os.path.exists(path) else 0

    with Site(folder, ['--log', log], server=made) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
        os.rename(logs, os.path.dirname(kept))
        hup(site)
        reason = f'cannot open {log}: no such file or directory; the log goes on in the file that was open'
        until('nest says why', lambda: reason in site.said())
        before = size(kept)
        site.keep('a.txt')
        until('the log goes on', lambda: size(kept) > before)
        os.mkdir(logs)
        hup(site)
        site.keep('a.txt')
        until('the log is a new one', lambda: size(log) > 0)
    return ''


def piped(folder):
    """A log that is a pipe needs a reader. One that does not read stops no answer, and gets whole lines later."""
    log = os.path.join(folder, 'kernel.log')
    os.mkfifo(log)
    site = Site(folder, ['--log', log], server=made)
    try:
        site.start(f'cannot open {log}: nobody reads this pipe; start its reader first')
    finally:
        site.end()
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with Site(folder, ['--log', log], server=made) as site:
            site.write('a.txt', b'body')
            site.keep('a.txt')
            with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
                def asks():
                    for _ in range(100):
                        client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
                        same('the body', answer(client)[1], b'body')
                    return 'reader is slow: lines are lost' in site.said()

                until('nest says that lines are lost', asks)
            read = b''
            while (more := ready(reader)):
                read += more
            form = re.compile(rb'127\.0\.0\.1 - - \[[^]]+\] "GET /a\.txt HTTP/1\.1" 200 \d+')
            *lines, _ = read.split(b'\n')
            same('odd lines', [line for line in lines if not form.fullmatch(line)], [])
    finally:
        os.close(reader)
    return f'{len(lines)} lines'


def ready(reader):
    """What is in a pipe at this moment."""
    try:
        return os.read(reader, 1 << 16)
    except BlockingIOError:
        return b''


def strict(folder):
    """A server that ends connections whose Host it does not know is asked for the hosts that nest knows."""
    with open(os.path.join(folder, 'strict'), 'wb'):
        pass
    with Site(folder, ['--host', f'test={folder}/www'], server=made) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
    site = Site(folder, server=made)
    try:
        site.start('the server answers everything itself: the server closed the connection')
    finally:
        site.end()
    return ''
