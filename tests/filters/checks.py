"""What a server behind filters does for its clients: answers, limits, addresses, the stop.

Each check gets the server and its model, and raises Failed. Must not know: how servers are built.
"""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request

from support.nest import Failed, environment, program, run
from support.server import Client, Server, alive

LONG = 30           # seconds: for what another process does
FILTERS = ('request', 'check', 'slowread', 'pass')


class Skipped(Exception):
    """This machine cannot do it."""


def expect(good, what):
    """Raises Failed unless it is so."""
    if not good:
        raise Failed(what)


def until(what, condition):
    """Waits until it holds."""
    end = time.monotonic() + LONG
    while not (found := condition()):
        if time.monotonic() > end:
            raise Failed(f'not within {LONG} s: {what}')
        time.sleep(0.01)
    return found


def processes(server):
    """The processes of a server: name, of filters the filter's, and id."""
    return {(text.strip(), pid) for pid, text in server.each('comm')}


def named(server, name):
    """The ids of its processes of this name."""
    return sorted(pid for found, pid in processes(server) if found == name)


def only(server, name):
    """The id of its process of this name, once there is one alone: one that has just been forked has the name of its parent."""
    return until(f'one {name} runs', lambda: len(found := named(server, name)) == 1 and found)[0]


def descriptors(server):
    """How many descriptors each of its processes has, by the process."""
    counts = {}
    for pid in server.family():
        try:
            counts[pid] = len(os.listdir(f'/proc/{pid}/fd'))
        except OSError:
            continue
    return counts


def ask(server, line=b'pid\n'):
    """An answer to a client of its own."""
    with Client(server) as client:
        client.send(line + b'quit\n')
        answer = client.rest()
    expect(answer.endswith(b'\nbye\n'), f'{line!r} was answered {answer!r}')
    return answer[:-5]


def worker(server):
    """The id of a process that serves clients."""
    return int(ask(server))


def answers(server, _model):
    """Messages are answered, however they are cut, and those that follow the first one."""
    for cut in range(1, 12):
        with Client(server) as client:
            text = b'say hello\nquit\n'
            client.send(text[:cut])
            time.sleep(0.001)
            client.send(text[cut:])
            expect(client.rest() == b'hello\nbye\n', f'cut at {cut}')
    for count in (1, 20, 200):
        with Client(server) as client:
            client.send(b'say x\n' * count + b'quit\n')
            expect(client.rest() == b'x\n' * count + b'bye\n', f'{count} messages')


def addresses(server, _model):
    """The server sees the addresses of its clients, not those of filters."""
    with Client(server) as client:
        own = '{}:{}'.format(*client.socket.getsockname())
        client.send(b'peer\nquit\n')
        expect(client.rest() == f'{own}\nbye\n'.encode(), f'not {own}')


def refusals(server, _model):
    """A first message that no rule matches ends at the filter; a later one at the server."""
    with Client(server) as client:
        client.send(b'nonsense\n')
        expect(client.rest() == b'', 'nonsense has an answer')
    with Client(server) as client:
        client.send(b'say x\nnonsense\n')
        expect(client.rest() == b'x\n', 'nonsense as the second message')


def deadlines(server, _model):
    """An incomplete message is ended at the filter's time limit, and meanwhile costs no worker."""
    waiting = [Client(server) for _ in range(149)]
    start = time.monotonic()
    waiting.append(Client(server))
    for client in waiting:
        client.send(b'say sl')
    ask(server)
    expect(waiting[-1].rest() == b'', 'an incomplete message has an answer')
    expect(time.monotonic() - start > 2.9, 'it was ended before its time')
    for client in waiting:
        expect(client.rest() == b'', 'an incomplete message has an answer')
        client.socket.close()


def limit(server, _model):
    """No more than maxClients are served at once; the others wait, and are served then."""
    busy = []
    for _ in range(100):
        client = Client(server)
        client.send(b'say in\n')
        client.expect(b'in\n')
        busy.append(client)
    waiting = [Client(server) for _ in range(20)]
    for client in waiting:
        client.send(b'say later\nquit\n')
    waiting[0].socket.settimeout(0.3)
    try:
        expect(waiting[0].socket.recv(1) == b'', 'more than maxClients are served')
        raise Failed('one that waits was ended')
    except TimeoutError:
        waiting[0].socket.settimeout(LONG)
    for client in busy:
        client.socket.close()
    for client in waiting:
        expect(client.rest() == b'later\nbye\n', 'one that had to wait')
        client.socket.close()


