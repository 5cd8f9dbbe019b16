"""Kills: filters, servers and the chain die at any time; no request is delivered twice, nothing hangs."""

import collections
import os
import random
import resource
import signal
import socket
import threading
import time
from chains import _alive
from serving import state
from support import Chain, Client, children, descriptors, expect, once, until

SEED = int(os.environ.get('CC_TEST_SEED', '1'))


CLIENTS, KILLS, BETWEEN = 6, 12, 15     # answers between two kills: a slow machine is killed less often


def storm(filters, victims, each=3):
    """Load while processes are killed. Returns what became of the requests, by target."""
    chance = random.Random(SEED)
    fate, lock = {}, threading.Lock()
    with Chain(filters, 'prefork') as chain:
        over = threading.Event()

        def client(number):
            count = 0
            while not over.is_set():
                try:
                    with Client(chain.port) as c:
                        for _ in range(each):
                            target = f'/{number}-{count}'
                            count += 1
                            c.get(target)
                            status = c.answer()[0]
                            with lock:
                                fate[target] = status
                            if status == 0:
                                break
                except OSError as error:
                    # A timeout would mean that a request hangs.
                    expect(not isinstance(error, TimeoutError), 'a request hangs')

        problems = []

        def guarded(number):
            try:
                client(number)
            except Exception as error:      # shown by the main thread
                problems.append(error)

        def answered():
            with lock:
                return sum(status == 200 for status in fate.values())

        threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        killed = 0
        try:
            while killed < KILLS:
                enough = answered() + BETWEEN
                until(lambda: problems or answered() >= enough, 'no answers any more')
                time.sleep(chance.uniform(0, 0.03))
                pids = until(lambda: problems or victims(chain), 'nobody can be killed')
                if problems:
                    break
                try:
                    os.kill(chance.choice(pids), signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        finally:
            over.set()
            for thread in threads:
                thread.join()
        expect(not problems, f'{problems[:3]} (seed {SEED})')
        until(lambda: once(chain.port)[0] == 200, 'it does not serve any more')
        chain.balanced()
        seen = collections.Counter(t for t in chain.requests() if '-' in t)
        twice = [t for t, n in seen.items() if n > 1]
        expect(not twice, f'delivered twice: {twice[:9]} (seed {SEED})')
    return fate, seen, killed


def filters_die():
    """Filters die under load. What was passed on is answered; what one held is lost at most."""
    fate, seen, _ = storm(['request', 'persist', 'check', 'priority'],
                       lambda c: [p for l in c.filters().values() for p in l])
    passed_on = [t for t in seen if fate.get(t) == 0]
    expect(not passed_on, f'delivered, but not answered: {passed_on[:9]} (seed {SEED})')
    good = sum(status == 200 for status in fate.values())
    expect(good > len(fate) / 2, f'{good} of {len(fate)} were answered')


def children_die():
    """Processes of the server die under load: only what they had in hand is lost."""
    fate, seen, killed = storm(['request', 'priority'], lambda c: children(c.server()).get('test-server', []), each=1)
    lost = [t for t, status in fate.items() if status == 0 and t not in seen]
    # A process that dies between cc_accept and its first write to the log has had the request in hand.
    expect(len(lost) <= killed, f'lost: {lost[:9]} of {len(fate)}, {killed} died (seed {SEED})')


def undelivered_again():
    """A request that waits in the socket of a process that dies goes to another process."""
    with Chain(['request', 'priority'], 'prefork') as chain:
        workers = until(lambda: children(chain.server()).get('test-server'), 'no workers')
        once(chain.port)
        # One that sleeps has asked for a client.
        until(lambda: all(state(pid) == 'S' for pid in workers), 'they do not wait')
        # All workers are stopped with their demand out; each gets a request that it does not read.
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        clients = [chain.client().get(f'/{i}') for i in range(len(workers))]
        until(lambda: chain.metrics()['passed', 'priority'] >= 1 + len(workers), 'not passed')
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        expect([c.answer()[0] for c in clients] == [200] * len(clients), 'lost')
        expect(len(chain.requests()) == 1 + len(workers), f'twice: {chain.requests()}')
        chain.balanced()


def unread_again():
    """What is unread in the socket of a filter that dies goes to the next one, once, and no descriptor is left."""
    with Chain(['request', 'pass'], 'prefork') as chain:
        expect(once(chain.port)[0] == 200, 'it does not serve')
        request = chain.filters()['request'][0]
        until(lambda: chain.metrics()['passed', 'pass'] == 1, 'not passed')
        before = descriptors(request)
        for number in range(3):
            victim = until(lambda: chain.filters().get('pass'), 'it is not restarted')[0]
            expect(once(chain.port, f'/once{number}')[0] == 200, 'it does not serve')
            os.kill(victim, signal.SIGSTOP)
            passed = chain.metrics()['passed', 'request']
            clients = [chain.client().get(f'/{number}-{i}') for i in range(8)]
            until(lambda: chain.metrics()['passed', 'request'] >= passed + 8, 'not passed')
            os.kill(victim, signal.SIGKILL)
            expect([c.answer()[0] for c in clients] == [200] * 8, 'lost')
        expect(len(set(chain.requests())) == len(chain.requests()) == 1 + 3 * 9, f'{chain.requests()}')
        chain.balanced()
        until(lambda: descriptors(request) <= before, f'{descriptors(request)} descriptors, not {before}')


def few_descriptors():
    """A filter that has too few descriptors for what waits loses nothing of it."""
    with Chain(['request', 'slowread,of=1000', 'pass'], 'loop') as chain:
        expect(once(chain.port)[0] == 200, 'it does not serve')
        old = chain.filters()['pass'][0]
        resource.prlimit(chain.process.pid, resource.RLIMIT_NOFILE, (34, 34))
        os.kill(old, signal.SIGKILL)
        new = until(lambda: [p for p in chain.filters().get('pass', []) if p != old], 'it is not restarted')[0]
        first = chain.client().get('/hold')
        until(lambda: '/hold' in chain.requests(), 'not begun')
        clients = [chain.client().get(f'/{i}') for i in range(40)]
        until(lambda: chain.metrics()['passed', 'slowread'] > 1 + 12, 'not passed')
        expect([c.answer()[0] for c in [first, *clients]] == [200] * 41, 'lost')
        expect(len(chain.requests()) == 42, f'twice: {chain.requests()}')
        expect(chain.filters()['pass'] == [new], 'it has died')


def passed_before_death():
    """What a filter passed on before it died is served."""
    with Chain(['request', 'pass'], 'loop') as chain:
        client = chain.client().get('/hold')
        until(lambda: '/hold' in chain.requests(), 'not begun')
        os.kill(chain.server(), signal.SIGSTOP)
        clients = [chain.client().get(f'/{i}') for i in range(5)]
        until(lambda: chain.metrics().get(('held', 'pass')) == 5, 'not there')
        os.kill(chain.filters()['request'][0], signal.SIGKILL)
        os.kill(chain.server(), signal.SIGCONT)
        expect(all(c.answer()[0] == 200 for c in [client, *clients]), 'lost')
        expect('was killed by signal 9; it is restarted' in chain.said(), chain.said())


def chain_dies():
    """Without cc-chain the filters go on, and end with the server, so the port is free."""
    with Chain(['request', 'priority'], 'prefork') as chain:
        expect(once(chain.port)[0] == 200, 'it does not serve at first')
        filters = [p for l in chain.filters().values() for p in l]
        server = chain.server()
        chain.process.kill()
        chain.process.wait()
        expect(once(chain.port)[0] == 200, 'it does not serve')
        os.killpg(server, signal.SIGKILL)
        until(lambda: not any(_alive(p) for p in filters), 'filters are left')
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(('', chain.port))
            s.listen()
        os.unlink(chain.state)


def broken_filter():
    """A filter that dies at once is not started in a tight loop, and the rest waits for it."""
    with Chain(['request', 'pass']) as chain:
        end = time.monotonic() + 2
        deaths = set()      # one that has died stays among the children until cc-chain looks
        while time.monotonic() < end:
            for pid in chain.filters().get('pass', []):
                try:
                    os.kill(pid, signal.SIGKILL)
                    deaths.add(pid)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        expect(len(deaths) < 40, f'{len(deaths)} deaths in 2 s')
        expect(once(chain.port)[0] == 200, 'it does not recover')


TESTS = [filters_die, children_die, undelivered_again, unread_again, few_descriptors, passed_before_death, chain_dies, broken_filter]
