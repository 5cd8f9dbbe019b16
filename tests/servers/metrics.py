"""Counts of servers: exact over all workers, whatever ends, and told by HTTP to those who ask well.

Must not know: where the server keeps its counts.
"""

import concurrent.futures
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from support.cases import attempt, built
from support.nest import Failed, program
from support.server import Client, Server, used

SPEC = r'''
%option eventServer 64
%option OPTION
%{
#include <pthread.h>
%}
NL "\n"
%%
hello = "HELLO" NL    { $reply("hello\n"); }
sleep = "sleep" NL    { $sleep(3s); $reply("slept\n"); }
crash = "crash" NL    { __builtin_trap(); }
leave = "leave" NL    { pthread_exit(NULL); }
quit  = "quit" NL     { $close(); }
[^\n]* NL             { $reply("what?\n"); }
TIMEOUT(5s)           { $reply("tick\n"); }
'''
# The 32 bytes behind a line, which the action reads.
READS = r'''
%option eventServer 8
%option metrics 127.0.0.1:0
NL "\n"
%%
read = "read" NL { char *s = $read(32); if (s != NULL) { $reply("%zu\n", strlen(s)); } }
'''
BLOCKS = r'''
%option eventServer 8
%option metrics 127.0.0.1:0
%{
#include <unistd.h>
%}
NL "\n"
%%
block = "block" NL { $block { while (access("go", F_OK) != 0) { usleep(10000); } } $reply("done\n"); }
'''
TIMEOUT = 20
OPEN = 'application/openmetrics-text; version=1.0.0'
CLIENTS, REQUESTS = 12, 40


def connected(address):
    """A connection to the counts."""
    if address.startswith('unix:'):
        talk = socket.socket(socket.AF_UNIX)
        talk.settimeout(TIMEOUT)
        talk.connect(address[5:])
        return talk
    host, _, port = address.rpartition(':')
    return socket.create_connection((host, int(port)), timeout=TIMEOUT)


def rest(talk):
    """All that comes until the end."""
    got = b''
    while chunk := talk.recv(65536):
        got += chunk
    return got


def get(address, path, method='GET', fields=''):
    """Status, head and body."""
    with connected(address) as talk:
        talk.sendall(f'{method} {path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n'.encode())
        head, _, body = rest(talk).partition(b'\r\n\r\n')
    return int(head.split()[1]), head.decode(), body.decode()


def address(server):
    """Where it tells its counts."""
    found = re.search(r'metrics at (\S+)', server.said())
    if found is None:
        raise Failed(f'it does not say where\n{server.said()}')
    return found.group(1)


def samples(text):
    """{name with labels: value} of an exposition."""
    return {line.rpartition(' ')[0]: float(line.rpartition(' ')[2])
            for line in text.splitlines() if line and not line.startswith('#')}


def counts(where):
    """The present samples."""
    status, _, body = get(where, '/metrics')
    if status != 200:
        raise Failed(f'/metrics: {status}')
    return samples(body)


def rule(found, name, what='messages'):
    """A rule's count."""
    keys = [key for key in found if key.startswith(f'nest_rule_{what}_total{{rule="{name}"')]
    return found[keys[0]] if len(keys) == 1 else None


def ended(found, reason):
    """The connections that ended so."""
    return found[f'nest_connections_ended_total{{reason="{reason}"}}']


def until(where, wanted, what):
    """The samples, once they are so."""
    end = time.monotonic() + TIMEOUT
    while not wanted(found := counts(where)):
        if time.monotonic() > end:
            raise Failed(f'{what}: {found}')
        time.sleep(0.05)
    return found


def equal(found, **expected):
    """The samples without labels have these values."""
    for name, value in expected.items():
        if found[f'nest_{name}'] != value:
            raise Failed(f'nest_{name} is {found[f"nest_{name}"]:g}, not {value}')


def crowd(server):
    """Clients that ask often and leave; how many bytes they sent and got."""
    def talk(_):
        with Client(server) as client:
            client.send(b'HELLO\n' * REQUESTS + b'?\n')
            client.expect(b'hello\n' * REQUESTS + b'what?\n')
            client.send(b'quit\n')
            client.rest()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(talk, range(CLIENTS)))
    return CLIENTS * (6 * REQUESTS + 2 + 5), CLIENTS * (6 * REQUESTS + 6)


