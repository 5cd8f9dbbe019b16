"""Mail between sessions of the sample: it comes between actions, in order, and to no other session; a
full mailbox is told to the sender; a sender may be killed.

Used by workers.py. Must not know: how messages move.
"""
import os
import re
import signal
import subprocess
import time

from sample_server import BYE, LATE, LOOPS, Server, line, rest

HELD = 64 * 1024 // (24 + 4)  # outputBuffer, in messages of 4 bytes with their records


class Client:
    """A connection, and the name that mail to its session has."""

    def __init__(self, server):
        self.socket = server.connect()
        self.hears(rb"hello")
        self.say("ECHO me")
        self.name = self.hears(rb"name (\d+ \d+)").decode()
        self.hears(rb"<me>")

    def say(self, text):
        self.socket.sendall(text.encode() + b"\n")

    def hears(self, pattern):
        """The next line; its part."""
        got = line(self.socket)
        found = re.fullmatch(pattern + rb"\r\n", got)
        assert found, (pattern, got)
        return found[1] if found.groups() else got

    def send(self, name, count):
        """How many of these messages were sent before the mailbox was full."""
        self.say(f"ECHO to {name} {count}")
        sent = int(self.hears(rb"sent (\d+)"))
        self.hears(rb"<.*>")
        return sent

    def gets(self, numbers):
        for number in numbers:
            self.hears(rb"mail 7 %d" % number)

    def naps(self, ms):
        self.say(f"NAP {ms}")
        self.hears(rb"yawn")

    def has_heard_all(self):
        self.say("ECHO all")
        self.hears(rb"<all>")


def delivered(server):
    """To a session at rest; to one in a message; to one whose output waits behind it; to itself."""
    to, one, two = (Client(server) for _ in range(3))
    for turn in range(200):
        sender = (one, two, to)[turn % 3]
        if sender is to:
            to.say(f"ECHO to {to.name} 1")
            heard = sorted(line(to.socket)[:4] for _ in range(3))
            assert heard == [b"<to ", b"mail", b"sent"], heard
        else:
            assert sender.send(to.name, 1) == 1
            to.gets([0])
    to.socket.sendall(b"ECHO ha")  # a message that is not complete
    assert one.send(to.name, 3) == 3
    to.gets(range(3))
    to.say("lf")
    to.hears(rb"<half>")
    one.has_heard_all()


def between_actions(server):
    """What comes while an action waits is there when it has ended, in the order of its sender."""
    to, one = Client(server), Client(server)
    to.naps(400)
    assert one.send(to.name, 5) == 5
    to.hears(rb"up 400")
    to.gets(range(5))
    to.has_heard_all()


def bounded(server, model):
    """A mailbox that nobody empties is full at some time, and empty again afterwards."""
    to, one = Client(server), Client(server)
    for nap in 1000, 8000:  # on a busy machine it may be up before all is sent
        begin = time.monotonic()
        to.naps(nap)
        sent = one.send(to.name, 60000)
        if time.monotonic() < begin + nap / 1200 or nap == 8000:
            break
        while line(to.socket) != b"up 1000\r\n":
            pass
        to.socket.close()
        to = Client(server)
    assert 4 < sent < 60000, sent
    to.hears(rb"up %d" % nap)
    dropped = 0
    if model in LOOPS:  # the loop takes them, holds so many for the session, and drops the oldest
        assert sent > HELD, sent
        dropped = sent - HELD
    to.gets(range(dropped, sent))
    to.has_heard_all()
    late = Client(server)
    assert one.send(late.name, 4) == 4
    late.gets(range(4))


def stale(server):
    """Mail for a session that has ended reaches no other one, and does no harm."""
    one, gone = Client(server), Client(server)
    name = gone.name
    gone.say("QUIT")
    assert rest(gone.socket).endswith(BYE)
    time.sleep(0.1)
    others = [Client(server) for _ in range(4)]
    one.send(name, 4)
    one.send("4000000000 0", 1)
    slot, gen = one.name.split()
    one.send(f"{slot} {int(gen) + 1}", 1)
    for other in [one, *others]:
        other.has_heard_all()
        other.socket.close()


def sender_killed(server):
    """The process of a sender is killed while it sends: what comes is whole and in order, and others
    are heard."""
    to = Client(server)
    for turn in range(10):
        before = set(server.children())
        one = Client(server)
        pids = [pid for pid in before | set(server.children()) if holds(pid, one.socket)]
        assert len(pids) == 1, pids
        one.socket.sendall(f"ECHO to {to.name} 8\n".encode() * 200)
        time.sleep(0.001 * turn)
        os.kill(pids[0], signal.SIGKILL)
        other = Client(server)
        rest(one.socket)
        to.say("ECHO end")
        expected = 0
        while (got := line(to.socket)) != b"<end>\r\n":
            number = int(re.fullmatch(rb"mail 7 (\d+)\r\n", got)[1])
            assert number in (0, expected), (number, expected)
            expected = number + 1
        time.sleep(0.1)
        to.say("ECHO rest")
        while line(to.socket) != b"<rest>\r\n":
            pass
        assert other.send(to.name, 3) == 3
        to.gets(range(3))
        other.socket.close()


def holds(pid, client):
    """Whether this process serves this client."""
    port, inodes = f":{client.getsockname()[1]:04X}", []
    for name in "tcp", "tcp6":
        with open(f"/proc/net/{name}", encoding="ascii") as table:
            inodes += [fields[9] for fields in map(str.split, table) if fields[2].endswith(port)]
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(f"socket:[{inode}]" in links for inode in inodes)


def stops(exe, model):
    """A stop reaches a session that waits for input or mail; its time limits hold."""
    server = Server(exe, "maxClients=9", "idleTimeout=1s")
    begin = time.monotonic()
    quick = Client(server)
    assert rest(quick.socket).endswith(b"\r\n") and 0.8 < time.monotonic() - begin < LATE
    assert server.stop()[1] == 0
    server = Server(exe, "maxClients=9", "idleTimeout=2m", "drainTimeout=2m")
    everybody = [Client(server) for _ in range(9)]
    seconds, status, _, err = server.stop()
    assert status == 0 and seconds < LATE, (model, seconds, status, err)
    for client in everybody:
        assert rest(client.socket) == b"bye: the server stops\r\n"


def mail(exe, model):
    """All of it, in one model."""
    server = Server(exe, "maxClients=30", "idleTimeout=1m")
    delivered(server)
    between_actions(server)
    bounded(server, model)
    stale(server)
    if model in ("process", "prefork"):
        sender_killed(server)
    _, status, _, err = server.stop()
    assert status == 0, (status, err)
    stops(exe, model)


def no_mail(exe):
    """A server without mailboxes has nothing of them."""
    names = subprocess.check_output(["nm", exe], text=True)
    found = re.findall(r"\S*(?:nest__mail|mail_|sockets_|rings_)\S*", names)
    assert not found, found
