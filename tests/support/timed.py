"""How long a server takes to keep a limit, and what comes soon enough, tried again if the machine was busy.

Must not know: which limit it is.
"""

import select
import time
from .nest import Failed

TRIES = 6           # of a measurement
EARLY, LATE = 0.03, 0.6


def timed(what, limit, measure, early=EARLY, late=LATE):
    """Raises Failed unless a try takes as many seconds."""
    took = []
    for _ in range(TRIES):
        took.append(measure())
        if took[-1] < limit - early:
            break
        if took[-1] <= limit + late:
            return
    raise Failed(f'{what}: after {", ".join(f"{s:.2f}" for s in took)} s instead of {limit}')


def again(work, times=3):
    """Does work(0), work(1) … until one succeeds: what says how soon something happens, a busy machine
    can spoil, though hardly so often."""
    for number in range(times):
        try:
            return work(number)
        except Failed:
            if number == times - 1:
                raise


def cut(client, line):
    """Seconds until a client that says this line and reads nothing is cut."""
    watch = select.poll()
    watch.register(client.socket, select.POLLHUP | select.POLLERR)
    begun = time.monotonic()        # before it: this process may be interrupted behind it
    client.send(line)
    if not watch.poll(20_000):
        raise Failed(f'{line!r}: not cut within 20 s')
    return time.monotonic() - begun
