#!/usr/bin/env python3
"""nest accelerate with nginx: which answers come from the kernel, files that change, the stop, the kill of
the loader, servers and systems that it refuses, its log and its counts. Ends with a sample of fuzz.py.

Needs root, nginx and what the kernel part needs; what cannot be checked is skipped by name.

Must not know: how the kernel decides.
"""

import contextlib
import inspect
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import fuzz
import servers
from accelerated import (NEST, ROOT, WAIT, Failed, Report, Site, answer, ended_group, free_port, lacks, sample, same, undated,
                         until)
from attach import attached, neighbour, unattached
from browsers import browsers, choosy
from conditions import unchanged
from early import early
from generated import generated, halted, idle, logged, ports, restarted, spoiled, without
from leaving import leaves
from reloads import piped, relogged, reloaded, rights, strict
from singles import closes, reused, six

CONVERSATIONS, OTHERS = 1200, 400
FEW = 17        # tests of a sample


def hits(site, work):
    """How many requests the kernel answered while `work` ran."""
    before = site.counts()['answers']
    work()
    return site.counts()['answers'] - before


def kept(folder):
    """The kernel answers with nginx's own bytes; nginx's log has no line of it."""
    with Site(folder) as site:
        site.write('a.txt', b'hello')
        site.write('index.html', b'<p>index')
        site.keep('a.txt', '')
        lines, count = len(site.log()), 1000
        before = site.counts()
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
            for _ in range(count):
                client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
                head, body = answer(client)
        after = site.counts()
        alone = site.get('a.txt', site.alone)
        same('the answer', undated(head + body), undated(b''.join(alone)))
        same('HEAD', undated(site.get('a.txt', method='HEAD')[0]),
             undated(site.get('a.txt', site.alone, 'HEAD')[0]))
        same('the index', undated(b''.join(site.get(''))), undated(b''.join(site.get('', site.alone))))
        dates = [re.search(rb'Date: ([^\r]*)', h)[1] for h in (head, alone[0])]
        seconds = [time.mktime(time.strptime(d.decode(), '%a, %d %b %Y %H:%M:%S GMT')) for d in dates]
        if abs(seconds[0] - seconds[1]) > 5:
            raise Failed(f'the dates are {dates}')
        answered = after['answers'] - before['answers']
        passed = after['passed'] - before['passed']
        same('answered here or passed on', answered + passed, count)
        if answered < count // 2:
            raise Failed(f'the kernel answered only {answered} of {count}')
        until('nginx logs what it answered', lambda: len(site.log()) >= lines + passed)
        new = [line for line in site.log()[lines:] if '"GET /a.txt ' in line]
        if len(new) > passed + 1:
            raise Failed(f'nginx logged {len(new)} requests, {passed} were passed on')
    return f'{answered} of {count} requests answered by the kernel'


def changed(folder):
    """A changed file is answered anew within a second, a deleted one not at all; so is a new folder's."""
    with Site(folder) as site:
        site.write('a.txt', b'first')
        site.write('sub/b.txt', b'first')
        site.write('next/b.txt', b'second')

        def soon(name, body):
            since = time.monotonic()
            until(f'{name} is {body!r}', lambda: site.get(name)[1] == body)
            if time.monotonic() - since > 5:        # a second, on a machine that does nothing else
                raise Failed(f'{name} was old for {time.monotonic() - since:.1f} s')

        site.keep('a.txt', 'sub/b.txt')
        site.write('a.txt', b'renamed')
        soon('a.txt', b'renamed')
        site.keep('a.txt')
        with open(os.path.join(site.www, 'a.txt'), 'r+b') as file:
            file.write(b'INPLACE')
        soon('a.txt', b'INPLACE')
        site.keep('a.txt')
        os.rename(os.path.join(site.www, 'sub'), os.path.join(site.www, 'old'))
        os.rename(os.path.join(site.www, 'next'), os.path.join(site.www, 'sub'))
        soon('sub/b.txt', b'second')
        os.remove(os.path.join(site.www, 'a.txt'))
        until('a.txt is gone', lambda: b' 404 ' in site.get('a.txt')[0])
        moved = os.path.join(folder, 'moved')
        site.keep('sub/b.txt')
        os.rename(site.www, moved)
        os.makedirs(os.path.join(site.www, 'sub'))
        site.write('sub/b.txt', b'third')
        soon('sub/b.txt', b'third')
    return ''


