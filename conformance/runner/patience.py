"""How long a server may keep anybody waiting; set once, before it is asked for.

Must not know: what is waited for.
"""

import contextlib
import threading

_state = {'seconds': 60}        # it bounds failures, and nobody waits for it else
_mine = threading.local()


def choose(seconds):
    """From now on, for any one step, and from message to message without sockets."""
    _state['seconds'] = seconds


def seconds():
    """How long."""
    return _state['seconds'] * getattr(_mine, 'among', 1)


@contextlib.contextmanager
def among(clients):
    """This thread's client is one of so many at once, whom a server may serve one after the other."""
    _mine.among = clients
    try:
        yield
    finally:
        _mine.among = 1


def shown():
    """How long, in words."""
    return f'{seconds():g} s'


class Hung(str):
    """What went wrong, where something was waited for in vain: whatever else is tried would wait too."""
