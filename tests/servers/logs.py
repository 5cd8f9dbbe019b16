"""Logs: lines in every format and at every place, opened anew, changed while the server runs; what is lost is counted.

Must not know: how lines get there.
"""

import concurrent.futures
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
from support.cases import attempt, built
from support.nest import Failed, program
from support.server import Client, Server

SPEC = r'''
%option eventServer 64
%option logging requests
%{
#include <stdio.h>
%}
NL "\n"
%%
get = "get " [^\n]* NL {
    $logField("raw", (nest_bytes){$ptr(2), $len(2)});
    $logField("below", -7);
    $logField("most", UINT64_MAX);
    $logField("cut", "no");
    $logField("status", 200);
    $reply("yes!\n");
}
ask = "ask " [^\n]* NL {
    $logField("request", $0);
    $logField("status", 200);
    $logField("bytes", (uint64_t)4);
    $logField("user", "me");
    $logField("referer", "http://a/\"b\"");
    $logField("agent", "nest (x; y)");
    $reply("ok\n");
}
many = "many" NL { for (int i = 0; i < 100; i++) { char name[8]; snprintf(name, sizeof name, "f%d", i);
                   $logField(name, "0123456789012345678901234567890123456789"); } $reply("ok\n"); }
same = "same" NL { $logField("a", 1); $logField("a", "x y"); $logField("a", 3); $logField("A-B", 0);
                   $logField("level", "loud"); $reply("ok\n"); }
counts = "counts" NL { $logField("in", "mine"); $logField("out", 1); $reply("ok\n"); }
crash = "crash" NL { __builtin_trap(); }
warn = "warn " [^\n]* NL { $log(NEST_WARN, "said %s", $2); $reply("ok\n"); }
quit = "quit" NL { $close(); }
%%
'''
# Lines only where the specification says so, for what came since the one before.
MARKED = r'''
%option eventServer 64
%option logging requests
%option logFormat logfmt
%{
static void done(nest_session *self, int status) {
    nest_log_field(self, "status", status);
    nest_log_request(self);
    nest_reply(self, "done\n");
}
%}
NL "\n"
%%
START { $reply("hello\n"); }
head = "head " [a-z]* NL { $logField("head", $2); }
end = "end" NL { done($self, 200); }
END { if ($reason() == NEST_EOF) { $logField("status", 408); $logRequest(); } }
'''
QUIET = r'''
%option eventServer 64
NL "\n"
%%
get = "get" NL { $reply("yes!\n"); }
'''
CLIENTS, REQUESTS, TIMEOUT = 8, 50, 30
STAMP = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z'
COMMON = re.compile(r'(\S+) - (\S+) \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000)\] '
                    r'"((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)')
COMBINED = re.compile(COMMON.pattern + r' "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"')
HOSTILE = [b'/plain', b'', b'a "b" \\ =x', 'grüß ‮'.encode(), b'\xff\x01\x1b[31m\xc2\x85', b'{}\r', b'x' * 3000]


def read(path):
    """The file's text; "" if there is none."""
    with contextlib.suppress(FileNotFoundError), open(path, 'rb') as file:
        return file.read()
    return b''


def until(path, wanted, what):
    """The file's lines, once they are as wanted."""
    end = time.monotonic() + TIMEOUT
    while True:
        text = read(path)
        lines = text.decode().split('\n')
        if text.endswith(b'\n') and wanted(lines[:-1]):
            return lines[:-1]
        if time.monotonic() > end:
            raise Failed(f'{what}: {text[-3000:]!r}')
        time.sleep(0.02)


def lines(path, n):
    """As many lines, and no more."""
    return until(path, lambda got: len(got) == n, f'not {n} lines')


def asks(server, *requests):
    """A client that asks, and waits for each answer."""
    with Client(server) as client:
        for request in requests:
            client.send(request + b'\n')
            client.expect(b'yes!\n' if request.startswith(b'get') else b'ok\n')


def crowd(server):
    """Clients that ask often."""
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda n: asks(server, *[b'get /%d/%d' % (n, i) for i in range(REQUESTS)]), range(CLIENTS)))


