#!/usr/bin/env python3
"""Checks the worker models, the listeners and the configuration with the sample, without the compiler.

usage: workers.py [--cc CC] [--sanitize LIST] [--model MODEL ...]

Every wait is bounded; sockets are on loopback, with ports that the kernel chooses.
"""
import argparse
import contextlib
import faulthandler
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from channels import channels
from harness import settled
from sample_server import BYE, LATE, LOOPS, Server, alive, ask, build, line, rest, unix
from mail import mail, no_mail
from service_process import leave_root, no_service_process, service_processes

WELL = 11  # seconds, more than those after which a worker has not failed at its start


def conversations(exe, model):
    server = Server(exe, "maxClients=40", "drainTimeout=1m")
    assert ask(server.connect(), b"NAME Bob\r\nWHO\r\nWHO\r\nQUIT\r\n") == \
        b"hello\r\nok\r\nBob 1\r\nBob 2\r\nclosing\r\n" + BYE
    s = server.connect()
    for byte in b"WHO\r\nQUIT\r\n":
        s.sendall(bytes([byte]))
        time.sleep(0.001)
    assert rest(s) == b"hello\r\nnobody 1\r\nclosing\r\n" + BYE
    s = server.connect()
    s.sendall(b"BIG 5000000\r\nQUIT\r\n")
    time.sleep(0.2)  # the action waits in a wait
    assert len(rest(s)) == 7 + 5000002 + 9 + len(BYE)
    s = server.connect()
    s.sendall(b"BIG 5000000\r\nQUIT\r\n")
    time.sleep(0.2)
    s.sendall(b"more")  # comes after the last receive, and nobody will read it
    assert len(rest(s)) == 7 + 5000002 + 9 + len(BYE), "the last reply must survive late input"
    s = server.connect()
    s.sendall(b"WHO\r\n")
    s.shutdown(socket.SHUT_WR)
    assert rest(s) == b"hello\r\nnobody 1\r\nbye: closed by the client\r\n"
    assert ask(server.connect(), b"NONSENSE\r\n" * 1000) == \
        b"hello\r\nbye: no rule matches the input\r\n", "the last reply must survive unread input"
    s = server.connect()
    s.sendall(b"BIG 994\r\nQUIT\r\n")
    assert re.match(rb"hello\r\n127\.0\.0\.1:%d \w{3}, \d\d \w{3} \d{4} [0-9:]{8} GMT\r\n"
                    % s.getsockname()[1], rest(s))
    everybody = [server.connect() for _ in range(40)]
    for s in everybody:
        assert line(s) == b"hello\r\n"
    late = server.connect()
    late.settimeout(0.3)
    try:
        assert not late.recv(1), "more clients than maxClients"
        raise AssertionError("refused instead of waiting")
    except TimeoutError:
        pass
    late.settimeout(10)
    everybody.pop().close()
    assert line(late) == b"hello\r\n", "the next one must get the free place"
    seconds, status, out, err = server.stop()
    assert status == 0 and seconds < LATE, (status, seconds)
    assert "stopped after 48 clients" in out and "40 shutdown" in out, out
    assert re.fullmatch(r"\S+Z warn \d+ a line\\nand another\\n\\x1b\n", err), err
    for s in everybody:
        assert rest(s) == b"bye: the server stops\r\n"