def versions(folder):
    """While a file is replaced all the time, every answer is one whole version, and never an older one than
    one that was complete a second before."""
    with Site(folder) as site:
        site.write('v.txt', b'0' * 3000)
        site.keep('v.txt')
        written, stop, wrong, seen = [(0.0, 0)], threading.Event(), [], [0]

        def write():
            number = 0
            while not stop.is_set():
                number += 1
                site.write('v.txt', (b'%d ' % number * 3000)[:3000])
                written.append((time.monotonic(), number))
                time.sleep(0.6 if number % 2 else 0.01)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            before = site.counts()['answers']
            end = time.monotonic() + 6
            while time.monotonic() < end and not wrong:
                asked = time.monotonic()
                body = site.get('v.txt')[1]
                number = int(body.split(b' ')[0]) if b' ' in body else 0
                if number and body != (b'%d ' % number * 3000)[:3000]:
                    wrong.append(f'mixed: {body[:80]!r}')
                due = [n for when, n in list(written) if when < asked - 3]
                if due and number < due[-1]:
                    wrong.append(f'version {number}, 3 s after {due[-1]}')
                seen[0] += 1
            answers = site.counts()['answers'] - before
        finally:
            stop.set()
            writer.join()
        if wrong:
            raise Failed(wrong[0])
        if not answers:
            raise Failed('the kernel answered nothing')
    return f'{seen[0]} answers, {answers} by the kernel, {len(written)} versions'


def left(folder):
    """Links that lead out, large files and hidden ones are left to the server, which answers as alone."""
    with Site(folder, ['--size', '64']) as site:
        with open(os.path.join(folder, 'secret'), 'wb') as file:
            file.write(b'secret')
        os.symlink('../secret', os.path.join(site.www, 'out.txt'))
        names = ('out.txt', 'large.txt', '.hidden', 'none', 'a.txt?x')
        site.write('a.txt', b'a')
        site.write('large.txt', b'l' * 50_000)
        site.write('.hidden', b'h')
        reasons = ('its file is outside of the folder', 'its file is too large')

        def seen():
            for name in names:
                same(name, undated(b''.join(site.get(name))), undated(b''.join(site.get(name, site.alone))))
            status = site.ask('status')
            return all(reason in status for reason in reasons)

        until('the status names the reasons', seen)
        same('answers', site.counts()['answers'], 0)
    return ''


def replaced(folder):
    """More files than fit: all are answered right, the oldest make room, the bound holds."""
    with Site(folder, ['--size', '128']) as site:
        names = [f'n{i}.txt' for i in range(100)]
        for name in names:
            site.write(name, name.encode() * 400)

        def turned():
            for name in names:
                same(name, site.get(name)[1], name.encode() * 400)
            kept_before.update(name for name in names[-10:] if hits(site, lambda: site.get(name)))
            return len(kept_before) > 5 and site.counts()['answers'] > 100

        # The last ones are kept although the space was full before them.
        kept_before = set()
        until('the last files are kept', turned)
        counts = site.counts()
        if counts['kept_bytes'] > 128 * 1024 or not counts['answers']:
            raise Failed(str(counts))
        if counts['kept_answers'] >= len(names):
            raise Failed(f'{counts["kept_answers"]} answers in 128 KB')
    return f'{counts["answers"]} answers by the kernel, {counts["kept_answers"]} files kept'