def exact(server):
    """connections, messages by rule, bytes, replies and times of all workers, in both formats"""
    where = address(server)
    received, replied = crowd(server)
    found = until(where, lambda f: ended(f, 'closed') == f['nest_connection_seconds_count'] == CLIENTS, 'not all have ended')
    equal(found, connections=0, connections_opened_total=CLIENTS, received_bytes_total=received,
          replied_bytes_total=replied, replies_total=CLIENTS * (REQUESTS + 1), waiting=0,
          message_seconds_count=CLIENTS * (REQUESTS + 2), connection_seconds_count=CLIENTS)
    if (rule(found, 'hello'), rule(found, 'quit'), rule(found, 'line 14')) != (
            CLIENTS * REQUESTS, CLIENTS, CLIENTS):
        raise Failed(f'messages by rule: {found}')
    with Client(server) as client:
        client.send(b'HELLO\n')
        client.expect(b'hello\n')
        client.expect(b'tick\n')
        found = counts(where)
        equal(found, connections=1)
        if rule(found, 'line 15') != 1:
            raise Failed('the TIMEOUT rule is not counted')


def judged(server):
    """promtool takes the text format, the parser of the Prometheus project OpenMetrics"""
    where = address(server)
    crowd(server)
    _, head, body = get(where, '/metrics')
    if 'text/plain; version=0.0.4' not in head:
        raise Failed(head)
    done = subprocess.run(['promtool', 'check', 'metrics'], input=body, capture_output=True,
                          text=True, timeout=TIMEOUT)
    if done.returncode != 0 or done.stdout or done.stderr:
        raise Failed(f'promtool: {done.stdout}{done.stderr}')
    for path in ('/metrics', '/metrics?fine'):
        _, head, body = get(where, path, fields=f'Accept: {OPEN}\r\n')
        if OPEN not in head or not body.endswith('# EOF\n'):
            raise Failed(head)
        parser = 'import sys; from prometheus_client.openmetrics.parser import *; ' \
            'print(len(list(text_string_to_metric_families(sys.stdin.read()))))'
        done = subprocess.run(['/usr/bin/python3', '-c', parser], input=body, capture_output=True, text=True,
                              timeout=TIMEOUT)
        if done.returncode != 0 or int(done.stdout) < 10:
            raise Failed(f'OpenMetrics: {done.stderr}')


def waits(server):
    """an action that waits shows while it waits, and its wait counts in its time"""
    where = address(server)
    with Client(server) as client:
        client.send(b'sleep\n')
        until(where, lambda f: f['nest_waiting'] == 1, 'nobody waits')
        client.expect(b'slept\n')
        found = until(where, lambda f: rule(f, 'sleep', 'seconds') > 2.9, 'no 3 seconds have passed')
        equal(found, waiting=0, waits_total=1)


def crashes(server):
    """what a worker counted before it died is kept; its connections are counted as crashed"""
    where = address(server)
    for times in range(1, 4):
        crowd(server)
        with Client(server) as client:
            client.send(b'HELLO\ncrash\n')
            with contextlib.suppress(ConnectionError):
                client.rest()
        # Of the message during which it died there is a beginning, and no end.
        found = until(where, lambda f: ended(f, 'crash') == times, 'the crash is not counted')
        equal(found, connections=0, connections_opened_total=times * (CLIENTS + 1),
              message_seconds_count=times * (CLIENTS * (REQUESTS + 2) + 1))
        if rule(found, 'crash') != times or rule(found, 'hello') != times * (CLIENTS * REQUESTS + 1):
            raise Failed(f'messages by rule: {found}')


def threads(server):
    """a thread that an action ends takes one connection along"""
    where = address(server)
    with Client(server) as client:
        client.send(b'leave\n')
        client.rest()
    equal(until(where, lambda f: ended(f, 'crash') == 1, 'it is not counted'), connections=0, waiting=0)


