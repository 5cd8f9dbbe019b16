#!/usr/bin/env python3
"""examples/memcached over sockets, in every model and with two dispatchers: libmemcached's memccapable, drawn
commands beside Debian's memcached, its limits, and linearizability while workers are killed.

usage: run.py [MODEL ...]

Must not know: how the cache works.
"""

import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(1, HERE)
import commands                                                     # noqa: E402
import item                                                         # noqa: E402
import meta                                                         # noqa: E402
import upstream                                                     # noqa: E402
from reference import Reference                                     # noqa: E402
from support.cases import attempt                                   # noqa: E402
from support.linear import Call, Undecided, explained                          # noqa: E402
from support.nest import ROOT, SOCKET_MODELS, Failed, one_client, program, run    # noqa: E402
from support.report import Report                                   # noqa: E402
from support.sample import ALL, SEED, one, some                          # noqa: E402
from support.server import Client, Server                           # noqa: E402

LIMIT = 60                      # seconds until something must have happened
SPEC = f'{ROOT}/examples/memcached/memcached.nest'
SEQUENCES, EACH = (400, 40) if ALL else (40, 40)
WRITERS, CALLS, KEYS = 6, 400 if ALL else 80, ['p', 'q', 'r']
FRESH = 'all workers end, and the variables of %shared get their initial values'


def equal(what, found, wanted):
    """Raises Failed unless they are equal."""
    if found != wanted:
        raise Failed(f'{what}: {found!r}, not {wanted!r}')


def asked(client, text, end=b'\r\n'):
    """The answer, up to this end; '' if the connection ended before."""
    client.send(text)
    got = b''
    while not got.endswith(end):
        more = client.socket.recv(1 << 16)
        if not more:
            return b''
        got += more
    return got


def counters(client):
    """What `stats` tells."""
    text = asked(client, b'stats\r\n', b'\r\nEND\r\n').decode()
    return {name: int(number) for name, number in re.findall(r'STAT (\w+) (\d+)\r\n', text)}


def capable(server):
    """memccapable finds no fault"""
    text = run(['memccapable', '-a', '-h', '127.0.0.1', '-p', str(server.port), '-t', '30'])
    equal('passed', len(re.findall(r'\[pass\]', text)), 27)
    equal('the end', 'All tests passed' in text, True)


def alike(server, reference):
    """drawn commands are answered as by memcached"""
    draw = random.Random(SEED)

    def differ(chosen):
        # memcached writes a shorter number in another way while one of its own threads looks at the item.
        return all(commands.answers(server, chosen) != commands.answers(reference, chosen)
                   for _ in range(3))
    for _ in range(SEQUENCES):
        chosen = [commands.one(draw) for _ in range(EACH)]
        if differ(chosen):
            chosen = commands.fewer(chosen, differ)
            raise Failed(f'{b"".join(chosen)[:600]!r}\nhere: {commands.answers(server, chosen)[:600]!r}\n'
                         f'memcached: {commands.answers(reference, chosen)[:600]!r}')


def accesses(server):
    """meta commands tell the last access, which may change an item, but is not the first fetch"""
    def seconds(client, flags):
        return int(re.fullmatch(rb'HD l(\d+)\r\n', asked(client, b'mg a l' + flags + b'\r\n'))[1])

    def until_seconds(client, what, true):
        begin = time.monotonic()
        while not true(seconds(client, b' u')):
            if time.monotonic() - begin > LIMIT:
                raise Failed(f'not within {LIMIT} s: {what}')
            time.sleep(0.05)
    with Client(server) as client:
        equal('set', asked(client, b'ms a 1\r\n5\r\n'), b'HD\r\n')
        until_seconds(client, 'time passes', lambda number: number >= 3)
        equal('before the first', seconds(client, b'') >= 3, True)
        equal('after the first', seconds(client, b' u') >= 3, True)
        equal('before the second', seconds(client, b'') >= 3, True)
        until_seconds(client, 'the second counts', lambda number: number < 3)
        for text, answer in ((b'add a 0 0 1\r\nx\r\n', b'NOT_STORED\r\n'), (b'ma a\r\n', b'HD\r\n')):
            until_seconds(client, 'time passes', lambda number: number >= 3)
            equal(text, asked(client, text), answer)
            until_seconds(client, f'{text} counts', lambda number: number < 3)


