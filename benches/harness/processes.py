"""A foreign or own server as a process: started until it listens, ended, and the processor time that it took.

Without control groups, so without root. Must not know: what a server does.
"""

import contextlib
import glob
import os
import socket
import statistics
import subprocess
import time

from .machine import Failed

LIMIT = 60


def family(pid):
    """A process and its descendants."""
    found = [pid]
    for path in glob.glob(f'/proc/{pid}/task/*/children'):
        with open(path, encoding='ascii') as file:
            for child in file.read().split():
                found += family(child)
    return found


def spent(pid):
    """Processor time of a process and its descendants in seconds."""
    total = 0
    for one in family(pid):
        for path in glob.glob(f'/proc/{one}/task/*/schedstat'):
            with contextlib.suppress(OSError), open(path, encoding='ascii') as file:
                total += int(file.read().split()[0])
    return total / 1e9


def free():
    """A port that nobody has."""
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving(words, port):
    """Runs a server until the end of the block; its process id, when it listens."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, 'NEST_USER': 'root'} if os.geteuid() == 0 else None) as process:
        try:
            end = time.monotonic() + LIMIT
            while True:
                with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port)):
                    break
                if process.poll() is not None or time.monotonic() > end:
                    raise Failed(f'{words[0]} does not serve')
                time.sleep(0.02)
            yield process.pid
        finally:
            process.terminate()
            process.wait(LIMIT)


def beside(figures, base):
    """The ratios of the rounds to another server's, as a text: the median, and the least and the most."""
    ratios = [one / two for one, two in zip(figures, base)]
    return f'{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})'