def exact(server, model):
    """When clients have left, no process has a descriptor more than before."""
    for _ in range(50):
        ask(server)

    def counts():
        """Of those that are always there. Workers that serve one client come and go, and the last
        filter has a link to each; so have the threads of a worker."""
        few = FILTERS if model in ('event', 'uring') else FILTERS[:-1]
        lasting = [server.process.pid] + [pid for name in few for pid in named(server, name)]
        found = descriptors(server)
        return [found.get(pid) for pid in lasting]
    # What ends a connection reaches all filters a moment after the client.
    before = until('descriptors settle', lambda: settled(counts))
    for _ in range(150):
        ask(server)
    left = [Client(server) for _ in range(30)]
    for client in left:
        client.send(b'say x\n')
        client.expect(b'x\n')
        client.socket.close()
    until(f'as many descriptors as before: {before}', lambda: fewer(counts(), before))


def fewer(now, most):
    """Whether no count is larger. Some of those before may have been about to be closed."""
    return len(now) == len(most) and all(n is not None and n <= m for n, m in zip(now, most))


def settled(counts):
    """The counts, if they are the same for a while."""
    first = counts()
    for _ in range(20):
        time.sleep(0.01)
        if counts() != first:
            return None
    return first


def reloads(server, _model):
    """HUP changes the configuration, and clients are served as before."""
    os.kill(server.process.pid, signal.SIGHUP)
    for _ in range(20):
        ask(server)
    until('the reload is reported', lambda: 'was read again' in server.said())


def stops(server, _model):
    """TERM: a message that has begun is answered, a client that says nothing is let go, status 0."""
    with Client(server) as begun, Client(server) as silent, Client(server) as slow:
        slow.send(b'slow\n')
        begun.send(b'say la')
        until('two wait in the filter', lambda: held(server, ['request']) == 2)
        os.kill(server.process.pid, signal.SIGTERM)
        expect(silent.rest() == b'', 'a silent client has an answer')
        expect(slow.take(5) == b'slow\n', 'a slow answer')
        begun.send(b'st\n')
        expect(begun.take(5) == b'last\n', 'a message that had begun')
    expect(server.process.wait(LONG) == 0, 'status')


def held(server, names):
    """How many TCP connections the filters of these names have."""
    count = 0
    with open('/proc/net/tcp', encoding='ascii') as file:
        rows = [line.split() for line in file.readlines()[1:]]
    inodes = {row[9] for row in rows if row[3] != '0A' and int(row[1].split(':')[1], 16) == server.port}
    for pid in (pid for name in names for pid in named(server, name)):
        try:
            links = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
        except OSError:
            continue            # it has ended in the meantime
        count += sum(link[8:-1] in inodes for link in links if link.startswith('socket:'))
    return count


def hurries(server, _model):
    """A second TERM ends what is incomplete, and all processes."""
    with Client(server) as begun:
        begun.send(b'say la')
        until('it waits in the filter', lambda: held(server, ['request']) == 1)
        family = server.family()
        os.kill(server.process.pid, signal.SIGTERM)
        until('no client is accepted', lambda: refused(server))
        os.kill(server.process.pid, signal.SIGTERM)
        expect(begun.rest() == b'', 'an incomplete message has an answer')
    server.process.wait(LONG)
    until('all processes end', lambda: not any(map(alive, family)))


def refused(server):
    """Whether new connections are refused or ignored."""
    with socket.socket() as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(('127.0.0.1', server.port))
        except OSError:
            return True
    return False


def orphans(server, _model):
    """If the supervisor is killed, all processes end, and the port is free."""
    with Client(server) as client:
        client.send(b'say x\n')
        client.expect(b'x\n')
        family = server.family()
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait(LONG)
    until('all processes end', lambda: not any(map(alive, family)))
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(('127.0.0.1', server.port))
        probe.listen()


def rights(server, _model):
    """Filters and workers have the user's rights; the supervisor keeps its own."""
    if os.geteuid() != 0:
        raise Skipped('only root can become another user')
    with Server([server.exe], options=['user=nobody']) as other:
        ask(other)
        only_supervisor_is_root(other)
        # One that is started again is not root either.
        before = named(other, 'request')
        os.kill(before[0], signal.SIGKILL)
        until('it is replaced', lambda: named(other, 'request') not in ([], before))
        ask(other)
        only_supervisor_is_root(other)


def only_supervisor_is_root(server):
    """Waits until it is so: a process that has just been forked still has the rights."""
    def roots():
        users = {pid: text.split('Uid:')[1].split()[0] for pid, text in server.each('status')}
        return [pid for pid, user in users.items() if user == '0']
    until('only the supervisor is root', lambda: roots() == [server.process.pid])


