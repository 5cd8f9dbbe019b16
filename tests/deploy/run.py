#!/usr/bin/env python3
"""`nest gen --with`: units that systemd takes and that do not harm the server, and an image's build
carried out step by step. Every model.

No systemd manages this machine and no registry is asked: the units are judged by systemd-analyze and their
system call filter by a trace of the server, and a stop is made by hand as their KillMode has it; the
Dockerfile's own lines are run, musl-gcc being Alpine's compiler, and what would be the image is a directory,
read-only but for its data, in which the server runs alone.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                          # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run        # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Client, Server                           # noqa: E402

# A root as `docker run --read-only -v NAME:/data` makes it.
READ_ONLY = 'mount --bind "$1" "$1"; mount --bind "$1/data" "$1/data"; mount -o remount,ro,bind "$1";'
EXPOSURE = 1.2      # of 10: what `systemd-analyze security` may say at most
STARTED = 30        # seconds until a program that an action runs is there, at most
SPEC = '''%option {model}Server 20
%option logging connections
%{{
#include <errno.h>
#include <stdlib.h>
%}}
NL "\\r"?"\\n"
%%
"PUT " [a-z]+ " " [0-9]{{1,4}} NL {{ $reply($fileReceive($2, strtoul($4, NULL, 10)) < 0 ? "no\\n" : "stored\\n"); }}
"GET " [a-z]+ NL {{ if ($fileReply($2) < 0) $reply("no\\n"); }}
"WAIT" NL {{ $sleep(10ms); $block {{ errno = 0; }} $reply("waited\\n"); }}
"RUN" NL {{
    int status;
    $block {{ status = system("exec sleep 1"); }}
    $reply(status == 0 ? "ran\\n" : "killed\\n");
}}
"QUIT" NL {{ $close(); }}
'''


def talk(server):
    """A conversation that goes everywhere."""
    with Client(server) as client:
        client.send(b'PUT note 5\nmilk\nGET note\nWAIT\nGET none\n')
        client.expect(b'stored\nmilk\nwaited\nno\n')
        client.send(b'QUIT\n')
        client.expect(b'')


def stopped(server):
    """The server ends well."""
    if server.stop() != 0:
        raise Failed(f'the server ended badly\n{server.said()}')


class Project:
    """A generated project with all that --with writes; the same twice."""

    def __init__(self, nest, folder, model):
        self.folder = os.path.join(folder, 'project')
        spec = os.path.join(folder, 'shelf.nest')
        with open(spec, 'w', encoding='utf-8') as file:
            file.write(SPEC.format(model=model))
        self.words = [nest, 'gen', 'shelf.nest', '--with', 'systemd,docker', '-o']
        run([*self.words, 'project'], folder)
        run([*self.words, 'again'], folder)
        run(['diff', '-r', 'project', 'again'], folder)

    def path(self, name):
        """A file of it."""
        return os.path.join(self.folder, name)

    def text(self, name):
        """Its text."""
        with open(self.path(name), encoding='utf-8') as file:
            return file.read()


def verified(project, folder):
    """systemd finds nothing to say about the units, with the server in its place."""
    root = os.path.join(folder, 'root')
    units = os.path.join(root, 'etc/systemd/system')
    os.makedirs(units)
    os.makedirs(os.path.join(root, 'usr/local/bin'))
    for target in ('sockets', 'network', 'sysinit', 'basic', 'shutdown'):
        with open(os.path.join(units, f'{target}.target'), 'w', encoding='utf-8') as file:
            file.write(f'[Unit]\nDescription={target}\n')
    shutil.copy(project.path('shelf'), os.path.join(root, 'usr/local/bin/shelf'))
    for unit in ('shelf.service', 'shelf.socket'):
        shutil.copy(project.path(unit), units)
    os.makedirs(os.path.join(root, 'bin'))
    shutil.copy('/bin/kill', os.path.join(root, 'bin/kill'))
    said = run(['systemd-analyze', 'verify', '--man=no', f'--root={root}', 'shelf.service',
                'shelf.socket'])
    if said.strip():
        raise Failed(said)


def exposure(project, _folder):
    """systemd's own measure of how much a broken server could harm."""
    said = run(['systemd-analyze', 'security', '--no-pager', '--offline=yes',
                project.path('shelf.service')])
    found = re.search(r'exposure level for shelf.service: ([0-9.]+)', said)
    if found is None or float(found[1]) > EXPOSURE:
        raise Failed(said[-300:])
    return f'{found[1]} of 10, at most {EXPOSURE}'


def filtered(project, folder):
    """Of the system calls of a server in full use none is refused by the unit's filter."""
    allowed = set()
    for line in re.findall(r'^SystemCallFilter=(.*)$', project.text('shelf.service'), re.MULTILINE):
        names = set()
        for group in line.lstrip('~').split():
            names |= calls(group)
        allowed = allowed - names if line.startswith('~') else allowed | names
    trace = os.path.join(folder, 'trace')
    with Server(['strace', '-f', '-qq', '-o', trace, '-e', 'signal=none', project.path('shelf')]) as server:
        talk(server)
        child = server.family()[1]          # strace is the first
        if server.stop(child) != 0:
            raise Failed(f'the server ended badly\n{server.said()}')
    with open(trace, encoding='utf-8', errors='replace') as file:
        used = set(re.findall(r'^\d+ +(?:<\.\.\. )?([a-z_0-9]+)(?:\(| resumed)', file.read(),
                              re.MULTILINE))
    if used - allowed:
        raise Failed('refused: ' + ', '.join(sorted(used - allowed)))
    if not {'accept4', 'openat2'} <= used:
        raise Failed('the trace has no conversation: ' + ', '.join(sorted(used)))
    return f'{len(used)} calls of {len(allowed)}'


