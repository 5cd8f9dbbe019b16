"""perAddress and overload: who is turned away, or has to wait, over all workers, even if some die.

Must not know: where the server counts them.
"""

import concurrent.futures
import contextlib
import os
import re
import signal
import socket
import tempfile
import time
from support.cases import attempt, built
from support.nest import Failed, program
from support.server import Client, Server

SPEC = r'''
%option eventServer 200
%option perAddress 4 /24
%{
#include <unistd.h>
%}
NL "\n"
%%
START { $reply("hello\n"); }
OVERLOAD { $reply("too many\n"); }
pid = "pid" NL { $reply("%ld\n", (long)getpid()); }
crash = "crash" NL { __builtin_trap(); }
'''
# Clients keep the loop busy; OVERLOAD may be left out.
BUSY = r'''
%option eventServer 800
%option overload actions 8 2
%{
#include <unistd.h>
%}
NL "\n"
%%
START { $reply("hello\n"); }
OVERLOAD { $reply("too much\n"); }
work = "work" NL { usleep(20000); $reply("done\n"); }
long = "long" NL { usleep(300000); $reply("done\n"); }
held = "held" NL { while (unlink("go") != 0) usleep(1000); $reply("done\n"); }
'''
BUSY_CLIENTS, FLOOD, TRIES = 20, 150, 5
MOST, CROWD, ROUNDS, TIMEOUT = 4, 40, 3, 20


def connect(server, source='127.0.0.1'):
    """(the socket, what it is told first: '' if nothing)."""
    link = socket.socket()
    link.settimeout(TIMEOUT)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        link.bind((source, 0))
        link.connect(('127.0.0.1', server.port))
        return link, link.recv(64).decode()
    except ConnectionResetError:
        return link, ''


def admitted(server, count, source='127.0.0.1'):
    """Connections until so many of the last ones are served: places that were left come back soon."""
    links, end = [], time.monotonic() + TIMEOUT
    while len(links) < count:
        link, told = connect(server, source)
        if told == 'hello\n':
            links.append(link)
            continue
        link.close()
        if time.monotonic() > end:
            raise Failed(f'{len(links)} of {count} clients are served {TIMEOUT} s after others have left')
        time.sleep(0.01)
    return links


def refused(server, source='127.0.0.1'):
    """One more client is not served."""
    link, told = connect(server, source)
    link.close()
    if told not in ('too many\n', ''):
        raise Failed(f'a client too many is told {told!r}')


def close(links):
    """Closes them."""
    for link in links:
        link.close()


def limit(server):
    """a network is served up to its limit, another one beside it; places come back"""
    for _ in range(ROUNDS):
        links = admitted(server, MOST)
        refused(server)
        refused(server, '127.0.0.200')                  # of the same /24
        others = admitted(server, MOST, '127.0.1.1')    # of another one
        refused(server, '127.0.1.2')
        close(links + others)


def crowd(server):
    """of many that come at once exactly so many are served"""
    for _ in range(ROUNDS):
        close(admitted(server, MOST))                   # those before have left
        held, told, end = admitted(server, MOST - 1), [], time.monotonic() + TIMEOUT
        while 'hello\n' not in told and time.monotonic() < end:    # the place of one that has left may come back late
            with concurrent.futures.ThreadPoolExecutor(CROWD) as pool:
                found = list(pool.map(lambda _: connect(server), range(CROWD)))
            told = [text for _, text in found]
            close([link for link, _ in found])
        close(held)
        if told.count('hello\n') != 1 or set(told) > {'hello\n', 'too many\n', ''}:
            raise Failed(f'{told.count("hello" + chr(10))} of {CROWD} are served instead of 1')