def unquoted(text):
    """The bytes that a quoted text stands for."""
    special = {b'n': b'\n', b'r': b'\r', b't': b'\t'}
    return re.sub(rb'\\(x(..)|.)', lambda m: bytes([int(m[2], 16)]) if m[2] else special.get(m[1], m[1]), text.encode())


def logfmt(line):
    """{name: text} of a line of logfmt, as its common readers take it: quoted values are strings of JSON."""
    found = re.findall(r'(\w+)=(?:("(?:[^"\\]|\\.)*")|(\S*))(?: |$)', line)
    return {name: json.loads(quoted) if quoted else plain for name, quoted, plain in found}


def pairs(line):
    """{name: bytes} of a line of the format `line`."""
    found = re.findall(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))(?: |$)', line)
    return {name: unquoted(quoted) if quoted else plain.encode() for name, quoted, plain in found}


def formats(binary):
    """what clients send stays what it is in every format, and no control reaches the file"""
    cut = [text[:1024] for text in HOSTILE]
    for form in ('line', 'logfmt', 'json', 'common', 'combined'):
        with Server([binary], options=['accessLog=./access', f'logFormat={form}']) as server:
            path = os.path.join(server.folder.name, 'access')
            structured = form not in ('common', 'combined')
            asks(server, *[(b'get ' if structured else b'ask ') + text for text in HOSTILE])
            got = lines(path, len(HOSTILE) + structured)[:len(HOSTILE)]
            if bad := [c for c in read(path).decode() if (c < ' ' and c != '\n') or '\x7f' <= c <= '\x9f' or c == '‮']:
                raise Failed(f'{form}: {bad}')
            for line, sent in zip(got, cut):
                if form == 'json':
                    found = json.loads(line)
                    same = found['raw'] == sent.decode(errors='replace') and found['status'] == 200 and \
                        line.count('"cut"') == 1 and found['cut'] == (1 if len(sent) == 1024 else 'no') and \
                        found['below'] == -7 and found['most'] == 2 ** 64 - 1 and found['rule'] == 'get' and found['out'] == 5
                elif form == 'logfmt':
                    found = logfmt(line)
                    same = found['raw'] == sent.decode(errors='replace') and found['below'] == '-7' and \
                        line.count(' cut=') == 1 and found['cut'] == ('1' if len(sent) == 1024 else 'no') and \
                        found['most'] == str(2 ** 64 - 1) and found['out'] == '5' and found['rule'] == 'get'
                elif structured:
                    found = pairs(line)
                    same = found['raw'] == sent and found['below'] == b'-7' and \
                        line.count(' cut=') == 1 and found['cut'] == (b'1' if len(sent) == 1024 else b'no') and \
                        found['most'] == b'%d' % (2 ** 64 - 1) and found['out'] == b'5'
                else:
                    match = (COMMON if form == 'common' else COMBINED).fullmatch(line)
                    same = match and match[1] == '127.0.0.1' and match[2] == 'me' and match[5] == '200' and \
                        match[6] == '4' and unquoted(match[4]) == (b'ask ' + sent + b'\n')[:1024] and \
                        (form == 'common' or (match[7] == 'http://a/\\"b\\"' and match[8] == 'nest (x; y)'))
                if not same:
                    raise Failed(f'{form}: {line!r} for {sent[:99]!r}')


def bounded(binary):
    """too many fields are left out, and the line is still whole; a later value replaces one"""
    with Server([binary], options=['accessLog=./access', 'logFormat=json']) as server:
        asks(server, b'many', b'same')
        got = lines(os.path.join(server.folder.name, 'access'), 3)
        many, same, _ = map(json.loads, got)
        if many['cut'] != 1 or many['f0'] != '0123456789' * 4 or len(many) < 40:
            raise Failed(f'{many}')
        if same['a'] != 3 or same['A_B'] != 0 or 'cut' in same:
            raise Failed(f'{same}')
        if same['level'] != 'loud' or got[1].count('"level"') != 1:
            raise Failed(f'a name stands twice: {got[1]}')


