#!/usr/bin/env python3
"""Options user and chroot: the processes that serve are not root, whatever they try, and nothing
that a server does is missing then. Every model. Without root only refusals can be checked.

Must not know: how a server leaves root.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                                  # noqa: E402
from support.expect import WAIT, same, until                                # noqa: E402
from support.nest import SOCKET_MODELS, Failed, environment, program, run   # noqa: E402
from support.report import Report                                           # noqa: E402
from support.server import Client, Server, running                          # noqa: E402

USER, GROUP = 54321, 54322     # known to nobody, so that no test depends on a system's users
IDS = f'user={USER}:{GROUP}'


def ask(server, *lines):
    """The answers to these lines, on one connection."""
    with Client(server) as client:
        client.send(''.join(line + '\n' for line in lines).encode())
        client.half_close()
        return client.rest().decode().split('\n')[:-1]


def status(pid):
    """What the system says of a process: {field: [words]}; None if it is gone."""
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return {line.partition(':')[0]: line.partition(':')[2].split() for line in lines}


def workers(server):
    """Its processes but the first."""
    return server.family()[1:]


def all_left(server):
    """Fails unless every worker has left root, and the supervisor has not."""
    same("the supervisor's user", status(server.process.pid)['Uid'], ['0'] * 4)
    until('there is a worker', lambda: workers(server))
    for pid in workers(server):
        # A worker that was forked this moment has not left yet.
        until('the worker has left',
              lambda p=pid: (found := status(p)) is None or (found['Uid'][1] != '0' and found['NoNewPrivs'] == ['1']))
        found = status(pid)
        if found is not None:
            same('its ids, groups, no_new_privs and capabilities',
                 [found[name] for name in ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'CapPrm', 'CapEff')],
                 [[str(USER)] * 4, [str(GROUP)] * 4, [str(GROUP)], ['1'], ['0' * 16], ['0' * 16]])


def serves(exe, folder):
    """Every process that serves has the user's ids and nothing of root; none can become root again."""
    with Server([exe], options=(IDS,)) as server:
        same('ids; start-up code', ask(server, 'who', 'started'), [f'{USER} {GROUP}', '0'])
        same('what it tries', ask(server, 'again'), ['-1 -1 -1 -1'])
        all_left(server)
        same('what it said', server.said(), '')
        same('exit status', server.stop(), 0)


def replaced(exe, folder):
    """A worker that crashed is replaced by one that has left root as well."""
    with Server([exe], options=(IDS,)) as server:
        same('what is left of it', ask(server, 'crash'), [])
        same('the next one', ask(server, 'who'), [f'{USER} {GROUP}'])
        all_left(server)
        same('exit status', server.stop(), 0)


def orphans(exe, folder):
    """Workers end when their supervisor is killed."""
    with Server([exe], options=(IDS,)) as server, Client(server) as client:
        client.send(b'who\n')
        client.expect(f'{USER} {GROUP}\n'.encode())
        left = workers(server)
        os.kill(server.process.pid, signal.SIGKILL)
        client.half_close()
        until('they are gone', lambda: not any((found := status(pid)) and found['State'][0] != 'Z'
                                               for pid in left))


def names(exe, folder):
    """Users and groups have names, too; a group of its own stands behind a colon."""
    for option, wanted in (('nobody', None), ('nobody:daemon', 'daemon'), ('nobody:77', '77')):
        with Server([exe], options=(f'user={option}',)) as server:
            words = ['id', '-u', 'nobody']
            uid = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
            words = ['id', '-g', wanted or 'nobody']
            gid = wanted if wanted == '77' else \
                subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
            same(option, ask(server, 'who'), [f'{uid} {gid}'])


def sockets(exe, folder):
    """The file of a Unix socket belongs to the user, and goes with the server."""
    path = os.path.join(folder, 'socket')
    with Server([exe], options=(IDS, f'listen=127.0.0.1:0 unix:{path}')) as server:
        about = os.stat(path)
        same('its owner', (about.st_uid, about.st_gid), (USER, GROUP))
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(WAIT)
            client.connect(path)
            client.sendall(b'who\n')
            same('it answers', client.recv(100), f'{USER} {GROUP}\n'.encode())
        same('exit status', server.stop(), 0)
        same('it is left', os.path.exists(path), False)