def reload(server):
    """HUP changes the limit"""
    path = os.path.join(server.folder.name, 'config.nest')
    for most in (2, MOST):
        with open(path, 'w', encoding='ascii') as file:
            file.write(f'perAddress {most} /24\n')
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + TIMEOUT
        while f'perAddress {most} /24 (was' not in server.said():
            if time.monotonic() > end:
                raise Failed(f'nothing said of the change: {server.said()}')
            time.sleep(0.02)
        # Workers from before may take some clients still.
        while True:
            links = admitted(server, min(2, most))
            more = [connect(server) for _ in range(MOST)]
            served = len(links) + [told for _, told in more].count('hello\n')
            close(links + [link for link, _ in more])
            if served == most:
                break
            if time.monotonic() > end:
                raise Failed(f'{served} clients are served instead of {most}')
            time.sleep(0.02)


def mistake(server):
    """HUP with a value that is none changes nothing"""
    path = os.path.join(server.folder.name, 'config.nest')
    with open(path, 'w', encoding='ascii') as file:
        file.write('perAddress 3 /33\n')
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + TIMEOUT
    while not re.search(r"'3 /33' is not none, nor a number .*as in 20 /24 /64", server.said()):
        if time.monotonic() > end:
            raise Failed(f'nothing said of the mistake: {server.said()}')
        time.sleep(0.02)
    os.unlink(path)


def deaths(server):
    """workers that crash or are killed leave no place taken"""
    for n in range(ROUNDS):
        links = admitted(server, MOST)
        for link in links:
            try:
                if n == 1:
                    link.sendall(b'pid\n')
                    os.kill(int(link.recv(64)), signal.SIGKILL)
                else:
                    link.sendall(b'crash\n')
            except (OSError, ValueError):
                pass            # its worker died with another client
        close(links)
    close(admitted(server, MOST))


def last(server):
    """the end: it stops, and counts those that were turned away"""
    if server.stop() != 0:
        raise Failed(f'status {server.process.returncode}')
    out = server.rest() + server.said()
    if not re.search(r'\d+ overload', out):
        raise Failed(f'no count of those turned away: {out[-300:]}')
    if 'clients of the network of 127.0.' not in out:
        raise Failed(f'nothing said of those turned away: {out[-600:]}')


def wrong(nest, folder, model):
    """values that are none end the start with one line"""
    base = built(nest, model, SPEC, os.path.join(folder, 'wrong'))
    for value in ('0', '10001', '3 /0', '3 24', '3 /24 /129', '3 /24 /64 /1', '', 'x', '-1', '3 /'):
        try:
            with Server([base], options=(f'perAddress={value}',)):
                raise Failed(f'it accepts {value!r}')
        except Failed as error:
            if 'perAddress' not in str(error):
                raise


def worked(server, links, wanted, pause=0):
    """All of them at work in every round, until a new client is told this; what it was told."""
    end = time.monotonic() + TIMEOUT
    while True:
        for link in links:
            link.sendall(b'work\n')
        time.sleep(pause)
        new, first = connect(server)
        new.close()
        for link in links:
            if link.recv(64) != b'done\n':
                raise Failed('an established client is not served')
        if first == wanted or time.monotonic() > end:
            return first


def go(server):
    """The action of "held" ends."""
    with open(os.path.join(server.folder.name, 'go'), 'wb'):
        pass


def held(server, links):
    """The loop stands still until all are at work and a new client has come; what that one is told."""
    links[0].sendall(b'held\n')
    for link in links[1:]:
        link.sendall(b'work\n')
    with socket.create_connection(('127.0.0.1', server.port), TIMEOUT) as new:
        go(server)
        first = new.recv(64).decode()
    for link in links:
        if link.recv(64) != b'done\n':
            raise Failed('an established client is not served')
    return first


def busy(server, wanted, pause=None):
    """overload: new clients are turned away while the loop has too much to do, and served when it has not"""
    with contextlib.ExitStack() as stack:
        links = [connect(server)[0] for _ in range(BUSY_CLIENTS)]
        for link in links:
            stack.callback(link.close)
        for _ in range(ROUNDS):     # a client's last packet may be late, so that it comes to an idle loop
            first = held(server, links) if pause is None else worked(server, links, wanted, pause)
            if first == wanted:
                break
        if first != wanted:
            raise Failed(f'a new client of a busy server is told {first!r}')
        end = time.monotonic() + TIMEOUT
        while (answer := connect(server))[1] != 'hello\n':
            answer[0].close()
            if time.monotonic() > end:
                raise Failed(f'a new client of an idle server is told {answer[1]!r}')
        answer[0].close()
    if 'overload: ' not in server.said():
        raise Failed(f'nothing said of overload: {server.said()}')


