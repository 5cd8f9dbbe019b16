"""Faults in front of an unmodified server: filters, the chain, the launcher and workers are killed under load, and
servers reload. What was passed on is answered, nothing hangs, nothing is delivered twice."""

import collections
import contextlib
import os
import random
import signal
import threading
from conditioned import Conditioned, Load, apache, good, missing, nginx
from support import WAIT, Client, Wrong, children, expect, until
from trials import TINY, plain

SEED = int(os.environ.get('CC_TEST_SEED', '1'))
CLIENTS = 6     # requests in flight at a time


class Storm:
    """Clients that send requests with names of their own, one after the other, and what became of them."""

    def __init__(self, port):
        self.port, self.fate, self.wrong, self.stop = port, {}, [], False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(CLIENTS)]

    def run(self, number):
        """One client."""
        count = 0
        while not self.stop:
            target = f'/{"slow" if count % 3 == 0 else "quick"}-{number}-{count}'
            count += 1
            status = 0
            try:
                with Client(self.port) as client:
                    status = client.get(target).answer()[0]
            except TimeoutError:
                self.wrong.append(f'{target} hangs')
                return
            except ConnectionRefusedError:
                return      # the server has ended
            except OSError:
                pass
            with self.lock:
                self.fate[target] = status

    def good(self):
        """How many requests were answered."""
        with self.lock:
            return sum(status == 200 for status in self.fate.values())

    def goes_on(self, requests=20):
        """Waits until so many more requests were answered."""
        before = self.good()
        # Filters that died often are started after pauses of up to 5 s, one after the other.
        until(lambda: self.good() >= before + requests, f'no more answers; failed: {self.failed()[:3]}', 60)

    def failed(self):
        """The requests that were not answered."""
        with self.lock:
            return [target for target, status in self.fate.items() if status != 200]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.end(kind is None)

    def end(self, judge=True):
        """Ends the load. Each client has got an answer or the end of its connection."""
        self.stop = True
        for thread in self.threads:
            thread.join()
        if judge:
            expect(not self.wrong, f'{self.wrong[:3]} (seed {SEED})')


class Logged(Conditioned):
    """The plain server behind filters; its log has what it has seen."""

    def __init__(self, style, *filters, **more):
        super().__init__('python3', lambda place, port: plain(style, f'{place}/log')(place, port), *filters, **more)

    def server(self):
        """The first process; Python's name has a version."""
        found = children(self.process.pid)
        return next(pids[0] for name, pids in found.items() if name.startswith('python'))

    def seen(self):
        """(target, process) of each request that the server has read."""
        with open(f'{self.place}/log', encoding='ascii') as file:
            return [(line.split()[0], int(line.split()[1])) for line in file if '-' in line]

    def filters_of(self, names):
        """The processes of the filters, once all run; else nothing."""
        found = children(self.chain())
        pids = [pid for name in set(names) for pid in found.get(name, [])]
        return pids if len(pids) == len(names) else []


def judge(storm, seen, died=()):
    """Nothing was delivered twice, and what the server has read is answered, unless its process has died."""
    twice = [t for t, n in collections.Counter(t for t, _ in seen).items() if n > 1]
    expect(not twice, f'delivered twice: {twice[:3]} (seed {SEED})')
    lost = [t for t, pid in seen if storm.fate.get(t) == 0 and pid not in died]
    expect(not lost, f'delivered, but not answered: {lost[:3]} (seed {SEED})')


def filters_die(style='prefork', options=()):
    """Filters are killed at random: each takes at most what it held, and what was passed on is answered."""
    names, chance, kills, killed = ['request', 'pass', 'priority'], random.Random(SEED), 8, set()
    with Logged(style, *names, options=options) as server:
        with Storm(server.port) as storm:
            for _ in range(kills):
                storm.goes_on(chance.randrange(1, 20))
                # One that was killed before stays among the children until cc-chain looks.
                victims = until(lambda: killed.isdisjoint(found := server.filters_of(names)) and found, 'filters are missing')
                victim = chance.choice(victims)
                killed.add(victim)
                os.kill(victim, signal.SIGKILL)
            storm.goes_on()
        judge(storm, server.seen())
        expect(len(storm.failed()) <= kills * CLIENTS, f'{len(storm.failed())} failed (seed {SEED})')
        expect(server.said().count('was killed by signal 9; it is restarted') == kills, server.said())


