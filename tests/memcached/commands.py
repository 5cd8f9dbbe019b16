"""Commands of memcached's text protocol, drawn from a seed, and the answers of two servers to them.

Must not know: how the servers work.
"""

import re
import threading
import meta
from support.server import Client

KEYS = ['a', 'b', 'kay', 'd' * 250, 'p:q']
LONG = 'x' * 251
TIMES = ['0', '0', '100', '-1', '2147483000', 'x']     # memcached's times have 32 bits
VERBS = ['set', 'add', 'replace', 'append', 'prepend']


def _value(draw):
    kind = draw.randrange(8)
    if kind < 4:
        return str(draw.choice([0, 7, 10, 99, 100, 2 ** 64 - 1, 2 ** 64])).encode()
    if kind < 6:
        # To memcached, a blank and no number is 0 to count from.
        return bytes(draw.choice(b'xyz \r\n\0\xff') for _ in range(draw.randrange(40))).lstrip(b' \r\n')
    return draw.choice([b' 12', b'12  ', b'-1', b'+7', b'-0', b'1a', b'', b'y' * draw.randrange(1020, 1030),
                        b'z' * draw.randrange(1500)])      # memcached ends a connection with a line of 2048


def _change(draw, key):
    value = _value(draw)
    length = len(value) if draw.randrange(12) else draw.choice([len(value) + 1, max(0, len(value) - 1)])
    words = [draw.choice(VERBS), key, draw.choice(['0', '5', '4294967295', '0' if draw.randrange(9) else 'q']),
             draw.choice(TIMES), str(length)]
    if draw.randrange(10) == 0:
        words[0] = 'cas'
    if words[0] == 'cas' and draw.randrange(5):
        words.append(draw.choice(['0', '18446744073709551615', 'v']))
    return words, value + b'\r\n'


def one(draw):
    """A command: mostly sound."""
    key = LONG if draw.randrange(40) == 0 else draw.choice(KEYS)
    some = [draw.choice(KEYS) for _ in range(draw.randint(1, 5))]
    behind = b''
    kind = draw.randrange(26)
    if kind >= 20:
        words, behind = meta.one(draw, KEYS, _value)
    elif kind < 8:
        words, behind = _change(draw, key)
    elif kind < 12:
        words = [draw.choice(['get', 'gets']), *some]
    elif kind < 13:
        words = [draw.choice(['gat', 'gats']), draw.choice(TIMES), *some]
    elif kind < 15:
        words = [draw.choice(['incr', 'decr']), key,
                 draw.choice(['1', '9', '100', '18446744073709551615', '18446744073709551616', '-1', '-0',
                              '+3', 'z'])]
    elif kind < 16:
        words = ['touch', key, draw.choice(TIMES)]
    elif kind < 18:
        words = ['delete', key, *draw.choice([[], [], ['0'], ['1']])]
    else:
        words = draw.choice([['flush_all'], ['flush_all', '0'], ['flush_all', 'z'], ['verbosity', '1'],
                             ['verbosity'], ['get'], ['set', 'a'], ['nothing'], [], ['incr', 'a'],
                             ['touch', 'a'], ['delete'], ['gets', ''], ['verbosity', 'z'],
                             ['stats', 'detail', 'on'], ['stats', 'detail', 'off'], ['stats', 'detail', 'dump'],
                             ['stats', 'detail'], ['stats', 'reset'], ['stats', 'sizes'], ['stats', 'none'],
                             ['shutdown']])
    if draw.randrange(10) == 0 and words and words[0][:1] != 'g':
        words.append('noreply')
    blank = '  ' if draw.randrange(15) == 0 else ' '
    return blank.join(words).encode() + (b'\n' if draw.randrange(15) == 0 else b'\r\n') + behind


def answers(server, commands):
    """All that a server answers to them, with a cache that is empty before. Versions are numbered as they
    are seen, because each server counts in its own way; no item has version 1."""
    # A value that is too short takes one of the line ends. memcached drops answers at an end of file. It
    # answers before it goes on after "mn"; otherwise it counts in a new item while an answer waits.
    text = b'set z 0 0 0\r\n\r\nflush_all\r\nstats detail off\r\nstats reset\r\n' + b'mn\r\n'.join(commands) + b'\r\n\r\nquit\r\n'
    with Client(server) as client:
        sender = threading.Thread(target=client.send, args=(text,))
        sender.start()
        got = client.rest()
        sender.join()
    seen = {}

    def named(found):
        return found[1] + b'#%d' % seen.setdefault(found[2], len(seen) + 1)
    return meta.plain(re.sub(rb'(VALUE [abdkypq:]+ [0-9]+ [0-9]+ )([0-9]+)(?=\r\n)', named, got), seen)


def fewer(commands, differ):
    """The commands, without those that are not needed for the difference."""
    at = 0
    while at < len(commands):
        rest = commands[:at] + commands[at + 1:]
        if differ(rest):
            commands = rest
        else:
            at += 1
    return commands
