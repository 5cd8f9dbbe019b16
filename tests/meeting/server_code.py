"""Code of the server that sends (server.nest): `%timer` and `%signal`, whose process is killed, and is too fast for
some clients.

Must not know: how messages move.
"""

import os
import random
import signal

from person import SEED, Person, until
from support.nest import Failed


def numbers(person):
    """The counts of the server's messages that it has heard."""
    return [int(line.split()[0]) for line in person.heard]


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
    if drops:
        last = flow(reader, 2, 10)
        deaf.wait(lambda: numbers(deaf)[-1:] == [last - last % 2], 'the last message')
        assert numbers(deaf) == sorted(set(numbers(deaf))) and len(deaf.heard) < 3000, len(deaf.heard)
    else:
        deaf.ended()
    until('members that are left', lambda: reader.ask('who all') == ('2' if drops else '1'))
    reader.socket.close()
    deaf.socket.close()