def waiting(server):
    """overload without OVERLOAD: a new client waits, and is served afterwards; established ones are served"""
    with contextlib.ExitStack() as stack:
        links = [connect(server)[0] for _ in range(BUSY_CLIENTS)]
        for link in links:
            stack.callback(link.close)
        if worked(server, links, 'hello\n') != 'hello\n':
            raise Failed('a new client is not served')
        end = time.monotonic() + TIMEOUT
        while 'new clients wait' not in server.said():
            worked(server, links, 'hello\n')
            if time.monotonic() > end:
                raise Failed(f'nothing said of overload: {server.said()}')


def accepted(server):
    """overload accepted: from HIGH clients on others are turned away, until LOW are left"""
    links = admitted(server, 5)
    if (first := connect(server)[1]) != 'too much\n':
        raise Failed(f'client 6 is told {first!r}')
    links.pop().close()
    time.sleep(0.1)             # 4 are left, more than LOW: nothing to wait for
    if (first := connect(server)[1]) != 'too much\n':
        raise Failed(f'client 5, when LOW are not reached, is told {first!r}')
    close(links[1:])
    close(admitted(server, 1) + links[:1])


def told(server):
    """overload accepted: clients that are told that they are turned away are none that are served"""
    links = admitted(server, 5)
    away = [connect(server) for _ in range(6)]
    close(links)
    close(admitted(server, 3) + [link for link, _ in away])
    if {text for _, text in away} != {'too much\n'}:
        raise Failed(f'clients too many are told {away}')


def flooded(server):
    """What each of a crowd is told that comes during a long action."""
    with Client(server) as first, Client(server) as second, contextlib.ExitStack() as stack:
        for client in (first, second):
            client.expect(b'hello\n')
        first.send(b'held\n')
        links = []
        for _ in range(FLOOD):
            links.append(stack.enter_context(socket.create_connection(('127.0.0.1', server.port), TIMEOUT)))
        second.send(b'work\n')      # beside new clients somebody else has something to do
        go(server)
        said = [link.recv(64).decode() for link in links]
        for client in (first, second):
            client.expect(b'done\n')
    return said


def flood(server):
    """overload: of a crowd that comes during a long action few get in, and the others are told at once, none is reset"""
    for _ in range(TRIES):
        said = flooded(server)
        if not set(said) <= {'hello\n', 'too much\n'}:
            raise Failed(f'they are told {sorted(set(said))}')
        if 0 < said.count('hello\n') < BUSY_CLIENTS:
            return
        # A loop that the system interrupts after each client has little to do at each look.
        close(admitted(server, 1))
    raise Failed(f'{said.count("hello" + chr(10))} of {FLOOD} get in')


def afterwards(server):
    """overload by time: it is over when the loop has slept, and the next client is served at once"""
    for _ in range(ROUNDS):
        with Client(server) as client:
            client.expect(b'hello\n')
            client.send(b'long\n')
            client.expect(b'done\n')
        time.sleep(0.5)         # the loop sleeps; it needs no more than a moment for that
        link, first = connect(server)
        link.close()
        if first != 'hello\n':
            raise Failed(f'the next client is told {first!r}')


