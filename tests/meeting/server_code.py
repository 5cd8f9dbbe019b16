"""Code of the server that sends (server.nest): `%timer` and `%signal`, whose process is killed, and is too fast for
some clients.

Must not know: how messages move.
"""

import os
import random
import re
import signal

from person import SEED, Person, until
from support.nest import Failed


def numbers(person):
    """The counts of the server's messages that it has heard."""
    return [int(line.split()[0]) for line in person.heard]


def stopped(pid):
    """Whether SIGSTOP has stopped the process."""
    with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
        return file.read().rpartition(')')[2].split()[0] == 'T'


def whole(person, *sizes):
    """Messages may be lost, but not a part of one."""
    for line in person.heard:
        if not re.fullmatch(rb'[0-9]+ 0+', line) or len(line.split()[1]) not in sizes:
            raise Failed(f'{line[:40]!r} of {len(line)} bytes is no whole message')


def flow(person, count, size):
    """Lets the server send so many messages. Returns the number of the last one."""
    before = int(person.ask('rest').split()[1])
    assert person.ask(f'flow {count} {size}') == '0'
    until('the server has sent them', lambda: person.ask('rest') == f'0 {before + count}')
    return before + count


def told(server):
    """What code of %timer and %signal sends comes to members, and to one connection, in order and whole."""
    member, both = Person(server), Person(server)
    assert member.ask('join all') == both.ask('join all') == '0' and int(both.ask('note')) < 16
    last = flow(member, 400, 10)
    both.hears(400)
    member.hears(200)
    assert numbers(both) == list(range(last - 399, last + 1)), both.heard
    assert numbers(member) == [n for n in numbers(both) if n % 2 == 0], member.heard
    os.kill(server.process.pid, signal.SIGUSR2)
    for person, count in (member, 200), (both, 400):
        person.hears(count + 1)
        assert person.heard[-1] == b'a signal, 2 members', person.heard[-1]
        person.socket.close()


def joins(server):
    """Who joins in the middle of a message, which others have heard already, hears only what comes after it."""
    members, asker = [Person(server) for _ in range(20)], Person(server)
    assert all(person.ask('join all') == '0' for person in members)
    assert asker.ask('flow 900000 10') == '0'
    for turn in range(30):
        until('the server sends', lambda: all(person.ask('who all') and person.heard for person in members))
        service = int(asker.ask('server'))
        os.kill(service, signal.SIGSTOP)
        until('the server waits', lambda pid=service: stopped(pid))
        for person in members:
            person.ask('who all')
        last = max(numbers(person)[-1] for person in members)
        comes = Person(server)
        assert comes.ask('join all') == '0'
        os.kill(service, signal.SIGCONT)
        comes.hears(1)
        if numbers(comes)[0] <= last:
            raise Failed(f'turn {turn}: message {last} was heard before, and {numbers(comes)[0]} by who joined then')
        comes.socket.close()
        for person in members:
            person.heard.clear()
        until('it has left', lambda: asker.ask('who all') == str(len(members)))
    assert asker.ask('flow 0 0') == '0'
    for person in [*members, asker]:
        person.socket.close()


def killed(server, kills):
    """The service process, and workers, are killed while the server sends: others go on, in order."""
    draw = random.Random(SEED)
    people, asker = [], Person(server)
    for _ in range(5):
        while len(people) < 10:
            people.append(Person(server))
            assert people[-1].ask('join all') == '0'
            people[-1].ask('note')
        assert asker.ask('flow 900000 100') == '0'
        until('the server sends', lambda: all(person.ask('who all') and person.heard for person in people))
        service = int(asker.ask('server'))
        assert service not in [server.process.pid, asker.pid, *(person.pid for person in people)]
        pids = sorted({person.pid for person in people} - {asker.pid})
        victim = draw.choice(pids) if kills and pids else 0
        for pid in (service, victim) if draw.random() < 0.5 else (victim, service):
            if pid != 0:
                os.kill(pid, signal.SIGKILL)
        for person in [person for person in people if person.pid == victim]:
            person.ended()
            person.socket.close()
            people.remove(person)
        until('another sends', lambda old=service: int(asker.ask('server')) not in (0, old))
        for person in people:
            heard = len(person.heard)
            person.wait(lambda who=person, n=heard: len(who.heard) > n + 5, 'messages of another service process')
        assert asker.ask('flow 0 0') == '0'
        for person in people:
            person.ask('who all')
            found = numbers(person)
            if found != sorted(set(found)):
                raise Failed(f'{person.number} heard out of order, or twice')
    until('members are exact', lambda: asker.ask('who all') == str(len(people)))
    for person in people:
        person.socket.close()
    asker.socket.close()


def behind(server, drops):
    """A client that does not read what the server sends delays nobody, and is closed, or loses the oldest."""
    reader, deaf = Person(server), Person(server, receive=4096)
    assert reader.ask('join all') == deaf.ask('join all') == '0'
    for _ in range(150):     # more than buffers of the kernel hold, and less at once than the reader's outputBuffer
        heard = len(reader.heard)
        last = flow(reader, 40, 2000)
        reader.wait(lambda n=last: numbers(reader)[-1:] == [n - n % 2], 'the last message')
        assert len(reader.heard) == heard + 20 or reader.pid == deaf.pid, 'the reader missed something'
    whole(reader, 2000)
    if drops:
        last = flow(reader, 2, 10)
        deaf.wait(lambda: numbers(deaf)[-1:] == [last - last % 2], 'the last message')
        assert numbers(deaf) == sorted(set(numbers(deaf))) and len(deaf.heard) < 3000, len(deaf.heard)
        whole(deaf, 2000, 10)
    else:
        deaf.ended()
    until('members that are left', lambda: reader.ask('who all') == ('2' if drops else '1'))
    reader.socket.close()
    deaf.socket.close()
