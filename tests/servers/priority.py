"""priorities: classes of clients get the shares that their quotas say, wherever something waits.

Shares are counted in messages, never measured in time. Must not know: how the loop chooses.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from support.cases import attempt, built
from support.expect import until
from support.nest import MODELS, Failed, environment, program
from support.server import Client, Server, running

# An action that stops the loop at the first message "hold X": it makes the file held-X, and waits until
# somebody writes into the FIFO gate-X.
HOLD = r'''
%{
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int hold(char letter) {
    char path[16], c;
    snprintf(path, sizeof path, "held-%c", letter);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd == -1) return 0;
    close(fd);
    snprintf(path, sizeof path, "gate-%c", letter);
    fd = open(path, O_RDONLY);
    (void)!read(fd, &c, 1);
    close(fd);
    return 1;
}
%}
'''
SPEC = r'''
%option eventServer 200
%option priorities 3
%option quota 6/3/1
%option helpers 1
%{
#include <stdlib.h>
#include <unistd.h>
static _Atomic unsigned long served[4], blocks[4], before;
%}
''' + HOLD + r'''
NL "\n"
%%
int class = 3;
class = "class " [0-9]+ NL {
    int wanted = atoi($2);
    if ($priority(wanted) == 0) { class = wanted; $reply("class ", $2, "\n"); }
    else $reply("none\n");
}
work = "w" NL { served[class]++; for (volatile int i = 0; i < 200; i++) { } }
long = "l" NL { served[class]++; usleep(3000); }
dot = "." NL { $reply("."); }
block = "b" NL { int mine = class; $block { usleep(1000); blocks[mine]++; } }
counts = "counts" NL {
    $reply("%lu %lu %lu %lu %lu %lu\n", served[1], served[2], served[3], blocks[1], blocks[2], blocks[3]);
}
hold = "hold " [a-z] NL { if (hold(*$2)) before = served[1] + served[2] + served[3]; }
line = "line" NL { $reply("?"); (void)$readLine(8); }
waited = "waited" NL { $reply("%lu\n", served[1] + served[2] + served[3] - before); }
'''
THREADS = SPEC.replace('%option helpers 1', '%option helpers 1\n%option processors 2')
# The clients of each listener say whose they are; the quota is that of the option.
TWO = r'''
%option eventServer 400
%option priorities 2
%option quota 4/1
%{
#include <string.h>
static char order[4096];
static unsigned begun;
%}
''' + HOLD + r'''
NL "\n"
%%
START { order[begun++] = strchr($peer(), '.') == NULL ? 'u' : 't'; $reply("+"); }
hold = "hold " [a-z] NL { hold(*$2); }
order = "order" NL { $replyBytes(order, begun); $reply("\n"); }
'''
QUOTAS, TIME, WITHIN = (6, 3, 1), 60, 0.10
CROWD = 30      # clients of each class: more than are on their way to a thread and back
FLOODS, EACH, MOST = 20, 200, 128       # clients of class 3, messages of each; what a request may wait for


def shares(what, counts, quotas):
    """Each class got its share, within 10 %."""
    whole, all_quotas = sum(counts), sum(quotas)
    for count, quota in zip(counts, quotas):
        share = quota / all_quotas
        if not abs(count / whole - share) <= WITHIN * share:
            raise Failed(f'{what}: {counts} of {whole}, and the quotas are {quotas}')


def in_class(server, number):
    """A client of this class."""
    client = Client(server)
    client.send(b'class %d\n' % number)
    client.expect(b'class %d\n' % number)
    return client


def numbers(client):
    """The numbers of a line of the server."""
    line = b''
    while not line.endswith(b'\n'):
        line += client.take(1)
    return [int(word) for word in line.split()]


def counts(client):
    """How many messages of each class were served, and how many blocks."""
    client.send(b'counts\n')
    found = numbers(client)
    return found[:3], found[3:]


def flooded(server, message, which, least, clients=4):
    """The shares while all classes always have something to do, until the smallest has so many."""
    with contextlib.ExitStack() as stack:
        asks = stack.enter_context(in_class(server, 1))
        links = [stack.enter_context(in_class(server, number)) for number in (1, 2, 3) for _ in range(clients)]
        data = message * 20000
        for link in links:
            link.socket.setblocking(False)
        left, first = {link: b'' for link in links}, None
        end = time.monotonic() + TIME
        while True:
            for link in links:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        left[link] = left[link] or data
                        left[link] = left[link][link.socket.send(left[link]):]
            now = counts(asks)[which]
            first = first or now        # by now all classes have something to do
            found = [after - before for after, before in zip(now, first)]
            if min(found) >= least:
                return found
            if time.monotonic() > end:
                raise Failed(f'served: {found}')


def messages(server):
    """messages of clients that always have more to ask are served as the quotas say"""
    shares('messages', flooded(server, b'w\n', 0, 5000), QUOTAS)


def threads(server):
    """actions that wait for a thread of processors get one as the quotas say"""
    shares('actions', flooded(server, b'l\n', 0, 100, CROWD), QUOTAS)


def threads_reload(server):
    """HUP changes the quotas of threads"""
    configured(server, 'quota 1/1/2\n', 'quota 1/1/2 (was')
    shares('actions', flooded(server, b'l\n', 0, 200, CROWD), (1, 1, 2))


def helpers(server):
    """blocks that wait for the only helper thread get it as the quotas say"""
    shares('blocks', flooded(server, b'b\n', 1, 100, CROWD), QUOTAS)


def reload(server):
    """HUP changes the quotas, and keeps the old ones if the new ones are none"""
    for text, said in (('quota 1/1/2\n', 'quota 1/1/2 (was'), ('quota 1/2\n', 'is no quota of each of the 3 classes')):
        configured(server, text, said)
        shares('messages', flooded(server, b'w\n', 0, 5000), (1, 1, 2))


def configured(server, text, said):
    """Changes its configuration, and waits for what it says."""
    with open(os.path.join(server.folder.name, 'config.nest'), 'w', encoding='ascii') as file:
        file.write(text)
    server.process.send_signal(signal.SIGHUP)
    until(f'what is said of {text}', lambda: said in server.said(), TIME)


def alone(server):
    """a class that is alone has all turns, and gets no credit for the time before"""
    with in_class(server, 3) as low, in_class(server, 1) as asks:
        low.send(b'w\n' * 20000)
        end = time.monotonic() + TIME
        while counts(asks)[0][2] < 20000:
            if time.monotonic() > end:
                raise Failed('a low class that is alone is not served')
    shares('messages afterwards', flooded(server, b'w\n', 0, 5000), QUOTAS)


def none(server):
    """a class that there is not is refused, and the client keeps its own"""
    with Client(server) as client:
        for number in (b'0', b'4', b'99999'):
            client.send(b'class ' + number + b'\n')
            client.expect(b'none\n')


def drained(server):
    """a stop answers what has come, also of the last class"""
    folder = server.folder.name
    gates(folder, 'a')
    with in_class(server, 3) as low, in_class(server, 1) as first:
        first.send(b'hold a\n')
        held(folder, 'a')
        low.send(b'.\n' * 50)
        arrived(server, [low])
        server.process.send_signal(signal.SIGTERM)
        let_go(folder, 'a')
        if low.rest() != b'.' * 50:
            raise Failed('answers are missing')
    if server.process.wait(TIME) != 0:
        raise Failed(f'status {server.process.returncode}')


def waits_for_few(server):
    """a request beside floods of a lower class waits for at most 128 messages of others"""
    folder, names = server.folder.name, 'abcdefghijklmn'
    gates(folder, names)
    letters, sent = iter(names), 0
    with in_class(server, 1) as asks, in_class(server, 1) as stops:
        # The floods begin with so many messages, in their own turns or in an action that waits for its line.
        for number, at, line in ((1, 0, b''), (1, 1, b''), (1, 63, b''), (1, 150, b''), (2, 0, b''), (2, 100, b''),
                                 (1, 0, b'x\n')):
            first, second = next(letters), next(letters)
            with contextlib.ExitStack() as stack:
                floods = [stack.enter_context(in_class(server, 3)) for _ in range(FLOODS)]
                lone = stack.enter_context(in_class(server, number))
                for flood in floods if line else ():
                    flood.send(b'line\n')
                    flood.expect(b'?')
                stops.send(b'hold %c\n' % ord(first))
                held(folder, first)
                for flood in floods:        # all have come when the loop goes on; the first that reaches it stops it
                    flood.send(line + b'w\n' * at + b'hold %c\n' % ord(second) + b'w\n' * (EACH - at))
                arrived(server, floods)
                let_go(folder, first)
                held(folder, second)
                lone.send(b'waited\n')
                arrived(server, [lone])
                let_go(folder, second)
                [waited] = numbers(lone)
                if waited > MOST:
                    raise Failed(f'a request of class {number} waited for {waited} messages of others')
                sent += FLOODS * EACH
                end = time.monotonic() + TIME
                while counts(asks)[0][2] < sent:
                    if time.monotonic() > end:
                        raise Failed('messages are lost')


def gates(folder, letters):
    """The FIFOs of actions that stop the loop."""
    for letter in letters:
        os.mkfifo(os.path.join(folder, f'gate-{letter}'))


def held(folder, letter):
    """Waits until an action stops the loop."""
    end = time.monotonic() + TIME
    while not os.path.exists(os.path.join(folder, f'held-{letter}')):
        if time.monotonic() > end:
            raise Failed('the loop goes on')
        time.sleep(0.01)


def let_go(folder, letter):
    """The loop goes on."""
    with open(os.path.join(folder, f'gate-{letter}'), 'wb') as file:
        file.write(b'x')


def connections(state, port):
    """The other side's port, and how much waits to be read or accepted, of each socket of IPv4 at a port."""
    with open('/proc/net/tcp', encoding='ascii') as file:
        rows = [line.split() for line in file]
    return {int(row[2].partition(':')[2], 16): int(row[4].partition(':')[2], 16)
            for row in rows if row[3] == state and row[1].endswith(f':{port:04X}')}


