"""System calls of a server, counted by strace.

Counts the calls between two moments at which the server is idle, without those of its start and end. Must not know: allocations, instructions.
"""

import collections
import os
import re
import signal
import tempfile
import time
from support.nest import SOCKET_MODELS, Failed
from support.server import Client, Server

ROUNDS = 200
CROWD, BUSY = 16, 64
LOOPS = ('event', 'uring')
LINE = 59 * b'x' + b'\n'
ALONE = 6       # one-request connections; fewer than wake the process model's supervisor for more
NAMES = {'recvfrom': 'recv', 'sendto': 'send', 'sendmsg': 'send', 'epoll_pwait': 'epoll_wait'}
_CALL = re.compile(r'^(\d+)\s+([a-z_0-9]+)\((.*)$')
_RESUMED = re.compile(r'^(\d+)\s+<\.\.\. ([a-z_0-9]+) resumed>(.*)$')
_RESULT = re.compile(r'\)\s+= (-?\d+|\?)([^=]*)$')


class Call:
    """A system call of a task."""

    def __init__(self, at, task, name, arguments):
        self.at, self.task, self.name, self.arguments = at, task, NAMES.get(name, name), arguments
        self.result = self.error = None

    def ends(self, text):
        """Takes the result from the end of a line."""
        found = _RESULT.search(text)
        if found:
            self.result = None if found.group(1) == '?' else int(found.group(1))
            self.error = found.group(2).strip()

    def interrupted(self):
        """By our own signals; it is made again."""
        return self.error is not None and re.match(r'(EINTR|ERESTART)', self.error) is not None

    def first(self):
        """Its first argument, a descriptor."""
        found = re.match(r'\d+', self.arguments)
        return int(found.group()) if found else None


def read_log(path):
    """All calls in the order in which they began."""
    calls, open_calls, at = [], {}, 0
    with open(path, encoding='latin-1') as file:
        for line in file:
            at += len(line)
            if (found := _RESUMED.match(line)) is not None:
                call = open_calls.pop(found.group(1), None)
                if call is not None:
                    call.ends(line.rstrip())
            elif (found := _CALL.match(line)) is not None:
                call = Call(at - len(line), *found.groups())
                calls.append(call)
                if 'unfinished ...>' in line:
                    open_calls[found.group(1)] = call
                else:
                    call.ends(line.rstrip())
    return [call for call in calls if not call.interrupted()]


class Traced:
    """A server under strace."""

    def __init__(self, server):
        self.folder = tempfile.TemporaryDirectory(prefix='nest-calls-')
        self.log = os.path.join(self.folder.name, 'log')
        self.server = Server(['strace', '-f', '-qq', '-e', 'signal=none', '-s', '0', '-o',
                              self.log, server])
        self.pid = self.server.family()[1]

    def __enter__(self):
        self.settle()
        return self

    def __exit__(self, *_):
        self.server.close()
        self.folder.cleanup()

    def settle(self):
        """Waits until nobody makes calls any more: workers and threads have begun."""
        size, end = -1, time.monotonic() + 20
        while (now := os.path.getsize(self.log)) != size or not self.asleep():
            size = now
            if time.monotonic() > end:
                raise Failed('the server makes system calls without a client')
            time.sleep(0.4)
        return size

    def asleep(self):
        """Whether every task of the server, and strace, waits in a call."""
        for pid in self.server.family():
            try:
                for task in os.listdir(f'/proc/{pid}/task'):
                    with open(f'/proc/{pid}/task/{task}/stat', encoding='latin-1') as file:
                        if file.read().rpartition(')')[2].split()[0] != 'S':
                            return False
            except (FileNotFoundError, ProcessLookupError):
                return False            # it ended in this instant
        return True

    def calls(self):
        """Ends the server; all calls."""
        if self.server.stop(self.pid) != 0:
            raise Failed(f'the server did not end well\n{self.server.said()}')
        return read_log(self.log)


def warm(server, clients, request, reply):
    """Calls per round of requests, by name; of several clients, all have asked before the server looks."""
    with Traced(server) as traced:
        talkers = [Client(traced.server) for _ in range(clients)]
        serving = traced.server.family()[-1] if clients > 1 else None

        def rounds(count):
            for _ in range(count):
                if serving:
                    os.kill(serving, signal.SIGSTOP)
                for client in talkers:
                    client.send(request)
                if serving:
                    os.kill(serving, signal.SIGCONT)
                for client in talkers:
                    client.expect(reply)
            return traced.settle()

        begin, end = rounds(3), rounds(ROUNDS)
        for client in talkers:
            client.socket.close()
        # That its worker was stopped wakes a supervisor, so that the worker alone counts then.
        found = collections.Counter(c.name for c in traced.calls() if begin <= c.at < end
                                    and (not serving or c.task == str(serving)))
    return {name: found[name] / ROUNDS for name in sorted(found)}


def judged(found, model, what):
    """What a report's line says of a request of a lone client."""
    if model == 'uring':        # one call submits the reply, and one waits; the timer is set now and then
        rest = {name: count for name, count in found.items() if name != 'io_uring_enter'}
        good = found['io_uring_enter'] < 2.1 and set(rest) <= {'timerfd_settime'} and sum(rest.values()) < 0.1
        return good, model, what, show(found), 'expected 2 io_uring_enter'
    expected = {'epoll_wait': 1} if model == 'event' else {}
    expected |= {'recv': 1, 'send': 1}
    return found == expected, model, what, show(found), f'expected {show(expected)}'


def check_lines(report, servers):
    """Lines of an upload, as many as are gathered: only the connection costs calls."""
    report.heading(f'System calls of a line of 60 bytes that is written to a file ({ROUNDS})')
    for model in SOCKET_MODELS:
        found = warm(servers[model], 1, LINE, b'kept\n')
        report.line(*judged(found, model, 'a line, one client'))


