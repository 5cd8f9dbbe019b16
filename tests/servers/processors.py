"""processors: actions run on threads beside the loop, in order for each client, and the loop goes on meanwhile.

Actions that must run at the same time wait for each other at a gate, so nothing depends on how fast they are.
Must not know: how actions reach a thread.
"""

import concurrent.futures
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from support.cases import attempt
from support.nest import Failed, checked, environment, program, run as command
from support.server import Client, Server

SPEC = r'''
%option eventServer 200
%option processors 2
%{
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static _Atomic unsigned begun, open_gates;
/* Waits until the gate is open. Counts those that have begun. */
static void gate(unsigned number) {
    begun++;
    while (open_gates < number) usleep(1000);
}
%}
%shared 64K { long total; } { total = 0; }
NL "\n"
%%
int n;
work = "w " [0-9]{1,5} NL { usleep((useconds_t)atoi($2)); n++; $lock { total++; } $reply("%d\n", n); }
gate = "gate " [0-9]{1,3} NL { gate((unsigned)atoi($2)); $reply("passed ", $2, "\n"); }
open = "open" NL { $reply("%u\n", ++open_gates); }
begun = "begun" NL { $reply("%u\n", begun); }
line = "line" NL { char *l = $readLine(100); $reply("line ", l == NULL ? "none" : l, "\n"); }
sleep = "sleep" NL { $sleep(20ms); $reply("slept\n"); }
big = "big " [0-9]{1,4} NL {
    static const char kilo[1024];
    for (int i = atoi($2); i > 0; i--) $replyBytes(kilo, sizeof kilo);
    $reply("\n");
}
flush = "flush" NL { $reply("a"); $flush(); $reply("b\n"); }
block = "block" NL { $block { n += 10; } $reply("%d\n", n); }
inside = "inside " [0-9]{1,3} NL { $block { gate((unsigned)atoi($2)); } $reply("passed ", $2, "\n"); }
errno = "errno" NL { int in; errno = 3; $block { in = errno; errno = 7; } $reply("%d %d\n", in, errno); }
total = "total" NL { long t; $lock { t = total; } $reply("%ld\n", t); }
crash = "crash" NL { abort(); }
bye = "bye" NL { $reply("bye\n"); $close(); }
END { n = 0; }
'''
# What belongs to the loop.
HOME = r'''
%option eventServer 200
%option processors 2
%option metrics 127.0.0.1:0
%{
#include <stdlib.h>
#include <unistd.h>
%}
NL "\n"
%%
join = "join" NL { $join("all"); $reply("%llu\n", (unsigned long long)$members("all")); }
id = "id" NL { $reply("%llu\n", (unsigned long long)$id()); }
tell = "tell " [0-9]{1,19} " " [0-9]{1,5} NL {
    int failed = $send(strtoull($2, NULL, 10), "told %s\n", $4);
    $reply("%d\n", failed);
}
all = "all " [0-9]{1,5} NL { $broadcastAll("all", "m ", $2, "\n"); }
leave = "leave" NL { $leave("all"); $reply("left\n"); }
wait = "wait" NL { $sleep(1ms); $block { usleep(100); } $reply("waited\n"); }
'''
FILES = r'''
%option eventServer 200
%option processors 2
%option fileRoot .
%option fileCache LRU 1M
%option mode debug
%{
#include <errno.h>
#include <stdlib.h>
%}
NL "\n"
PATH [a-z0-9/.]{1,40}
%%
get = "get " PATH NL { if ($fileReply($2, 0, NEST_WHOLE) < 0) $reply("%d\n", errno); }
part = "part " PATH " " [0-9]{1,9} " " [0-9]{1,9} NL {
    nest_file file;
    if ($fileOpen($2, &file) < 0) { $reply("%d\n", errno); return; }
    $reply("%llu ", (unsigned long long)file.size);
    $fileReply(&file, strtoull($4, NULL, 10), strtoull($6, NULL, 10));
    $reply("\n");
}
put = "put " PATH " " [0-9]{1,9} NL {
    int64_t n = $fileReceive($2, strtoull($4, NULL, 10));
    if (n < 0) $reply("error %d\n", errno); else $reply("put %lld\n", (long long)n);
}
gather = "gather " PATH " " [0-9]{1,5} NL {
    nest_upload *upload = $fileCreate($2);
    if (upload == NULL) { $reply("error %d\n", errno); return; }
    for (int i = atoi($4); i > 0; i--) $fileWrite(upload, "0123456789", 10);
    if ($fileCommit(upload) < 0) $reply("error %d\n", errno); else $reply("done\n");
}
begin = "begin " PATH NL { nest_upload *u = $fileCreate($2); $fileWrite(u, "x", 1); $fileDrop(u); $reply("dropped\n"); }
list = "list " PATH NL {
    nest_files files;
    if ($fileList($2, &files) < 0) { $reply("error %d\n", errno); return; }
    for (size_t i = 0; i < files.count; i++) $reply(files.entries[i].name, " ");
    $reply("\n");
}
delete = "delete " PATH NL { int n = $fileDelete($2); $reply("%d\n", n == 0 ? 0 : errno); }
'''
BUSY = 64


