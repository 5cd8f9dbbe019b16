"""Further channels over sockets, in every worker model: a peer that answers, is silent, resets, reads
slowly or late; a client that leaves while its action waits for the peer; a stop.

Called by workers.py. Every wait is bounded; sockets are on loopback.
"""
import socket
import struct
import threading
import time

from sample_server import BYE, Server, ask, build, line, rest


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


class Peer:
    """What the server's further channels are connected to. `seen`: of each connection that has ended, its
    text, how many bytes followed, and how it ended."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.seen = {}
        self.come = threading.Condition()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            s.settimeout(20)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        text = line(s).decode().strip()
        count, end = 0, "end"
        if text[0] == "e":
            s.sendall(text.encode() + b"\r\n")
        elif text[0] == "p":
            s.sendall(b"answered\r\n")
        elif text[0] == "r":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif text[0] in "bk":
            time.sleep(0.5)
        with self.come:
            self.seen[text + " begun"] = True
            self.come.notify_all()
        try:
            while text[0] != "r" and (chunk := s.recv(65536)):
                count += len(chunk)
        except ConnectionResetError:
            end = "reset"
        s.close()
        with self.come:
            self.seen[text] = (count, end)
            self.come.notify_all()

    def wait(self, text):
        with self.come:
            assert self.come.wait_for(lambda: text in self.seen, 20), text
            return self.seen[text]


def talks(server, peer):
    s = server.connect()
    assert ask(s, b"ECHO e1\r\nECHO e2\r\nQUIT\r\n") == b"hello\r\ne1\r\ne2\r\nclosing\r\n" + BYE
    assert peer.wait("e1") == (0, "end")
    s = server.connect()
    assert ask(s, b"ECHO s1\r\nECHO r1\r\nECHO p1\r\nWHO\r\nQUIT\r\n") == \
        b"hello\r\ntimeout\r\nreset\r\n0\r\nanswered\r\nnobody 1\r\nclosing\r\n" + BYE
    assert peer.wait("p1") == (0, "reset")


def delivers(server, peer):
    s = server.connect()
    assert ask(s, b"ECHO b1\r\nECHO k1\r\nWHO\r\nQUIT\r\n") == \
        b"hello\r\nwritten\r\nkept\r\nnobody 1\r\nclosing\r\n" + BYE
    assert peer.wait("b1") == (3000000, "end")
    assert peer.wait("k1") == (60000, "end")


def beside(server, peer):
    """Output for the client leaves while its action waits for the peer."""
    s = server.connect()
    s.sendall(b"BIG 2000000\r\nECHO w1\r\n")
    peer.wait("w1 begun")
    got = 0
    while got < 7 + 2000002:
        got += len(s.recv(65536))
    reset(s)  # to a client that has only ended its half the action would still answer


def leaves(server, peer):
    """A client that resets ends the wait of its action; its channel is closed."""
    s = server.connect()
    line(s)
    s.sendall(b"ECHO w2\r\n")
    peer.wait("w2 begun")
    reset(s)
    assert peer.wait("w2")[0] == 0


def stops(exe, peer):
    """The end of drainTimeout ends a wait on a further channel; the peer's side is closed."""
    server = Server(exe, "drainTimeout=300ms", PEER=str(peer.port))
    s = server.connect()
    line(s)
    s.sendall(b"ECHO w3\r\n")
    peer.wait("w3 begun")
    took, status, _, _ = server.stop()
    assert status == 1 and took < 5, (took, status)
    assert b"bye" not in rest(s)
    assert peer.wait("w3")[0] == 0


def channels(folder, model, options):
    exe = build(folder, model, options, actions="channels.c", features=("channels",))
    peer = Peer()
    server = Server(exe, "maxClients=20", PEER=str(peer.port))
    for check in (talks, delivers, beside, leaves):
        check(server, peer)
    _, status, _, _ = server.stop()
    assert status == 0, status
    stops(exe, peer)
    print(f"{model}: further channels hold")