def large(server):
    """1 MB that may be anything, and 20,000 keys in a line"""
    draw = random.Random(SEED)
    value = draw.randbytes(1 << 20)
    with Client(server) as client:
        equal('set', asked(client, b'set big 0 0 1048576\r\n' + value + b'\r\n'), b'STORED\r\n')
        client.send(b'get big\r\n')
        client.expect(b'VALUE big 0 1048576\r\n' + value + b'\r\nEND\r\n')
        equal('append', asked(client, b'append big 0 0 1\r\nx\r\n'), b'NOT_STORED\r\n')
        half = value[:1 << 19]
        equal('set', asked(client, b'set big 0 0 524288\r\n' + half + b'\r\n'), b'STORED\r\n')
        equal('prepend', asked(client, b'prepend big 0 0 3001\r\n' + half[:3001] + b'\r\n'), b'STORED\r\n')
        client.send(b'get big\r\n')
        client.expect(b'VALUE big 0 527289\r\n' + half[:3001] + half + b'\r\nEND\r\n')
        client.send(b'ms big 1048576 k\r\n' + value + b'\r\nmg big v k q\r\nmg big s\r\nmn\r\n')
        client.expect(b'HD kbig\r\nVA 1048576 kbig\r\n' + value + b'\r\nHD s1048576\r\nMN\r\n')
        client.send(b'set k 0 0 1\r\nv\r\n')
        client.expect(b'STORED\r\n')
        sender = threading.Thread(target=client.send, args=(b'get' + b' k none' * 10000 + b'\r\n',))
        sender.start()
        client.expect(b'VALUE k 0 1\r\nv\r\n' * 10000 + b'END\r\n')
        sender.join()


def evicts(server):
    """at the limit what was not used goes, and what is used stays"""
    with Client(server) as client:
        before = counters(client)
        asked(client, b'set used 0 0 4\r\nkept\r\n')
        asked(client, b'set not 0 0 4\r\ngone\r\n')
        value, at = b'v' * 50_000, 0
        while counters(client)['evictions'] < before['evictions'] + 100:
            for _ in range(200):
                client.send(b'set e%d 0 0 %d noreply\r\n%s\r\n' % (at, len(value), value))
                at += 1
            if at > 5000:
                raise Failed(f'no evictions after {at} items')
            time.sleep(1.1)                     # a use is noticed once a second
            equal('used', asked(client, b'get used\r\n', b'END\r\n')[:11], b'VALUE used ')
            asked(client, b'mg not u\r\n')          # no use
        equal('not used', asked(client, b'get not\r\n', b'END\r\n'), b'END\r\n')
        after = counters(client)
        equal('within the limit', after['bytes'] <= after['limit_maxbytes'], True)
        asked(client, b'flush_all\r\n')


def times(server):
    """items expire, and a flush may be later"""
    with Client(server) as client:
        asked(client, b'set short 0 1 1\r\nx\r\n')
        asked(client, b'set long 0 100 1\r\nx\r\n')
        equal('later', asked(client, b'flush_all 3\r\n'), b'OK\r\n')
        for key in (b'short', b'long'):
            begin = time.monotonic()
            while asked(client, b'get %s\r\n' % key, b'END\r\n') != b'END\r\n':
                if time.monotonic() - begin > LIMIT:
                    raise Failed(f'{key} does not end')
                time.sleep(0.05)
        asked(client, b'set long 0 100 1\r\nx\r\n')
        equal('after it', asked(client, b'get long\r\n', b'END\r\n')[:10], b'VALUE long')


def until(server, what, true):
    """Waits until it is true of the counters, asked on a new connection each time."""
    end = time.monotonic() + LIMIT
    while True:
        with contextlib.suppress(OSError), Client(server) as client:
            told = counters(client)
            if told and true(told):
                return
        if time.monotonic() > end:
            raise Failed(f'not within {LIMIT} s: {what}; {told}\n{server.said()}')
        time.sleep(0.02)