def escaped(binary):
    """values that escapes make too long are shortened, and the line says so; names stand once"""
    hostile = b'\x01' * 3000
    for form in ('line', 'logfmt', 'json', 'common', 'combined'):
        with Server([binary], options=['accessLog=./access', f'logFormat={form}']) as server:
            web = form in ('common', 'combined')
            asks(server, (b'ask ' if web else b'get ') + hostile, b'get in=' if web else b'counts')
            path = os.path.join(server.folder.name, 'access')
            line, counts = lines(path, 2 if web else 3)[:2]
            if len(line) > 4096 or line.count(r'\x01' if form in ('line', 'common', 'combined') else r'\u0001') < 100:
                raise Failed(f'{form}: {len(line)} bytes: {line[:200]}')
            if web and not re.search(r'\\x01\.\.\."', line):
                raise Failed(f'{form}: does not say that it is cut: {line[-200:]}')
            if form == 'combined' and not line.endswith('"http://a/\\"b\\"" "nest (x; y)"'):
                raise Failed(f'{form}: what follows is gone: {line[-200:]}')
            if not web and not re.search('"cut":1' if form == 'json' else ' cut=1$', line):
                raise Failed(f'{form}: does not say that it is cut: {line[-200:]}')
            if form in ('line', 'logfmt') and (counts.count(' in=') != 1 or counts.count(' out=') != 1):
                raise Failed(f'{form}: a name stands twice: {counts}')


def marked(binary):
    """with $logRequest a line stands for all that came since the one before"""
    with Server([binary], options=['accessLog=./access']) as server:
        path = os.path.join(server.folder.name, 'access')
        with Client(server) as client:
            client.expect(b'hello\n')
            for name in b'x', b'y':
                client.send(b'head ' + name + b'\nend\n')
                client.expect(b'done\n')
            client.send(b'head z\n')
            client.half_close()
            client.rest()
        with Client(server) as client:
            client.expect(b'hello\n')
            client.send(b'head w\nend\n')
            client.expect(b'done\n')
            client.half_close()
            client.rest()
        got = [pairs(line) for line in lines(path, 7)]
        wanted = [(b'x', b'200', b'end', b'11'), (b'y', b'200', b'end', b'11'), (b'z', b'408', b'-', b'7')]
        if [(g['head'], g['status'], g['rule'], g['in']) for g in got[:3]] != wanted or got[3]['event'] != b'end':
            raise Failed(f'{got}')
        if (got[4]['in'], got[5]['rule'], got[5]['in'], got[5]['out']) != (b'11', b'-', b'0', b'0'):
            raise Failed(f'bytes of a request are counted twice: {got}')


def anew(binary):
    """after HUP and USR1 a moved file is left alone, and no line of a crowd is lost"""
    with Server([binary], options=['accessLog=./access', 'errorLog=./errors']) as server:
        folder = server.folder.name
        for number, name in enumerate(('USR1', 'HUP')):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                busy = pool.submit(crowd, server)
                time.sleep(0.05)
                os.rename(f'{folder}/access', f'{folder}/access.{number}')
                os.kill(server.process.pid, getattr(signal, f'SIG{name}'))
                busy.result()
            until(f'{folder}/errors', lambda got, n=number: len(got) > n, 'no word of it')
        asks(server, b'get last')
        until(f'{folder}/access', lambda got: any('raw=last' in line for line in got), 'no line')
        if server.stop() != 0:
            raise Failed(server.said())
        found = b''.join(read(f'{folder}/access{more}') for more in ('.0', '.1', ''))
        if (asked := found.count(b' message get ')) != 2 * CLIENTS * REQUESTS + 1:
            raise Failed(f'{asked} lines, not {2 * CLIENTS * REQUESTS + 1}')
        if not read(f'{folder}/access') or found.count(b' end ') != 2 * CLIENTS + 1:
            raise Failed('the new file has no line, or ends of connections are missing')