def line(client):
    """The next line of a reply."""
    out = b''
    while not out.endswith(b'\n'):
        byte = client.take(1)
        if not byte:
            raise Failed(f'the connection ended after {out!r}')
        out += byte
    return out.decode().rstrip('\n')


def asked(client, text):
    """The line that answers a message."""
    client.send(text.encode() + b'\n')
    return line(client)


def same(what, got, wanted):
    """Fails unless they are equal."""
    if got != wanted:
        raise Failed(f'{what}: {got!r} in place of {wanted!r}')


def until_begun(client, count):
    """Waits until so many actions are at the gate."""
    end = time.monotonic() + 30
    while int(asked(client, 'begun')) < count:
        if time.monotonic() > end:
            raise Failed(f'{count} actions did not begin')
        time.sleep(0.01)


def free(server):
    """while an action runs, the loop serves other clients, and what the client has sent meanwhile is answered later, in order"""
    with Client(server) as one, Client(server) as two:
        one.send(b'gate 1\nw 0\nw 0\n')
        until_begun(two, 1)
        two.send(b'line\n')
        two.send(b'abc\n')
        same('the other', line(two), 'line abc')
        same('the gates', asked(two, 'open'), '1')
        same('in order', [line(one) for _ in range(3)], ['passed 1', '1', '2'])


def waits(server):
    """an action that waits leaves its thread to others, and goes on there: $readLine, $sleep, $flush, a large reply"""
    with Client(server) as one, Client(server) as two, Client(server) as three, Client(server) as four:
        one.send(b'line\n')
        two.send(b'line\n')
        three.send(b'line\n')           # three wait, on two threads
        same('another', asked(four, 'w 0'), '1')
        for client, text in ((three, 'c'), (two, 'b'), (one, 'a')):
            same('a line', asked(client, text), f'line {text}')
        same('a pause', asked(one, 'sleep'), 'slept')
        same('flush', asked(one, 'flush'), 'ab')
        same('$block', asked(one, 'block'), '10')
        same('errno', asked(one, 'errno'), '3 7')
        two.send(b'big 2000\n')
        same('another', asked(four, 'w 0'), '2')
        same('a large reply', two.take(2000 * 1024 + 1), bytes(2000 * 1024) + b'\n')


def crowd(server):
    """replies of many clients are in order, and what they share is exact, while others reset or end their connections"""
    clients = [Client(server) for _ in range(BUSY)]
    for turn in range(20):
        for i, client in enumerate(clients):
            client.send(b'w %d\n' % (i * turn % 7 * 100) * 3)
        gone = Client(server)
        gone.send(b'w 2000\nbig 100\n')
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        gone.socket.close()
        for client in clients:
            same('in order', [line(client) for _ in range(3)], [str(3 * turn + k) for k in (1, 2, 3)])
    clients[0].send(b'w 1000\nline\n')
    clients[0].half_close()
    same('end of input', clients[0].rest(), b'61\nline none\n')
    clients[1].send(b'w 1000\nbye\n')
    same('bye', clients[1].rest(), b'61\nbye\n')
    total = int(asked(clients[2], 'total'))
    if not BUSY * 60 + 2 <= total <= BUSY * 60 + 2 + 20:
        raise Failed(f'total: {total}')
    for client in clients:
        client.socket.close()


def stopped(server):
    """a server that stops waits for the actions that run"""
    with Client(server) as one:
        one.send(b'w 99999\n')
        time.sleep(0.02)
        os.kill(server.process.pid, signal.SIGTERM)
        same('its reply', one.rest(), b'1\n')
    same('status', server.process.wait(30), 0)


def crashed(server):
    """an action that crashes is reported with its rule, and another process serves"""
    with Client(server) as one:
        one.send(b'crash\n')
        one.rest()
    end = time.monotonic() + 30
    while 'in rule crash' not in server.said():
        if time.monotonic() > end:
            raise Failed('the rule is not reported')
        time.sleep(0.05)
    with Client(server) as two:
        same('after it', asked(two, 'w 0'), '1')