def wrong(server, _model):
    """A filter that refuses its options ends the server before it listens, with one message."""
    exe = server.exe + '-wrong'
    for words in ([exe, '--set', 'ratelimit.per=1ms'], [exe, '--set', 'ratelimit.per=1ms', '--check-config']):
        try:
            run(words)
            raise AssertionError(f'{words} has no error')
        except Failed as error:
            said = [line for line in str(error).splitlines()[1:] if not line.startswith(('#', 'slowread.', 'ratelimit.'))]
            said = [line for line in said if 'ratelimit' in line or 'cannot' in line or 'listen' in line]
            expect(len(said) == 1 and 'rate, which is 1000000, must not exceed per, which is 1000 microseconds' in said[0], f'{error}')
            expect('status 1' in str(error), f'{error}')


def counts(server, _model):
    """Each filter's counts are told: what arrived, was passed on, is held and was refused, also after deaths."""
    with Server([server.exe + '-counted']) as other:
        where = re.search(r'metrics at (\S+)', until('the address', lambda: 'metrics at' in other.said() and other.said()))[1]

        def found(name, place):
            """A value, by the reason if there are several."""
            with urllib.request.urlopen(f'http://{where}/metrics', timeout=LONG) as answer:
                text = answer.read().decode()
            rows = re.findall(r'^nest_filter_%s\{address="127.0.0.1:%d",place="%d",filter="%s"(?:,reason="(.*)")?\} (.*)$' % (
                name, other.port, place, FILTERS[place]), text, re.MULTILINE)
            return {reason: float(n) for reason, n in rows}

        def told(name, place, wanted):
            until(f'{name} of {FILTERS[place]} is {wanted}', lambda: found(name, place) == wanted)
        for _ in range(3):
            ask(other)
        with Client(other) as client:
            client.send(b'nonsense\n')
            expect(client.rest() == b'', 'nonsense has an answer')
        with Client(other) as begun:
            begun.send(b'say ')
            told('held', 0, {'': 1})
            told('accepted_total', 0, {'': 5})
            until('it grows old', lambda: found('oldest_seconds', 0)[''] > 0)
            told('passed_total', 0, {'': 3})
            told('refused_total', 0, {'malformed': 1})
            shown = run([program(), 'top', where, '--once', '--interval', '100'])
            expect(re.search(r'^request +\S+ +\S+ +\S+ +1 .* malformed 1$', shown, re.MULTILINE), shown)
            os.kill(only(other, 'request'), signal.SIGKILL)
            expect(begun.rest() == b'', 'what a filter held that died')
        told('deaths_total', 0, {'': 1})
        told('held', 0, {'': 0})
        ask(other)
        for place in range(len(FILTERS)):
            told('passed_total', place, {'': 4})
        os.kill(only(other, 'cc-chain'), signal.SIGKILL)    # another takes its place, and its filters count on
        # A filter that is killed between sending a client on and counting it does not count it.
        until('a client is served and counted', lambda: answered(other) and found('passed_total', 3)[''] >= 5)
        told('refused_total', 0, {'malformed': 1})
        told('refused_total', 3, {})


def answered(server):
    """Whether a client is answered."""
    try:
        return bool(ask(server))
    except (Failed, OSError):
        return False


def unix(server, model):
    """Unix sockets, and several listeners at once."""
    path = os.path.join(server.folder.name, 'socket')
    with Server([server.exe], options=[f'listen=127.0.0.1:0 unix:{path} 127.0.0.1:0']) as other:
        for _ in range(30):
            ask(other)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(LONG)
                client.connect(path)
                client.sendall(b'say local\nquit\n')
                got = b''
                while chunk := client.recv(100):
                    got += chunk
            expect(got == b'local\nbye\n', f'{model}: {got}')
        expect(other.stop() == 0, 'status')


def inherited(server, _model):
    """A socket that systemd passes on is served, and left open for the next server."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        port = listener.getsockname()[1]
        command = ['sh', '-c', 'export LISTEN_PID=$$; exec "$0" "$@" 3<&%d' % listener.fileno(), server.exe,
                   '--set', 'listen=systemd']
        for _ in range(2):
            with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[listener.fileno()],
                                  env=environment(LISTEN_FDS='1')) as process:
                try:
                    expect(b'listening' in process.stdout.readline(), 'it does not listen')
                    with socket.create_connection(('127.0.0.1', port), LONG) as client:
                        client.sendall(b'say x\nquit\n')
                        expect(client.makefile('rb').read() == b'x\nbye\n', 'an answer')
                    process.terminate()
                    expect(process.wait(LONG) == 0, 'status')
                finally:
                    process.kill()


RUNNING = (answers, addresses, refusals, deadlines, limit, exact, reloads)
ENDING = (stops, hurries, orphans, rights, wrong, counts, unix, inherited)
