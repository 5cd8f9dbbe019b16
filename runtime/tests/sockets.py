"""Tests eventServer over loopback, in normal operation and with failures."""

import os
import resource
import signal
import socket
import struct
import sys
import time

from harness import Server, check, finish, read_all

LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def conversations(server):
    check("pipelined", server.talk(b"NAME bob\r\nWHO\r\nECHO hi\nQUIT\r\n"),
          b"hello\r\nok\r\nbob 1\r\n<hi>\r\nclosing\r\nbye: closed by the server\r\n")
    check("half-closed", server.talk(b"WHO\nWHO\n", half_close=True),
          b"hello\r\nnobody 1\r\nnobody 2\r\nbye: closed by the client\r\n")
    check("half-closed in a message", server.talk(b"WHO", half_close=True),
          b"hello\r\nbye: no rule matches the input\r\n")
    # refused while the client still sends: the last answer arrives nevertheless
    check("refused", server.talk(b"BAD\n" + b"x" * 200000),
          b"hello\r\nbye: no rule matches the input\r\n")
    check("overflow", server.talk(b"ECHO " + b"x" * 100000),
          b"hello\r\nbye: a message exceeds inputBuffer\r\n")
    check("ten thousand pipelined requests",
          server.talk(b"WHO\n" * 10000 + b"QUIT\n"),
          b"hello\r\n" + b"".join(b"nobody %d\r\n" % i for i in range(1, 10001))
          + b"closing\r\nbye: closed by the server\r\n")
    with server.connect() as s:
        for byte in b"NAME al\nSPLIT a1b.\nQUIT\n":
            s.sendall(bytes([byte]))
        check("byte by byte", read_all(s),
              b"hello\r\nok\r\nSPLIT |a|1|b|.|1\r\nclosing\r\nbye: closed by the server\r\n")