def uploads(exe, folder):
    """Uploads belong to the user, in a chroot and outside; a killed server leaves nothing."""
    os.chown(folder, USER, GROUP)
    for more in ((), (f'chroot={folder}',)):
        with Server([exe], options=(IDS, f'fileRoot={folder}', *more)) as server:
            with Client(server) as client:
                client.send(b'put a 3\nabcget a\n')
                client.expect(b'3\nabc')
                client.send(b'put a 4\nwxyzget a\n')
                client.expect(b'4\nwxyz')
                about = os.stat(os.path.join(folder, 'a'))
                same('its owner', (about.st_uid, about.st_gid), (USER, GROUP))
                client.send(b'put b 100\nhalf')
            same('after a client that left', ask(server, 'get b'), ['none'])
            same('exit status', server.stop(), 0)
        same('what is there', os.listdir(folder), ['a'])
    with Server([exe], options=(IDS, f'fileRoot={folder}')) as server, Client(server) as client:
        client.send(b'put c 100\nhalf')
        time.sleep(0.2)
        server.kill()
    with Server([exe], options=(IDS, f'fileRoot={folder}')) as server:
        same('what a killed server has left', os.listdir(folder), ['a'])
    os.chown(folder, 0, 0)
    os.chmod(folder, 0o755)
    with Server([exe], options=(IDS, f'fileRoot={folder}')) as server, Client(server) as client:
        client.send(b'put d 3\nabc')
        client.expect(b'-1\n')
        same('what is where only root may write', os.listdir(folder), ['a'])


def chroots(exe, folder):
    """In a chroot nothing else can be seen; files are served; it is left by no client."""
    inner = os.path.join(folder, 'inner')
    os.mkdir(inner)
    os.chmod(folder, 0o755)
    for path in (folder, inner):
        with open(os.path.join(path, 'file'), 'w', encoding='ascii') as file:
            file.write(os.path.basename(path) + '\n')
    os.symlink('../file', os.path.join(inner, 'link'))
    options = (IDS, f'chroot={inner}', f'fileRoot={inner}')
    with Server([exe], options=options) as server:
        same('where it is', ask(server, 'place', 'who'), ['/ little', f'{USER} {GROUP}'])
        same('files', ask(server, 'get file', 'get ../file', 'get link'), ['inner', 'none', 'none'])
        all_left(server)
        same('what it said', server.said(), '')
        same('exit status', server.stop(), 0)
    with Server([exe], options=('user=root', f'chroot={inner}', f'fileRoot={inner}')) as server:
        same('as root', ask(server, 'place', 'who'), ['/ little', '0 0'])
    for root, shown in ((folder, folder), (inner + '/..', inner + '/..'), (folder + '/innermost',) * 2,
                        ('', '.')):
        os.makedirs(os.path.join(folder, 'innermost'), exist_ok=True)
        same('fileRoot outside', refused(exe, [f'chroot={inner}', f'fileRoot={root}']),
             (1, f'user: cannot start: fileRoot {shown} is not beneath chroot {inner}\n'))


