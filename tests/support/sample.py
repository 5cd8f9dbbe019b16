"""How much of its work a test does. `cargo xtask check` sets three variables:

    CHECK_SEED=N      the first seed of all that is drawn (default: 1)
    CHECK_ALL=1       everything, in place of a sample
    CHECK_SHARD=I/N   with CHECK_ALL: the I-th of N shares

What is drawn from a list takes turns: the samples of consecutive days draw all of the list before any of
it is drawn again. Must not know: what is checked.
"""

import datetime
import os
import random
import re

SEED = int(os.environ.get('CHECK_SEED') or 1)
ALL = os.environ.get('CHECK_ALL') == '1'
_A_DAY = 1_000_000      # seeds of a day begin with its date


def _shard(text):
    """(which, of how many), counted from 0."""
    found = re.fullmatch(r'([0-9]+)/([0-9]+)', text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise SystemExit(f'CHECK_SHARD={text}: a shard is written I/N, as in 2/3')
    return int(found[1]) - 1, int(found[2])


SHARD = _shard(os.environ.get('CHECK_SHARD') or '1/1')


def described():
    """What this run covers, for the first line of a report."""
    which, count = SHARD
    everything = f'shard {which + 1}/{count} of everything' if count > 1 else 'everything'
    return f'{everything if ALL else "a sample"}, seed {SEED}'


def share(items):
    """The part of a list that belongs to this shard."""
    which, count = SHARD
    return list(items)[which::count]


def _turn():
    """The number of this sample: that of the next day is one more."""
    date, rest = divmod(SEED, _A_DAY)
    try:
        return datetime.datetime.strptime(f'{date:08}', '%Y%m%d').toordinal() + rest
    except ValueError:
        return SEED             # no date


def _drawn(name, length, count):
    """Which `count` of so many things are drawn under this name. Rounds follow each other, each through all
    of them in an order of its own, and each sample goes on where that of the day before ended."""
    found, at = [], _turn() * count
    while len(found) < count:
        turn, place = divmod(at, length)
        order = random.Random(f'{name} {turn}').sample(range(length), length)
        if order[place] not in found:       # the next round may begin with what ended this one
            found.append(order[place])
        at += 1
    return found


def some(items, count, name=''):
    """A list of `count` of them, drawn by the seed and in their order; with CHECK_ALL those of this
    shard. The seed's draws in lists of other lengths, or under other names, do not depend on each other."""
    items = list(items)
    if ALL:
        return share(items)
    if len(items) <= count:
        return items
    return [items[at] for at in sorted(_drawn(f'{name}{len(items)} {count}', len(items), count))]


def one(name, items):
    """One of some items, drawn by the seed for the thing of that name."""
    items = list(items)
    return items[_drawn(name, len(items), 1)[0]]


def seeds(sample, full):
    """The first seed and how many there are: `sample` of them, or this shard's part of `full`."""
    if not ALL:
        return SEED, sample
    which, count = SHARD
    begin, end = full * which // count, full * (which + 1) // count
    return SEED + begin, end - begin