def changed(binary):
    """HUP changes what is logged, how and where; a place that cannot be opened changes nothing"""
    with Server([binary]) as server:
        folder = server.folder.name

        def told(text, said):
            with open(f'{folder}/config.nest', 'w', encoding='ascii') as file:
                file.write(text)
            before = len(re.findall(said, server.said()))
            os.kill(server.process.pid, signal.SIGHUP)
            end = time.monotonic() + TIMEOUT
            while len(re.findall(said, server.said())) == before:
                if time.monotonic() > end:
                    raise Failed(f'not {said}: {server.said()}')
                time.sleep(0.02)

        def adds(name, events):
            """A client's lines in this file; workers that waited already may serve some clients as before."""
            end = time.monotonic() + TIMEOUT
            while True:
                before = read(f'{folder}/{name}').count(b'\n')
                asks(server, b'get a')
                time.sleep(0.2)
                added = read(f'{folder}/{name}').decode().splitlines()[before:]
                if re.fullmatch(events, '\n'.join(added)):
                    return
                if time.monotonic() > end:
                    raise Failed(f'{name}: {added} are not {events}')

        told('logging errors\naccessLog ./one\n', 'accessLog ./one')
        adds('one', '')
        told('logging connections\naccessLog ./one\n', 'logging connections')
        adds('one', '.* end .*')
        told('logging requests\naccessLog ./two\nlogFormat json\n', 'logFormat json')
        adds('two', '{.*"event":"message".*}\n{.*"event":"end".*}')
        told('logging requests\naccessLog ./none/three\nlogFormat json\n', 'cannot open the log ./none/three: No such')
        told('logging requests\naccessLog ./none/three\nlogFormat json\n', 'again: accessLog is still ./two')
        adds('two', '{.*"event":"message".*}\n{.*"event":"end".*}')
        adds('one', '')


def endures(binary):
    """the service process dies, a worker crashes, the disk is full: who asks is answered, and later lines come"""
    with Server([binary], options=['accessLog=./access', 'errorLog=./errors']) as server:
        folder = server.folder.name
        asks(server, b'get 1')
        lines(f'{folder}/access', 2)
        holders = [pid for pid, _ in server.each('stat') if pid != server.process.pid and holds(pid, f'{folder}/access')]
        if len(holders) != 1:
            raise Failed(f'{len(holders)} processes have the file open')
        os.kill(holders[0], signal.SIGKILL)
        asks(server, b'get 2')
        lines(f'{folder}/access', 4)
        with Client(server) as client:
            client.send(b'get 3\n')
            client.expect(b'yes!\n')
            client.send(b'get 4\ncrash\n')
            with contextlib.suppress(ConnectionError):
                client.rest()
        lines(f'{folder}/access', 6)
        until(f'{folder}/errors', lambda got: any('crashed' in line for line in got), 'no word of the crash')
    with Server([binary], options=['accessLog=/dev/full', 'errorLog=./errors']) as server:
        crowd(server)
        end = time.monotonic() + TIMEOUT
        while 'accessLog cannot be written: No space left on device' not in server.said():
            if time.monotonic() > end:
                raise Failed(server.said())
            time.sleep(0.02)
        until(f'{server.folder.name}/errors', lambda got: any('dropped: the log could not' in line for line in got), 'not counted')
        if server.stop() != 0 or server.said().count('cannot be written') != 1:
            raise Failed(server.said())


def behind(binary):
    """the service process does not run while logs are opened anew often: then it uses the last"""
    with Server([binary], options=['accessLog=./access']) as server:
        folder = server.folder.name
        asks(server, b'get 1')
        lines(f'{folder}/access', 2)
        holders = [pid for pid, _ in server.each('stat') if pid != server.process.pid and holds(pid, f'{folder}/access')]
        os.kill(holders[0], signal.SIGSTOP)
        for _ in range(1000):
            os.kill(server.process.pid, signal.SIGUSR1)
            time.sleep(0.002)
        os.rename(f'{folder}/access', f'{folder}/before')
        os.kill(server.process.pid, signal.SIGUSR1)
        end = time.monotonic() + TIMEOUT
        while not os.path.exists(f'{folder}/access') and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(holders[0], signal.SIGCONT)
        until(f'{server.folder.name}/stderr', lambda got: len(got) > 1, 'no word of it')
        asks(server, b'get 2')
        lines(f'{folder}/access', 2)


