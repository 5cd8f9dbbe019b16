"""Chains: order, messages, exit status, changes while running, draining, state."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from support import (CHAIN, LIBEXEC, SERVER, Chain, Client, children, environment, expect,
                     field, free_port, once, until)


def call(*words, **env):
    """Runs a command: (status, what it said)."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30,
                          env=environment(**env))
    return done.returncode, done.stderr + done.stdout


def nonsense():
    """What makes no sense is refused at the start, with one message."""
    cases = [(['check', 'request'], 'check needs complete requests: put request before it'),
             (['request', 'request'], 'request is there twice'),
             (['request,limit=5,head=9000,limit=5'], 'request: the option limit is given twice'),
             (['proxy,trust='], "trust must be text, not ''"), (['request', 'check,methods='], 'methods must be text'),
             (['request', 'proxy'], 'needs connections whose request has not been read'),
             (['request', 'check', 'persist'], 'put it after persist'),
             (['request', 'persist', 'persist'], 'has nothing to split'),
             (['request', 'proxy,mode=out', 'pass'], 'must be the last filter'),
             (['request'] + ['slowread'] * 5, 'more than 4 filters'),
             (['request,timeout=soon'], "timeout must be a time from 1 to 86400000 ms, such as 500ms, 5s or 2m, not 'soon'"),
             (['request,speed=9'], 'there is no option speed'),
             (['request,timeout'], 'request: the option timeout has no value: write timeout=VALUE, which must be a time from 1'),
             (['request,5s'], 'request: there is no option 5s; see request --help'),
             (['request,head=1'], "head must be a size from 64 to 32000 bytes, such as 512, 16k or 1m, not '1'"),
             (['request,continue=server'], 'continue=server is for cc-condition'),
             (['request', 'slowread,net8=5'], 'net16 must not exceed net8, nor net24 net16; net8 is 5, net16 15, net24 10'),
             (['ratelimit,rate=1001,per=1ms'], 'rate, which is 1001, must not exceed per, which is 1000 microseconds: lower'),
             (['request', 'check,methods=get'], 'names in capitals'),
             (['proxy,trust=10/8'], 'trust must be networks'),
             (['nothing'], 'there is no filter nothing'), (['/bin/true'], 'is not a filter'),
             (['request,,'], 'is not NAME[,key=value]'), ([], 'a chain has 1 to 16 filters')]
    for filters, want in cases:
        status, said = call(CHAIN, *filters, '--', 'true')
        expect(status == 100 and want in said, f'{filters}: {status} {said}')
        expect(said.count('\n') == 1, f'{filters}: more than one message: {said}')
    for name in os.listdir(LIBEXEC):
        if not name.startswith('cc-'):
            status, said = call(os.path.join(LIBEXEC, name))
            expect(status == 100 and 'cc-chain' in said, f'{name}: {status} {said}')
            status, said = call(os.path.join(LIBEXEC, name), '--help')
            expect(status == 0 and said.startswith(name + ':'), f'{name}: {said}')
    run = ['request', '--', 'true']
    for words, want in ((['request'], 'there is no server'), (['request', '--'], 'there is no server'),
                        (['--state', '', *run], '--state has no value'), (['--state', '--', 'true'], '--state has no value'),
                        (['--drain', 'x', *run], "--drain takes a number, not 'x'"),
                        (['--drain', '-1', *run], "--drain takes a number, not '-1'"), (['--drain'], '--drain has no value'),
                        (['--what'], 'there is no option --what'), (['--what', 'x', *run], 'there is no option --what'),
                        (['--metrics'], 'there is no option --metrics: write --status SOCKET metrics'),
                        (['--filter', *run], 'there is no option --filter: write filters without it')):
        status, said = call(CHAIN, *words)
        expect(status == 100 and said.startswith(f'cc-chain: {want}'), f'{words}: {status} {said}')