def filters_die_loop():
    """The same in front of a server that waits in epoll."""
    filters_die('epoll')


def chain_dies(style='prefork', options=()):
    """cc-chain is killed again and again: it is started again, and not one request fails."""
    names, chance = ['request', 'pass', 'priority'], random.Random(SEED)
    with Logged(style, *names, options=options) as server:
        with Storm(server.port) as storm:
            old = []
            for _ in range(5):
                old += until(lambda: server.filters_of(names), 'filters are missing')
                storm.goes_on(chance.randrange(CLIENTS + 1, 40))
                chain = until(server.chain, 'there is no chain')
                old.append(chain)
                os.kill(chain, signal.SIGKILL)
                until(lambda: server.chain() not in (0, chain), 'it is not started again')
            storm.goes_on(40)
        judge(storm, server.seen())
        expect(not storm.failed(), f'{storm.failed()[:5]} (seed {SEED}) {server.said()}')
        until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in old), 'old filters have stayed')
        expect(server.said().count('cc-chain was killed by signal 9; it is started again') == 5, server.said())


def chain_dies_loop():
    """The same in front of a server that waits in epoll."""
    chain_dies('epoll')


def chain_and_filters_die():
    """cc-chain and filters are killed, at any time of the start of others: nothing hangs, it serves again."""
    names, chance, kills = ['request', 'pass'], random.Random(SEED), 20
    with Logged('prefork', *names) as server:
        with Storm(server.port) as storm:
            killed = chains = 0
            while killed < kills:
                chain = server.chain()
                # After six deaths within a second of its start, it would not be started again.
                pids = [chain] * (chain != 0 and chains < 5) + [p for l in children(chain).values() for p in l]
                with contextlib.suppress(ProcessLookupError, IndexError):
                    victim = chance.choice(pids)
                    os.kill(victim, signal.SIGKILL)
                    killed += 1
                    chains += victim == chain
            storm.goes_on()
        judge(storm, server.seen())


def broken_chain():
    """A chain that cannot stay alive ends the server, with one message of the end."""
    with Logged('prefork', 'request') as server:
        good(server.port)
        for _ in range(100):
            chain = server.chain()
            with contextlib.suppress(ProcessLookupError):
                if chain:
                    os.kill(chain, signal.SIGKILL)
            if server.process.poll() is not None:
                break
            with contextlib.suppress(Wrong):
                until(lambda: server.chain() not in (0, chain) or server.process.poll() is not None, '', 2)
        expect(server.process.wait(WAIT) == 69, 'the status is not 69')
        expect(server.said().count('ends as soon as it is started') == 1, server.said())


def launcher_dies(style='prefork', options=()):
    """The launcher is killed under load: the server ends, and what it had read is answered."""
    with Logged(style, 'request', 'priority', options=options) as server:
        pids = [server.process.pid, server.server(), server.chain()]
        pids += [p for l in children(server.server()).values() for p in l]
        pids += [p for l in children(server.chain()).values() for p in l]
        with Storm(server.port) as storm:
            storm.goes_on()
            server.process.kill()
            server.process.wait()
            until(lambda: not any(os.path.exists(f'/proc/{p}') for p in pids[1:]), 'processes have stayed')
        judge(storm, server.seen())


def guard_dies():
    """The process that ends the server with the launcher is started again."""
    with Logged('prefork', 'request') as server:
        good(server.port)
        guard = children(server.process.pid)['cc-condition'][0]
        os.kill(guard, signal.SIGKILL)
        until(lambda: children(server.process.pid).get('cc-condition', [guard])[0] != guard, 'there is no guard')
        good(server.port)
        pids = [server.server(), server.chain(), *(p for l in children(server.server()).values() for p in l)]
        server.process.kill()
        server.process.wait()
        until(lambda: not any(os.path.exists(f'/proc/{p}') for p in pids), 'processes have stayed')


