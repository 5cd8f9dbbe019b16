"""cc-condition --change: a running chain gets other filters, under load."""

import os
import signal
import subprocess
from conditioned import CONDITION, good
from faults import Storm, judge
from states import Shown, metrics, status, value
from support import WAIT, Client, environment, expect, until


def change(path, *filters):
    """What --change says: (exit status, output and messages)."""
    chosen = [word for name in filters for word in ('--filter', name)]
    done = subprocess.run([CONDITION, '--change', '--state', path, *chosen], capture_output=True, text=True,
                          check=False, timeout=WAIT, env=environment())
    return done.returncode, done.stdout + done.stderr


def runs(server):
    """The filters that the chain has now, in their order."""
    lines = status(server.state)[1].split('(leaving)')[0].splitlines()[2:]
    return [line.split()[0] for line in lines if line[:1].isalpha()]


def under_load():
    """Filters are added, removed and get other options under load: not one request fails."""
    plans = (['request', 'pass', 'priority'], ['request,timeout=5s'], ['slowread', 'request', 'check,slashes=refuse'],
             ['pass', 'pass'], ['request,timeout=7s', 'pass'])
    with Shown('request', 'pass') as server:
        with Storm(server.port) as storm:
            for plan in plans:
                storm.goes_on(30)
                got = change(server.state, *plan)
                expect(got == (0, 'changed\n'), f'{plan}: {got}')
                expect(runs(server) == [text.split(',')[0] for text in plan], f'{plan}: {runs(server)}')
            storm.goes_on(30)
        judge(storm, server.seen())
        expect(not storm.failed(), f'{storm.failed()[:5]} {server.said()}')
        until(lambda: '(leaving)' not in status(server.state)[1], 'old filters have stayed')


def held_stays():
    """A client that the old filters hold is served when its request is complete; new options hold at once."""
    with Shown('request', 'pass') as server:
        good(server.port)
        with Client(server.port) as begun:
            begun.send('GET /index.html HTTP/1.1\r\nHost: a\r\n')
            until(lambda: any(line.split()[5:6] == ['1'] for line in status(server.state)[1].splitlines()
                              if line.startswith('request')), 'the filter does not hold it')
            expect(change(server.state, 'request,head=64') == (0, 'changed\n'), 'the change')
            begun.send('Connection: close\r\n\r\n')
            expect(begun.answer()[0] == 200, 'what the old filter held')
        with Client(server.port) as long:
            long.send('GET /index.html HTTP/1.1\r\nHost: a\r\nX: ' + 100 * 'x' + '\r\n\r\n')
            expect(long.answer()[0] == 431, 'the new limit')


def handed_over():
    """What the old filters have passed on, and the server has not asked for, counts as accepted by the new ones."""
    many = 6
    with Shown('request', style='once', options=['--ready', '1']) as server:
        good(server.port)
        os.kill(server.server(), signal.SIGSTOP)
        clients = [Client(server.port).get('/') for _ in range(many)]
        until(lambda: value(metrics(server.state)[0], 'cc_held', 0) == many - 1, 'the server has asked for more than one')
        expect(change(server.state, 'request,timeout=9s') == (0, 'changed\n'), 'the change')
        os.kill(server.server(), signal.SIGCONT)
        for client in clients:
            expect(client.answer()[0] == 200, 'not answered')
            client.close()
        samples = metrics(server.state)[0]
        passed, accepted = (value(samples, f'cc_{name}_total', 0) for name in ('passed', 'accepted'))
        expect(passed == accepted == many - 1, f'{passed} of {accepted}')


def refused():
    """A filter that makes no sense is refused with the reason, and the old filters stay."""
    with Shown('request', 'pass') as server:
        for plan, why in ((['check,slashes=refuse'], 'check needs complete requests'),
                          (['request', 'nothing'], 'there is no filter nothing'),
                          (['request,timeout=soon'], 'refused: request: timeout must be a time from'),
                          (['request', 'persist'], 'persist needs a server that uses the library'),
                          (['a b'], 'filters without blanks')):
            code, text = change(server.state, *plan)
            expect(code == 2 and why in text, f'{plan}: {code} {text}')
            expect(runs(server) == ['request', 'pass'], f'{plan}: {runs(server)}')
        good(server.port, 3)
    for words, why in ((['--state', 'x'], '--change needs filters'), (['--filter', 'pass'], '--change needs --state'),
                       (['--state', 'x', '--filter', 'pass', '--', 'true'], '--change starts nothing'),
                       (['--state', 'x', '--filter', 'pass', '--check'], '--change starts nothing')):
        done = subprocess.run([CONDITION, '--change', *words], capture_output=True, text=True, check=False,
                              timeout=WAIT, env=environment())
        expect(done.returncode == 2 and why in done.stderr, f'{words}: {done}')
    code, text = change('/there/is/none', 'pass')
    expect(code == 69 and 'nothing answers at /there/is/none' in text, f'{code} {text}')


def survives():
    """A chain that dies after a change is started again with the filters of the last change."""
    with Shown('request', 'pass') as server:
        for plan in (['request,timeout=4s', 'priority', 'pass'], ['request']):
            expect(change(server.state, *plan) == (0, 'changed\n'), 'the change')
            expect(change(server.state, 'check')[0] == 2, 'nonsense')
            chain = until(server.chain, 'there is no chain')
            os.kill(chain, signal.SIGKILL)
            until(lambda chain=chain: server.chain() not in (0, chain), 'it is not started again')
            until(lambda: status(server.state)[0] == 0, 'it does not answer')
            good(server.port, 3)
            expect(runs(server) == [text.split(',')[0] for text in plan], f'{plan}: {runs(server)}')


TESTS = [under_load, held_stays, handed_over, refused, survives]