def loop(server):
    """with processors none actions run on the loop"""
    with Client(server) as one, Client(server) as two:
        same('a reply', asked(one, 'w 0'), '1')
        for _, text in server.each('status'):
            if int(re.search(r'Threads:\s+(\d+)', text)[1]) > 1:
                raise Failed('it has threads')
        two.send(b'line\nx\n')
        same('a line', line(two), 'line x')


def inside(server):
    """with processors none a $block runs beside the loop, which serves other clients meanwhile"""
    with Client(server) as one, Client(server) as two, Client(server) as three:
        one.send(b'inside 1\nw 0\n')
        until_begun(two, 1)
        three.send(b'inside 1\n')
        until_begun(two, 2)
        same('the gates', asked(two, 'open'), '1')
        same('in order', [line(one), line(one)], ['passed 1', '1'])
        same('another block', line(three), 'passed 1')
        same('errno', asked(one, 'errno'), '3 7')


def more(server):
    """of 1..3 threads there are as many as actions want"""
    with Client(server) as one, Client(server) as two, Client(server) as three, Client(server) as four:
        for n, client in enumerate((one, two)):
            client.send(b'gate 1\n')
            until_begun(four, n + 1)
        same('the gates', asked(three, 'open'), '1')
        same('both', [line(one), line(two)], ['passed 1'] * 2)


def futexes(server):
    """with 64 busy clients all threads together make at most one call of futex for two messages"""
    clients = [Client(server) for _ in range(BUSY)]
    for client in clients:
        same('a reply', asked(client, 'w 0'), '1')
    _, pid = max((int(re.search(r'Threads:\s+(\d+)', text)[1]), pid) for pid, text in server.each('status'))
    path = os.path.join(server.folder.name, 'calls')
    tracer = subprocess.Popen(['strace', '-f', '-c', '-e', 'trace=futex,epoll_wait,io_uring_enter', '-o', path, '-p', str(pid)],
                              stderr=subprocess.PIPE, env=environment())
    try:
        if b'attached' not in tracer.stderr.readline():
            return                      # it is not allowed here
        for turn in range(2, 52):
            for client in clients:
                client.send(b'w 0\n')
            for client in clients:
                same('in order', line(client), str(turn))
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(30)
    with open(path, encoding='ascii') as file:
        rows = [row.split() for row in file]
    calls = {row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdigit()}
    polls = calls.get('epoll_wait', 0) + calls.get('io_uring_enter', 0)
    if polls == 0 or calls.get('futex', 0) > 50 * BUSY // 2:    # one for each message, if the loop gave them singly
        raise Failed(f'calls: {calls}')


