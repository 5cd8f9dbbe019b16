"""The longest time that the runner waits for a server in one step. Set it once, before the first wait.

Must not know: what is waited for.
"""

import contextlib
import threading

_state = {'seconds': 60}        # only a failing case waits that long
_mine = threading.local()


def choose(seconds):
    """Sets the limit for one step on sockets, or from one message to the next without sockets."""
    _state['seconds'] = seconds


def seconds():
    """The limit for the calling thread."""
    return _state['seconds'] * getattr(_mine, 'among', 1)


@contextlib.contextmanager
def among(clients):
    """Multiplies the calling thread's limit by the number of clients that run at the same time,
    because a server may serve them one after another."""
    _mine.among = clients
    try:
        yield
    finally:
        _mine.among = 1


def shown():
    """The limit as text."""
    return f'{seconds():g} s'


class Hung(str):
    """The reason of a failure by timeout. Callers skip the remaining cells, which would time out too."""
