"""Python regular expressions of pages: parses each one, and concatenates them so that each keeps
its own groups.

Must not know: what they are matched against.
"""

import re
import warnings

# Warnings about later Python versions do not matter here.
warnings.filterwarnings('ignore', category=FutureWarning)

_REFUSED = (re.error, OverflowError, RecursionError, DeprecationWarning)
# Text that may open a group or refer to one, and text that only looks like that.
_PART = re.compile(rb'''
    \\(?P<octal>0[0-7]{0,2}|[0-3][0-7]{2})
  | \\(?P<number>[1-9][0-9]?)
  | \\. | \[\^?\]?(?:[^\]\\]|\\.)*\] | \(\?\#[^)]*\)
  | \(\?P<(?P<named>\w+)> | \(\?P=(?P<again>\w+)\) | \(\?\((?P<asked>\w+)\)
  | (?P<group>\((?!\?))''', re.S | re.X)


def read(data, text):
    """Returns the same bytes or characters if they are a regular expression that can be combined
    with others; otherwise raises ValueError about `text`."""
    around = ('(?:', ')') if isinstance(data, str) else (b'(?:', b')')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('error', DeprecationWarning)      # global flags inside it
            re.compile(data)
            re.compile(around[0] + data + around[1])
            if isinstance(data, bytes):
                alone = re.compile(data).groups
                if re.compile(_renamed(data, 0)[0]).groups != alone:
                    raise re.error('its groups cannot be told apart')
    except _REFUSED as error:
        why = 'it is too deep' if isinstance(error, RecursionError) else error
        raise ValueError(f'not a pattern, {why}: {text[:100]}') from None
    return data


def behind(parts):
    """Concatenates patterns; a part `(bytes,)` stands for these literal bytes."""
    whole, before = b'', 0
    for part in parts:
        if isinstance(part, tuple):
            whole += re.escape(part[0])
        else:
            part, before = _renamed(part, before)
            whole += b'(?:' + part + b')'
    return whole


def _renamed(data, before):
    """The pattern with its groups named by number, from `before` on, and the last number. Numbers
    are limited to 99, names are not."""
    names, count = {}, before

    def opened(name):
        nonlocal count
        count += 1
        for word in (name, b'%d' % (count - before)):
            names[word] = b'g%d' % count
        return b'(?P<g%d>' % count

    def one(found):
        if found['group']:
            return opened(None)
        if found['named']:
            return opened(found['named'])
        if found['number']:
            return b'(?P=' + names.get(found['number'], found['number']) + b')'
        if found['again']:
            return b'(?P=' + names.get(found['again'], found['again']) + b')'
        if found['asked']:
            return b'(?(' + names.get(found['asked'], found['asked']) + b')'
        return found[0]

    return _PART.sub(one, data), count