def workers_die(style='prefork', options=()):
    """Workers are killed: only what each had in hand is lost."""
    chance, died = random.Random(SEED), set()
    with Logged(style, 'request', options=options) as server:
        with Storm(server.port) as storm:
            for _ in range(15):
                storm.goes_on(chance.randrange(1, 12))
                workers = until(lambda: [p for l in children(server.server()).values() for p in l], 'no workers')
                victim = chance.choice(workers)
                died.add(victim)
                os.kill(victim, signal.SIGKILL)
            storm.goes_on()
        seen = server.seen()
        judge(storm, seen, died)
        unseen = set(storm.failed()) - {t for t, _ in seen}
        # A process that dies between accept and its line in the log has had one request in hand.
        expect(len(unseen) <= len(died), f'lost: {sorted(unseen)[:5]} of {len(died)} (seed {SEED})')


def first_dies(command, name, status, options=(), number=signal.SIGTERM, kill=True):
    """The first process ends and others go on: one message, they serve, and a signal ends them all."""
    with Conditioned(name, command, 'request', options=options) as server:
        good(server.port)
        pids = [server.server(), *(p for l in children(server.server()).values() for p in l)]
        if kill:
            os.kill(pids[0], signal.SIGKILL)
            until(lambda: 'others of it go on; signals are sent' in server.said(), 'there is no message')
            good(server.port, 5)
            os.kill(server.chain(), signal.SIGKILL)     # another chain is started for them
            good(server.port, 5)
        server.process.send_signal(number)
        got = server.process.wait(WAIT)
        expect(got == status, f'{got}: {server.said()}')
        expect(len(pids) > 1, 'there are no others')
        until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in pids), f'{pids} have stayed')
        expect(server.said().count('the first process of ') == 1, server.said())


def first_process_dies():
    """The first process dies and others go on: a message says so, and signals end them all in bounded time."""
    def worker(before):
        return lambda _, port: ['sh', '-c', f'({before} {TINY} {port}) & wait']
    if not missing('nginx'):
        first_dies(nginx, 'nginx', 128 + signal.SIGKILL)
        first_dies(nginx, 'nginx', 128 + signal.SIGKILL, ['--by', 'preload'], signal.SIGINT)
    first_dies(worker('exec setsid'), 'sh', 128 + signal.SIGKILL)   # it has left the process group
    first_dies(worker('trap "" TERM; exec setsid'), 'sh', 128 + signal.SIGKILL)
    first_dies(worker('exec'), 'sh', 128 + signal.SIGTERM, kill=False)
    return missing('nginx')


def nginx_workers_die():
    """Workers of nginx are killed: each takes at most the requests in flight."""
    if missing('nginx'):
        return missing('nginx')
    with Conditioned('nginx', nginx, 'request') as server:
        with Load(server.port) as load:
            for _ in range(6):
                load.goes_on(10)
                workers = until(lambda: children(server.server()).get('nginx'), 'no workers')
                os.kill(workers[0], signal.SIGKILL)
            load.goes_on(20)
        expect(len(load.failed) <= 6 * len(load.threads), f'{load.failed[:3]}')
    return ''


def reloads(name, command, number, filters, options=()):
    """A server reloads five times under load."""
    with Conditioned(name, command, *filters, options=options) as server:
        with Load(server.port) as load:
            for _ in range(5):
                load.goes_on(15)
                before = set(children(server.server()).get(name, []))
                server.process.send_signal(number)
                # New workers answer, and the old ones have ended.
                until(lambda: not before & set(children(server.server()).get(name, [])), 'no reload')
            load.goes_on(15)
        expect(not load.failed, f'failed: {load.failed[:3]}')
    return ''


def nginx_reloads():
    """nginx reloads five times under load: not one failed request."""
    return missing('nginx') or reloads('nginx', nginx, signal.SIGHUP, ['request', 'pass'])


def apache_prefork_reloads():
    """Apache prefork reloads five times under load: not one failed request."""
    return missing('apache2') or reloads('apache2', apache('prefork'), signal.SIGUSR1, ['request', 'priority'])


def apache_event_reloads():
    """Apache event reloads five times under load: not one failed request."""
    return missing('apache2') or reloads('apache2', apache('event'), signal.SIGUSR1, ['request', 'priority'])


TESTS = [filters_die, filters_die_loop, chain_dies, chain_dies_loop, chain_and_filters_die, broken_chain,
         launcher_dies, guard_dies, workers_die, first_process_dies, nginx_workers_die, nginx_reloads, apache_prefork_reloads, apache_event_reloads]