def endures(server):
    """other requests, slow and hostile clients of the counts, and the death of the service process"""
    where = address(server)
    for method, path, fields, status in (
            ('GET', '/', '', 404), ('GET', '/metrics/', '', 404), ('POST', '/metrics', '', 405),
            ('get', '/metrics', '', 400), ('GET', '/' + 600 * 'x', '', 400),
            ('GET', '/live', '', 200), ('GET', '/ready', '', 200), ('GET', '/live?x', '', 200),
            ('GET', 'http://a:1/live', '', 200), ('GET', 'HTTP://[::1]?x', '', 404), ('\r\n\r\nGET', '/live', '', 200),
            ('GET', '/live', 5000 * 'x', 431), ('GET', '/live', 'x: \0\r\n', 400)):
        with contextlib.suppress(ConnectionError):      # of what is left to send
            got = get(where, path, method, fields)
            if got[0] != status or f'Content-Length: {len(got[2])}' not in got[1]:
                raise Failed(f'{method} {path[:20]} {fields[:9]}: {got}, not {status}')
    status, head, body = get(where, '/metrics', 'HEAD')
    if status != 200 or body or not int(re.search(r'Content-Length: (\d+)', head).group(1)) > 1000:
        raise Failed(f'HEAD: {status} {head} {body}')
    with contextlib.ExitStack() as stack:
        for n in range(20):                             # more than there are places
            idle = stack.enter_context(connected(where))
            idle.sendall(b'GET /metrics HTTP/1.1\r\n'[:n])
        counts(where)
    parts = connected(where)
    for byte in b'GET /live HTTP/1.0\r\n\r\n':
        parts.sendall(bytes([byte]))
        time.sleep(0.002)
    if not rest(parts).startswith(b'HTTP/1.1 200 OK'):
        raise Failed('a request that comes in pieces is not answered')
    crowd(server)
    before = until(where, lambda f: f['nest_connections'] == 0, 'clients stay')
    service = [pid for pid in server.family()[1:] if listens(pid, where)]
    if len(service) != 2:       # with the main process
        service = service[-1:]
    os.kill(service[-1], signal.SIGKILL)
    end = time.monotonic() + TIMEOUT
    while listens(service[-1], where) and time.monotonic() < end:
        time.sleep(0.01)
    with Client(server) as client:
        client.send(b'HELLO\n')
        client.expect(b'hello\n')
    after = counts(where)
    if rule(after, 'hello') != rule(before, 'hello') + 1:
        raise Failed('another service process tells other counts')


def rests(server):
    """a client of the counts for whom there is no descriptor waits, and costs nothing"""
    where = address(server)
    counts(where)
    service = [pid for pid in server.family()[1:] if listens(pid, where)][-1]
    before = resource.prlimit(service, resource.RLIMIT_NOFILE)
    resource.prlimit(service, resource.RLIMIT_NOFILE, (3, before[1]))
    with connected(where) as waiting:
        waiting.sendall(b'GET /live HTTP/1.0\r\n\r\n')
        begun = used([service])
        time.sleep(2)
        spent = used([service]) - begun
        resource.prlimit(service, resource.RLIMIT_NOFILE, before)
        if not rest(waiting).startswith(b'HTTP/1.1 200 OK'):
            raise Failed('it is not answered later')
    if spent > 0.3:
        raise Failed(f'{spent:.2f} s of processor time in 2 s')


def listens(pid, where):
    """Whether a process has the listening socket of the counts."""
    with open('/proc/net/tcp', encoding='ascii') as file:
        port = f':{int(where.rpartition(":")[2]):04X} '
        inodes = {line.split()[9] for line in file if port in line and ' 0A ' in line}
    with contextlib.suppress(OSError):
        for name in os.listdir(f'/proc/{pid}/fd'):
            with contextlib.suppress(OSError):
                if os.readlink(f'/proc/{pid}/fd/{name}') in {f'socket:[{i}]' for i in inodes}:
                    return True
    return False


def stops(server):
    """a server that drains is not ready; then the address is free"""
    where = address(server)
    with Client(server) as client:
        client.send(b'sleep\n')
        until(where, lambda f: f['nest_waiting'] == 1, 'nobody waits')
        os.kill(server.process.pid, signal.SIGTERM)
        end = time.monotonic() + TIMEOUT
        while (got := get(where, '/ready'))[0] == 200:
            if time.monotonic() > end:
                raise Failed('it says that it is ready')
        if got[0] != 503 or 'stops' not in got[2]:
            raise Failed(f'{got}')
        client.expect(b'slept\n')
    if server.process.wait(TIMEOUT) != 0:
        raise Failed(server.said())
    try:
        connected(where).close()
    except ConnectionRefusedError:
        return
    raise Failed('somebody still listens')


def queues(server):
    """clients that wait for a place are counted in the queue of the listening socket"""
    where = address(server)
    with contextlib.ExitStack() as stack:
        served = [stack.enter_context(Client(server)) for _ in range(2)]
        for client in served:
            client.send(b'HELLO\n')
            client.expect(b'hello\n')
        for _ in range(3):
            stack.enter_context(Client(server))
        key = f'nest_listen_queue{{address="127.0.0.1:{server.port}"}}'
        found = until(where, lambda f: f[key] == 3, 'the queue is another')
        if not found[key.replace('{', '_limit{')] > 100:
            raise Failed('the queue has no limit')
        served[0].socket.close()
        until(where, lambda f: f[key] == 2, 'the queue stays')


