#!/usr/bin/env python3
"""Connections that meet, over sockets, in every model and with several dispatchers: messages come in order
and to members only, members are counted exactly although workers are killed, numbers of ended
connections are known as such, and a client that does not keep up delays nobody. Actions send, and
code of the server.

usage: run.py [MODEL ...]

Must not know: how messages move.
"""

import errno
import inspect
import itertools
import os
import random
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import server_code                                                  # noqa: E402
from person import SEED, Person, until                              # noqa: E402
from support import sample                                          # noqa: E402
from support.cases import attempt                                   # noqa: E402
from support.linear import in_order                                 # noqa: E402
from support.nest import ONE_CLIENT, ROOT, SOCKET_MODELS, Failed, program, run   # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Client, Server                           # noqa: E402


def order(server):
    """Everybody sends to the group and to each other by turns: every receiver hears every sender in order, and
    nothing twice; nobody hears itself."""
    people = [Person(server) for _ in range(6)]
    for person in people:
        assert person.ask('join all') == '0'
    for turn in range(60):
        for one, person in enumerate(people):
            if turn % 3 == 2:
                for other in people:
                    if other is not person:
                        person.send(b'tell %d %d:%d\n' % (other.number, one, turn))
            else:
                person.send(b'say all %d:%d\n' % (one, turn))
        for person in people:
            for _ in range(len(people) - 1 if turn % 3 == 2 else 1):
                assert person.answer() == '0'
    for one, person in enumerate(people):
        person.hears(60 * (len(people) - 1))
        for other in range(len(people)):
            found = [int(line.split(b':')[1]) for line in person.heard if line.startswith(b'%d:' % other)]
            if found != ([] if other == one else list(range(60))):
                raise Failed(f'{one} heard of {other}: {found}')
    for person in people:
        person.socket.close()


def membership(server):
    """Who has left hears nothing, who comes back hears what comes then, and an end is heard by others."""
    stays, moves = Person(server), Person(server)
    stays.ask('join room')
    for turn in range(50):
        assert moves.ask('join room') == '0'
        assert stays.ask(f'say room in{turn}') == '0'
        moves.hears(turn + 1)
        assert moves.ask('leave room') == '0'
        assert stays.ask(f'say room out{turn}') == '0'
    assert moves.heard == [b'in%d' % turn for turn in range(50)], moves.heard
    stays.ask('join ends')
    moves.socket.close()
    stays.hears(1)
    assert stays.ask('who ends') == '1' and stays.heard == [b'one ended']
    stays.socket.close()


def leaves(server):
    """Who leaves hears what was sent before, also if it was busy meanwhile, or its loop; and nothing later."""
    for turn in range(12):
        goes, sender = Person(server), Person(server)
        assert goes.ask('join room') == '0'
        stops = turn % 2 == 0 and goes.pid != sender.pid
        if stops:
            os.kill(goes.pid, signal.SIGSTOP)
        goes.send(b'leave room\n' if stops else b'sleep 200\nleave room\n')
        sent = []
        while len(sent) < 100 and sender.ask('who room') == '1':
            sent.append(b'%d' % len(sent))
            assert sender.ask(f'say room {len(sent) - 1}') == '0'
        left = sender.ask('who room') == '0'    # maybe before the last message
        if stops:
            os.kill(goes.pid, signal.SIGCONT)
        until('it has left', lambda who=sender: who.ask('who room') == '0')
        assert sender.ask('say room late') == '0'
        assert [goes.answer() for _ in range(1 if stops else 2)][-1] == '0'
        assert sender.ask(f'tell {goes.number} end') == '0'
        goes.wait(lambda who=goes: who.heard[-1:] == [b'end'], 'what was sent last')
        goes.heard.pop()
        if goes.heard not in ([sent, sent[:-1]] if left else [sent]):
            raise Failed(f'turn {turn}: heard {len(goes.heard)} messages, of {len(sent)} that were sent before')
        goes.socket.close()
        sender.socket.close()


def both(server):
    """A client that others send to is still answered."""
    member, sender = Person(server), Person(server)
    member.ask('join one')
    for turn in range(20):
        sender.send(b'say one x\n' * 100)
        for _ in range(3):
            assert member.ask('who one') == '1'
        for _ in range(100):
            assert sender.answer() == '0'
        member.hears(100 * (turn + 1))
    member.socket.close()
    sender.socket.close()