def statuses():
    """The server's status is handed on; a program that does not exist has one message."""
    expect(call(CHAIN, 'request', '--', 'sh', '-c', 'exit 7')[0] == 7, 'status')
    expect(call(CHAIN, 'request', '--', 'sh', '-c', 'kill -9 $$')[0] == 137, 'signal')
    status, said = call(CHAIN, 'request', '--', '/nothing')
    expect(status == 127 and said.count('\n') == 1, f'{status} {said}')
    port = free_port()
    with Chain(['request']) as chain:
        status, said = call(CHAIN, 'request', '--', SERVER, 'loop', str(chain.port), '/dev/null', 'x')
        expect(status == 111 and 'in use' in said, f'{status} {said}')
    status, said = call(SERVER, 'loop', str(port), '/dev/null', 'check', CC_LIBEXEC=LIBEXEC)
    expect(status == 111 and 'put request before it' in said, f'{status} {said}')
    status, said = call(SERVER, 'loop', str(port), '/dev/null', 'request', CC_LIBEXEC='/nothing')
    expect(status == 111 and 'No such file' in said, f'{status} {said}')


def unasked():
    """Nobody asks for the filters: one message says so, and the server goes on."""
    for seconds in (2, 5, 15):      # a busy machine may not say it sooner
        status, said = call(CHAIN, '--wait', '1', 'request', '--', 'sh', '-c', f'sleep {seconds}; exit 9')
        if said:
            break
    expect(status == 9 and said.count('\n') == 1, f'{status} {said}')
    expect('sh has asked for no filters after 1 s' in said and 'cc-condition' in said, said)
    began = time.monotonic()
    with Chain(['request'], options=['--wait', '2']) as chain:
        until(lambda: once(chain.port)[0] == 200, 'no answer')
        late = time.monotonic() - began > 1.9   # a machine that is so busy may have had the message
        time.sleep(max(0, began + 2.3 - time.monotonic()))
        expect(late or 'asked' not in chain.said(), chain.said())
    for words in (['--wait', '0', 'request'], ['--wait', '86401', 'request'], ['--wait', 'x', 'request'],
                  ['--wait', '1', '--check', 'request']):
        status, said = call(CHAIN, *words, '--', 'true')
        expect(status == 100 and '--wait' in said.splitlines()[0], f'{words} {status} {said}')


def own_chain():
    """A server starts its filters by itself; they end with it."""
    port = free_port()
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen([SERVER, 'prefork', str(port), log.name, 'check', 'persist', 'request'],
                                   env=environment())
        try:
            until(lambda: _up(port), 'it does not answer')
            expect(field(once(port, '/x//y')[1], 'target') == '/x/y', 'the filters')
            chain = [int(p) for p in os.listdir('/proc') if p.isdigit() and _is_chain(p, port)]
            filters = [p for c in chain for l in children(c).values() for p in l]
            expect(len(filters) == 3, f'{chain} {filters}')
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    until(lambda: not any(_alive(p) for p in filters + chain), 'filters are left')


def _up(port):
    try:
        return once(port)[0] == 200
    except OSError:
        return False


def _is_chain(pid, port):
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            words = file.read().split(b'\0')
        return words[:2] == [b'cc-chain', b'--serve'] and b'check' in words and bool(port)
    except OSError:
        return False


def _alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:
            return file.read().split()[2] != 'Z'
    except OSError:
        return False


def load(port, seconds, workers=4, keep=True):
    """Clients that go on for so long; returns [(sent, answered), …] of each."""
    results, end = [], time.monotonic() + seconds

    def work(number):
        sent = answered = 0
        while time.monotonic() < end:
            try:
                with Client(port) as client:
                    for i in range(5 if keep else 1):
                        client.get(f'/{number}-{sent}')
                        sent += 1
                        got = client.answer()[0]
                        if got == 0 and i > 0:      # an idle connection may end; no request was lost
                            sent -= 1
                            break
                        answered += got == 200
            except ConnectionError:
                pass
        results.append((sent, answered))

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(workers)]
    for thread in threads:
        thread.start()
    return threads, results