def holds(server):
    """what ended connections and killed workers held is let go, and no connection is counted twice"""
    with Client(server) as part, Client(server, 4096) as slow:
        part.send(b'set part 0 0 1000000\r\n' + b'x' * 500_000)     # a value that never comes
        asked(slow, b'set slow 0 0 1000000\r\n' + b'y' * 1_000_000 + b'\r\n')
        slow.send(b'get' + b' slow' * 30 + b'\r\n')                  # answers that are not read
        until(server, 'two hold', lambda told: told['held_items'] == 2 and told['curr_connections'] == 3)
    until(server, 'none holds', lambda told: told['held_items'] == 0 and told['curr_connections'] == 1)
    with Client(server) as part, Client(server) as other:
        part.send(b'set part 0 0 1000000\r\n' + b'x' * 500_000)
        other.send(b'ms other 1000000\r\n' + b'x' * 500_000)
        until(server, 'two hold', lambda told: told['held_items'] == 2)
        for pid in server.family():
            if pid != server.process.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        until(server, 'none holds', lambda told: told['held_items'] == 0 and told['curr_connections'] == 1)


# -- the oracle ------------------------------------------------------------------------------------


class Writer:
    """A client that records what it asks and what it is answered, key by key."""

    def __init__(self, server, seed, histories):
        self.server, self.draw, self.histories = server, random.Random(seed), histories
        self.name, self.versions, self.client, self.serial = seed, {}, None, 0

    def _drawn(self, key):
        what, text = self._plain(key)
        if self.draw.randrange(3):
            return what, text
        new = what[1] if len(what) > 1 else ''
        return what, {
            'gets': f'mg {key} c v\r\n', 'incr': f'ma {key} v\r\n', 'delete': f'md {key}\r\n',
            'add': f'ms {key} {len(str(new))} ME\r\n{new}\r\n', 'set': f'ms {key} {len(str(new))}\r\n{new}\r\n',
            'cas': f'ms {key} {len(str(new))} C{what[-1]}\r\n{new}\r\n'}[what[0]]

    def _plain(self, key):
        self.serial += 1
        new, roll = str(self.name % 1000 * 10000 + self.serial), self.draw.randrange(12)
        if roll < 4:
            return ('gets',), f'gets {key}\r\n'
        if roll < 6:
            return ('incr', 1), f'incr {key} 1\r\n'
        if roll < 7:
            return ('delete',), f'delete {key}\r\n'
        if roll < 8:
            return ('add', new), f'add {key} 0 0 {len(new)}\r\n{new}\r\n'
        if roll < 9 or key not in self.versions:
            return ('set', new), f'set {key} 0 0 {len(new)}\r\n{new}\r\n'
        version = self.versions[key]
        return ('cas', new, version), f'cas {key} 0 0 {len(new)} {version}\r\n{new}\r\n'

    def _read_meta(self, key, verb, text):
        got = asked(self.client, text.encode() + b'mn\r\n', b'MN\r\n').decode()
        found = re.fullmatch(r'(\w\w)(?: \d+)?(?: c(\d+))?\r\n(?:([^\r]*)\r\n)?MN\r\n', got)
        if found is None:
            equal('an answer', got, '')
            return None
        code, number, value = found.groups()
        if verb == 'gets':
            if code == 'EN':
                return 'none'
            self.versions[key] = int(number)
            return (value, int(number))
        if code == 'VA':
            return value
        return {'HD': 'DELETED' if verb == 'delete' else 'STORED', 'NS': 'NOT_STORED', 'EX': 'EXISTS',
                'NF': 'NOT_FOUND'}[code]

    def _read(self, key, verb, text):
        if text.startswith('m'):
            return self._read_meta(key, verb, text)
        got = asked(self.client, text.encode(), b'END\r\n' if verb == 'gets' else b'\r\n').decode()
        if got == '':
            return None
        if verb != 'gets':
            return got.strip()
        found = re.fullmatch(r'VALUE \w+ 0 \d+ (\d+)\r\n([^\r]*)\r\nEND\r\n', got)
        if found is None:
            equal('an answer', got, 'END\r\n')
            return 'none'
        self.versions[key] = int(found[1])
        return (found[2], int(found[1]))

    def go(self):
        """Makes all calls, on a new connection after the loss of one."""
        for _ in range(CALLS):
            key = self.draw.choice(KEYS)
            what, text = self._drawn(key)
            call = None
            try:
                if self.client is None:
                    self.client = Client(self.server)
                call = Call(time.monotonic(), what)
                answer = self._read(key, what[0], text)
                if answer is not None:
                    call.end, call.answer = time.monotonic(), answer
            except OSError:
                answer = None
            if call is not None:
                self.histories[key].append(call)        # a list is safe here
            if answer is None:
                self.versions.clear()
                if self.client is not None:
                    self.client.socket.close()
                self.client = None
                time.sleep(0.01)
        if self.client is not None:
            self.client.socket.close()


