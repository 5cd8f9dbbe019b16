#!/usr/bin/env python3
"""Attacks on servers: what other clients notice, and whether anything remains afterwards.

For each model and each attack: the slowest 1 % of other clients' requests may take twice what they
take undisturbed, measured in the same run by turns; the server keeps within the memory that it
promised; afterwards no descriptor is left, the counters add up, TERM ends it with status 0. Must not
know: how anything is attacked or measured.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import scribble                                                     # noqa: E402
import watch                                                        # noqa: E402
from support import sample                                          # noqa: E402
from support.nest import ONE_CLIENT, SOCKET_MODELS, Failed, program, run    # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Server                                   # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, ROUND = 3, 0.4      # pairs of rounds; seconds of each
AGAIN = 3                   # as often, if noise is to blame
FLOOR = 20                  # ms: a machine with two processors cannot promise less
LEAVE = 20                  # seconds for what an attack held to be given back
DISK = '4m'
REACHED = {'memory': r'Cannot allocate memory|Resource temporarily unavailable|[1-9]\d* gone',  # what a server says
           'descriptors': 'Too many open files'}
LITTLE = {'thread': 64 << 10, 'event': 512 << 10, 'uring': 512 << 10}   # bytes; the attackers want several times as much


class Fault:
    """What is tried: an attack, and under which conditions."""

    def __init__(self, about, attack, count, newcomers=True, options=(), limit=None, disk=False,
                 kills=False):
        self.about, self.attack, self.count, self.newcomers = about, attack, count, newcomers
        self.options, self.limit, self.disk, self.kills = options, limit, disk, kills


def faults(model):
    """All for a model; counts are what its kind can hold."""
    many = {'thread': 1000, 'event': 10_000, 'uring': 10_000}.get(model, 200)
    some = 100 if model in ONE_CLIENT else 200
    room = many + 64
    roomy = (f'maxClients={room}',)
    few = (f'maxClients={some + 64}',)
    return {
        'silent': Fault(f'{many:,} silent connections', 'silent', many, options=roomy),
        'slow-head': Fault(f'slowhttptest: {some} slow heads', 'slow-head', some, options=few),
        'slow-body': Fault(f'slowhttptest: {some} slow bodies', 'slow-body', some, options=few),
        'slow-range': Fault(f'slowhttptest: {some} range requests', 'slow-range', some, options=few),
        'slow-read': Fault(f'slowhttptest: {some} slow readers', 'slow-read', some, options=few),
        'endless': Fault('100 MB without a line end', 'endless', 1),
        'never-reads': Fault('50 clients that never read', 'never-reads', 50),
        # A process serves one connection and is forked anew: who comes in a flood waits behind it.
        'flood': Fault('a flood of connections', 'flood', 1, newcomers=model != 'process'),
        'disk-full': Fault('a disk that is full', 'fills', 1, disk=True),
        'memory': Fault('limits of memory reached', 'halves', some, newcomers=False,
                        options=few, limit='memory'),
        'descriptors': Fault('RLIMIT_NOFILE reached', 'crowd', 250, newcomers=False,
                             limit='descriptors'),
        # A newcomer may be with a worker that is killed. The other models have one worker, which takes
        # all clients along: see killed().
        'kill': Fault('workers killed by SIGKILL', 'crowd', 20, newcomers=False, kills=True),
    }


class Attacker:
    """The attack as a process."""

    def __init__(self, fault, port):
        self.fault, self.port, self.process = fault, port, None

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, 'attack.py'), self.fault.attack, str(self.port),
             str(self.fault.count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        if not ready or self.process.stdout.readline() != 'ready\n':
            self.process.kill()
            raise Failed('the attack did not come about within 60 s')

    def __exit__(self, *_):
        try:
            said, _ = self.process.communicate('', 60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed('the attack did not end') from None
        for line in said.splitlines():
            word, number = line.split()
            if word == 'refused' and int(number) <= 0:
                raise Failed('an upload to a full disk was not answered by 507')


class Killer:
    """Kills workers that serve none of the others, one after the other, while these are served."""

    def __init__(self, server, others):
        self.server, self.spared = server, others.pids() | {server.process.pid}
        self.killed, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self._kill, daemon=True)

    def _kill(self):
        while not self.over.wait(0.05):
            found = [pid for pid in self.server.family() if pid not in self.spared]
            if found:
                try:
                    os.kill(random.choice(found), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass        # it ended by itself meanwhile

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def confine(server, limit, model):
    """Takes from a running server what it has not got yet, but for a little."""
    for pid in server.family():
        if limit == 'descriptors':
            most = len(os.listdir(f'/proc/{pid}/fd')) + 20
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        elif limit == 'memory':
            # Address space alone would not do: the C library reserves it for threads by 64 MB, and
            # what it makes writable of that later is held to RLIMIT_DATA only.
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                status = file.read()
            for kind, name in ((resource.RLIMIT_AS, 'VmSize'), (resource.RLIMIT_DATA, 'VmData')):
                now = int(re.search(rf'{name}:\s+(\d+) kB', status).group(1)) << 10
                resource.prlimit(pid, kind, (now + LITTLE[model],) * 2)


def rounds(attacked, others, fault, server):
    """Medians of the p99s, undisturbed and disturbed, by turns; the most memory it had."""
    calm, under, most = [], [], 0
    for _ in range(ROUNDS):
        calm.append(others.p99(ROUND, fault.newcomers))
        with attacked():
            under.append(others.p99(ROUND, fault.newcomers))
            most = max(most, watch.memory(server))
    return statistics.median(calm), statistics.median(under), most


def given_back(server, before):
    """Waits until no process has more descriptors than before; what is left otherwise."""
    end = time.monotonic() + LEAVE
    while (now := watch.descriptors(server)) > before:
        if time.monotonic() > end:
            return f'{now - before} descriptors more than before, {LEAVE} s later'
        time.sleep(0.1)
    return None


def words(binary, fault):
    """The command line of its server; on a small disk of its own if it needs one."""
    if not fault.disk:
        return [binary]
    mount = f'mkdir disk && mount -t tmpfs -o size={DISK} none disk && exec "$0" "$@"'
    alone = ['unshare', '-m'] if os.geteuid() == 0 else ['unshare', '-Urm']
    return alone + ['sh', '-c', mount, binary]


def attempt(binary, model, fault):
    """One fault; (numbers, what is wrong or None)."""
    options = fault.options + (('fileRoot=disk',) if fault.disk else ())
    with Server(words(binary, fault), options=options) as server:
        others = watch.Others(server)
        others.p99(0.2, fault.newcomers)
        if fault.limit:
            confine(server, fault.limit, model)
        before, base = watch.descriptors(server), watch.memory(server)
        killers = []

        def attacked():
            attack = contextlib.ExitStack()
            attack.enter_context(Attacker(fault, server.port))
            if fault.kills:
                killers.append(Killer(server, others))
                attack.enter_context(killers[-1])
            return attack

        for left in reversed(range(AGAIN)):
            calm, under, most = rounds(attacked, others, fault, server)
            allowed = max(2 * calm, FLOOR)
            if under <= allowed or left == 0:
                break
        numbers = f'p99 {calm:.2f} -> {under:.2f} ms, {(most - base) / 1024:+.1f} MB'
        if under > allowed:
            return numbers, f'p99 {under:.2f} ms, allowed {allowed:.2f}'
        promised = watch.bound(server.ready)
        if promised is None:
            return numbers, f'its first line promises no bound of memory: {server.ready}'
        if most - base > promised:
            return numbers, f'{most - base} KB more, promised were {promised:.0f}'
        left = given_back(server, before)
        if left:
            return numbers, left
        if fault.kills and sum(killer.killed for killer in killers) == 0:
            return numbers, 'nobody could be killed'
        others.p99(0.2, True)       # newcomers are served, whatever was short before
        others.close()
        status = server.stop()
        said = server.rest()
        count, wrong = watch.adds_up(said)
        if status != 0:
            return numbers, f'status {status} after TERM\n{server.said()}'
        if fault.limit and not re.search(REACHED[fault.limit], said + server.said()):
            return numbers, f'the limit was not reached\n{said}{server.said()}'
        if wrong or count < len(others.clients):
            return numbers, wrong or f'only {count} clients are counted\n{server.said()}'
        return f'{numbers}, {count} clients', None


def killed(binary):
    """The one worker of a thread or event server is killed: another takes its place; (numbers, what
    is wrong)."""
    with Server([binary]) as server:
        workers, deadline = [], time.monotonic() + 5      # it listens before there is one
        while not workers:
            workers = [pid for pid in server.family() if pid != server.process.pid]
            if not workers and time.monotonic() > deadline:
                return '', 'nobody serves but the process that listens'
        others, start = watch.Others(server), time.monotonic()
        os.kill(workers[0], signal.SIGKILL)
        others.close()
        while True:
            try:
                again = watch.Others(server)
                again.p99(0.1, True)
                break
            except (Failed, OSError) as error:
                if time.monotonic() > start + LEAVE:
                    return '', f'nobody is served {LEAVE} s later: {error}'
                time.sleep(0.01)
        took = time.monotonic() - start
        again.close()
        status = server.stop()
        count, wrong = watch.adds_up(server.rest())
        if status != 0:
            return '', f'status {status} after TERM\n{server.said()}'
        return f'served again after {took:.2f} s, {count} clients', wrong


def main():
    """Runs all; the exit status."""
    names = [*faults('event'), 'scribble']
    parser = argparse.ArgumentParser(
        description='Attacks servers of every model, and looks at what others notice.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    parser.add_argument('--model', action='append', choices=SOCKET_MODELS,
                        help='only this (default: one that CHECK_SEED draws; CHECK_ALL=1: all)')
    parser.add_argument('--only', action='append', choices=names, help='only this fault')
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    report = Report('faults')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-faults-') as folder:
        report.note(sample.described())
        for model in options.model or sample.some(SOCKET_MODELS, 1):
            report.heading(f'{model}: other clients, undisturbed -> attacked; memory; all clients')
            binary = os.path.join(folder, model)
            run([nest, 'build', os.path.join(HERE, 'faults.nest'), '--model', model, '-o', binary],
                CFLAGS='')      # as users build it: times and memory are compared
            for name, fault in faults(model).items():
                if options.only and name not in options.only:
                    continue
                if fault.limit and model in ONE_CLIENT:
                    report.skip(model, fault.about, 'a process has one connection, and never that much')
                    continue
                try:
                    if fault.kills and model not in ONE_CLIENT:
                        numbers, wrong = killed(binary)
                    else:
                        numbers, wrong = attempt(binary, model, fault)
                except Failed as error:
                    numbers, wrong = '', error
                report.line(wrong is None, model, fault.about, numbers, wrong or '')
            if not options.only or 'scribble' in options.only:
                run([nest, 'build', '--tls', os.path.join(HERE, 'scribble.nest'), '--model', model, '-o',
                     binary], CFLAGS='')        # keys of tickets are shared, too
                numbers, wrong = scribble.check(binary, model)
                report.line(wrong is None, model, 'shared memory overwritten', numbers, wrong or '')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'faults: {error}')
