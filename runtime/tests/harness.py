"""What the tests of the runtime share: running scripts, starting and stopping servers."""

import functools
import os
import select
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from support import sample

ESCAPES = {ord("\r"): "\\r", ord("\n"): "\\n", ord("\t"): "\\t", ord("\\"): "\\\\", ord('"'): '\\"'}
# Of the table of models (crates/nest-machine/src/models.rs): pollers, and workers.
MODELS = [("blocking", "process"), ("blocking", "prefork"), ("blocking", "thread"), ("epoll", "loops"),
          ("uring", "loops"), ("script", "loops")]
failures = 0
if os.geteuid() == 0:
    os.environ.setdefault("NEST_USER", "root")  # else servers would warn that they are root


@functools.cache
def runtime_lister():
    """The program that prints the list of the runtime's files (runtime/print.rs). It is built once:
    other steps hold cargo's lock for long."""
    subprocess.run(["cargo", "build", "--quiet", "--package", "nest-runtime"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    return os.path.join(ROOT, target, "debug", "nest-runtime")


@functools.cache
def runtime_list(*words):
    """What the list of the runtime's files says."""
    return subprocess.run([runtime_lister(), *words], check=True, capture_output=True,
                          text=True).stdout


def check(what, got, wanted):
    """Says what differs; the process fails at the end."""
    global failures
    if got != wanted:
        failures += 1
        print(f"FAILED: {what}\n  got    {str(got)[:600]}\n  wanted {str(wanted)[:600]}")


def finish(name, count):
    print(f"{name}: {count} checked, {failures} failed")
    sys.exit(1 if failures else 0)


def quote(data):
    return '"' + "".join(ESCAPES.get(b, chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + '"'


def unquote(text):
    plain = {"r": 13, "n": 10, "t": 9, "\\": 92, '"': 34}
    out, i = bytearray(), 1
    while i < len(text) - 1:
        if text[i] != "\\":
            out.append(ord(text[i]))
            i += 1
        elif text[i + 1] == "x":
            out.append(int(text[i + 2:i + 4], 16))
            i += 4
        else:
            out.append(plain[text[i + 1]])
            i += 2
    return bytes(out)


def script(binary, lines, *arguments, environment=None):
    """Runs a script: its exit status, its trace by conversation, its output by conversation."""
    run = subprocess.run([binary, *arguments], input="\n".join(lines) + "\n", text=True,
                         capture_output=True, timeout=300, encoding="latin-1",
                         env={**os.environ, "NEST_TRACE_FD": "1", **(environment or {})})
    trace, out = {}, {}
    for line in run.stdout.splitlines():
        who, rest = line.split(" ", 1)
        if rest.startswith("out "):
            out[who] = out.get(who, b"") + unquote(rest[4:])
        else:
            trace.setdefault(who, []).append(rest)
    return run.returncode, trace, out, run.stderr


class Server:
    """A server on a port that the kernel chose."""

    def __init__(self, binary, *arguments, environment=None, before=None):
        self.process = subprocess.Popen(
            [*(before or []), binary, "--port", "0", *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        told = select.select([self.process.stdout], [], [], 60)[0]
        self.ready = self.process.stdout.readline() if told else ""
        if "listening on" not in self.ready:
            self.process.kill()
            raise AssertionError(self.ready, self.process.communicate(timeout=60))
        self.port = int(self.ready.split(", at")[0].rsplit(":", 1)[1])

    def connect(self, **options):
        s = socket.socket()
        for name, value in options.items():
            s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        s.settimeout(60) # a busy machine; what hangs is found nevertheless
        s.connect(("127.0.0.1", self.port))
        return s

    def talk(self, data, half_close=False):
        with self.connect() as s:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def serving(self):
        """Who serves: the child of the process that was started."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        end = time.monotonic() + 60
        while not (found := open(path).read().split()):
            assert time.monotonic() < end, "nobody serves"
            time.sleep(0.01)
        return int(found[0])

    def stop(self, number=signal.SIGTERM):
        """Its exit status, and what it said."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=100)[1]
        return self.process.returncode, said


def settled(log, quiet=0.5, most=20):
    """The lines of a log to which nothing has been added for so many seconds: strace writes when it
    can, and a busy machine lets it wait."""
    end, size = time.monotonic() + most, -1
    while (now := os.path.getsize(log)) != size:
        assert time.monotonic() < end, f"{log} grows and grows"
        size = now
        time.sleep(quiet)
    with open(log) as file:
        return file.read().splitlines()


def read_all(s):
    parts = []
    while data := s.recv(1 << 16):
        parts.append(data)
    return b"".join(parts)