def linear(exe, options, kills):
    """concurrent commands have one order, also when workers are killed"""
    histories, draw, wrong, marks = {key: [] for key in KEYS}, random.Random(SEED), [], []
    with Server([exe], clients=64, options=options) as server:
        writers = [Writer(server, SEED * 100 + i, histories) for i in range(WRITERS)]

        def guarded(writer):
            try:
                writer.go()
            except (Failed, ValueError) as error:
                wrong.append(error)
        threads = [threading.Thread(target=guarded, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        for turn in range(kills):
            while any(thread.is_alive() for thread in threads) and \
                    sum(map(len, histories.values())) < (turn + 1) * WRITERS * CALLS // (kills + 1):
                time.sleep(0.002)
            workers = [pid for pid in server.family() if pid != server.process.pid]
            if workers:
                marks.append(time.monotonic())
                with contextlib.suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
        for thread in threads:
            thread.join(LIMIT * 2)
            if thread.is_alive():
                raise Failed(f'a client hangs\n{server.said()}')
        anew = server.said().count(FRESH)
    if wrong:
        raise wrong[0]
    for key, calls in histories.items():
        # Where the server said that it began anew, it may have done so at any moment after a kill.
        calls = calls + [Call(mark, ('forget',)) for mark in marks if anew]
        try:
            stuck = explained(calls, item.EMPTY, item.step)
        except Undecided as error:
            raise Failed(f'{key}: undecided: {error}') from error
        if stuck is not None:
            raise Failed(f'{key}: of {len(calls)} calls none of these can come next: {stuck}')


def judges():
    """the oracle accepts what may be, and finds what may not"""
    def call(begin, end, what, answer):
        return Call(begin, what, end, answer)
    fine = [call(0, 1, ('set', '1'), 'STORED'), call(2, 5, ('incr', 1), '3'), call(3, 4, ('incr', 1), '2'),
            call(6, 7, ('gets',), ('3', 9)), call(8, 9, ('cas', '5', 9), 'STORED'), Call(10, ('incr', 1)),
            call(11, 12, ('gets',), ('6', 12))]
    equal('what may be', explained(fine, item.EMPTY, item.step), None)
    bad = {'lost': fine[:1] + [call(2, 4, ('incr', 1), '2'), call(3, 5, ('incr', 1), '2')],
           'old': fine[:1] + [call(2, 3, ('set', '2'), 'STORED'), call(4, 5, ('gets',), ('1', 3))],
           'twice': fine[:4] + [call(8, 10, ('cas', '5', 9), 'STORED'), call(8, 10, ('cas', '6', 9), 'STORED')],
           'version': fine[:4] + [call(8, 9, ('set', '3'), 'STORED'), call(10, 11, ('gets',), ('3', 9))]}
    for name, calls in bad.items():
        if explained(calls, item.EMPTY, item.step) is None:
            raise Failed(f'{name} is accepted')


def compares():
    """the comparison by memcached's own tests accepts what may be, and finds what may not"""
    theirs = upstream.Outcome('1..2\nok 1 - stored 17\nok 2 - key == \'v\'\n', 0)
    ours = upstream.Outcome('1..2\nok 1 - stored 18\nnot ok 2 - key == \'v\'\n', 1)
    more = upstream.Outcome('1..3\nok 1 - stored 1\nok 2\nok 3 - key == \'w\'\n', 0)
    equal('lost', upstream.lost(theirs, ours), ['key', 'the test'])
    equal('more', upstream.lost(theirs, more), [])
    equal('less', upstream.lost(more, theirs), ['statement 2'])
    slab = upstream.Outcome('ok 1 - 1 active slab\n', 1)
    for name, outcome, missing, good in (
            ('cas', theirs, [], True), ('cas', theirs, ['key'], False), ('cas', theirs, ['the test'], False),
            ('watcher', theirs, ['key'], True), ('watcher', theirs, [], False),
            ('64bit', slab, ['# active slab'], True), ('64bit', slab, [], False), ('64bit', slab, ['key'], False)):
        equal(f'{name} without {missing}', upstream.judged(name, outcome, missing) == '', good)


def plainer():
    """answers of meta commands are compared without what differs from server to server, and with all else"""
    here = b'VA 2 t99 c7 l0 f5 kc1\r\nc7\r\nHD c7\r\nME a exp=-99 la=1 cas=7 fetch=no cls=1 size=50\r\nEX c0 t-1\r\n'
    there = here.replace(b't99', b't98').replace(b'c7', b'c41').replace(b'l0', b'l1').replace(b'exp=-99', b'exp=-100')
    there = there.replace(b'la=1 cas=7', b'la=0 cas=41').replace(b'cls=1 size=50', b'cls=2 size=72')
    there = there.replace(b'\r\nc41\r\n', b'\r\nc7\r\n')
    equal('alike', meta.plain(here, {}), meta.plain(there, {}))
    for a, b in ((b't99', b't-1'), (b't99', b't45'), (b'c7 l0', b'c6 l0'), (b'f5', b'f6'), (b'VA 2', b'VA 3'),
                 (b'l0', b'l5'), (b'EX c0', b'EX c9'), (b'cas=7', b'cas=8'), (b'no', b'yes'), (b'\nc7', b'\nc8')):
        equal(f'{a} is not {b}', meta.plain(here, {}) != meta.plain(here.replace(a, b), {}), True)


def checks(report, who, exe, reference, slow, options=()):
    """All checks of a server, or those that are quick."""
    def case(name, check):
        attempt(report, who, 'memcached', name, check)
    try:
        with Server([exe], clients=32, options=options) as server:
            for check in (capable, large, *((times, evicts, accesses) if slow else ()), holds):
                case(check.__doc__, lambda check=check: check(server))
            case(meta.compare.__doc__, lambda: meta.compare(server, reference))
            if slow:
                case(alike.__doc__, lambda: alike(server, reference))
    except Failed as error:
        report.line(False, who, 'memcached: the server', '', error)
    case(linear.__doc__ + ' (none)', lambda: linear(exe, options, 0))
    kills = 12 if one_client(exe) else 2
    case(linear.__doc__ + f' ({kills})', lambda: linear(exe, options, kills))


def main():
    """All models, or those that are named; the exit status."""
    report, nest = Report('memcached'), program()
    print(f'seed {SEED}', flush=True)
    attempt(report, 'oracle', 'memcached', judges.__doc__, judges)
    attempt(report, 'oracle', 'memcached', compares.__doc__, compares)
    attempt(report, 'oracle', 'memcached', plainer.__doc__, plainer)
    with tempfile.TemporaryDirectory(prefix='nest-memcached-') as folder, Reference().here() as reference:
        models = sys.argv[1:] or some(SOCKET_MODELS, 2, 'memcached')
        servers = [(model, loops) for model in models
                   for loops in ((1, 2) if model in ('event', 'uring') else (1,))]
        drawn = one('memcached', servers)
        for model, loops in servers:
            exe, who = f'{folder}/memcached-{model}', model if loops == 1 else f'{model} x2'
            if loops == 1:
                report.heading(model)
                run([nest, 'build', '--model', model, SPEC, '-o', exe])
            checks(report, who, exe, reference, ALL or (model, loops) == drawn,
                   () if loops == 1 else ('dispatchers=2',))
    return report.close()


sys.exit(main())