def counts(exe, model):
    server = Server(exe, "maxClients=50")

    def many():
        for i in range(150):
            s = server.connect()
            if i % 3 == 0:
                assert ask(s, b"QUIT\r\n").endswith(BYE)
            elif i % 3 == 1:
                s.shutdown(socket.SHUT_WR)
                assert rest(s).endswith(b"bye: closed by the client\r\n")
            else:
                line(s)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.close()

    threads = [threading.Thread(target=many, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.3)
    _, status, out, err = server.stop(signal.SIGINT)
    assert status == 0 and err == "", err
    assert "stopped after 600 clients: 200 closed, 200 eof, 200 gone" in out, out


def listeners(exe, model, folder):
    path = folder / "socket"
    server = Server(exe, f"listen=unix:{path}", "maxClients=5", port=False)
    again = subprocess.run([exe, "--set", f"listen=unix:{path}"], capture_output=True, timeout=10)
    assert again.returncode == 1 and b"another program already listens there" in again.stderr, again
    children = server.children()
    server.process.kill()
    server.process.wait()
    assert path.exists()
    gone(children)  # until then they listen
    server = Server(exe, f"listen=127.0.0.1:0 unix:{path}", "maxClients=5", port=False)
    for _ in range(10):  # more than there are workers
        assert ask(unix(path), b"QUIT\r\n").endswith(BYE), "a stale file is replaced"
        assert ask(server.connect(), b"QUIT\r\n").endswith(BYE)
    taken = subprocess.run([exe, "--set", f"listen=127.0.0.1:{server.port}"], capture_output=True,
                           timeout=10)
    assert taken.returncode == 1 and b"another program already listens there" in taken.stderr, taken
    _, status, _, _ = server.stop()
    assert status == 0 and not path.exists()
    path.write_text("no socket")
    other = subprocess.run([exe, "--set", f"listen=unix:{path}"], capture_output=True, timeout=10)
    assert other.returncode == 1 and path.exists(), "only sockets are replaced"
    path.unlink()
    command = f"exec {exe} --set listen=unix:{path} --set maxClients=3 <&- >&- 2>&-"
    process = subprocess.Popen(["sh", "-c", command])
    end = time.monotonic() + LATE
    while True:  # the file is there before the server listens
        try:
            client = unix(path)
            break
        except OSError:
            assert time.monotonic() < end, "it does not listen"
            time.sleep(0.1)
    assert ask(client, b"WHO\r\nQUIT\r\n") == b"hello\r\nnobody 1\r\nclosing\r\n" + BYE
    process.terminate()
    assert process.wait(LATE) == 0


def starts(exe, model):
    """The server can be stopped as soon as its first line is read, and ignores what it inherits."""
    for _ in range(20):
        server = Server(exe, "maxClients=5")
        _, status, out, _ = server.stop()
        assert status == 0 and out == "sample: stopped after 0 clients\n", (status, out)
    for turn in range(20):  # a reload just before, in or behind the fork of a worker is answered, too
        server = Server(exe, "maxClients=5")
        time.sleep(turn / 10000)
        server.process.send_signal(signal.SIGHUP)
        assert select.select([server.process.stderr], [], [], 10)[0], "a reload is not answered"
        assert b"read again" in server.process.stderr.readline()
        assert server.stop()[1] == 0
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = Server(exe, "maxClients=5")
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    stalled = server.connect()
    stalled.sendall(b"BIG 30000000\r\n")
    line(stalled)
    seconds, status, out, _ = server.stop()
    assert status == 1 and seconds < LATE and out.endswith(": 1 shutdown; 1 cut\n"), \
        (seconds, status, out)
    few = subprocess.run(["sh", "-c", f"ulimit -n 8; exec {exe} --port 0"], capture_output=True,
                         timeout=10)
    assert few.returncode == 1 and b"descriptors" in few.stderr and few.stdout == b"", few


def stops(exe, model):
    server = Server(exe, "maxClients=5")
    stalled, idle = server.connect(), server.connect()
    line(stalled)
    line(idle)
    stalled.sendall(b"BIG 30000000\r\n")
    time.sleep(0.2)
    seconds, status, _, _ = server.stop()
    assert status == 1 and seconds < LATE, (status, seconds)
    assert rest(idle) == b"bye: the server stops\r\n"
    server = Server(exe, "maxClients=5", "drainTimeout=2m")
    stalled = server.connect()
    stalled.sendall(b"BIG 30000000\r\n")
    time.sleep(0.2)
    server.process.terminate()
    end = time.monotonic() + LATE
    while pending(server.process.pid, signal.SIGTERM):  # else both are one
        assert time.monotonic() < end, "the signal is not taken"
        time.sleep(0.01)
    seconds, status, _, _ = server.stop()
    assert seconds < LATE, "a second TERM stops at once, but for the action that runs"


def crashes(exe, model):
    big = r"rule big \(sample.nest:\d+\)"
    crashing = [(b"BIG 990\r\n", "SIGSEGV", big), (b"BIG 991\r\n", "SIGSEGV", big),
                (b"BIG 992\r\n", "SIGABRT", big),
                (b"HUSH\n", "SIGABRT", r"TIMEOUT rule line 93 \(sample.nest\)")]
    if model not in ("process", "prefork"):
        steady, begun = Server(exe, "maxClients=6"), time.monotonic()
    server = Server(exe, "maxClients=6")
    witness = server.connect()
    line(witness)
    for request, name, place in crashing:
        s = server.connect()
        assert ask(s, request).replace(b"(reset)", b"") in (b"hello\r\n", b"")
        if model not in ("process", "prefork"):  # all clients are lost, the next one is served
            assert rest(witness).replace(b"(reset)", b"") == b""
            witness = server.connect()
            line(witness)
    if model not in ("process", "prefork"):
        _, status, out, err = server.stop()
        assert status == 0 and "stopped after 9 clients: 8 crash, 1 shutdown" in out, (status, out)
        for _, name, place in crashing:
            assert re.search(rf"sample: server \d+ crashed: {name} in {place}, client 127.0.0.1:\d+; "
                             r"the server continues, but the other clients of this process are disconnected\n", err), err
        lines = re.findall(r"worker \d+ was killed by signal \d+ \([A-Z][a-z ]+\), and 2 "
                           r"clients were lost; it is replaced in (\d+) ms\n", err)
        assert lines == ["100", "200", "400", "800"], err
        outlived(exe)
        served_long(steady, begun)
        return
    s = server.connect()
    s.sendall(b"BIG 993\r\n")
    line(s)
    time.sleep(0.2)
    children = server.children()
    for pid in children:  # busy ones and spares
        os.kill(pid, signal.SIGKILL)
    gone(children)  # one that dies in accept may take a connection along
    s = server.connect()
    assert ask(s, b"QUIT\r\n").endswith(BYE), "the dead are replaced"
    s = server.connect()
    s.sendall(b"BIG 993\r\n")
    line(s)
    time.sleep(0.2)
    seconds, status, out, err = server.stop()
    assert status == 1 and 6.5 < seconds < LATE, "drainTimeout, and two seconds for the action to end"
    assert "stopped after 8 clients: 7 crash, 1 closed" in out, out
    for _, name, place in crashing:
        assert re.search(rf"sample: worker \d+ crashed: {name} in {place}, "
                         r"client 127.0.0.1:\d+; only this client is lost\n", err), err
    outlived(exe)


def served_long(server, begun):
    """A worker that has served for ten seconds has not failed at its start: the next one does not wait."""
    time.sleep(max(0, begun + WELL - time.monotonic()))
    ask(server.connect(), b"BIG 990\r\n")
    assert ask(server.connect(), b"QUIT\r\n").endswith(BYE)
    ask(server.connect(), b"BIG 990\r\n")
    assert ask(server.connect(), b"QUIT\r\n").endswith(BYE)
    _, status, _, err = server.stop()
    lines = re.findall(r"it is replaced (.*)\n", err)
    assert status == 0 and lines == ["at once", "in 100 ms"], err


def numbers(exe, model):
    """No two connections have one number, whatever worker has died between them."""
    server = Server(exe, "maxClients=3")
    for turn in range(12):
        assert ask(server.connect(), b"BIG 994\r\nQUIT\r\n").endswith(BYE)
        if turn % 5 == 4:
            ask(server.connect(), b"BIG 990\r\n")
    _, status, out, err = server.stop()
    found = [int(number) for number in re.findall(r"Z warn (\d+) a line", err)]
    assert len(found) == 12 and len(set(found)) == 12, found
    serials = [number >> 48 for number in found]
    first, second, third = serials[0], serials[5], serials[10]
    assert serials == [first] * 5 + [second] * 5 + [third] * 2, serials
    lives = 1 if model in ("process", "prefork") else 3
    assert len({first, second, third}) == lives, serials


def backs_off(exe, model):
    """While the next one is not started yet, a stop serves who waits, and nobody is busy with waiting."""
    server = Server(exe, "maxClients=1", "lingerTimeout=2m", "drainTimeout=2m")
    kill_idle(server, 1)
    waiting = server.connect()
    seconds, status, out, err = server.stop()
    assert seconds < LATE, "there is nothing unread of a client that never sent anything"
    assert rest(waiting) == b"hello\r\nbye: the server stops\r\n", (out, err)
    assert status == 0 and out.endswith("stopped after 1 client: 1 shutdown\n"), (status, out)
    if model not in ("process", "prefork"):
        return
    server = Server(exe, "maxClients=2")
    everybody = [server.connect()]
    line(everybody[0])
    kill_idle(server, 2)
    everybody.append(server.connect())
    line(everybody[1])
    time.sleep(0.3)  # the next may be forked, and there is no room for it
    schedule = pathlib.Path(f"/proc/{server.process.pid}/schedstat")
    before = int(schedule.read_text().split()[0])
    time.sleep(0.5)
    spent = (int(schedule.read_text().split()[0]) - before) / 1e6
    assert spent < 20, f"the supervisor was busy for {spent} ms"
    assert server.stop()[1] == 0


def kill_idle(server, children):
    """Kills who has no client, of that many, and waits until the supervisor knows."""
    end = time.monotonic() + 10
    while len(server.children()) < children:
        assert time.monotonic() < end, "somebody is not there"
        time.sleep(0.01)
    idle = min(server.children(), key=lambda pid: len(os.listdir(f"/proc/{pid}/fd")))
    os.kill(idle, signal.SIGKILL)
    while idle in server.children():
        assert time.monotonic() < end, "the dead is not taken notice of"
        time.sleep(0.001)


def held_up(exe, model):
    """Bytes that came in time win against it, however late they are seen, and however many they are.

    More clients than one call tells of; those who serve ring for a deadline that has moved on."""
    clients = 600 if model in LOOPS else 8
    for _ in range(8):  # on a busy machine this program may be too late itself
        server = Server(exe, f"maxClients={clients}", "idleTimeout=3s")
        everybody = in_time(server, clients)
        if everybody:
            break
        server.stop()
    else:
        raise AssertionError("this machine is too busy: bytes never came in time")
    _, status, out, err = server.stop()
    assert status == 0 and f"{clients} shutdown" in out, (status, out, err)


def in_time(server, clients):
    """Lets clients speak now and then, at last to processes that are stopped. None if some may have spoken too
    late; else all were answered, and these are their connections."""
    begin = time.monotonic()
    everybody = [server.connect() for _ in range(clients)]
    spoke, held = begin, []
    for number, at in enumerate((0, 1.5, 3.5)):
        if number == 2:
            held = server.children()
            for pid in held:
                os.kill(pid, signal.SIGSTOP)
        time.sleep(max(0, begin + at - time.monotonic()))
        before, spoke = spoke, time.monotonic()
        for s in everybody:
            with contextlib.suppress(ConnectionError):
                s.sendall(b"WHO\n")
        late = time.monotonic() - before > 2.8
        if number == 2:
            time.sleep(1.5)
            for pid in held:
                os.kill(pid, signal.SIGCONT)
        if late:
            return None
        for s in everybody:
            assert number > 0 or line(s) == b"hello\r\n"
            assert line(s) == b"nobody %d\r\n" % (number + 1), f"lost after {at} s"
    return everybody


def gone(pids):
    """Waits until these processes have ended."""
    end = time.monotonic() + LATE
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, "a process is left"
        time.sleep(0.01)


def pending(pid, number):
    """Whether a process has not taken this signal yet."""
    found = re.findall(r"^(?:Sig|Shd)Pnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return any(int(mask, 16) >> number - 1 & 1 for mask in found)


def outlived(exe):
    """Nobody does that to the supervisor."""
    server = Server(exe, "maxClients=6")
    s = server.connect()
    line(s)
    children = server.children()
    server.process.kill()
    server.process.wait()
    assert rest(s) == b"bye: the server stops\r\n", "workers do not outlive the supervisor"
    end = time.monotonic() + 10
    while any(alive(pid) for pid in children):
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.05)


def costs(exe, model, folder):
    """A worker's system calls for a connection of 21 requests; an idle server's: none."""
    if shutil.which("strace") is None:
        print("worker models: no strace here, system calls are not counted")
        return
    log = folder / "strace"
    server = Server(exe, "maxClients=8", before=["strace", "-f", "-o", log])
    before = len(settled(log))
    time.sleep(1)
    lines = log.read_text().splitlines()
    assert len(lines) == before, lines[before:]
    s = server.connect()
    line(s)
    for _ in range(20):
        s.sendall(b"WHO\r\n")
        line(s)
    assert ask(s, b"QUIT\r\n").endswith(BYE)
    lines = settled(log)
    worker = lines[before].split()[0]
    names = [re.match(r"\d+ +(?:<\.\.\. )?(\w+)", text).group(1) for text in lines[before:]
             if text.split()[0] == worker and "+++" not in text and "unfinished" not in text]
    first_use = ("mmap", "munmap", "mprotect", "brk", "exit_group")
    counted = {name: names.count(name) for name in names if name not in first_use}
    # START, 20 and the last reply; the receive that waits shows when it is resumed
    assert counted.pop("sendto") == 22 and counted.pop("recvfrom") == 21, names
    assert counted.pop("close") == 1 and counted.pop("accept4") in (1, 2), names
    # the first deadline wakes who minds the time; the others come later
    assert counted == {"write": 1}, counted
    os.kill(int(lines[0].split()[0]), signal.SIGTERM)  # strace passes none on
    server.process.communicate(timeout=10)


def configuration(exe, folder):
    def run(*arguments, **environment):
        return subprocess.run([exe, *arguments], cwd=folder, capture_output=True, text=True,
                              timeout=10, env={**os.environ, **environment})

    def refused(text, *arguments, **environment):
        result = run(*arguments, **environment)
        assert result.returncode == 2 and text in result.stderr, (text, result)

    refused("argument --set inputbuffer=1K: there is no option 'inputbuffer'; did you mean "
            "'inputBuffer'?", "--set", "inputbuffer=1K")
    refused("argument --set maxClients=0: maxClients: 0 is out of range; the minimum is 1",
            "--set", "maxClients=0")
    refused("environment variable NEST_SERVERPORT: serverPort: 'x' is not a number",
            NEST_SERVERPORT="x")
    refused("environment variable NEST_SERVERPROT", NEST_SERVERPROT="1")
    refused("argument --port: serverPort: a value is missing", "--port")
    refused("argument --bogus: unknown; --help", "--bogus")
    refused("argument --prot: unknown; did you mean --port?", "--prot", "9")
    refused("cannot read nowhere: No such file", "--config", "nowhere")
    refused("/dev/zero:1: a line of more than 4,095 bytes", "--config", "/dev/zero")
    refused("is not a numeric address", "--set", "listen=localhost:80")
    refused("serverPort cannot be combined with listen", "--port", "9", "--set", "listen=127.0.0.1:8")
    assert run("--check-config", "--port", "9", "--set", "listen=127.0.0.1:9").returncode == 0
    (folder / "bad").write_text("maxClients 3\nserverName\nkeepLimit 4Q\nserverprot 1\n")
    refused("bad:2: 'serverName' has no value", "--config", "bad")
    refused("bad:3: keepLimit: '4Q' is not a size", "--config", "bad")
    refused("bad:4: there is no option 'serverprot'; did you mean 'serverPort'?", "--config", "bad")
    (folder / "bad").write_text("serverPort = 1\nkeepLimit=4K\n%option maxClients 3\n")
    refused("bad:1: write 'serverPort 1'; a line is a name, a blank and a value", "--config", "bad")
    refused("bad:2: write 'keepLimit 4K'", "--config", "bad")
    refused("bad:3: write 'maxClients 3'; %option is only for specifications", "--config", "bad")
    refused("argument --set eventServer=5: 'eventServer' can only be set in the specification; the "
            "number of clients is maxClients", "--set", "eventServer=5")
    (folder / "config.nest").write_text("# all\n maxClients 3 # few\r\n\nserverName a b\n"
                                        "inputBuffer 16K\noutputBuffer 4M\n")
    shown = run("--check-config", "--set", "outputBuffer=2048", NEST_INPUTBUFFER="1M")
    assert shown.returncode == 0, shown
    for expected in ("maxClients 3  # config.nest:2", "serverName a b  # config.nest:4",
                     "inputBuffer 1M  # environment variable NEST_INPUTBUFFER",
                     "outputBuffer 2K  # argument --set outputBuffer=2048",
                     "serverPort 8080  # built in"):
        assert expected in shown.stdout.splitlines(), (expected, shown.stdout)
    assert "maxClients N" in run("--help").stdout and run("--version").returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="clang")
    parser.add_argument("--sanitize")
    parser.add_argument("--model", nargs="+", default=["process", "prefork", "thread", *LOOPS])
    options = parser.parse_args()
    faulthandler.dump_traceback_later(2400, exit=True)      # what takes so long hangs: where is it?
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with_tasks = {model: build(folder, model, options, "tasks") for model in options.model}
        service_processes(with_tasks, folder)
        leave_root(with_tasks, folder)
        print("worker models: service process: all is well", flush=True)
        for model in options.model:
            channels(folder, model, options)
            exe = build(folder, model, options)
            no_service_process(exe, model)
            no_mail(exe)
            mail(build(folder, model, options, "mailbox"), model)
            conversations(exe, model)
            counts(exe, model)
            listeners(exe, model, folder)
            starts(exe, model)
            held_up(exe, model)
            if "thread" not in (options.sanitize or ""):  # it reports threads that a stop abandons
                stops(exe, model)
                crashes(exe, model)
                numbers(exe, model)
                backs_off(exe, model)
            if model not in LOOPS and not options.sanitize:
                costs(exe, model, folder)
            print(f"worker models: {model}: all is well", flush=True)
        empty = folder / "empty"
        empty.mkdir()
        configuration(exe, empty)
        print("worker models: configuration: all is well")


if __name__ == "__main__":
    main()