def messages(server):
    """what actions send on threads comes in order: of each sender to a group, and to one connection"""
    clients = [Client(server) for _ in range(8)]
    for n, client in enumerate(clients):
        same('a member', asked(client, 'join'), str(n + 1))
    for n, client in enumerate(clients):
        client.send(b''.join(b'all %d\n' % (1000 * n + i) for i in range(20)))
    for client in clients:
        got = [int(line(client).removeprefix('m ')) for _ in range(20 * len(clients))]
        for n in range(len(clients)):
            same('of one sender', [m for m in got if m // 1000 == n], [1000 * n + i for i in range(20)])
    one, two = clients[:2]
    for client in clients:
        same('not a member', asked(client, 'leave'), 'left')
    number = asked(one, 'id')
    for i in range(20):
        two.send(b'tell %s %d\n' % (number.encode(), i))
    same('sent', [line(two) for _ in range(20)], ['0'] * 20)
    same('told', [line(one) for _ in range(20)], [f'told {i}' for i in range(20)])
    for client in clients:
        client.socket.close()


def counted(server):
    """counts are exact, although threads count as well"""
    def work():
        with Client(server) as client:
            client.send(b'wait\n' * 50)
            same('waited', [line(client) for _ in range(50)], ['waited'] * 50)
    address = re.search(r'metrics at (\S+)', server.said())[1]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            done.result()
    wanted = {'nest_replies_total': 400, 'nest_replied_bytes_total': 2800, 'nest_waiting': 0, 'nest_connections': 0,
              'nest_rule_messages_total{rule="wait"': 400}
    end = time.monotonic() + 30
    while True:
        with urllib.request.urlopen(f'http://{address}/metrics', timeout=30) as answer:
            text = answer.read().decode()
        got = {name: int(re.search(rf'^{re.escape(name)}[^\n]* (\d+)$', text, re.MULTILINE)[1]) for name in wanted}
        if got == wanted or time.monotonic() > end:
            same('counts', got, wanted)
            break
        time.sleep(0.05)
    # to a thread, home, asleep, back, $block, home; a ring may have more to send before it
    waits = int(re.search(r'^nest_waits_total (\d+)$', text, re.MULTILINE)[1])
    if waits < 400 * 6:
        raise Failed(f'{waits} waits')


def files(server):
    """files are sent, received, listed and deleted by actions on threads, with errno as on the loop"""
    def work(number):
        content = os.urandom(100_000 + number)
        name = b'%d.bin' % number
        with Client(server) as client:
            for turn in range(5):
                client.send(b'put %s %d\n' % (name, len(content)) + content)
                same('received', line(client), f'put {len(content)}')
                client.send(b'get %s\n' % name)
                same('sent', client.take(len(content)), content)
                client.send(b'part %s 10 20\nlist none\nget none\n' % name)
                want = b'%d ' % len(content) + content[10:30] + b'\nerror 2\n2\n'
                same('a part, and errors', client.take(len(want)), want)
                same('written in pieces', asked(client, f'gather g{number} 2000'), 'done')
                client.send(b'get g%d\n' % number)
                same('pieces', client.take(20_000), b'0123456789' * 2000)
                same('dropped', asked(client, f'begin d{number}'), 'dropped')
                client.send(b'get %s\n' % name * 3)
                same('pipelined', client.take(3 * len(content)), content * 3)
            gone = Client(server)
            gone.send(b'get %s\n' % name * 50)
            gone.socket.close()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result()
    with Client(server) as client:
        names = asked(client, 'list .').split()
        wanted = [f'{n}.bin' for n in range(8)] + [f'g{n}' for n in range(8)]
        same('a list', sorted(set(names) & set(wanted)), sorted(wanted))
        same('none of a dropped one', [name for name in names if name.startswith('d')], [])
        for name in wanted:
            same('deleted', asked(client, f'delete {name}'), '0')
        same('it is gone', asked(client, 'delete g0'), '2')


def wrong(base):
    """values that are none end the start with one line"""
    for value in ('', '0', '65', '2..1', '2...3', '2..', 'x', '1..65', '-1'):
        try:
            with Server([base], options=(f'processors={value}',)):
                raise Failed(f'it accepts processors {value!r}')
        except Failed as error:
            if 'processors' not in str(error) or 'it accepts' in str(error):
                raise


def run(report, models):
    """All, for the driver."""
    nest = program()
    loops = [model for model in models if model in ('event', 'uring')] or ['event']
    report.heading(f'processors: {", ".join(loops)}')
    with tempfile.TemporaryDirectory(prefix='nest-processors-') as folder:
        spec = os.path.join(folder, 'actions.nest')
        with open(spec, 'w', encoding='ascii') as file:
            file.write(SPEC)
        home = os.path.join(folder, 'home.nest')
        with open(home, 'w', encoding='ascii') as file:
            file.write(HOME)
        store = os.path.join(folder, 'files.nest')
        with open(store, 'w', encoding='ascii') as file:
            file.write(FILES)
        for model in loops:
            base, tsan = (os.path.join(folder, f'{kind}-{model}') for kind in ('plain', 'tsan'))
            command([nest, 'build', '--model', model, spec, '-o', base])
            command([nest, 'build', '--model', model, spec, '-o', tsan], **checked('tsan'))
            at_home = os.path.join(folder, f'home-{model}')
            command([nest, 'build', '--model', model, home, '-o', at_home], **checked('tsan'))
            stores = os.path.join(folder, f'files-{model}')
            command([nest, 'build', '--model', model, store, '-o', stores], **checked('tsan'))
            cases = [(base, case, ()) for case in (free, waits, crowd, stopped, crashed)]
            cases += [(tsan, case, ()) for case in (free, waits, crowd, stopped)]
            cases += [(exe, inside, ('processors=none',)) for exe in (base, tsan)]
            cases += [(base, loop, ('processors=none',)), (base, more, ('processors=1..3',))]
            cases += [(at_home, case, ()) for case in (messages, counted)]
            cases += [(stores, files, ())]
            cases += [(base, futexes, ())] if shutil.which('strace') else []
            for exe, case, options in cases:
                def check(exe=exe, case=case, options=options):
                    with Server([exe], options=options, TSAN_OPTIONS='halt_on_error=1') as server:
                        case(server)
                        if 'ThreadSanitizer' in server.said():
                            raise Failed(server.said())
                attempt(report, model + ('' if exe == base else '+tsan'), 'processors', case.__doc__, check)
            attempt(report, model, 'processors', wrong.__doc__, lambda base=base: wrong(base))
