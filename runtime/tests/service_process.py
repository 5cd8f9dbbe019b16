"""Checks the service process of the sample: clients do not notice when it is killed, and without tasks there is none.

Used by workers.py. Must not know: how clients are served.
"""
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from sample_server import BYE, Server, alive, ask, line

PAUSE = 0.02    # between two clients of one thread: the processors have more to do than this


def no_service_process(exe, model):
    """Where nothing has work of its own there is no such process, and nothing of it in the server."""
    names = subprocess.check_output(["nm", exe], text=True)
    # Empty nest__service_process_… of its header are there, because nothing is optimised.
    assert not re.search(r"\bservice_process|nest__task", names), "it is in a server that has no tasks"
    assert "nest__supervise" in names
    if model not in ("process", "prefork"):
        server = Server(exe, "maxClients=5")
        line(server.connect())
        assert len(server.children()) == 1, "only the process that serves is there"
        assert server.stop()[1] == 0


class Tasks:
    """The server of a model, with tasks, under load, and what its service process writes."""

    def __init__(self, exe, model, folder):
        self.model, self.path, self.over = model, folder / f"tasks-{model}", threading.Event()
        self.server = Server(exe, "maxClients=12", SAMPLE_TASKS=str(self.path))
        self.wrong, self.served = [], 0
        self.threads = [threading.Thread(target=self.load, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def load(self):
        try:
            while not self.over.wait(PAUSE):
                got = ask(self.server.connect(), b"WHO\r\nQUIT\r\n")
                assert got == b"hello\r\nnobody 1\r\nclosing\r\n" + BYE, got
                self.served += 1
        except (OSError, AssertionError) as error:
            self.wrong.append(error)

    def latest(self, but):
        """The process that has written last, once it is another and both tasks run in it."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            lines = self.path.read_text().splitlines() if self.path.exists() else []
            pid = lines[-1].split()[1] if lines else but
            if pid != but and {f"beat {pid}", f"clock {pid}"} <= set(lines):
                return pid
            time.sleep(0.005)
        raise AssertionError(f"{self.model}: no service process takes the place of {but}")

    def killed(self, times):
        pid = "0"
        for _ in range(times):
            pid = self.latest(pid)
            os.kill(int(pid), signal.SIGKILL)
        return self.latest(pid)

    def end(self, times):
        try:
            pid = self.latest("0")
        finally:
            self.over.set()
            for thread in self.threads:
                thread.join()
        assert not self.wrong and self.served > 10, (self.model, self.wrong, self.served)
        _, status, out, err = self.server.stop()
        assert status == 0 and f"stopped after {self.served} clients: {self.served} closed\n" in out, out
        assert not alive(pid), "the service process ends with the server"
        found = re.findall(r"the service process \d+ was killed by signal 9 \(Killed\); it is "
                           r"replaced in (\d+) ms\n", err)
        assert found == ["100", "200", "400", "800", "1600", "3200", *["5000"] * 2][:times], err


def service_processes(exes, folder, times=8):
    """The service process is killed again and again under load, in all models at once: no client
    notices."""
    all_tasks = [Tasks(exe, model, folder) for model, exe in exes.items()]
    failed = []

    def kill(tasks):
        try:
            tasks.killed(times)
        except (OSError, AssertionError) as error:
            failed.append(error)

    killers = [threading.Thread(target=kill, args=(tasks,), daemon=True) for tasks in all_tasks]
    for killer in killers:
        killer.start()
    for killer in killers:
        killer.join()
    for tasks in all_tasks:
        tasks.end(times)
    assert not failed, failed
    for model, exe in exes.items():
        path = folder / "outlived"
        path.unlink(missing_ok=True)
        server = Server(exe, "maxClients=5", SAMPLE_TASKS=str(path))
        end = time.monotonic() + 10
        while not path.exists():
            assert time.monotonic() < end, "no service process begins"
            time.sleep(0.01)
        pids = server.children()
        server.process.kill()
        server.process.wait()
        while any(alive(pid) for pid in pids):
            assert time.monotonic() < end, "a child outlives the supervisor"
            time.sleep(0.05)


def leave_root(exes, folder):
    """With option user the service process and the workers leave root, and the supervisor does not."""
    if os.geteuid() != 0:
        print("worker models: service process as another user: NOT RUN, this needs root", flush=True)
        return
    of_user = folder / "of-user"
    of_user.mkdir()
    os.chown(of_user, 54321, 54322)
    folder.chmod(0o711)
    for model, exe in exes.items():
        path = of_user / f"tasks-{model}"
        server = Server(exe, "maxClients=5", "user=54321:54322", SAMPLE_TASKS=str(path))
        end = time.monotonic() + 10
        while not path.exists() or not path.read_text().endswith("\n"):
            assert time.monotonic() < end, "no service process begins"
            time.sleep(0.01)
        service = int(path.read_text().split()[1])
        about = pathlib.Path(f"/proc/{service}/status").read_text()
        for field in ("Uid:" + "\t54321" * 4, "Gid:" + "\t54322" * 4, "CapPrm:\t" + "0" * 16):
            assert field + "\n" in about, (model, field, about)
        assert path.stat().st_uid == 54321, "it writes as the user"
        line(server.connect())
        assert service in server.children()
        assert server.stop()[1] == 0