def reloads(exe, folder):
    """HUP changes settings though workers cannot read the file, and says what is wrong in it."""
    os.mkdir(os.path.join(folder, 'root'))
    os.chmod(folder, 0o700)
    path = os.path.join(folder, 'set')

    def setting(text):
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '.new', path)

    def kept(what, name, before):
        """It is called so. A process that has not followed yet may still say what it was called before."""
        answers = []
        until(what, lambda: answers.append(ask(server, 'name')) or answers[-1] == [name])
        same(what, {answer[0] for answer in answers} - {before}, {name})

    setting('serverName one\n')
    root = os.path.join(folder, 'root')
    words = [exe, '--config', path]
    for more in ((), (f'chroot={root}', f'fileRoot={root}')):
        setting('serverName one\n')
        with Server(words, options=(IDS, *more)) as server:
            same('at the start', ask(server, 'name'), ['one'])
            for text, wanted in (('serverName two', 'two'), ('serverName  three\n# more\n', 'three'),
                                 ('', 'user'), ('serverName four\n', 'four')):
                said = len(server.said())
                setting(text)
                os.kill(server.process.pid, signal.SIGHUP)
                until('it says so', lambda s=said: 'read again' in server.said()[s:])
                until(f'its name is {wanted}', lambda w=wanted: ask(server, 'name') == [w])
            said = len(server.said())
            setting('serverName five\nmistake 1\n')
            os.kill(server.process.pid, signal.SIGHUP)
            until('it names the line',
                  lambda s=said: re.search(rf'{path}:2: .*\n.*has errors', server.said()[s:]))
            kept('after a mistake', 'four', 'user')
            said = len(server.said())
            os.unlink(path)
            os.kill(server.process.pid, signal.SIGHUP)
            until('it misses the file',
                  lambda s=said: f'cannot read {path}: No such file' in server.said()[s:])
            kept('without the file', 'four', 'user')
            same('without the file', ask(server, 'who'), [f'{USER} {GROUP}'])
            same('exit status', server.stop(), 0)


def inetd(exe, folder):
    """inetd's connections and its socket are served by the user as well."""
    with open(os.path.join(HERE, 'user.nest'), encoding='utf-8') as file:
        text = file.read().replace('%option eventServer', '%option inetd\n%option eventServer')
    with open(os.path.join(folder, 'user.nest'), 'w', encoding='utf-8') as file:
        file.write(text)
    model = os.path.basename(exe)
    server = os.path.join(folder, 'server')
    run([program(), 'build', '--model', model, os.path.join(folder, 'user.nest'), '-o', server])
    root = os.path.join(folder, 'root')
    os.mkdir(root)
    words = [server, '--set', IDS, '--set', f'chroot={root}', '--set', f'fileRoot={root}',
             '--set', 'idleTimeout=1s']
    ours, theirs = socket.socketpair()
    with ours, running(words, stdin=theirs, stdout=theirs, env=environment()) as process:
        theirs.close()
        ours.settimeout(WAIT)
        ours.sendall(b'who\nagain\nplace\n')
        ours.shutdown(socket.SHUT_WR)
        got = b''
        while chunk := ours.recv(1000):
            got += chunk
        same('a connection', got.decode(), f'{USER} {GROUP}\n-1 -1 -1 -1\n/ little\n')
        same('exit status', process.wait(WAIT), 0)
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen(5)
        with socket.create_connection(listener.getsockname(), WAIT) as client, \
                running(words, stdin=listener, stdout=listener, stderr=subprocess.DEVNULL, env=environment()) as process:
            client.sendall(b'who\n')
            same('its socket', client.recv(100), f'{USER} {GROUP}\n'.encode())
            client.close()
            same('exit status', process.wait(WAIT), 0)


def refused(exe, options, before=(), words=(), who='root'):
    """The exit status and the messages of a server that cannot start."""
    command = [*before, exe, '--set', 'listen=127.0.0.1:0', *words]
    for option in options:
        command += ['--set', option]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, cwd='/',
                              env=environment(NEST_USER=who), check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed('it started') from error
    return done.returncode, done.stderr


def refuses(exe, folder):
    """What cannot be is one message, by --check-config too, and status 1."""
    file = os.path.join(folder, 'file')
    with open(file, 'wb'):
        pass
    for options, wanted in (
            (['user=no-such-user'], 'user no-such-user: there is no such user'),
            (['user=root:no-such-group'], 'user root:no-such-group: there is no such group'),
            (['user=:daemon'], 'user :daemon: write NAME or NAME:GROUP'),
            (['user=nobody:'], 'user nobody:: write NAME or NAME:GROUP'),
            ([f'user={USER}'], f'user {USER}: this user is not known here, so its group must follow: '
                               'NUMBER:GROUP'),
            (['user=4294967295:0'], 'user 4294967295:0: there is no such user'),
            ([f'chroot={folder}/none'], f'chroot {folder}/none: No such file or directory'),
            ([f'chroot={file}'], f'chroot {file}: Not a directory')):
        for words in ([], ['--check-config']):
            same(f'{options} {words}', refused(exe, options, words=words),
                 (1, f'user: cannot start: {wanted}\n'))