def stalled(server):
    n = 3_000_000 # of which the sample holds a copy for each client
    clients = [server.connect(SO_RCVBUF=4096) for _ in range(60)]
    for s in clients:
        s.sendall(b"BIG %d\nFLOOD 20\nQUIT\n" % n)
    check("served beside 60 who stall", server.talk(b"QUIT\n"),
          b"hello\r\nclosing\r\nbye: closed by the server\r\n")
    for s in clients[:20]:
        reset(s)
    for s in clients[20:40]:
        s.close()
    flood = b"".join(b"nobody %d of 20\r\n" % i for i in range(20))
    wanted = (b"hello\r\n" + (LETTERS * (n // 26 + 1))[:n] + b"\r\n" + flood
              + b"closing\r\nbye: closed by the server\r\n")
    for s in clients[40:50]:
        check("a stalled reader gets all", read_all(s) == wanted, True)
        s.close()
    for s in clients[50:]:
        s.close()


def limit(binary):
    server = Server(binary, "--set", "maxClients=4")
    for _ in range(3): # more in sequence than at once
        for _ in range(5):
            check("in sequence", server.talk(b"QUIT\n")[:8], b"hello\r\nc")
    four = [server.connect() for _ in range(4)]
    for s in four:
        check("at once", s.recv(100), b"hello\r\n")
    fifth = server.connect()
    fifth.settimeout(0.3)
    try:
        check("one too many waits", fifth.recv(100), None)
    except TimeoutError:
        pass
    four[2].close()
    fifth.settimeout(10)
    check("then it is served", fifth.recv(100), b"hello\r\n")
    fifth.close()
    status, said = server.stop()
    check("stops", (status, said), (0, ""))


def stop(binary):
    server = Server(binary, "--set", "drainTimeout=30s")
    idle, half, slow = server.connect(), server.connect(), server.connect(SO_RCVBUF=4096)
    idle.recv(100)
    half.sendall(b"WH")
    slow.sendall(b"BIG 8000000\n")
    time.sleep(0.3)
    begun = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    check("at rest", idle.recv(100), b"bye: the server stops\r\n")
    time.sleep(0.5)     # the others are told right behind it
    half.sendall(b"O\nWHO\n")
    check("in a message", read_all(half), b"hello\r\nnobody 1\r\nbye: the server stops\r\n")
    check("what was replied is delivered", len(read_all(slow)), 7 + 8000000 + 2 + 23)
    check("exit", server.process.wait(10), 0)
    check("soon", time.monotonic() - begun < 20, True)
    server.process.communicate()

    server = Server(binary, "--set", "drainTimeout=15s")
    slow = server.connect(SO_RCVBUF=4096)
    slow.sendall(b"BIG 8000000\n")
    time.sleep(0.2)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    check("waits for a slow client", server.process.poll(), None)
    begun = time.monotonic()
    status, said = server.stop(signal.SIGINT)
    check("a second signal ends it", (status, said, time.monotonic() - begun < 12), (1, "", True))

    server = Server(binary, "--set", "drainTimeout=1s")
    slow, half = server.connect(SO_RCVBUF=4096), server.connect()
    slow.sendall(b"BIG 8000000\n")
    half.sendall(b"WH")
    time.sleep(0.2)
    begun = time.monotonic()
    status, said = server.stop()
    took = time.monotonic() - begun
    check("nobody delays it for long", (status, said, 0.9 < took < 20), (1, "", True)) # writeTimeout is 30 s
    try:
        check("who is cut is reset", read_all(half), None)
    except ConnectionResetError:
        pass


def queued(binary):
    """Who waits to be taken when the stop begins is served."""
    server = Server(binary)
    serving = server.serving()
    os.kill(serving, signal.SIGSTOP)
    clients = [server.connect() for _ in range(20)]
    for s in clients:
        s.sendall(b"WHO\n")
    server.process.send_signal(signal.SIGTERM)
    os.kill(serving, signal.SIGCONT)
    for s in clients:
        check("served from the queue", read_all(s),
              b"hello\r\nnobody 1\r\nbye: the server stops\r\n")
    check("stops", server.process.wait(10), 0)
    server.process.communicate()


def limits(binary):
    server = Server(binary, "--set", "idleTimeout=2s", "--set", "readTimeout=4s",
                    "--set", "writeTimeout=500ms", "--set", "lingerTimeout=10s")
    begun = time.monotonic()
    idle, half, slow = server.connect(), server.connect(), server.connect(SO_RCVBUF=4096)
    slow.sendall(b"BIG 30000000\n") # more than the system takes for a client that does not read
    half.sendall(b"ECHO ")
    check("idle", read_all(idle), b"hello\r\nbye: timed out\r\n")
    check("idle: after its time", 1.99 < time.monotonic() - begun < 20, True)
    for byte in b"abcde":
        half.sendall(bytes([byte]))
        time.sleep(0.02)
    check("unfinished", read_all(half), b"hello\r\nbye: timed out\r\n")
    check("unfinished: not renewed by bytes", 3.99 < time.monotonic() - begun < 20, True)
    half.close()
    time.sleep(1)
    got = 0
    try:
        while n := len(slow.recv(1 << 16)):
            got += n
    except ConnectionResetError:
        pass
    check("a stalled reader is cut", got < 30000000, True)
    status, said = server.stop()
    check("stops", (status, said), (0, ""))


def megabyte(server):
    """A last reply is read although a megabyte too much was sent before."""
    for n in (1 << 20, 5 << 20):
        with server.connect() as s:
            s.sendall(b"BAD\n")
            s.sendall(b"x" * n)
            check("refused", read_all(s), b"hello\r\nbye: no rule matches the input\r\n")


def few_descriptors(binary):
    server = Server(binary, "--set", "maxClients=20")
    highest = max(map(int, os.listdir(f"/proc/{server.serving()}/fd")))
    resource.prlimit(server.serving(), resource.RLIMIT_NOFILE, (highest + 9, highest + 9))
    clients = [server.connect() for _ in range(15)]
    time.sleep(0.2)
    served = 0
    for s in clients:
        s.settimeout(0.2)
        try:
            served += s.recv(100) == b"hello\r\n"
        except TimeoutError:
            pass
    check("as many as there are descriptors", 0 < served < 15, True)
    for s in clients[:8]:
        s.close()
    for s in clients[8:]:
        s.settimeout(5)
    last = clients[-1]
    check("the others when some are freed", last.recv(100), b"hello\r\n")
    begun = time.process_time(), sum(os.times()[:2])
    ticks = sum(map(int, open(f"/proc/{server.serving()}/stat").read().split()[13:15]))
    check("without spinning", (ticks < 50, begun is not None), (True, True))
    for s in clients:
        s.close()
    status, said = server.stop()
    check("stops", status, 0)
    check("said once", said.count("Too many open files"), 1)


def main():
    count = 0
    for binary in sys.argv[1:]:
        server = Server(binary)
        conversations(server)
        megabyte(server)
        stalled(server)
        conversations(server)
        check(f"{binary} stops", server.stop(), (0, ""))
        limit(binary)
        stop(binary)
        queued(binary)
        limits(binary)
        few_descriptors(binary)
        count += 1
    finish("sockets", count)


main()