def stale(server):
    """A message for a connection that has ended is refused, and reaches no other one."""
    sender = Person(server)
    for turn in range(20):
        gone = Person(server)
        if turn % 2 == 0 or gone.pid == sender.pid:
            gone.socket.close()
        else:
            gone.send(b'die\n')
            gone.ended()
        others = [Person(server) for _ in range(3)]
        until('the number is unknown', lambda who=gone: sender.ask(f'tell {who.number} x') == str(errno.ESRCH))
        for other in others:
            assert other.ask('who nowhere') == '0' and other.heard == [], other.heard
            other.socket.close()
    for number in (0, 1 << 63, (1 << 64) - 1, sender.number + (1 << 48)):
        assert sender.ask(f'tell {number} x') == str(errno.ESRCH), number
    sender.socket.close()


def killed(server):
    """Workers are killed at random while messages flow: the others go on in order, without gaps, and members are
    exact."""
    draw = random.Random(SEED)
    people, sent, dead = [], {}, set()
    for turn in range(12):
        while len(people) < 16:
            people.append(Person(server))
            assert people[-1].ask('join all') == '0'
        for person in people:
            said = [b'%d:%d:%d' % (person.number, turn, i) for i in range(8)]
            sent.setdefault(b'%d' % person.number, []).extend(said)
            person.send(b''.join(b'say all %s\n' % line for line in said))
        victim = draw.choice(people).pid
        os.kill(victim, signal.SIGKILL)
        for person in [person for person in people if person.pid == victim]:
            person.ended()
            person.socket.close()
            people.remove(person)
            dead.add(b'%d' % person.number)
        for person in people:
            for _ in range(8):
                assert person.answer() == '0'
        asker = Person(server)
        assert asker.ask('join all') == '0'
        until(f'{len(people) + 1} members', lambda who=asker: who.ask('who all') == str(len(people) + 1))
        people.append(asker)
    for person in people:
        person.ask('who all')
        for sender in sorted({line.split(b':')[0] for line in person.heard}):
            heard = [line for line in person.heard if line.split(b':')[0] == sender]
            why = in_order(sent.get(sender, []), heard, sender not in dead)
            if why is not None or sender == b'%d' % person.number:
                raise Failed(f'{person.number} heard of {sender}: {why}')
    for person in people:
        person.socket.close()


def exits(server):
    """An action that ends its thread takes its client out of its groups, and no other."""
    stays = Person(server)
    assert stays.ask('join all') == '0'
    until('those of the case before have left', lambda: stays.ask('who all') == '1')
    for turn in range(10):
        goes, other = Person(server), Person(server)
        for person in goes, other:
            assert person.ask('join all') == '0' and person.ask('join more') == '0'
        assert stays.ask('who all') == '3'
        goes.send(b'thread\n')
        goes.ended()
        until('the member is gone', lambda who=other: who.ask('who all') == '2' and who.ask('who more') == '1')
        until('the number is unknown', lambda who=goes: stays.ask(f'tell {who.number} x') == str(errno.ESRCH))
        assert stays.ask(f'say all {turn}') == '0'
        other.hears(1)
        assert other.heard == [b'%d' % turn], other.heard
        goes.socket.close()
        other.socket.close()
        until('one is left', lambda: stays.ask('who all') == '1')
    stays.socket.close()


def behind(server, drops):
    """A client that does not read, and one whose action waits, delay nobody. They are closed, or lose the oldest."""
    reader, sender = Person(server), Person(server)
    deaf, busy = Person(server, receive=4096), Person(server)
    for person in (reader, deaf, busy):
        assert person.ask('join all') == '0'
    busy.send(b'sleep 2000\n')
    text = 'x' * 2000
    # A process of the two may lag behind that of the sender, but not if it serves the reader, too.
    lags = not {deaf.pid, busy.pid} <= {sender.pid, reader.pid}
    results = ('0', str(errno.EAGAIN)) if lags else ('0',)
    for number in range(3000):       # more than buffers of the kernel hold
        result = sender.ask(f'say all {number} {text}')
        if result not in results:
            raise Failed(f'message {number}: error {result}')
        reader.hears(number + 1)
    heard = [int(line.split()[0]) for line in reader.heard]
    assert heard == list(range(3000)), 'the reader missed something'
    for person in (busy, deaf):
        if drops:
            until('the loop takes messages', lambda who=person: sender.ask(f'tell {who.number} last') == '0')
            person.wait(lambda who=person: b'last' in who.heard, 'the last message')
            numbers = [int(line.split()[0]) for line in person.heard[:-1]]
            assert numbers == sorted(set(numbers)) and len(numbers) < 3000, numbers
        else:
            person.ended()
    until('members that are left', lambda: sender.ask('who all') == ('3' if drops else '1'))
    for person in (reader, sender, deaf, busy):
        person.socket.close()


