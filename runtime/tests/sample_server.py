"""The sample server, built and running, and its clients: for the checks of worker models.

Every wait is bounded; sockets are on loopback, with ports that the kernel chooses.
"""
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import time

from harness import runtime_list

HERE = pathlib.Path(__file__).parent / "sample"
LOOPS = ("epoll", "uring")  # pollers of loops; other models are named by their workers
LATE = 40           # seconds, more than any work takes on a busy machine, and less than limits of a minute
BYE = b"bye: closed by the server\r\n"


def build(folder, model, options, more=None, actions="crash.c", features=()):
    """The sample with these actions and further features; more: with work of its own ("tasks"), or with mail
    between its workers ("mailbox")."""
    tables = folder / "tables.h"
    tables.write_bytes(subprocess.check_output([sys.executable, HERE / "tables.py"]))
    exe = folder / "-".join(["sample", model, *features, *([more] if more else [])])
    server = [model, "loops"] if model in LOOPS else ["blocking", model]
    features = ["keep", "timeout", *features, *([more] if more else [])]
    words = [word for name in features for word in ("--with", name)]
    if more == "mailbox":
        words += ["--listen", "post:tests/sample/post.h:take,mail"]
    text = runtime_list("unit", *server, *words)
    file = {"tasks": "tasks.c", "mailbox": "post.c"}.get(more)
    (folder / f"{exe.name}.h").write_text(text + (f'#include "tests/sample/{file}"\n' if file else ""))
    flags = ["-std=c17", "-g", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]
    flags += [f"-fsanitize={options.sanitize}"] if options.sanitize else []
    name = {"epoll": "event"}.get(model, model)
    subprocess.check_call(
        [options.cc, *flags, "-Wno-infinite-recursion", "-iquote", HERE.parent.parent]
        + [f'-DSAMPLE_NAME="{name}"', f'-DSAMPLE_UNIT="{exe}.h"', f'-DSAMPLE_TABLES="{tables}"']
        + [HERE / "server.c", HERE / actions, "-o", exe])
    return exe


class Server:
    def __init__(self, exe, *settings, port=True, before=(), **variables):
        arguments = [*before, exe, *(["--port", "0"] if port else [])]
        for setting in settings:
            arguments += ["--set", setting]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **variables})
        ready = select.select([self.process.stdout], [], [], LATE)[0]
        self.line = self.process.stdout.readline().decode() if ready else ""
        if "listening on" not in self.line:
            self.process.kill()
            raise AssertionError(self.line, self.process.communicate(timeout=LATE))
        found = re.search(r":(\d+),", self.line)
        self.port = int(found.group(1)) if found else 0

    def connect(self, host="127.0.0.1"):
        return socket.create_connection((host, self.port), timeout=LATE)

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(pid) for pid in pathlib.Path(path).read_text().split()]

    def stop(self, sign=signal.SIGTERM):
        """Seconds, status, what stdout and stderr said."""
        begin = time.monotonic()
        self.process.send_signal(sign)
        out, err = self.process.communicate(timeout=2 * LATE)
        return time.monotonic() - begin, self.process.returncode, out.decode(), err.decode()


def unix(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(str(path))
    return s


def rest(s):
    data = b""
    try:
        while chunk := s.recv(65536):
            data += chunk
    except ConnectionResetError:
        data += b"(reset)"
    return data


def line(s):
    data = b""
    while not data.endswith(b"\n"):
        chunk = s.recv(1)
        assert chunk, data
        data += chunk
    return data


def ask(s, text):
    s.sendall(text)
    return rest(s)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
