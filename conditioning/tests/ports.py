"""Servers of others on the library: Debian's mini-httpd, by a patch of eleven lines."""

import os
import signal
import subprocess
import tempfile
from support import BUILD, TOP, Client, environment, expect, free_port, until


def _up(port):
    try:
        with Client(port, wait=2) as client:
            return client.get('/a.txt').answer()[0] == 200
    except OSError:
        return False


def _children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return file.read().split()


def mini_httpd():
    """mini-httpd serves persistent connections, although it answers one request in each process."""
    program = os.path.join(BUILD, 'mini-httpd')
    done = subprocess.run([f'{TOP}/port/mini-httpd.sh', program, BUILD], capture_output=True, text=True,
                          check=False, timeout=200,
                          env={**os.environ, 'LDFLAGS_MORE': '-fsanitize=address,undefined'})
    if done.returncode == 77:
        return f'the source of mini-httpd cannot be had here: {done.stderr[-200:]}'
    expect(done.returncode == 0, done.stderr)
    port = free_port()
    with tempfile.TemporaryDirectory() as site:
        os.chmod(site, 0o755)
        with open(f'{site}/a.txt', 'w', encoding='ascii') as file:
            file.write('text' * 1000)
        server = subprocess.Popen([program, '-D', '-p', str(port), '-h', '127.0.0.1', '-d', site],
                                  env=environment(), stderr=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            until(lambda: _up(port), 'it does not answer')
            idle = [Client(port) for _ in range(40)]
            for _ in range(2):
                for client in idle:
                    client.get('/a.txt')
                for client in idle:
                    status, body = client.answer()
                    expect(status == 200 and body == 'text' * 1000, f'{status}')
            # Forty clients have a connection open, and no process of the server waits for them.
            until(lambda: not _children(server.pid), 'processes wait for clients')
            for client in idle:
                client.close()
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    return ''


TESTS = [mini_httpd]