def stays(binary):
    """USR1, and a log cannot be opened anew: it says that it stays where it is, and nothing else"""
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder, contextlib.ExitStack() as stack:
        os.mkdir(f'{folder}/logs')
        server = stack.enter_context(Server([binary], options=[f'accessLog={folder}/logs/access']))

        def signalled(text):
            os.kill(server.process.pid, signal.SIGUSR1)
            until(f'{server.folder.name}/stderr', lambda got: any(text in line for line in got), f'no word of it: {text}')
        os.rename(f'{folder}/logs', f'{folder}/before')
        signalled(f'cannot open the log {folder}/logs/access: No such file or directory; the log stays where it is')
        asks(server, b'get 1')
        lines(f'{folder}/before/access', 2)
        os.mkdir(f'{folder}/logs')
        signalled('the log was opened anew')
        asks(server, b'get 2')
        lines(f'{folder}/logs/access', 2)
        if server.said().count('the log was opened anew') != 1:
            raise Failed(server.said())


def holds(pid, path):
    """Whether a process has the file open."""
    with contextlib.suppress(OSError):
        for name in os.listdir(f'/proc/{pid}/fd'):
            with contextlib.suppress(OSError):
                if os.readlink(f'/proc/{pid}/fd/{name}') == os.path.realpath(path):
                    return True
    return False


def slow(binary):
    """a reader that does not read: nobody waits for it, and a later line says how many were dropped"""
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder:
        os.mkfifo(f'{folder}/pipe')
        reader = os.open(f'{folder}/pipe', os.O_RDONLY | os.O_NONBLOCK)
        try:
            with Server([binary], options=[f'accessLog={folder}/pipe']) as server:
                for _ in range(4):
                    crowd(server)
                got, end = b'', time.monotonic() + TIMEOUT
                while b' dropped: ' not in server.said().encode():
                    if time.monotonic() > end:
                        raise Failed(f'no line was dropped: {got[-300:]!r}')
                    time.sleep(0.02)
                while select.select([reader], [], [], 0.2)[0] and (chunk := os.read(reader, 1 << 16)):
                    got += chunk
                asks(server, b'get last')
                while not re.search(rb'raw=last .*\n.* end .*\n', got) and time.monotonic() < end:
                    if select.select([reader], [], [], 0.2)[0]:
                        got += os.read(reader, 1 << 16)
                whole = re.compile(STAMP + r' info \d+ (message get in=\d+ out=5 raw=\S+ below=-7 most=\d+ status=200 cut=no|end eof .*)')
                if wrong := [line for line in got.decode().splitlines() if whole.fullmatch(line) is None]:
                    raise Failed(f'lines are cut: {wrong[:3]}')
                if b'raw=last' not in got:
                    raise Failed('later lines do not come')
        finally:
            os.close(reader)


def counted(binary):
    """the lines that come and those that are reported as dropped are all, although the reports were lost at first"""
    total = 4 * CLIENTS * (REQUESTS + 1) + 2
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder:
        os.mkfifo(f'{folder}/pipe')
        reader = os.open(f'{folder}/pipe', os.O_RDONLY | os.O_NONBLOCK)
        try:
            with Server([binary], options=[f'accessLog={folder}/pipe', f'errorLog={folder}/pipe']) as server:
                for _ in range(4):
                    crowd(server)
                time.sleep(2)       # longer than the server waits for a reader
                got, end, asked = b'', time.monotonic() + TIMEOUT, False
                while True:
                    while select.select([reader], [], [], 0.2)[0] and (chunk := os.read(reader, 1 << 16)):
                        got += chunk
                    if not asked:
                        asks(server, b'get last')
                        asked = True
                    dropped = [int(n) for n in re.findall(rb'warn (\d+) lines? w', got)]
                    if got.count(b'\n') - len(dropped) + sum(dropped) == total and dropped:
                        return
                    if time.monotonic() > end:
                        raise Failed(f'{len(got.splitlines()) - len(dropped)} lines and {dropped} dropped, not {total}')
        finally:
            os.close(reader)


