"""mode debug: what a server records, and what nest trace says of it, also after a crash or SIGKILL.

Must not know: how records lie in the file.
"""

import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from support.cases import attempt, built
from support.nest import Failed, environment, program
from support.server import Client, Server

SPEC = r'''
%option eventServer 20
%option mode debug
%state KNOWN
%{
#include <unistd.h>
%}
NL "\n"
%%
START { $reply("hello\n"); }
hi = "hi" NL { $seen(KNOWN); $reply("hi\n"); }
!KNOWN: which = "?" NL { $reply("?\n"); }
nap = "nap" NL { $sleep(20ms); $reply("slept\n"); }
more = "more " [a-z]+ NL { $reply($readLine(80), "\n"); }
work = "work" NL { $block { usleep(1000); } $reply("done\n"); }
hang = "hang" NL { $reply("yes\n"); $flush(); $sleep(1h); }
crash = "crash" NL { __builtin_trap(); }
bye = "bye" NL { $reply("bye\n"); $close(); }
END { usleep(1); }
KNOWN: TIMEOUT(5s) { $reply("late\n"); $close(); }
'''
TIME = 60
# The Trace Event Format: the fields that an event of each phase must have, and their types.
NUMBER = (int, float)
COMMON = {'name': str, 'ph': str, 'ts': NUMBER, 'pid': int, 'tid': int}
SCHEMA = {
    'B': {**COMMON, 'cat': str},
    'E': {**COMMON, 'cat': str},
    'b': {**COMMON, 'cat': str, 'id': str},
    'e': {**COMMON, 'cat': str, 'id': str},
    'i': {**COMMON, 'cat': str, 's': str, 'args': dict},
    'M': {**COMMON, 'args': dict},
}


