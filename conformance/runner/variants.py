"""Splits a conversation into pieces: the same bytes in other packets.

However it is split, a server with `framing stream` must do the same. Must not know: how pieces are
sent.
"""

import random

PIECES = 64       # piece sizes that are all tried
CUTS = 400        # single splits tried in script; if there are more, an even sample
BYTES = 256 << 20 # the total bytes that all splits send; long conversations get fewer splits


def pieces(data, size):
    """`data` in pieces of `size` bytes."""
    return [data[i:i + size] for i in range(0, len(data), size)]


def whole(talk):
    """The conversation without splits."""
    return list(talk)


def in_pieces(talk, size):
    """Every send in pieces of `size` bytes."""
    out = []
    for entry in talk:
        client, step, argument = entry
        if step == 'send':
            out += [(client, 'send', piece) for piece in pieces(argument, size)]
        else:
            out.append(entry)
    return out


def one_cut(talk, client, offset):
    """One client's bytes split once, `offset` bytes after the first; None if a send ends there."""
    out, at, cut = [], 0, False
    for entry in talk:
        name, step, argument = entry
        if name == client and step == 'send':
            inside = offset - at
            at += len(argument)
            if 0 < inside < len(argument):
                out += [(name, step, argument[:inside]), (name, step, argument[inside:])]
                cut = True
                continue
        out.append(entry)
    return out if cut else None


def sample(numbers, most, seed=None):
    """At most `most` items of a sequence, including the first and the last: evenly distributed, or drawn
    by a seed."""
    numbers = list(numbers)
    if len(numbers) <= most:
        return numbers
    if seed is not None:
        drawn = random.Random(f'{seed} {len(numbers)}').sample(range(1, len(numbers) - 1), most - 2)
        return [numbers[0], *(numbers[at] for at in sorted(drawn)), numbers[-1]]
    chosen = sorted({i * (len(numbers) - 1) // (most - 1) for i in range(most)})
    return [numbers[i] for i in chosen]


def lengths(talk):
    """{client: bytes it sends}."""
    out = {}
    for client, step, argument in talk:
        out[client] = out.get(client, 0) + (len(argument) if step == 'send' else 0)
    return out


def all_of(talk, most=CUTS, seed=None):
    """(label, talk) for no split, pieces of every size, and every single split. If these are more than
    `most` of a kind, a sample of them (see `sample`)."""
    yield 'whole', whole(talk)
    longest = max([len(a) for _, s, a in talk if s == 'send'], default=0)
    sizes = [n for n in range(1, min(longest, PIECES))]
    sizes += [n for n in (100, 255, 256, 1000, 1023, 1024, 4095, 4096, 8191, 8192) if n < longest]
    total = sum(lengths(talk).values())
    if total > 100_000:
        sizes = [n for n in sizes if n > 100 or n in (7, 64)]
    most = min(most, max(2, BYTES // max(1, total)))
    for size in sample(sizes, most, seed):
        yield f'pieces of {size}', in_pieces(talk, size)
    for client, length in lengths(talk).items():
        for offset in sample(range(1, length), most, seed):
            cut = one_cut(talk, client, offset)
            if cut is not None:
                yield f'cut at {offset}{" of " + client if client else ""}', cut


def some_of(talk, most):
    """A few for sockets: single bytes if there are few, and some single splits."""
    total = sum(lengths(talk).values())
    if 1 < total <= 80:
        yield 'pieces of 1', in_pieces(talk, 1)
    else:
        yield f'pieces of {max(7, total // 40)}', in_pieces(talk, max(7, total // 40))
    for client, length in lengths(talk).items():
        for offset in sample(range(1, length), most):
            cut = one_cut(talk, client, offset)
            if cut is not None:
                yield f'cut at {offset}', cut