class Load:
    """Clients that ask on and on, each on one connection, and compare."""

    def __init__(self, site, body, count=8):
        self.site, self.body, self.wrong, self.answers = site, body, [], 0
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until('clients have answers', lambda: self.answers > 100 or self.wrong)
        return self

    def ask(self):
        try:
            with socket.create_connection(('127.0.0.1', self.site.port), WAIT) as client:
                while not self.stop.is_set():
                    client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
                    same('a body', answer(client)[1], self.body)
                    self.answers += 1
        except (Failed, OSError) as error:
            self.wrong.append(repr(error))

    def more(self):
        """Waits for answers that were asked for after now."""
        wanted = self.answers + 200
        until('there are more answers', lambda: self.answers > wanted or self.wrong)

    def __exit__(self, *unused):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def stopped(folder):
    """--stop under load: no connection breaks, and the server answers from then on."""
    with Site(folder) as site:
        site.write('a.txt', b'body')
        site.keep('a.txt')
        with Load(site, b'body') as load:
            same('what --stop says', site.ask('stop'), 'stopped\n')
            before = site.counts()['answers']
            load.more()
            same('answers of the kernel after it', site.counts()['answers'] - before, 0)
        same('wrong', load.wrong, [])
        if 'off: it was stopped' not in site.ask('status'):
            raise Failed(site.ask('status'))
        same('a new client', site.get('a.txt')[1], b'body')
    return f'{load.answers} answers'


def killed(folder):
    """The loader is killed under load: no connection breaks, no old file is answered, the next start works."""
    with Site(folder) as site:
        site.write('a.txt', b'old.')
        site.keep('a.txt')
        with socket.create_connection(('127.0.0.1', site.port), WAIT) as client, Load(site, b'old.') as load:
            client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
            same('before the kill', answer(client)[1], b'old.')
            site.process.kill()
            end, late = time.monotonic() + 1, None
            site.process.wait()
            load.more()
            load.stop.set()
            for thread in load.threads:
                thread.join()
            same('wrong', load.wrong, [])
            site.write('a.txt', b'new.')
            while time.monotonic() < end + 0.3:
                asked = time.monotonic()
                client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
                if answer(client)[1] != b'new.' and asked > end:
                    late = asked - end
            same('an old answer, more than a second after the kill', late, None)
        site.end_nginx()
        group = ended_group()
        site.start()
        same('a group that is left over', os.path.exists(group), False)
        site.keep('a.txt')
        same('after the next start', site.get('a.txt')[1], b'new.')
    return f'{load.answers} answers'


