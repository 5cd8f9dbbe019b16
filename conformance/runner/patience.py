"""How long a server may keep anybody waiting; set once, before it is asked for.

Must not know: what is waited for.
"""

_state = {'seconds': 60}        # it bounds failures, and nobody waits for it else


def choose(seconds):
    """From now on, for any one step, and for a whole conversation without sockets."""
    _state['seconds'] = seconds


def seconds():
    """How long."""
    return _state['seconds']


def shown():
    """How long, in words."""
    return f'{seconds():g} s'


class Hung(str):
    """What went wrong, where something was waited for in vain: whatever else is tried would wait too."""