def queued(server):
    """overload by time, with processors: new clients are turned away while an action waits too long for a thread"""
    with Client(server) as first, Client(server) as second, contextlib.ExitStack() as stack:
        for client in (first, second):
            client.expect(b'hello\n')
        for client in (first, second):      # there is one thread: one of them has it, the other waits
            client.send(b'held\n')
        end = time.monotonic() + TIMEOUT
        while 'actions wait too long for a thread; new clients are turned away' not in server.said():
            if time.monotonic() > end:
                raise Failed(f'nothing said of overload: {server.said()}')
            stack.enter_context(socket.create_connection(('127.0.0.1', server.port), TIMEOUT))    # START waits
            time.sleep(0.05)
        late = stack.enter_context(socket.create_connection(('127.0.0.1', server.port), TIMEOUT))
        for _ in range(2):
            go(server)
            while os.path.exists(os.path.join(server.folder.name, 'go')):
                if time.monotonic() > end + TIMEOUT:
                    raise Failed('an action does not end')
                time.sleep(0.01)
        for client in (first, second):
            client.expect(b'done\n')
        if (answer := late.recv(64).decode()) != 'too much\n':
            raise Failed(f'a new client is told {answer!r}')
    close(admitted(server, 1))              # nothing waits any more


def tightest(server):
    """overload with the least lengths: a client that comes to an idle loop is not something to do"""
    for _ in range(ROUNDS):
        close(admitted(server, 1))


def nonsense(nest, folder, model):
    """values of overload that are none end the start with one line"""
    base = built(nest, model, BUSY, os.path.join(folder, 'nonsense'))
    for value in ('5 5', '5', 'x 5 2', 'actions 251 2', 'actions 5', '5 2 3', '5 2 accepted 7 1', '0s', '25h', '-1 0', ''):
        try:
            with Server([base], options=(f'overload={value}',)):
                raise Failed(f'it accepts {value!r}')
        except Failed as error:
            if 'overload' not in str(error):
                raise


def loops(report, nest, folder, model):
    """The cases of servers with loops."""
    busier = built(nest, model, BUSY, os.path.join(folder, f'busy-{model}'))
    rest = built(nest, model, re.sub('OVERLOAD.*', '', BUSY), os.path.join(folder, f'waiting-{model}'))
    beside = built(nest, model, f'%option processors 2\n{BUSY.lstrip()}', os.path.join(folder, f'beside-{model}'))
    for case, base, options in (
            (lambda server: busy(server, 'too much\n'), busier, ()),
            # The client comes while a turn lasts that is too long.
            (lambda server: busy(server, 'too much\n', 0.05), busier, ('overload=100ms',)),
            # Their actions wait for a thread.
            (lambda server: busy(server, 'too much\n', 0.05), beside, ('processors=2',)),
            (lambda server: busy(server, 'too much\n'), beside, ('processors=none',)),
            (queued, beside, ('processors=1', 'overload=100ms')),
            (flood, busier, ('maxClients=800',)),
            (waiting, rest, ()), (waiting, rest, ('overload=100ms',)),
            (afterwards, busier, ('overload=5ms',)), (afterwards, rest, ('overload=5ms',)),
            (tightest, busier, ('overload=actions 1 0',)), (tightest, rest, ('overload=actions 1 0',)),
            (told, busier, ('overload=5 3', 'lingerTimeout=1m')),
            (accepted, busier, ('overload=5 2',)),
            (accepted, busier, ('overload=accepted 5 2 files 10 5',))):
        def check(case=case, base=base, options=options):
            with Server([base], options=options) as server:
                case(server)
                if server.stop() != 0:
                    raise Failed(f'it ended badly: {server.said()}')
        what = (case.__doc__ or busy.__doc__) + (f', {options[0]}' if options else '')
        attempt(report, model, 'overload', what, check)
    attempt(report, model, 'overload', nonsense.__doc__, lambda: nonsense(nest, folder, model))


def one(report, nest, folder, model, label, options=()):
    """All cases of a model."""
    base = built(nest, model, SPEC, os.path.join(folder, f'limit-{model}'))
    with Server([base], options=options) as server:
        for case in (limit, crowd, reload, mistake, deaths, last):
            attempt(report, label, 'overload', case.__doc__, lambda case=case: case(server))


def run(report, models):
    """All, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'overload: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-overload-') as folder:
            one(report, nest, folder, model, model)
            if model in ('event', 'uring'):
                one(report, nest, folder, model, f'{model}, two loops', ('dispatchers=2',))
                loops(report, nest, folder, model)
            attempt(report, model, 'overload', wrong.__doc__, lambda: wrong(nest, folder, model))