def changes():
    """Filters are changed under load, by HUP and by command, and not one request fails."""
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as config:
        config.write('# the first plan\nrequest\npriority\n')
        config.flush()
        with Chain([], 'prefork', options=['--config', config.name]) as chain:
            threads, results = load(chain.port, 2.5, keep=False)
            for i in range(6):
                time.sleep(0.3)
                if i % 2:
                    said = chain.ask('chain request check,strip=1 priority')
                    expect(said == 'changed\n', said)
                else:
                    config.seek(0)
                    config.truncate()
                    config.write(['request\n', 'request\nslowread,of=1000\n', 'request\npass\n'][i // 2])
                    config.flush()
                    chain.process.send_signal(signal.SIGHUP)
            for thread in threads:
                thread.join()
            expect(all(sent == answered > 10 for sent, answered in results), f'{results}')
            expect(chain.ask('chain check').startswith('refused: check needs complete'), 'nonsense')
            config.write('nonsense\n')
            config.flush()
            chain.process.send_signal(signal.SIGHUP)
            until(lambda: 'are unchanged' in chain.said(), 'no message')
            expect(once(chain.port, '/a/b')[0] == 200, 'after a refused change')
            until(lambda: len([p for l in chain.filters().values() for p in l]) == 3,
                  f'old filters are left: {chain.filters()}')


def changes_keep_clients():
    """A change of filters does not end connections whose request is incomplete."""
    with Chain(['request']) as chain, chain.client() as client:
        client.send('GET /half HTTP/1.1\r\n')
        until(lambda: chain.metrics().get(('held', 'request')) == 1, 'not held')
        chain.ask('chain request check')
        expect(once(chain.port, '/new')[0] == 200, 'new filters')
        expect('(leaving)' in chain.ask(), 'the old filter does not wait')
        client.send('Host: a\r\n\r\n')
        expect(client.answer()[0] == 200, 'the old connection')
        until(lambda: '(leaving)' not in chain.ask(), 'the old filter does not end')


def drains():
    """TERM: no new clients; those who are there get their answers; the status is the server's."""
    with Chain(['request', 'persist', 'check'], options=['--drain', '20']) as chain:
        idle = chain.client()
        expect(idle.get('/').answer()[0] == 200, 'first')
        half = chain.client()
        half.send('GET /half HTTP/1.1\r\n')
        busy = [chain.client().get('/slow') for _ in range(3)]
        until(lambda: '/slow' in chain.requests(), 'not begun')
        chain.process.send_signal(signal.SIGTERM)
        expect(idle.ended(), 'an idle connection')
        half.send('Host: a\r\n\r\n')
        expect([c.answer()[0] for c in busy] == [200] * 3, 'requests that were there')
        got = half.answer()
        expect(got[0] == 200, f'a request that had begun: {got}')
        expect(chain.process.wait(20) == 0, 'status')


def drain_limit():
    """TERM: clients that do not finish are ended after the time that they have."""
    with Chain(['request'], options=['--drain', '1']) as chain:
        client = chain.client()
        client.send('GET')
        until(lambda: chain.metrics().get(('held', 'request')) == 1, 'not held')
        start = time.monotonic()
        chain.process.send_signal(signal.SIGTERM)
        expect(chain.process.wait(20) == 0 and time.monotonic() - start < 10, 'too long')
        expect(client.ended(), 'not ended')


def state():
    """The state socket shows a table and OpenMetrics; its file goes with the chain."""
    with Chain(['request', 'check']) as chain:
        once(chain.port, '/../x')
        began = time.monotonic()
        with chain.client() as client:
            client.send('GET')

            def aged():
                """The table once it shows an old client; how old it is at most."""
                table = chain.ask()
                found = re.search(r'request +\d+ +\d+ +\d+ +\d+ +1 +(\d+\.\d)s', table)
                return found and float(found[1]) >= 0.2 and (table, float(found[1]), time.monotonic() - began)
            table, age, most = until(aged, 'the client does not grow old')
            metrics = chain.ask('metrics')
        expect(age <= most + 0.1, f'{table} after {most:.2f} s')
        expect(re.search(r'suspicious path +1', table), table)
        expect(metrics.endswith('# EOF\n'), metrics)
        for line in metrics.splitlines():
            expect(re.fullmatch(r'# (TYPE|HELP|UNIT|EOF).*|cc_\w+({[^}]*})? [\d.]+', line), line)
        expect('reason="suspicious path"} 1' in metrics, metrics)
        status, said = call(CHAIN, '--status', chain.state)
        expect(status == 0 and 'request' in said, said)
        status, said = call(CHAIN, '--status', chain.state, 'chain check')
        expect(status == 100, f'{status} {said}')
        expect(chain.ask('nonsense').startswith('refused'), 'an unknown command')
        path = chain.state
    expect(not os.path.exists(path), 'the socket is left')
    expect(call(CHAIN, '--status', path)[0] == 111, 'nobody there')


TESTS = [nonsense, statuses, unasked, own_chain, changes, changes_keep_clients, drains, drain_limit, state]