def ended(binary):
    """TERM while the service process is behind a reader that does not read: each line comes, or is counted"""
    rounds = 12
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder:
        os.mkfifo(f'{folder}/pipe')
        reader = os.open(f'{folder}/pipe', os.O_RDONLY | os.O_NONBLOCK)
        try:
            with Server([binary], options=[f'accessLog={folder}/pipe', 'errorLog=./errors']) as server:
                asks(server, b'get first')
                got = b''
                while got.count(b'\n') < 2:
                    if not select.select([reader], [], [], TIMEOUT)[0]:
                        raise Failed(f'no line came: {got!r}')
                    got += os.read(reader, 1 << 16)
                behind_pid = next(pid for pid, _ in server.each('stat')
                                  if pid != server.process.pid and holds(pid, f'{folder}/pipe'))
                os.kill(behind_pid, signal.SIGSTOP)
                for _ in range(rounds):
                    crowd(server)
                os.kill(behind_pid, signal.SIGCONT)
                if not select.select([reader], [], [], TIMEOUT)[0] or server.stop() != 0:
                    raise Failed(server.said())
                while chunk := os.read(reader, 1 << 16):
                    got += chunk
                dropped = sum(map(int, re.findall(rb'warn (\d+) lines? w', read(f'{server.folder.name}/errors'))))
                total = rounds * CLIENTS * (REQUESTS + 1) + 2
                if not dropped or got.count(b'\n') + dropped != total:
                    raise Failed(f'{len(got.splitlines())} lines and {dropped} dropped, not {total}')
        finally:
            os.close(reader)


def stuck(binary):
    """a logger or a reader of stderr that has stopped does not keep the server from its end"""
    with loggers() as (words, _, _):
        with Server([*words, binary], options=['accessLog=syslog']) as server:
            crowd(server)
            if server.stop() != 0:
                raise Failed(server.said())
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder:
        os.mkfifo(f'{folder}/pipe')
        reader = os.open(f'{folder}/pipe', os.O_RDONLY | os.O_NONBLOCK)
        try:
            with Server(['sh', '-c', 'p=$1; shift; exec "$@" 2>"$p"', 'sh', f'{folder}/pipe', binary]) as server:
                for _ in range(4):
                    crowd(server)
                if server.stop() != 0:
                    raise Failed('clients were cut off')
        finally:
            os.close(reader)


# A /dev and a /run of their own for the server, in a namespace of mounts.
PRIVATE = r'''set -e
for name in null zero full urandom; do touch "$1/dev/$name"; mount --bind /dev/$name "$1/dev/$name"; done
mount --rbind "$1/dev" /dev
mount -t tmpfs none /run
mkdir -p /run/systemd/journal
mount --bind "$1/journal" /run/systemd/journal
shift
exec "$@"
'''


@contextlib.contextmanager
def loggers():
    """A system log and a journal: words that start a program with them, and their sockets."""
    with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder, contextlib.ExitStack() as stack:
        sockets = []
        for name in ('dev/log', 'journal/socket'):
            os.makedirs(os.path.dirname(f'{folder}/{name}'))
            sockets.append(stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)))
            sockets[-1].bind(f'{folder}/{name}')
            sockets[-1].settimeout(TIMEOUT)
        yield ['unshare', '--mount', 'sh', '-c', PRIVATE, 'sh', folder], *sockets


