"""What tests wait for, and compare.

Must not know: what is tested.
"""

import time

from .nest import Failed

WAIT = 20       # seconds: for what happens at once as a rule


def until(what, true, seconds=WAIT):
    """Waits until it is true; its value. Failed, with what was awaited, if it never is."""
    end = time.monotonic() + seconds
    while True:
        value = true()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f'not within {seconds} s: {what}')
        time.sleep(0.01)


def expect(condition, what):
    """Failed unless it holds."""
    if not condition:
        raise Failed(what)


def same(what, got, wanted):
    """Failed unless they are equal."""
    if got != wanted:
        raise Failed(f'{what}\nexpected {wanted!r:.600}\nreceived {got!r:.600}')
