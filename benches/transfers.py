#!/usr/bin/env python3
"""What transfers cost an FTP server: examples/ftp beside vsftpd, ProFTPD and pure-ftpd.

usage: transfers.py [--rounds N] [--large SIZE] [--small N] [--record FILE] [MODEL ...]

A file of 1 GB and 1,000 files of 4 KB are fetched and stored, by one client over one control connection. The figure is the
processor time of all processes of the server (its control group; root), from the first command behind the login to the
last answer. Servers take turns in each round; a ratio is of the same round. Files are in memory (/dev/shm), so that no
disk is measured. Peers that are not installed are unpacked from the distribution's packages into a temporary folder,
because these packages cannot be installed side by side.

Must not know: how a server transfers.
"""

import argparse
import glob
import grp
import os
import pwd
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, HERE)
from harness.machine import Failed, Group, Machine, describe, own_seconds, read     # noqa: E402

BLOCK, SMALL, TIMEOUT, START = 1 << 20, 4096, 120, 20
OWNER = 'daemon'    # of the files; vsftpd wants one whose home exists
TASKS = ('fetch large', 'store large', 'fetch small', 'store small')


class Client:
    """One control connection, logged in, in binary."""

    def __init__(self, port, user, password):
        self.socket = socket.create_connection(('127.0.0.1', port), TIMEOUT)
        self.replies = self.socket.makefile('rb')
        self.reply(220)
        self.ask(f'USER {user}', 331)
        self.ask(f'PASS {password}', 230)
        self.ask('TYPE I', 200)
        self.block = bytearray(BLOCK)

    def reply(self, *codes):
        """The last line of an answer."""
        while True:
            line = self.replies.readline().decode(errors='replace').rstrip()
            if re.match(r'\d{3}( |$)', line):
                break
            if not line:
                raise Failed('the server closed its control connection')
        if int(line[:3]) not in codes:
            raise Failed(f'answered {line}, not {codes}')
        return line

    def ask(self, command, *codes):
        """A command and its answer."""
        self.socket.sendall(command.encode() + b'\r\n')
        return self.reply(*codes)

    def data(self, command):
        """A data connection for a command."""
        numbers = re.search(r'\((\d+,\d+,\d+,\d+),(\d+),(\d+)\)', self.ask('PASV', 227))
        self.socket.sendall(command.encode() + b'\r\n')
        link = socket.create_connection(('127.0.0.1', int(numbers[2]) * 256 + int(numbers[3])), TIMEOUT)
        self.reply(125, 150)
        return link

    def fetch(self, name, size):
        """RETR."""
        with self.data(f'RETR {name}') as link:
            got = 0
            while n := link.recv_into(self.block):
                got += n
        self.reply(226)
        if got != size:
            raise Failed(f'{name}: {got} bytes of {size}')

    def store(self, name, size):
        """STOR."""
        view = memoryview(self.block)
        with self.data(f'STOR {name}') as link:
            left = size
            while left > 0:
                link.sendall(view[:min(left, BLOCK)])
                left -= min(left, BLOCK)
        self.reply(226)

    def close(self):
        """QUIT."""
        self.ask('QUIT', 221)
        self.socket.close()


class Peers:
    """Programs of the distribution, unpacked if they are not installed."""

    def __init__(self, folder):
        self.folder = folder

    def program(self, name, *packages):
        """The path of a program."""
        path = shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin')
        if path:
            return path
        place = os.path.join(self.folder, name)
        os.makedirs(place)
        for package in packages or (name,):
            for words in (['apt-get', 'download', package], ['sh', '-c', f'dpkg -x {package}_*.deb .']):
                done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=TIMEOUT, check=False)
                if done.returncode != 0:
                    raise Failed(f'{name} is not installed, and {" ".join(words)} fails: {done.stderr.strip()}')
        return shutil.which(name, path=f'{place}/usr/sbin:{place}/usr/bin')


class Site:
    """A server's own folder of files; `words` start it on a port."""

    user, password = 'bench', 'secret'

    def __init__(self, base):
        self.folder = tempfile.mkdtemp(dir=base)
        self.home = os.path.join(self.folder, 'home')
        self.files = os.path.join(self.home, 'in')
        os.makedirs(self.files)
        os.chmod(base, 0o755)
        os.chmod(self.folder, 0o755)
        shutil.chown(self.files, OWNER)

    def at(self, name):
        """A file in its folder."""
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """Writes a file into its folder; its path."""
        with open(self.at(name), 'w', encoding='ascii') as file:
            file.write(text)
        return self.at(name)