def without_root(exe, folder):
    """Who is not root can become no other user, but stay who he is."""
    with tempfile.TemporaryDirectory(prefix='nest-user-', dir='/tmp') as open_to_all:
        os.chmod(open_to_all, 0o755)
        copy = os.path.join(open_to_all, 'user')
        with open(exe, 'rb') as source, open(copy, 'wb') as to:
            to.write(source.read())
        os.chmod(copy, 0o755)
        me = f'{os.getuid()}:{os.getgid()}'
        before = []
        if os.geteuid() == 0:
            me = f'{USER}:{GROUP}'
            before = ['setpriv', f'--reuid={USER}', f'--regid={GROUP}', '--clear-groups']
        for words in ([], ['--check-config']):
            same('another user', refused(copy, ['user=nobody'], before, words),
                 (1, 'user: cannot start: user nobody: only root can become another user\n'))
            same('root', refused(copy, ['user=root'], before, words),
                 (1, 'user: cannot start: user root: only root can become another user\n'))
            same('a chroot', refused(copy, [f'chroot={open_to_all}'], before, words, who=''),
                 (1, f'user: cannot start: chroot {open_to_all}: only root can change the root '
                     'directory\n'))
        with Server([*before, copy, '--config', '/dev/null'], NEST_USER='',
                    options=(f'user={me}', f'fileRoot={open_to_all}')) as server:
            same('itself', ask(server, 'who'), [me.replace(':', ' ')])
            same('what it said', server.said(), '')


def warns(exe, folder):
    """A server that stays root warns once, unless option user says root."""
    with Server([exe], NEST_USER='') as server:
        same('who', ask(server, 'who'), ['0 0'])
        same('what it said', server.said(), 'user: warning: it serves clients as root; set option user, '
                                            'or user root if that is meant\n')
    with Server([exe], options=(f'chroot={folder}', f'fileRoot={folder}'), NEST_USER='') as server:
        same('in a chroot', server.said(), 'user: warning: it serves clients as root, which can leave '
                                           'a chroot; set option user\n')
    with Server([exe], options=('user=root',)) as server:
        same('as it was told', (ask(server, 'who'), server.said()), (['0 0'], ''))


def checks_config(exe, folder):
    """--check-config accepts what would work, and shows it."""
    done = subprocess.run([exe, '--check-config', '--set', IDS, '--set', f'chroot={folder}'],
                          capture_output=True, text=True, env=environment(), timeout=WAIT, check=False)
    same('status and messages', (done.returncode, done.stderr), (0, ''))
    same('what it shows', re.findall(r'^(?:user|chroot) (\S+)', done.stdout, re.M),
         [IDS.partition('=')[2], folder])


ROOT = [serves, replaced, orphans, names, sockets, uploads, chroots, reloads, inetd, refuses, warns,
        checks_config]


def attempt(report, model, check, exe):
    """One check, in a folder of its own; what it is about is its first sentence."""
    about = ' '.join(check.__doc__.split()).rstrip('.')
    if check in ROOT and os.geteuid() != 0:
        report.skip(model, about, 'only root can become another user')
        return
    with tempfile.TemporaryDirectory(prefix='nest-user-') as folder:
        try:
            check(exe, os.path.realpath(folder))
            report.line(True, model, about)
        except (Failed, OSError) as error:
            report.line(False, model, about, '', error)


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('user'), program()
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-user-') as folder:
        for model in sys.argv[1:] or sample.some(SOCKET_MODELS, 2, 'user'):
            report.heading(model)
            exe = os.path.join(folder, model)
            run([nest, 'build', '--model', model, os.path.join(HERE, 'user.nest'), '-o', exe])
            for check in [*ROOT, without_root]:
                attempt(report, model, check, exe)
    return report.close()


sys.exit(main())