def arrived(server, clients):
    """Waits until something of each client can be read: its last packet may be late."""
    ports = [client.socket.getsockname()[1] for client in clients]
    end = time.monotonic() + TIME
    while any(connections('01', server.port).get(port, 0) == 0 for port in ports):
        if time.monotonic() > end:
            raise Failed('what was sent does not arrive')
        time.sleep(0.01)


def queued(port):
    """How many connections wait to be accepted at a port of IPv4."""
    return sum(connections('0A', port).values())


def listeners(base):
    """clients that wait at two addresses are accepted as the quotas of the addresses say"""
    with tempfile.TemporaryDirectory(prefix='nest-listen-') as folder:
        path, links = os.path.join(folder, 'socket'), []
        gates(folder, 'a')
        command = [base, '--set', f'listen=127.0.0.1:0 unix:{path}', '--set', 'listenPriority=2/1']
        with running(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                     env=environment()) as process, contextlib.ExitStack() as stack:
            port = int(re.search(rb'127\.0\.0\.1:(\d+)', process.stdout.readline()).group(1))

            def connect(family, address):
                link = stack.enter_context(socket.socket(family))
                link.settimeout(TIME)
                link.connect(address)
                links.append(link)
            connect(socket.AF_INET, ('127.0.0.1', port))
            links[0].sendall(b'hold a\n')
            held(folder, 'a')
            for _ in range(100):        # they wait in the queues: the loop stands still
                connect(socket.AF_INET, ('127.0.0.1', port))
                connect(socket.AF_UNIX, path)
            end = time.monotonic() + TIME
            while queued(port) < 100 and time.monotonic() < end:    # a client's last packet may be late
                time.sleep(0.01)
            let_go(folder, 'a')
            for link in links:      # all are accepted: the question would have turns of its own
                if link.recv(1) != b'+':
                    raise Failed('a client is not accepted')
            links[0].sendall(b'order\n')
            order = b''
            while not order.endswith(b'\n'):
                order += links[0].recv(4096)
            last = order.rindex(b'u') + 1      # all of class 1 are accepted
            shares('clients', (100, order[1:last].count(b't')), (4, 1))
            process.terminate()