def check_files(report, servers):
    """A file that is asked for again: a loop keeps it open, and asks only what its name leads to."""
    report.heading(f'System calls of a file of 7 bytes that is asked for again ({ROUNDS})')
    for model in SOCKET_MODELS:
        found = warm(servers[model], 1, b'get\n', b'served\n')
        opened = {name: found.get(name, 0) for name in ('openat2', 'close')}
        most = 0.1 if model in LOOPS else 1         # once a second it is opened anew
        sent = found.get('io_uring_enter', 0) < 2.1 if model == 'uring' else found.get('send') == 1
        report.line(sent and all(count <= most for count in opened.values()),
                    model, 'a file, one client', show(found), f'opened and closed at most {most:g} times')


def check_groups(report, servers):
    """A message to a group: what the loop knows already costs no calls."""
    report.heading(f'System calls of a message to a group without others ({ROUNDS})')
    for model, server in servers.items():
        found = warm(server, 1, b'say\n', b'alone\n')
        report.line(*judged(found, model, 'a message, one client'))


def check_processors(report, servers):
    """Actions on a thread: what has come at once is handed over by one call, whatever its number."""
    report.heading(f'System calls of the loop for {CROWD} requests at once whose actions run on a thread ({ROUNDS})')
    for model, server in servers.items():
        found = warm(server, CROWD, b'HELLO\n', b'hello\n')
        calls = found.get('futex', 0)
        # On a busy machine the loop sees them in several parts, or a thread that has not gone to sleep yet takes some.
        report.line(0.1 <= calls <= CROWD / 4, model, f'{CROWD} requests at once', show(found), 'expected about 1 futex')


def show(found):
    """Calls as text."""
    return ' + '.join(f'{count:g} {name}' for name, count in found.items()) or 'none'


def check_warm(report, servers):
    """Keep-alive requests, alone, in a crowd, pipelined."""
    report.heading(f'System calls of a warm request ({ROUNDS} of each)')
    for model in SOCKET_MODELS:
        for what, request, reply in (
                ('a request, one client', b'ADD a 0\n', b'a 0\n'),
                ('16 pipelined requests, one client', 16 * b'HELLO\n', 16 * b'hello\n')):
            found = warm(servers[model], 1, request, reply)
            report.line(*judged(found, model, what))
    found = warm(servers['event'], CROWD, b'HELLO\n', b'hello\n')
    each = {name: count / CROWD for name, count in found.items()}
    good = (set(found) == {'recv', 'send', 'epoll_wait'} and sum(each.values()) < 3
            and each['recv'] == each['send'] == 1)
    report.line(good, 'event', f'a request, {CROWD} clients at once', show(each),
                'expected 1 recv, 1 send and less than 1 epoll_wait')
    if 'uring' in servers:
        found = warm(servers['uring'], BUSY, b'HELLO\n', b'hello\n')
        each = {name: count / BUSY for name, count in found.items()}
        report.line(sum(each.values()) <= 1 / 8, 'uring', f'a request, {BUSY} clients at once', show(each),
                    'expected at most 1/8 of a call')


def alone(server, model):
    """The calls of each of some one-request connections, and those between them."""
    with Traced(server) as traced:
        for _ in range(ALONE):
            if model in LOOPS:          # so that the request is there when the connection is taken
                serving = traced.server.family()[-1]
                os.kill(serving, signal.SIGSTOP)
            with Client(traced.server) as client:
                client.send(b'ONCE\n')
                if model in LOOPS:
                    os.kill(serving, signal.SIGCONT)
                if client.rest() != b'bye\n':
                    raise Failed('a one-request connection got another reply')
            traced.settle()
        calls = traced.calls()
    taken = [i for i, c in enumerate(calls) if c.name == 'accept4' and (c.result or -1) >= 0]
    lists = []
    for at in taken:
        own = [c for c in calls[at:] if c.task == calls[at].task]
        end = next((i for i, c in enumerate(own)
                    if c.name == 'close' and c.first() == own[0].result), len(own) - 1)
        lists.append([c.name for c in own[:end + 1]])
    loop = [c.name for c in calls[taken[0]:taken[-1]] if c.task == calls[taken[0]].task]
    return lists, collections.Counter(loop)


def check_alone(report, servers):
    """One connection, one request, closed by the server."""
    report.heading(f'One connection, one request (each of {ALONE}); a worker\'s end and the '
                   'supervisor\'s fork come after')
    expected = ['accept4', 'recv', 'send', 'close']
    for model in SOCKET_MODELS:
        lists, loop = alone(servers[model], model)
        if model == 'uring':            # the ring closes
            rounds = ALONE - 1
            between = {name: count / rounds for name, count in sorted(loop.items())}
            calls = sum(between.values())
            report.line(calls <= 5.5, model, 'all calls of the loop', show(between), 'expected at most 5.5')
            continue
        first = ['accept4', 'write', *expected[1:]]    # wakes who minds the time; none after it does
        if model != 'event' and lists.count(first) == 1:
            lists[lists.index(first)] = expected
        wrong = [names for names in lists if names != expected]
        good = not wrong and len(lists) == ALONE
        report.line(good, model, 'from accept to close', ', '.join((wrong or lists)[0]),
                    f'expected {", ".join(expected)}; {len(lists)} connections')
        if model == 'event':
            rounds = ALONE - 1
            between = {name: count / rounds for name, count in sorted(loop.items())}
            wanted = {name: 1.0 for name in sorted(expected + ['epoll_wait'])}
            report.line(between == wanted, model, 'all calls of the loop', show(between),
                        f'expected {show(wanted)}')