def trace(nest, *words, status=0):
    """What nest trace prints."""
    done = subprocess.run([nest, 'trace', *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIME, env=environment(), check=False)
    if done.returncode != status:
        raise Failed(f'nest trace {words}: status {done.returncode}: {done.stdout[-2000:]!r}{done.stderr[-500:]!r}')
    return (done.stdout if status == 0 else done.stderr).decode()


def events(nest, path, *words):
    """(time, ring, connection, kind, what happened) of each."""
    lines = trace(nest, path, *words).splitlines()[1:]
    found = [re.fullmatch(r' *(\d+\.\d{9}) (supervisor|worker [\d.]+) +(-|#\d+) +([a-z]+) *(.*)', line)
             for line in lines]
    if None in found:
        raise Failed(f'a line is not in its form: {lines[found.index(None)]!r}')
    return [(float(m[1]), *m.groups()[1:]) for m in found]


def sound(nest, path):
    """The oracle finds nothing."""
    if 'nothing that cannot have happened' not in (said := trace(nest, path, '--check')):
        raise Failed(said)


def until(nest, path, kind, count=1):
    """Waits until so many events of a kind are recorded."""
    end = time.monotonic() + TIME
    while len(found := events(nest, path, '--event', kind)) < count:
        if time.monotonic() > end:
            raise Failed(f'{len(found)} events {kind} instead of {count}')
        time.sleep(0.02)
    return found


def ended(client):
    """The server has closed, and sent nothing more."""
    if (more := client.rest()) != b'':
        raise Failed(f'it sent {more!r}')


def talk(server):
    """A conversation with each kind of event."""
    with Client(server) as client:
        client.expect(b'hello\n')
        for say, answer in ((b'?\n', b'?\n'), (b'hi\n', b'hi\n'), (b'nap\n', b'slept\n'), (b'work\n', b'done\n'),
                            (b'more x\nyes\n', b'yes\n'), (b'bye\n', b'bye\n')):
            client.send(say)
            client.expect(answer)
        ended(client)


def whole(nest, server, path):
    """a conversation is recorded from accept to close, in its order, with all bytes"""
    talk(server)
    number = until(nest, path, 'close')[0][2]
    found = events(nest, path, '--connection', number[1:])
    if {event[2] for event in found} != {number}:
        raise Failed('another connection is shown')
    order = [event[3] for event in found]
    if order[0] != 'accept' or order[-1] != 'close' or order.count('over') != 1:
        raise Failed(f'order: {order}')
    matched = [event[4] for event in found if event[3] == 'match']
    if matched != ['which, 2 bytes', 'hi, 3 bytes', 'nap, 4 bytes', 'work, 5 bytes', 'more, 7 bytes', 'bye, 4 bytes']:
        raise Failed(f'rules: {matched}')
    begun = [event[4] for event in found if event[3] == 'begin']
    if begun != ['START', 'which', 'hi', 'nap', 'work', 'more', 'bye', 'END']:
        raise Failed(f'actions: {begun}')
    if [event[4] for event in found if event[3] == 'over'] != ['closed']:
        raise Failed('the reason is missing')
    for kind, expected in (('read', 29), ('reply', 30), ('sent', 30)):
        got = sum(int(event[4].split()[0]) for event in found if event[3] == kind)
        if got != expected:
            raise Failed(f'{kind}: {got} bytes instead of {expected}')
    naps = [(event[3], event[0]) for event in found]
    begin = [event[3:] for event in found].index(('begin', 'nap'))
    end = [kind for kind, _ in naps].index('end', begin)
    waits = [at for kind, at in naps[begin:end] if kind in ('wait', 'resume')]
    lasted = max(after - before for before, after in zip(waits[::2], waits[1::2]))
    if lasted < 0.0199:
        raise Failed(f'the wait of 20 ms lasts {lasted} s')
    if not any(event[3] == 'states' and event[4].endswith('KNOWN last=KNOWN') for event in found):
        raise Failed('the state is not named')
    sound(nest, path)


def chosen(nest, server, path):
    """--worker takes what lines show, times may be of any length, and -o overwrites nothing that is read"""
    def shown(*words):          # processes begin and end at any time
        return [event for event in events(nest, path, *words) if event[2] != '-']
    talk(server)
    until(nest, path, 'close')
    everything = shown()
    for ring in {event[1] for event in everything}:
        found = shown('--worker', ring.removeprefix('worker '))
        if found != [event for event in everything if event[1] == ring]:
            raise Failed(f'{ring}: {found}')
    if shown('--from', '25h') or shown('--to', '1000h') != everything:
        raise Failed('times of more than a day are not understood')
    link = path + '.link'
    os.symlink(path, link)
    for output in (path, link):
        said = trace(nest, path, '-o', output, status=1)
        if 'would overwrite' not in said or said.count('\n') != 1:
            raise Failed(f'-o {output}: {said!r}')
    if shown() != everything:
        raise Failed('the trace is overwritten')
    trace(nest, path, '--worker', '0.x', status=2)


def served(nest, server, path):
    """the oracle finds nothing while clients are served"""
    def say():                  # nothing that begins the time of the TIMEOUT rule
        with Client(server) as client:
            client.expect(b'hello\n')
            for text, answer in ((b'?\n', b'?\n'), (b'nap\n', b'slept\n'), (b'work\n', b'done\n')) * 4:
                client.send(text)
                client.expect(answer)
            client.send(b'bye\n')
            client.expect(b'bye\n')
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        talks = [pool.submit(say) for _ in range(40)]
        while not all(one.done() for one in talks):
            sound(nest, path)
        for one in talks:
            one.result()
    sound(nest, path)


def late(nest, server, path):
    """a TIMEOUT rule is recorded by its name"""
    with Client(server) as client:
        client.expect(b'hello\n')
        client.send(b'hi\n')
        client.expect(b'hi\nlate\n')
        ended(client)
    if until(nest, path, 'timeout')[0][4] != 'line 20':
        raise Failed('the rule is not named')


def crashed(nest, server, path):
    """a crash: the last event of the connection is the action that crashed"""
    with Client(server) as client:
        client.expect(b'hello\n')
        client.send(b'crash\n')
        ended(client)
    until(nest, path, 'killed')
    begun = [event for event in events(nest, path) if event[3:] == ('begin', 'crash')][0]
    of_it = events(nest, path, '--connection', begun[2][1:])
    if [event for event in of_it if event[3] not in ('wait', 'resume')][-1] != begun:    # for a thread
        raise Failed('the crash is not the last event')
    talk(server)
    sound(nest, path)


def of_connections(nest, path):
    """The events that are about connections."""
    return [event for event in events(nest, path) if event[2] != '-']


def asleep(nest, path):
    """Waits until all output is sent and the action sleeps, after which nothing more is recorded."""
    end = time.monotonic() + TIME
    while True:
        found = of_connections(nest, path)
        kinds = [event[3] for event in found]
        if kinds.count('sent') == 2 and kinds.count('wait') == kinds.count('resume') + 1:
            return found
        if time.monotonic() > end:
            raise Failed(f'the action does not sleep: {found[-5:]}')
        time.sleep(0.02)


def killed(nest, server, path):
    """SIGKILL of all processes: every event up to then is in the file"""
    with Client(server) as client:
        client.expect(b'hello\n')
        client.send(b'hang\n')
        client.expect(b'yes\n')
        before = asleep(nest, path)
        server.kill()
        server.process.wait(TIME)
    found = of_connections(nest, path)
    if found != before or [event[4] for event in found if event[3] == 'begin'][-1] != 'hang':
        raise Failed(f'the last events are {found[-5:]}, and were {before[-5:]}')
    sound(nest, path)


def stopped(nest, base):
    """a stop, a reload: the supervisor's events; then nothing is open, and the next start keeps the file"""
    with Server([base], options=('traceFile=./own.trace', 'traceSize=4M')) as server:
        path = os.path.join(server.folder.name, 'own.trace')
        if os.stat(path).st_size > 4 << 20:
            raise Failed(f'the file has {os.stat(path).st_size} bytes')
        talk(server)
        with open(os.path.join(server.folder.name, 'config.nest'), 'w', encoding='ascii') as file:
            file.write('idleTimeout 3m\n')
        server.process.send_signal(signal.SIGHUP)
        until(nest, path, 'reload')
        if server.stop() != 0:
            raise Failed(f'it ended badly: {server.said()}')
        found = events(nest, path)
        if ('supervisor', '-', 'stop', 'draining') not in [event[1:] for event in found] or found[-1][3] != 'finish':
            raise Failed(f'the stop is missing: {found[-3:]}')
        sound(nest, path)
        again = subprocess.Popen([base, '--set', 'listen=127.0.0.1:0', '--set', 'traceFile=./own.trace'],
                                 cwd=server.folder.name, env=environment(), stdout=subprocess.PIPE)
        with again:
            again.stdout.readline()
            again.terminate()
        if len(events(nest, path + '.old')) != len(found):
            raise Failed('the file of the run before is not kept')


def kept(nest, base):
    """starts that fail lose no recording, neither of a server that runs nor of one that has ended"""
    def fails(options, what):
        words = [word for option in options for word in ('--set', option)]
        done = subprocess.run([base, *words], cwd=server.folder.name, env=environment(), capture_output=True,
                              text=True, timeout=TIME)
        if done.returncode != 1 or what not in done.stderr:
            raise Failed(f'status {done.returncode}: {done.stderr}')
    with Server([base], options=('traceFile=./own.trace',)) as server, socket.socket() as other:
        path = os.path.join(server.folder.name, 'own.trace')
        other.bind(('127.0.0.1', 0))
        other.listen()
        taken = f'listen=127.0.0.1:{other.getsockname()[1]}'
        talk(server)
        for _ in range(2):
            fails(('traceFile=./own.trace', taken), 'a server that runs writes there')
        server.kill()
        server.process.wait(TIME)
        found = events(nest, path)
        for _ in range(3):
            fails(('traceFile=./own.trace', taken), 'cannot listen')
        if events(nest, path + '.old') != found:
            raise Failed('the recording is lost')


def overwritten(nest, base):
    """a full ring keeps the last events, and what is left of them can have happened"""
    with Server([base], options=('traceSize=256K',), clients=4) as server:
        path = os.path.join(server.folder.name, os.path.basename(base) + '.trace')
        with Client(server) as client:
            client.expect(b'hello\n')
            for _ in range(1500):
                client.send(b'?\n')
                client.expect(b'?\n')
            if 'older ones were overwritten' not in trace(nest, path).splitlines()[0]:
                raise Failed('nothing is overwritten')
            sound(nest, path)


def matches(value, types):
    """A bool is no number."""
    return isinstance(value, types) and not isinstance(value, bool)


def perfetto(nest, server, path):
    """the JSON for Perfetto follows its schema, and slices pair up"""
    talk(server)
    data = json.loads(trace(nest, path, '--format', 'perfetto'))
    if set(data) != {'traceEvents', 'displayTimeUnit'} or data['displayTimeUnit'] not in ('ms', 'ns'):
        raise Failed(f'the object has {list(data)}')
    open_slices, tracks, names = {}, {}, set()
    for event in data['traceEvents']:
        fields = SCHEMA.get(event.get('ph'))
        if fields is None or set(event) != set(fields) or not all(matches(event[key], fields[key]) for key in fields):
            raise Failed(f'not of the schema: {event}')
        thread, track = (event['pid'], event['tid']), (event['cat'], event['id']) if 'id' in event else None
        stack = tracks.setdefault(track, []) if track else open_slices.setdefault(thread, [])
        if event['ph'] in 'Bb':
            stack.append(event['name'])
            names.add(event['name'])
        elif event['ph'] in 'Ee' and (not stack or stack.pop() != event['name']):
            raise Failed(f'a slice ends that is not open: {event}')
        elif event['ph'] == 'B' and len(stack) > 1:
            raise Failed(f'two actions run in one thread: {event}')
    if any(open_slices.values()) or any(tracks.values()) or not {'START', 'nap', 'work', 'bye', 'END'} <= names:
        raise Failed(f'open: {open_slices} {tracks}; names: {names}')


def wrong(nest, base, folder):
    """files that are no trace, and a traceSize or traceFile that does not fit: one line each"""
    other = os.path.join(folder, 'other')
    with open(other, 'w', encoding='ascii') as file:
        file.write('precious\n')
    for path, what in ((other, 'not the trace of a server'), (folder, 'not a regular file'),
                       ('/dev/zero', 'not a regular file'), (other + '.no', 'No such file'),):
        said = trace(nest, path, status=1)
        if what.lower() not in said.lower() or said.count('\n') != 1:
            raise Failed(f'{path}: {said!r}')
    for options, what in ((('traceFile=' + other,), 'is no trace of a server'),
                          (('traceFile=/nowhere/x',), 'No such file'),
                          (('traceSize=1K',), 'traceSize')):
        try:
            with Server([base], options=options):
                raise Failed(f'it accepts {options}')
        except Failed as error:
            if what not in str(error):
                raise
    with open(other, encoding='ascii') as file:
        if file.read() != 'precious\n':
            raise Failed('a file of somebody else is overwritten')


def absent(nest, model, folder):
    """in production there is no file, and no symbol of it"""
    base = built(nest, model, SPEC.replace('mode debug', 'mode production'), os.path.join(folder, 'production'))
    with Server([base]) as server:
        talk(server)
        if os.path.exists(os.path.join(server.folder.name, 'production.trace')):
            raise Failed('it writes a trace')
    symbols = subprocess.run(['nm', base], stdout=subprocess.PIPE, check=True, timeout=TIME).stdout
    if b'nest__debug' in symbols or b'nest__ring_add' in symbols:
        raise Failed('it has symbols of mode debug')


def one(report, nest, folder, model, more=''):
    """All cases of a model; `more`: further options."""
    base = built(nest, model, more + SPEC.lstrip() if more else SPEC, os.path.join(folder, 'debug'))
    for case in (whole, chosen, served, late, perfetto, crashed, killed):
        def check(case=case):
            with Server([base]) as server:
                case(nest, server, os.path.join(server.folder.name, 'debug.trace'))
        attempt(report, model, 'debug', case.__doc__, check)
    attempt(report, model, 'debug', stopped.__doc__, lambda: stopped(nest, base))
    attempt(report, model, 'debug', kept.__doc__, lambda: kept(nest, base))
    attempt(report, model, 'debug', overwritten.__doc__, lambda: overwritten(nest, base))
    attempt(report, model, 'debug', wrong.__doc__, lambda: wrong(nest, base, folder))
    attempt(report, model, 'debug', absent.__doc__, lambda: absent(nest, model, folder))


def run(report, models):
    """All, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'debug: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-debug-') as folder:
            one(report, nest, folder, model)
        if model in ('event', 'uring'):
            report.heading(f'debug: {model} with threads for actions')
            with tempfile.TemporaryDirectory(prefix='nest-debug-') as folder:
                one(report, nest, folder, model, '%option processors 2\n')   # in place of an empty line