def helpers(nest, model, folder):
    """blocks that wait for a helper thread are counted while they wait"""
    loop = model in ('event', 'uring')
    binary = built(nest, model, BLOCKS, os.path.join(folder, 'blocks'))
    with Server([binary], options=['helpers=1'] if loop else []) as server, contextlib.ExitStack() as stack:
        where = address(server)
        clients = [stack.enter_context(Client(server)) for _ in range(3)]
        for client in clients:
            client.send(b'block\n')
        wanted = 2 if loop else 0
        until(where, lambda f: f['nest_helper_queue'] == wanted and rule(f, 'block') == 3, 'the queue is another')
        with open(os.path.join(server.folder.name, 'go'), 'w', encoding='ascii'):
            pass
        for client in clients:
            client.expect(b'done\n')
        until(where, lambda f: f['nest_helper_queue'] == 0, 'the queue stays')


CASES = (exact, judged, waits, crashes, endures, rests, stops)


def local(binary, folder):
    """a Unix socket, which is removed at the end"""
    path = os.path.join(folder, 'counts')
    with Server([binary], options=[f'metrics=unix:{path}']) as server:
        crowd(server)
        if address(server) != f'unix:{path}':
            raise Failed(address(server))
        until(address(server), lambda f: ended(f, 'closed') == CLIENTS, 'not all have ended')
        if server.stop() != 0 or os.path.exists(path):
            raise Failed(f'the socket stays\n{server.said()}')


def profiled(binary):
    """without an address the counts are printed at the end"""
    with Server([binary]) as server:
        crowd(server)
        server.stop()
        text = server.rest()
    table = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith('  ')}
    if (table.get('hello', [0])[0] != str(CLIENTS * REQUESTS)
            or table['hello'][1] != str(CLIENTS * REQUESTS * 6) or 'an' not in table):
        raise Failed(text)


def reads(nest, model, folder):
    """bytes that an action reads count as received"""
    binary = built(nest, model, READS, os.path.join(folder, 'reads'))
    with Server([binary]) as server, Client(server) as client:
        client.send(b'read\n' + 32 * b'x')
        client.expect(b'32\n')
        where = address(server)
        found = until(where, lambda f: f['nest_message_seconds_count'] == 1, 'no message')
        equal(found, received_bytes_total=37)
        if rule(found, 'read', 'bytes') != 37:
            raise Failed('the rule did not read them')


def wrong(binary):
    """what is no address, or taken, is refused before anybody listens"""
    with socket.create_server(('127.0.0.1', 0)) as taken:
        for value, why, status in (('nowhere', 'is not an address', 2), ('systemd', 'not one address', 2),
                                   ('127.0.0.1:1 127.0.0.1:2', 'not one address', 2),
                                   (f'127.0.0.1:{taken.getsockname()[1]}', 'cannot listen', 1)):
            done = subprocess.run([binary, '--set', 'listen=127.0.0.1:0', '--set', f'metrics={value}'],
                                  capture_output=True, text=True, timeout=TIMEOUT,
                                  env={**os.environ, 'NEST_USER': 'root'})
            if done.returncode != status or why not in done.stderr or done.stdout:
                raise Failed(f'{value}: {done.returncode} {done.stdout}{done.stderr}')


def run(report, models):
    """Each case in each model; event also with two loops."""
    report.heading('Counts (metrics, profiling)')
    if shutil.which('promtool') is None:
        raise Failed('promtool is missing: scripts/setup check installs it')
    nest = program()
    for model in models:
        with tempfile.TemporaryDirectory(prefix='nest-metrics-') as folder:
            counted = built(nest, model, SPEC.replace('OPTION', 'metrics 127.0.0.1:0'),
                            os.path.join(folder, 'counted'))
            silent = built(nest, model, SPEC.replace('OPTION', 'profiling'), os.path.join(folder, 'silent'))
            many = [[], ['dispatchers=2']] if model in ('event', 'uring') else [[]]
            for options in many:
                for case in (*CASES, *([threads] if model == 'thread' else [])):
                    def served(case=case, options=options):
                        with Server([counted], options=options) as server:
                            case(server)
                    attempt(report, model, case.__name__, case.__doc__, served)
            with Server([counted], clients=2) as server:
                attempt(report, model, 'queues', queues.__doc__, lambda: queues(server))
            attempt(report, model, 'local', local.__doc__, lambda: local(counted, folder))
            attempt(report, model, 'profiled', profiled.__doc__, lambda: profiled(silent))
            attempt(report, model, 'helpers', helpers.__doc__, lambda: helpers(nest, model, folder))
            attempt(report, model, 'reads', reads.__doc__, lambda: reads(nest, model, folder))
            attempt(report, model, 'wrong', wrong.__doc__, lambda: wrong(counted))
