"""Processes of an experiment: start, watch, end. Whatever is started here ends with the experiments.

Must not know: servers, loads, reports.
"""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A step of an experiment did not work; the text says why."""


def adopt():
    """Processes whose parent has died become our children, so that `end_all` finds them."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start(words, cores=None, **more):
    """Starts a program in a session of its own. It gets KILL if this process dies."""
    def prepare():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if cores:
            os.sched_setaffinity(0, cores)
    try:
        return subprocess.Popen(words, start_new_session=True, preexec_fn=prepare, **more)
    except OSError as error:
        raise Failed(f'cannot run {words[0]}: {error}') from error


def below(pid):
    """A process's children, their children and so on."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as file:
                for child in map(int, file.read().split()):
                    found += [child, *below(child)]
    return found


def cpu(pid):
    """Nanoseconds that a process and those below it have run, threads and children that have ended included. What the
    latter ran is known in ticks, of 10 ms together."""
    total = 0
    for member in [pid, *below(pid)]:
        with contextlib.suppress(OSError):
            with open(f'/proc/{member}/stat', encoding='latin-1') as file:
                fields = file.read().rpartition(')')[2].split()     # the first is the state, field 3
            total += (int(fields[13]) + int(fields[14])) * 10**9 // os.sysconf('SC_CLK_TCK')
            for task in os.listdir(f'/proc/{member}/task'):
                with open(f'/proc/{member}/task/{task}/schedstat', encoding='ascii') as file:
                    total += int(file.read().split()[0])
    return total


def kill(pids):
    """Sends KILL to processes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end(process):
    """Ends a process and those that it has started."""
    family = below(process.pid)
    if process.poll() is None:
        kill([process.pid])
    kill(family)
    process.wait()


def end_all():
    """Ends all that was started. Orphans are our children."""
    limit = time.monotonic() + 10
    while (left := below(os.getpid())) and time.monotonic() < limit:
        kill(left)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(.02)
    return left


def free_port():
    """A TCP port that nobody listens on; the kernel chooses it."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def until(condition, why, wait=30):
    """Waits until the condition holds and returns its value."""
    limit = time.monotonic() + wait
    while not (value := condition()):
        if time.monotonic() > limit:
            raise Failed(why)
        time.sleep(.02)
    return value