def ended(project, _folder):
    """A stop as systemd does it by the unit's KillMode: the program that an action runs goes on, and its
    client is answered."""
    mode = re.search(r'^KillMode=(.*)$', project.text('shelf.service'), re.MULTILINE)
    with Server([project.path('shelf')]) as server, Client(server) as client:
        client.send(b'RUN\n')
        end = time.monotonic() + STARTED
        while not (family := server.family()) or 'sleep' not in map(called, family):
            if time.monotonic() > end:
                raise Failed('the action runs no program')
            if select.select([client.socket], [], [], 0.01)[0]:     # it was over before this has looked
                client.expect(b'ran\n')
                client.send(b'RUN\n')
        for pid in family[1:] if mode is None or mode[1] == 'control-group' else []:
            os.kill(pid, signal.SIGTERM)
        stopped(server)
        client.expect(b'ran\n')


def called(pid):
    """The name of a process; none if it has ended."""
    try:
        with open(f'/proc/{pid}/comm', encoding='latin-1') as file:
            return file.read().strip()
    except OSError:
        return ''


def calls(group):
    """The system calls of one of systemd's groups."""
    if not group.startswith('@'):
        return {group}
    names = set()
    for line in run(['systemd-analyze', 'syscall-filter', '--no-pager', group]).split('\n')[1:]:
        word = line.strip()
        if word and not word.startswith('#'):
            names |= calls(word)
    return names


def image(project, folder):
    """The Dockerfile: its lines are run, and what would be the image holds what the server needs."""
    build, root = os.path.join(folder, 'build'), os.path.join(folder, 'image')
    os.mkdir(root)
    stages = 0
    arguments = {}
    for line in project.text('Dockerfile').split('\n'):
        word, _, rest = line.partition(' ')
        if word == 'FROM':
            stages += 1
            if stages == 2 and rest != 'scratch':
                raise Failed(f'the image is more than the server: {line}')
        elif word == 'ARG':
            name, _, value = rest.partition('=')
            arguments[name] = value.strip('"')
        elif word == 'RUN' and not rest.startswith('apk add '):
            run(['sh', '-c', rest], build, CC='musl-gcc', **arguments)
        elif line == 'COPY . .':
            hidden = [name for name in project.text('.dockerignore').split('\n')
                      if name and not name.startswith('#')]
            shutil.copytree(project.folder, build,
                            ignore=shutil.ignore_patterns(*[name.lstrip('/') for name in hidden]))
        elif word == 'COPY':
            source, target = [part for part in rest.split() if not part.startswith('--')]
            source = os.path.join(build, os.path.relpath(source, '/build'))
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, root + target)
    entry = re.search(r'^ENTRYPOINT \["(/\w+)"\]$', project.text('Dockerfile'), re.MULTILINE)[1]
    as_user = ['--userspec=65534:65534'] if os.geteuid() == 0 else []
    alone = ['unshare', '--mount'] + ([] if as_user else ['--map-root-user'])
    if as_user:
        os.chown(os.path.join(root, 'data'), 65534, 65534)
        for place in (folder, root):
            os.chmod(place, 0o755)
    # A container does not have the variable by which the tests may run as root.
    bound = f'unset NEST_USER; {READ_ONLY} exec setpriv --no-new-privs chroot {" ".join(as_user)} "$@"'
    with Server([*alone, 'sh', '-ec', bound, 'sh', root, entry], options=['fileRoot=/data']) as server:
        talk(server)
        if not os.path.exists(os.path.join(root, 'data/note')):
            raise Failed('the file is not where it should be')
        stopped(server)
    return f'{os.path.getsize(root + entry) // 1024} KB, alone in its root'


def main():
    """A table: model by check."""
    report, nest = Report('Deployment'), program()
    report.note(sample.described())
    checks = (('systemd-analyze verify has nothing to say', verified),
              ('systemd-analyze security', exposure),
              ('the system call filter lets the server work', filtered),
              ('a stop leaves alone what actions run', ended),
              ('the Dockerfile makes a server that runs alone', image))
    for model in sample.some(SOCKET_MODELS, 2, 'deploy'):
        report.heading(model)
        with tempfile.TemporaryDirectory(prefix='nest-deploy-') as folder:
            try:
                project = Project(nest, folder, model)
                run(['make', '-s', '-C', project.folder])
            except Failed as error:
                report.line(False, model, 'the project is generated and built', '', error)
                continue
            for what, check in checks:
                try:
                    report.line(True, model, what, check(project, folder) or '')
                except (Failed, OSError, subprocess.SubprocessError) as error:
                    report.line(False, model, what, '', error)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