def system(binary):
    """lines go to the system log with their severity, and to the journal as fields"""
    with loggers() as (words, log, journal):
        with Server([*words, binary], options=['accessLog=syslog', 'errorLog=syslog']) as server:
            asks(server, b'get /x', b'warn "you"')
            got = [log.recv(9999).decode() for _ in range(4)]
            name = f'{os.path.basename(binary)}[{server.process.pid}]'
            wanted = [rf'<30>{re.escape(name)}: {STAMP} info \d+ message get .* raw=/x .*',
                      rf'<28>{re.escape(name)}: {STAMP} warn \d+ said "you"',
                      rf'<30>{re.escape(name)}: {STAMP} info \d+ message warn .*',
                      rf'<30>{re.escape(name)}: {STAMP} info \d+ end eof .*']
            for line, pattern in zip(got, wanted):
                if re.fullmatch(pattern, line) is None:
                    raise Failed(f'{line!r} is not {pattern}')
        with Server([*words, binary], options=['accessLog=journal', 'errorLog=journal']) as server:
            asks(server, b'get /x\n\x01=y'.replace(b'\n', b'\r'), b'warn you')
            got = [dict(line.split('=', 1) for line in journal.recv(9999).decode().splitlines()) for _ in range(4)]
            request, said, _, end = got
            if (request['NEST_RAW'], request['NEST_RULE'], request['NEST_OUT'], request['NEST_BELOW']) != (
                    '/x\\r\\x01=y', 'get', '5', '-7') or ' message get ' not in request['MESSAGE']:
                raise Failed(f'{request}')
            if not said['MESSAGE'].endswith(' said you') or (said['PRIORITY'], request['PRIORITY']) != ('4', '6'):
                raise Failed(f'{said}')
            if end['NEST_EVENT'] != 'end' or {g['SYSLOG_IDENTIFIER'] for g in got} != {os.path.basename(binary)}:
                raise Failed(f'{end}')


def alive(binary):
    """a system log that does not read: the service process still tells the counts"""
    with loggers() as (words, _, _), Server([*words, binary], options=['accessLog=syslog']) as server:
        crowd(server)
        port = int(re.search(r'metrics at 127\.0\.0\.1:(\d+)', server.said()).group(1))
        with socket.create_connection(('127.0.0.1', port), timeout=TIMEOUT) as talk:
            talk.sendall(b'GET /ready HTTP/1.1\r\nHost: a\r\n\r\n')
            if not (got := talk.recv(99)).startswith(b'HTTP/1.1 200'):
                raise Failed(f'{got!r}')


def refused(binary, quiet):
    """wrong places and words are refused, as is what the server was not built for"""
    for exe, option, why, status in (
            (binary, 'accessLog=sysolg', 'write stderr, syslog, journal, or a path with a slash', 2),
            (binary, 'accessLog=./none/log', 'cannot open the log ./none/log: No such file', 1),
            (binary, 'errorLog=/', 'cannot open the log /: Is a directory', 1),
            (binary, 'logFormat=xml', "line, common, combined, logfmt, json, not 'xml'", 2),
            (binary, 'logging=all', "errors, connections, requests, not 'all'", 2),
            (quiet, 'logging=requests', "add '%option logging requests'", 2),
            (quiet, 'accessLog=./log', "there is no option 'accessLog'", 2)):
        for more in ([], ['--check-config']):
            done = subprocess.run([exe, '--set', 'listen=127.0.0.1:0', '--set', option, *more], capture_output=True,
                                  text=True, timeout=TIMEOUT, env={**os.environ, 'NEST_USER': 'root'})
            wanted = 2 if more and status == 1 else status
            if done.returncode not in (status, wanted) or why not in done.stderr or 'listening' in done.stdout:
                raise Failed(f'{option} {more}: {done.returncode} {done.stdout}{done.stderr}')


CASES = formats, bounded, escaped, anew, changed, endures, behind, stays, slow, counted, ended, stuck, system


def run(report, models):
    """Each case in each model."""
    report.heading('Logs (logging, logFormat, accessLog, errorLog)')
    nest = program()
    for model in models:
        with tempfile.TemporaryDirectory(prefix='nest-logs-') as folder:
            binary = built(nest, model, SPEC, os.path.join(folder, 'logged'))
            mark = built(nest, model, MARKED, os.path.join(folder, 'marked'))
            quiet = built(nest, model, QUIET, os.path.join(folder, 'quiet'))
            for case in CASES:
                attempt(report, model, case.__name__, case.__doc__, lambda case=case: case(binary))
            attempt(report, model, 'marked', marked.__doc__, lambda: marked(mark))
            told = built(nest, model, '%option metrics 127.0.0.1:0' + SPEC, os.path.join(folder, 'told'))
            attempt(report, model, 'alive', alive.__doc__, lambda: alive(told))
            attempt(report, model, 'refused', refused.__doc__, lambda: refused(binary, quiet))