def virtual(base):
    """in virtual time, what has come for all classes at once is served as the quotas say"""
    each, script, classes = 200, [], {}
    for who in range(1, 91):
        classes[who] = (who - 1) % 3 + 1
        script += [f'open {who}', f'in {who} "class {classes[who]}\\n"']
    script += ['complete later'] + [f'in {who} "' + '.\\n' * each + '"' for who in classes] + ['complete now']
    done = subprocess.run([base], input='\n'.join(script) + '\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=TIME, env=environment(), check=False)
    if done.returncode != 0:
        raise Failed(f'status {done.returncode}: {done.stderr[-500:]}')
    served = [0, 0, 0]
    for who, text in re.findall(r'^(\d+) out "([^"]*)"', done.stdout, re.M):
        served[classes[int(who)] - 1] += text.count('.') if 'class' not in text else 0
        if served[0] == 30 * each:      # class 1 has nothing more to do
            return shares('messages', served, QUOTAS)
    raise Failed(f'served: {served}')


def wrong(base):
    """quotas and classes of addresses that do not fit end the start with one line"""
    for option, values in (('quota', ('', '1', '1/2', '1/2/3/4', '1/0/2', '1/2/1001', 'a/b/c', '1//2', '1/2/3/', '-1/2/3')),
                           ('listenPriority', ('', '0', '4', '1/', 'x'))):
        for value in values:
            try:
                with Server([base], options=(f'{option}={value}',)):
                    raise Failed(f'it accepts {option} {value!r}')
            except Failed as error:
                if f'{option}' not in str(error) or 'it accepts' in str(error):
                    raise


def run(report, models):
    """All, for the driver."""
    nest = program()
    loops = [model for model in models if model in ('event', 'uring')] or ['event']
    report.heading(f'priority: {", ".join(loops)}, script')
    with tempfile.TemporaryDirectory(prefix='nest-priority-') as folder:
        for model in loops:
            base = built(nest, model, SPEC, os.path.join(folder, f'classes-{model}'))
            for case in (messages, helpers, reload, alone, none, waits_for_few, drained):
                def check(case=case, base=base):
                    with Server([base]) as server:
                        case(server)
                attempt(report, model, 'priority', case.__doc__, check)
            pool = built(nest, model, THREADS, os.path.join(folder, f'threads-{model}'))
            for case in (threads, threads_reload, none):
                def check_threads(case=case, pool=pool):
                    with Server([pool]) as server:
                        case(server)
                attempt(report, f'{model} processors', 'priority', case.__doc__, check_threads)
            two = built(nest, model, TWO, os.path.join(folder, f'two-{model}'))
            attempt(report, model, 'priority', listeners.__doc__, lambda two=two: listeners(two))
            attempt(report, model, 'priority', wrong.__doc__, lambda base=base: wrong(base))
        if 'script' in MODELS:
            base = built(nest, 'script', SPEC, os.path.join(folder, 'classes-script'))
            attempt(report, 'script', 'priority', virtual.__doc__, lambda: virtual(base))