BLOCKING = '''
import socket, sys, threading
server = socket.create_server(('127.0.0.1', int(sys.argv[1])))
def serve(client):
    with client:
        data = b''
        while part := client.recv(65536):
            data += part
            while b'\\r\\n\\r\\n' in data:
                _, _, data = data.partition(b'\\r\\n\\r\\n')
                client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nbody')
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''


def left_alone(site, why):
    """The server answers everything itself, and nest says why."""
    site.write('a.txt', b'body')
    site.start(f'the server answers everything itself: {why}')
    try:
        for _ in range(20):
            same('an answer', site.get('a.txt')[1], b'body')
        same('answers of the kernel', site.counts()['answers'], 0)
    finally:
        site.end()
    return ''


def blocking(folder):
    """A server that reads from blocking sockets is left alone, with the reason."""
    site = Site(folder)
    site.command = [sys.executable, '-c', BLOCKING, str(site.port)]
    return left_alone(site, 'the server reads from blocking sockets')


def rings(folder):
    """A server that reads by io_uring is left alone, with the reason."""
    return left_alone(Site(folder, server=servers.web('uring', NEST, ROOT)), 'the server reads by io_uring, whose '
                      'receives block after 128 that found nothing')


def refused(folder):
    """What a system lacks is named, with status 69, and nothing runs."""
    mark = os.path.join(folder, 'ran')
    command = [NEST, 'accelerate', '--port', '1', '--root', folder, '--state', os.path.join(folder, 's'), '--',
               'touch', mark]
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    bare = 'for m in $(grep " cgroup2 " /proc/mounts | cut -d" " -f2); do umount -l $m; done; exec "$@"'
    cases = [
        (['setpriv', '--reuid', '65534', '--clear-groups'], 'nest lacks CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON'),
        (['unshare', '-m', 'sh', '-c', hide, 'sh'], 'the kernel has no BTF'),
        (['unshare', '-m', 'sh', '-c', bare, 'sh'], 'cgroup2 is not mounted'),
    ]
    os.chmod(folder, 0o755)
    for before, reason in cases:
        told = subprocess.run([*before, *command], capture_output=True, text=True, timeout=WAIT, check=False)
        same(f'the status of {before[0]}: {told.stderr}', told.returncode, 69)
        if reason not in told.stderr:
            raise Failed(f'{before} gives {told.stderr}')
        same('the server ran', os.path.exists(mark), False)
    told = subprocess.run([NEST, 'accelerate', '--port', '1', '--root', folder + '/none', '--', 'true'],
                          capture_output=True, text=True, timeout=WAIT, check=False)
    same('the status without a folder', told.returncode, 1)
    return f'{len(cases)} systems'


def background(folder):
    """A server that leaves the foreground ends nest, which says why."""
    port = str(free_port())

    def said(*server):
        told = subprocess.run([NEST, 'accelerate', '--port', port, '--root', folder, '--state',
                               os.path.join(folder, 'state'), '--', *server], capture_output=True, text=True,
                              timeout=WAIT, check=False)
        same('the status', told.returncode, 0)
        return told.stdout, 'keep the server in the foreground' in told.stderr

    pid, warned = said('sh', '-c', 'sleep 1000 > /dev/null 2>&1 & echo $!')
    os.kill(int(pid), signal.SIGKILL)
    same('it is said', warned, True)
    same('it is said of a server that has ended', said('true'), ('', False))
    return ''


JUDGE = '''
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
print(len([f for f in families if f.samples]), 'families')
'''


def told(folder):
    """The access log has one line for each answer; the metrics are OpenMetrics; hosts have own folders."""
    log = os.path.join(folder, 'kernel.log')
    other = os.path.join(folder, 'other')
    os.makedirs(other)
    with open(os.path.join(other, 'a.txt'), 'wb') as file:
        file.write(b'other')
    site = Site(folder, ['--log', log, '--host', f'other={other}'], other=other)
    site.write('a.txt', b'body')
    with site:
        site.keep('a.txt')

        def ask_other():
            with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
                client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: Other\r\n\r\n')
                same('the body of the other host', answer(client)[1], b'other')

        until('the kernel answers the other host', lambda: hits(site, ask_other))
        site.get('a.txt', method='HEAD')
        answers = site.counts()['answers']

        def lines():
            with open(log, encoding='ascii') as file:
                return file.read().splitlines()

        until('the log is written', lambda: len(lines()) >= answers)
        same('lines of the log', len(lines()), answers)
        form = re.compile(r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
                          r'"(GET|HEAD) /a\.txt HTTP/1\.1" 200 \d+')
        same('odd lines', [line for line in lines() if not form.fullmatch(line)], [])
        judged(site.ask('metrics'))
    return f'{answers} lines'


def judged(metrics):
    """The parser of Prometheus reads the metrics."""
    judge = subprocess.run(['/usr/bin/python3', '-c', JUDGE], input=metrics, text=True, capture_output=True,
                           timeout=WAIT, check=False)
    same('what the parser of OpenMetrics says', judge.stdout + judge.stderr, '20 families\n')


def exported(folder):
    """--metrics ADDRESS tells the counts over HTTP, also after clients that send nothing, and after --stop."""
    address = f'127.0.0.1:{free_port()}'
    host, port = address.split(':')
    alone = subprocess.run([NEST, 'accelerate', '--port', '1', '--metrics', address], capture_output=True, text=True,
                           timeout=WAIT, check=False)
    same('the status without a server', (alone.returncode, 'is for the start' in alone.stderr), (2, True))

    def fetch(path='/metrics'):
        with urllib.request.urlopen(f'http://{address}{path}', timeout=WAIT) as got:
            return got.headers['Content-Type'], got.read().decode()

    with Site(folder, ['--metrics', address]) as site, contextlib.ExitStack() as silent:
        for _ in range(20):     # more than it reads at a time
            silent.enter_context(socket.create_connection((host, port), WAIT))
        site.write('a.txt', b'body')
        site.keep('a.txt')
        kind, metrics = fetch()
        same('the type', kind, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
        same('the names', re.sub(r' \d+\n', '\n', metrics), re.sub(r' \d+\n', '\n', site.ask('metrics')))
        told_answers = re.search(r'\nnest_kernel_answers_total (\d+)\n', metrics)
        same('the answers', int(told_answers[1]), site.counts()['answers'])
        judged(metrics)
        for place in (address, site.state):
            seen = subprocess.run([NEST, 'top', place, '--once', '--interval', '50'], capture_output=True, text=True,
                                  timeout=WAIT, check=False)
            same(f'the status of nest top {place}: {seen.stderr}', seen.returncode, 0)
            same('its first line', seen.stdout.splitlines()[0], f'port {site.port}: the kernel answers')
            same('the answers that it shows', re.findall(r'answered by the kernel +\d+ +(\d+)', seen.stdout), [told_answers[1]])
        try:
            raise Failed(f'another path is answered: {fetch("/")}')
        except urllib.error.HTTPError as error:
            same('the status of another path', error.code, 404)
        site.ask('stop')
        same('on after --stop', 'nest_kernel_on 0\n' in fetch()[1], True)
        taken = subprocess.run([NEST, 'accelerate', '--port', '1', '--root', folder, '--metrics', address, '--state',
                                os.path.join(folder, 'other'), '--', 'true'], capture_output=True, text=True,
                               timeout=WAIT, check=False)
        same('a second one at the address', (taken.returncode, f'cannot listen at {address}' in taken.stderr),
             (1, True))
    return ''


def exhausted(folder):
    """Without descriptors, nest says once that it accepts no clients, sleeps, and accepts them later."""
    address = f'127.0.0.1:{free_port()}'
    host, port = address.split(':')
    with Site(folder, ['--metrics', address]) as site, contextlib.ExitStack() as clients:
        process = f'/proc/{site.process.pid}'

        def slept():
            with open(f'{process}/task/{site.process.pid}/status', encoding='ascii') as file:
                return int(re.search(r'\nvoluntary_ctxt_switches:\s*(\d+)', file.read())[1])

        def seconds():
            with open(f'{process}/task/{site.process.pid}/stat', encoding='ascii') as file:
                fields = file.read().rpartition(')')[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

        def waits(times):
            """Waits until nest's main thread has slept so often; the seconds that it took of a CPU."""
            first, took = slept(), seconds()
            until('nest sleeps', lambda: slept() >= first + times)
            return seconds() - took

        usual = waits(30)
        limits = resource.prlimit(site.process.pid, resource.RLIMIT_NOFILE)
        # Below the lowest free number, whichever descriptors are open.
        used = set.intersection(*({int(name) for name in os.listdir(f'{process}/fd')} for _ in range(50)))
        free = next(number for number in range(len(used) + 1) if number not in used)
        resource.prlimit(site.process.pid, resource.RLIMIT_NOFILE, (free, limits[1]))
        clients.enter_context(socket.create_connection((host, port), WAIT))
        clients.enter_context(socket.socket(socket.AF_UNIX)).connect(site.state)
        places = (address, site.state)
        for place in places:
            until(f'nest says that {place} is closed', lambda place=place: f'clients at {place}: too' in site.said())
        took = waits(30)
        if took > usual * 5 + 0.5:
            raise Failed(f'30 turns took {took:.2f} s of a CPU, {usual:.2f} s before')
        for place in places:
            same(f'how often it is said of {place}', site.said().count(f'clients at {place}: '), 1)
        resource.prlimit(site.process.pid, resource.RLIMIT_NOFILE, limits)
        with urllib.request.urlopen(f'http://{address}/metrics', timeout=WAIT) as got:
            same('on', 'nest_kernel_on 1\n' in got.read().decode(), True)
        site.ask('status')
    return f'{took:.2f} s of a CPU in 30 turns, {usual:.2f} s before'


def converse(folder, name, count):
    """Random conversations with a server; all must be right, and enough of them answered by the kernel."""
    site = fuzz.behind(folder, name)
    fuzz.fill(site)
    with site:
        site.keep(*fuzz.SMALL)
        wrong = fuzz.fuzz(site, count, 24, sample.SEED, name != 'apache')
        counts = site.counts()
    if wrong:
        raise Failed('\n'.join(f'seed {seed}: {error}' for seed, error in wrong))
    same('broken', counts['broken'], 0)
    if counts['answers'] < count // 2:
        raise Failed(f'the kernel answered only {counts["answers"]} requests')
    return f'{name}, {count} connections, seed {sample.SEED}'


def conversations(folder):
    """Random conversations give what nginx alone gives."""
    return converse(folder, 'nginx', CONVERSATIONS)


def others(folder):
    """So do random conversations with one of Apache and generated servers."""
    return converse(folder, sample.one('kernel', ('apache', 'event', 'uring')), OTHERS)


def apart(script):
    """Runs a test that has a network namespace of its own."""
    ran = subprocess.run([sys.executable, os.path.join(ROOT, 'kernel', 'tests', script)], text=True,
                         capture_output=True, timeout=600, check=False)
    if ran.returncode:
        raise Failed(ran.stdout + ran.stderr)
    return ran.stdout.strip().splitlines()[-1]


def segments(folder):
    """Segments that no socket sends on demand give each answer once and in order."""
    return apart('segments.py')


def frames(folder):
    """Segments of single requests are lost, and the client gets its answer."""
    return apart('frames.py')


def nested(folder):
    """Programs that interrupt each other on a CPU do not take one connection's request for another's."""
    return apart('nested.py')


def around(folder):
    """A narrow path, somebody else at the port, and folders behind links do no harm."""
    return apart('around.py')


TESTS = [kept, closes, reused, six, unchanged, browsers, choosy, changed, versions, left, replaced, stopped, killed, attached, unattached,
         neighbour, early, leaves, blocking, rings, refused, background, told, exported, exhausted, reloaded, rights, relogged, piped,
         strict, generated, logged, ports, spoiled, restarted, idle, halted, without, segments, frames, nested, around, conversations,
         others]


def main():
    report, wanted = Report('nest accelerate'), sys.argv[1:]
    fresh = subprocess.run([sys.executable, os.path.join(ROOT, 'kernel', 'bpf', 'build.py'), '--check'],
                           capture_output=True, text=True, timeout=300, check=False)
    report.line(fresh.returncode == 0, 'bpf', 'the committed object belongs to its sources', '',
                fresh.stdout + fresh.stderr)
    missing = lacks()
    for test in TESTS if wanted else sample.some(TESTS, FEW, 'kernel'):
        what = ' '.join(inspect.getdoc(test).split('. ')[0].rstrip('.').split())
        if wanted and test.__name__ not in wanted:
            continue
        if missing:
            report.skip(test.__name__, what, missing)
            continue
        with tempfile.TemporaryDirectory(prefix='nest-kernel-') as folder:
            try:
                report.line(True, test.__name__, what, test(folder))
            except (Failed, OSError, subprocess.SubprocessError) as error:
                with contextlib.suppress(OSError), open(os.path.join(folder, 'told'), encoding='utf-8') as file:
                    error = f'{error}\nnest said: {file.read()}'
                report.line(False, test.__name__, what, '', error)
    return report.close()


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(1))
    sys.exit(main())
