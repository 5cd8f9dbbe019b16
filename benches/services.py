#!/usr/bin/env python3
"""What an option or a setting costs: the processor time of a message with it, less that without it, in turns.

usage: services.py [--nest NEST] [--model MODEL] [--web] [--set NAME=VALUE] [OPTION ...]

Examples: services.py 'metrics 127.0.0.1:0'
          services.py --web 'metrics 127.0.0.1:0' 'accessLog ./access'
          services.py --web --set dispatchers=2

With --web it is examples/web that serves files of 2 KB to wrk's 64 connections; without the options it has no log.

Must not know: what the option does.
"""

import argparse
import glob
import os
import re
import shutil
import socket
import statistics
import subprocess
import tempfile

SPEC = '''%option eventServer 100
{}
NL "\\n"
%%
hello = "HELLO" NL {{ $reply("hello\\n"); }}
'''
ROUNDS = 15
BURSTS = ((1, 30_000), (64, 300_000))   # messages sent together; messages of a round
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WEB, SECONDS = os.path.join(ROOT, 'examples', 'web'), 2     # of a round


class Running:
    """A server, and the processor time of the process that serves."""

    def __init__(self, nest, model, folder, name, options, settings=()):
        exe = os.path.join(folder, name)
        spec = self.spec(folder, name, '\n'.join(f'%option {option}' for option in options))
        subprocess.run([nest, 'build', '--model', model, spec, '-o', exe], check=True, stderr=subprocess.DEVNULL)
        words = [word for setting in ('listen=127.0.0.1:0', *settings) for word in ('--set', setting)]
        self.process = subprocess.Popen([exe, *words], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, cwd=folder)
        self.port = int(re.search(r'127\.0\.0\.1:(\d+)', self.process.stdout.readline()).group(1))
        self.burst(1, 100)
        with open(f'/proc/{self.process.pid}/task/{self.process.pid}/children', encoding='ascii') as file:
            self.workers = file.read().split()

    @staticmethod
    def spec(folder, name, options):
        """The path of the specification."""
        path = os.path.join(folder, f'{name}.nest')
        with open(path, 'w', encoding='ascii') as file:
            file.write(SPEC.format(options))
        return path

    def time(self):
        """ns of all processes but the first."""
        total = 0
        for pid in self.workers:
            for task in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{task}/schedstat', encoding='ascii') as file:
                    total += int(file.read().split()[0])
        return total

    def burst(self, together, messages):
        """One client that asks; the server's ns of each message."""
        with socket.create_connection(('127.0.0.1', self.port)) as talk:
            talk.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            before = self.time() if messages > 100 else 0
            for _ in range(messages // together):
                talk.sendall(together * b'HELLO\n')
                left = 6 * together
                while left > 0:
                    left -= len(talk.recv(65536))
            return (self.time() - before) / messages if messages > 100 else 0


class Web(Running):
    """examples/web; without options also without its log."""

    @staticmethod
    def spec(folder, name, options):
        own = os.path.join(folder, f'{name}-web')
        shutil.copytree(WEB, own)
        with open(os.path.join(folder, 'file'), 'wb') as file:
            file.write(2048 * b'x')
        for source in glob.glob(f'{own}/*.nest'):
            with open(source, encoding='utf-8') as file:
                text = file.read()
            if not options:
                text = re.sub(r'^ *(?:nest_log_.*;|%option log.*)$', '', text, flags=re.M)
            with open(source, 'w', encoding='utf-8') as file:
                file.write(text.replace('%option minimumRate', f'{options}\n%option minimumRate'))
        return os.path.join(own, 'web.nest')

    def burst(self, together, messages):
        before = self.time() if messages > 100 else 0
        done = subprocess.run(['wrk', '-t1', f'-c{together}', f'-d{SECONDS}s', f'http://127.0.0.1:{self.port}/file'],
                              capture_output=True, text=True, check=True, timeout=60)
        if 'Non-2xx' in done.stdout:
            raise SystemExit(done.stdout)
        requests = int(re.search(r'(\d+) requests in', done.stdout).group(1))
        return (self.time() - before) / requests if messages > 100 else 0


def main():
    """Measures, and prints a line for each way to ask."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--nest', default='target/release/nest')
    parser.add_argument('--model', default='event')
    parser.add_argument('--web', action='store_true', help='examples/web, and files of 2 KB')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', help='a setting of the server')
    parser.add_argument('options', nargs='*', metavar='OPTION', help='as behind %%option')
    words = parser.parse_args()
    if not words.set and not words.options:
        parser.error('an option or --set is needed')
    with tempfile.TemporaryDirectory(prefix='nest-services-') as folder:
        nest = os.path.abspath(words.nest)
        kind = Web if words.web else Running
        servers = [kind(nest, words.model, folder, 'without', []),
                   kind(nest, words.model, folder, 'with', words.options, words.set)]
        for together, messages in BURSTS[1:] if words.web else BURSTS:
            plain, more = [], []
            for turn in range(ROUNDS):
                order = servers if turn % 2 == 0 else servers[::-1]
                took = {server: server.burst(together, messages) for server in order}
                plain.append(took[servers[0]])
                more.append(took[servers[1]] - took[servers[0]])
            low, _, high = statistics.quantiles(more, n=4)
            print(f'{words.model}, {together} together: {statistics.median(plain):.0f} ns a message without, '
                  f'{statistics.median(more):.0f} ns more with ({low:.0f} to {high:.0f})', flush=True)
        for server in servers:
            server.process.terminate()
            server.process.wait(20)


if __name__ == '__main__':
    main()