def hashed(password):
    """As crypt(3) does."""
    return subprocess.run(['openssl', 'passwd', '-6', password], capture_output=True, text=True, timeout=60, check=True).stdout.strip()


class Nest(Site):
    """examples/ftp in a model."""

    def __init__(self, base, nest, model):
        super().__init__(base)
        self.name = f'nest {model}'
        self.exe = self.at('server')
        done = subprocess.run([nest, 'build', '--model', model, os.path.join(TOP, 'examples', 'ftp', 'ftp.nest'), '-o', self.exe],
                              env={**os.environ, 'CFLAGS': '-O2'}, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr)
        self.users = self.write('users', f'{self.user}:{hashed(self.password)}:home\n')

    def words(self, port):
        """Its command."""
        return [self.exe, '--set', f'listen=127.0.0.1:{port}', '--set', f'fileRoot={self.folder}', '--set', f'user={OWNER}', '--',
                '--users', self.users, '--upload-limit', str(4 << 30), '--no-sync']    # the others do not wait for the disk


class Vsftpd(Site):
    """vsftpd: anonymous users who may store, because its other users are those of the system."""

    name, user, password = 'vsftpd', 'anonymous', 'x'

    def __init__(self, base, peers):
        super().__init__(base)
        self.exe = peers.program('vsftpd')

    def words(self, port):
        """Its command."""
        return [self.exe, self.write('conf', f'''listen=YES
background=NO
listen_address=127.0.0.1
listen_port={port}
anonymous_enable=YES
local_enable=NO
ftp_username={OWNER}
nopriv_user=nobody
secure_chroot_dir={self.at('home')}
anon_root={self.home}
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
anon_umask=022
xferlog_enable=NO
seccomp_sandbox=NO
''')]


class Pure(Site):
    """pure-ftpd with a virtual user."""

    name = 'pure-ftpd'

    def __init__(self, base, peers):
        super().__init__(base)
        self.exe = peers.program('pure-ftpd', 'pure-ftpd', 'pure-ftpd-common')
        tool = shutil.which('pure-pw') or os.path.join(os.path.dirname(self.exe), '..', 'bin', 'pure-pw')
        self.database = self.at('users.pdb')
        subprocess.run([tool, 'useradd', self.user, '-u', OWNER, '-g', OWNER, '-d', self.home, '-f', self.at('passwd'),
                        '-F', self.database, '-m'], input=f'{self.password}\n{self.password}\n', capture_output=True, text=True,
                       timeout=60, check=True)

    def words(self, port):
        """Its command."""
        return [self.exe, '-S', f'127.0.0.1,{port}', '-l', f'puredb:{self.database}', '-E', '-A', '-H', '-u', '1',
                '-g', self.at('pid')]


class Pro(Site):
    """ProFTPD with a virtual user."""

    name = 'ProFTPD'

    def __init__(self, base, peers):
        super().__init__(base)
        self.exe = peers.program('proftpd', 'proftpd-core', 'libhiredis0.14')
        owner = pwd.getpwnam(OWNER)
        self.users = self.write('users', f'{self.user}:{hashed(self.password)}:{owner.pw_uid}:{owner.pw_gid}::{self.home}:/bin/sh\n')
        os.chmod(self.users, 0o600)

    def words(self, port):
        """Its command. Of a package that was unpacked, the libraries are beside it."""
        libraries = glob.glob(os.path.join(os.path.dirname(self.exe), '..', 'lib', '*-linux-gnu'))
        return ['env', f'LD_LIBRARY_PATH={":".join(libraries)}', self.exe, '-n', '-c', self.write('conf', f'''ServerType standalone
ServerName bench
DefaultAddress 127.0.0.1
Port {port}
User {OWNER}
Group {grp.getgrgid(pwd.getpwnam(OWNER).pw_gid).gr_name}
UseReverseDNS off
RequireValidShell off
AuthUserFile {self.users}
AuthOrder mod_auth_file.c
DefaultRoot ~
AllowOverwrite on
WtmpLog off
TransferLog none
SystemLog none
PidFile {self.at('pid')}
ScoreboardFile none
DelayEngine off
UseSendfile on
''')]


def perform(client, task, sizes):
    """One task."""
    large, count = sizes
    act = client.fetch if task.startswith('fetch') else client.store
    for number in range(1 if task.endswith('large') else count):
        act('large' if task.endswith('large') else f'small-{number}', large if task.endswith('large') else SMALL)