def thousand(nest, model, folder):
    """A thousand people in one room of the chat hear each other, and see who is there."""
    exe = os.path.join(folder, f'chat-{model}')
    run([nest, 'build', '--model', model, os.path.join(ROOT, 'examples', 'chat', 'chat.nest'), '-o', exe])

    kept = {}       # what was received behind the last line

    def line(client):
        while b'\n' not in kept.get(client, b''):
            chunk = client.socket.recv(1 << 16)
            if not chunk:
                raise Failed('the server closed a connection')
            kept[client] = kept.get(client, b'') + chunk
        out, _, kept[client] = kept[client].partition(b'\n')
        return out + b'\n'

    with Server([exe], clients=1100) as server:
        people = []
        for number in range(1000):
            people.append(Client(server))
            line(people[-1])
            people[-1].send(b'/nick p%d\n' % number)
            assert line(people[-1]) == b'You are p%d, in lobby.\n' % number
            people[-1].send(b'/join room\n')
            assert line(people[-1]) == b'You are in room, with %d others.\n' % number
            for client in people[:-1] if number % 50 == 49 else ():     # nobody falls behind
                while line(client) != b'* p%d has come\n' % number:
                    pass
        for speaker in (0, 500, 999):
            people[speaker].send(b'Hello from %d.\n' % speaker)
        for number, client in enumerate(people):
            wanted = {b'<p%d> Hello from %d.\n' % (n, n) for n in (0, 500, 999) if n != number}
            while wanted:
                wanted.discard(line(client))
        people[0].send(b'/who\n')
        assert set(line(people[0]).split()[2:]) == {b'p%d' % number for number in range(1000)}
        for client in people:
            client.socket.close()
        if server.stop() != 0:
            raise Failed(server.said())


def judges():
    """The judge of the order finds what was sent never, twice, too early, and not at all."""
    assert in_order(list('abcd'), list('bcd'), True) is None and in_order(list('abcd'), list('ad'), False) is None
    for heard, whole in (('ax', False), ('abb', False), ('acb', False), ('acd', True)):
        assert in_order(list('abcd'), list(heard), whole) is not None, heard


def variants(models):
    """(what is printed, the model, options, whether a worker may be killed alone)"""
    for model in models:
        yield model, model, (), model in ONE_CLIENT
        if model in ('event', 'uring'):
            yield f'{model} 2', model, ('dispatchers=2',), True


def built(nest, folder, spec, model, drops):
    """The server of this specification, with sanitizers."""
    exe = os.path.join(folder, f'{spec}-{model}-{drops}')
    checked = '-fsanitize=thread' if model == 'thread' else '-fsanitize=address,undefined'
    with open(os.path.join(HERE, spec + '.nest'), encoding='ascii') as file:
        text = file.read()
    with open(exe + '.nest', 'w', encoding='ascii') as file:
        file.write('%option messageOverflow drop\n' + text if drops else text)
    if not os.path.exists(exe):
        run([nest, 'build', '--model', model, exe + '.nest', '-o', exe],
            CFLAGS=f'-O1 -g {checked} -fno-sanitize-recover=all')
    return exe


def cases(spec, model, drops, kills):
    """What is tried with it."""
    if spec == 'server':
        every = [server_code.told, server_code.behind, server_code.joins, server_code.killed]
        return [server_code.behind] if drops else every
    if drops:
        return [behind]
    out = [order, membership, leaves, both, stale, behind]
    return out + ([killed] if kills else []) + ([exits] if model == 'thread' else [])


def main():
    report, models = Report('meeting'), sys.argv[1:] or sample.some(SOCKET_MODELS, 2, 'meeting')
    report.note(sample.described())
    attempt(report, 'oracle', 'order', judges.__doc__, judges)
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-meeting-') as folder:
        for name, model, options, kills in variants(models):
            for spec, drops in itertools.product(('meeting', 'server'), (False, True)):
                exe = built(nest, folder, spec, model, drops)
                with Server([exe], options=options) as server:
                    for case in cases(spec, model, drops, kills):
                        what = ' '.join(case.__doc__.split())[:60]
                        takes = inspect.signature(case).parameters
                        given = {'drops': drops, 'kills': kills}
                        given = {word: value for word, value in given.items() if word in takes}
                        attempt(report, name, case.__name__, what, lambda c=case, g=given: c(server, **g))
                    said = server.said()
                    good = server.stop() in (0, 1) and 'Sanitizer' not in said
                    report.line(good, name, 'it stops, and sanitizers report nothing', '', said)
        for model in 'event', 'thread':
            if model in models:
                attempt(report, model, 'chat', thousand.__doc__, lambda m=model: thousand(nest, m, folder))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
