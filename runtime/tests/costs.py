"""Counts system calls and allocations of warm requests to an eventServer, and checks that an idle one makes none."""

import os
import re
import shutil
import signal
import sys
import time

from harness import Server, check, finish, read_all, settled

REQUESTS = [b"WHO\n", b"ECHO some text\r\n", b"SPLIT abc12de.\n", b"NAME bob\n"]


def ask(s, request):
    s.sendall(request)
    answer = s.recv(65536)
    while not answer.endswith(b"\n"):
        answer += s.recv(65536)


def allocations(binary, preload):
    server = Server(binary, environment={"LD_PRELOAD": preload})
    counts = []
    with server.connect() as s:
        s.recv(100)
        for _ in range(3):
            for request in REQUESTS * 50:
                ask(s, request)
            os.kill(server.serving(), signal.SIGUSR1)
            counts.append(int(server.process.stderr.readline()))
    server.stop()
    return counts


def calls(binary, conversation):
    """System calls by name while the conversation runs, on a server that has had one before."""
    log = f"{binary}.strace"
    server = Server(binary, before=["strace", "-f", "-o", log])
    conversation(server)
    before = len(settled(log))
    conversation(server)
    lines = settled(log)[before:]
    # strace passes no signal on to what it runs
    os.kill(int(open(log).readline().split()[0]), signal.SIGTERM)
    server.process.communicate(timeout=10)
    names = [re.match(r"\d+ +(?:<\.\.\. )?(\w+)", line).group(1) for line in lines]
    return {name: names.count(name) for name in sorted(set(names))}


def main():
    build = sys.argv[1]
    counts = allocations(f"{build}/epoll", os.path.abspath(f"{build}/count.so"))
    check("allocations of 200 warm requests", counts[2] - counts[1], 0)
    checked = 1
    if shutil.which("strace") is None:
        print("costs: no strace here, system calls are not counted")
        finish("costs", checked)
    kept = []

    def keep_alive(server):
        if not kept:
            kept.append(server.connect())
            kept[0].recv(100)
        for _ in range(20):
            ask(kept[0], b"WHO\n")

    def one_request(server):
        with server.connect() as s:
            s.sendall(b"QUIT\n")
            read_all(s)

    def idle(server):
        if len(kept) < 2:
            kept.append(server.connect())
            kept[1].recv(100)
        time.sleep(1)

    found = calls(f"{build}/epoll", keep_alive)
    check("20 keep-alive requests", found, {"epoll_wait": 20, "recvfrom": 20, "sendto": 20})
    found = calls(f"{build}/epoll", idle)
    check("an idle second", found, {})
    found = calls(f"{build}/epoll", one_request)
    # the greeting goes out when the connection would wait, if the request was not there yet
    least = {"accept4": 1, "close": 1, "epoll_wait": 1, "recvfrom": 1, "sendto": 1}
    late = {**least, "epoll_ctl": 1, "epoll_wait": 2, "recvfrom": 2, "sendto": 2}
    timed = {**late, "timerfd_settime": 1} # nobody else waited: it sets the clock
    check(f"one request, one connection: {found}", found in (least, late, timed), True)
    finish("costs", checked + 3)


main()