def connected(port, site, process):
    """A client, as soon as the server listens."""
    end = time.monotonic() + START
    while True:
        try:
            return Client(port, site.user, site.password)
        except ConnectionRefusedError as error:
            if time.monotonic() > end or process.poll() is not None:
                raise Failed(f'{site.name} does not listen') from error
            time.sleep(0.05)


def measure(machine, site, sizes):
    """Seconds of processor time by task."""
    group, port, found = Group(), machine.free_port(), {}
    if not group.usage:
        raise Failed('needs root, for a control group')
    process = machine.start('server', site.words(port), group, cwd=site.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    try:
        client = connected(port, site, process)
        client.ask('CWD in', 250)
        for task in ('store large', 'fetch large', 'store small', 'fetch small'):
            before, began = own_seconds(read(group.usage)), time.monotonic()
            perform(client, task, sizes)
            found[task] = own_seconds(read(group.usage)) - before, time.monotonic() - began
        client.close()
    except (OSError, Failed) as error:
        machine.end(process)
        raise Failed(f'{site.name}: {error}; {process.stderr.read().decode(errors="replace")[-500:]}') from error
    finally:
        machine.end(process)
        process.stderr.close()
        group.close()
    return found


def table(found, sizes):
    """Lines of Markdown. Ratios are to each peer, round by round, with the least and the most."""
    lines = ['| processor time | ' + ' | '.join(TASKS) + ' |', '|---|' + '---:|' * len(TASKS)]
    units = {'large': (1e3 / (sizes[0] / 1e6), 'ms a MB'), 'small': (1e6 / sizes[1], 'µs a file')}
    for name, rounds in found.items():
        cells = []
        for task in TASKS:
            scale, unit = units[task.split()[1]]
            text = f'{statistics.median(r[task][0] for r in rounds) * scale:.3g} {unit}'
            for peer, others in found.items() if name.startswith('nest') else ():
                if not peer.startswith('nest'):
                    ratios = [mine[task][0] / theirs[task][0] for mine, theirs in zip(rounds, others)]
                    text += f', {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of {peer}'
            cells.append(text)
        lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    return lines


def size_of(text):
    """Bytes."""
    found = re.fullmatch(r'(\d+)([KMG]?)', text)
    if not found:
        raise argparse.ArgumentTypeError(f'{text} is no size, such as 1G')
    return int(found[1]) << {'': 0, 'K': 10, 'M': 20, 'G': 30}[found[2]]


def main():
    """Runs all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--large', type=size_of, default=size_of('1G'), metavar='SIZE')
    parser.add_argument('--small', type=int, default=1000, metavar='N')
    parser.add_argument('--nest', default=os.path.join(TOP, 'target', 'release', 'nest'), help='the compiler')
    parser.add_argument('--record', metavar='FILE', help='write the table there')
    parser.add_argument('models', nargs='*', default=['event', 'uring', 'thread', 'process'])
    args = parser.parse_args()
    sizes = args.large, args.small
    machine = Machine('loopback', {'server': 0, 'load': (os.cpu_count() or 2) - 1})
    os.sched_setaffinity(0, {machine.cores['load']})
    try:
        with tempfile.TemporaryDirectory(prefix='nest-transfers-', dir='/dev/shm') as base:
            peers = Peers(os.path.join(base, 'peers'))
            os.makedirs(peers.folder)
            sites = [Vsftpd(base, peers), Pro(base, peers), Pure(base, peers)] + [Nest(base, args.nest, model) for model in args.models]
            found = {site.name: [] for site in sites}
            for number in range(args.rounds):
                for site in sites:
                    print(f'round {number + 1} of {args.rounds}: {site.name}', file=sys.stderr, flush=True)
                    found[site.name].append(measure(machine, site, sizes))
                    shutil.rmtree(site.files)
                    os.makedirs(site.files)
                    shutil.chown(site.files, OWNER)
    finally:
        machine.close()
    about = describe()
    text = '\n'.join([f'{about["processor"]}, {about["cores"]} cores, Linux {about["kernel"]}, load {" ".join(about["load"])}; '
                      f'{args.rounds} rounds; a file of {sizes[0] >> 20} MB, {sizes[1]} files of {SMALL} bytes.', '',
                      *table(found, sizes)])
    print(text)
    if args.record:
        with open(args.record, 'w', encoding='utf-8') as file:
            file.write(text + '\n')


if __name__ == '__main__':
    try:
        main()
    except Failed as failure:
        sys.exit(f'transfers: {failure}')
