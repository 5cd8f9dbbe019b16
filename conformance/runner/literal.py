"""String literals of case files: "text" with C's escapes, `* N` for repetition, several side by
side; and text of servers as a terminal may show it.

Must not know: what the bytes are for.
"""

import re

MOST = 64 << 20         # the maximum size in bytes

_ITEM = re.compile(r'\s*"((?:[^"\\]|\\.)*)"(?:\s*\*\s*(\d+))?')
_ESCAPE = re.compile(rb'\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)', re.S)
_PLAIN = {b'n': b'\n', b'r': b'\r', b't': b'\t', b'a': b'\a', b'b': b'\b', b'f': b'\f',
          b'v': b'\v', b'\\': b'\\', b'"': b'"', b"'": b"'"}
_ESCAPED = {byte: f'\\x{byte:02X}' for byte in (*range(32), *range(127, 256))}
_ESCAPED.update({ord(char): '\\' + word for char, word in zip('\\"\r\n\t', '\\"rnt')})


def unescape(text):
    """The bytes between the quotes of a literal."""
    if '\\' not in text:
        return text.encode('utf-8', 'surrogateescape')
    def one(match):
        body = match.group(1)
        if body[:1] == b'x' and len(body) > 1:
            return bytes([int(body[1:], 16)])
        if body[:1] in b'01234567':
            return bytes([int(body, 8) & 255])
        if body in _PLAIN:
            return _PLAIN[body]
        raise ValueError(f'unknown escape \\{body.decode("latin-1")}')
    return _ESCAPE.sub(one, text.encode('utf-8', 'surrogateescape'))


def parse(text):
    """The bytes of one or more literals; ValueError if there is anything else."""
    if text.count('"') == 2 and text[0] == text[-1] == '"' and text[-2] != '\\':
        return unescape(text[1:-1])
    out, at = b'', 0
    while at < len(text.rstrip()):
        item = _ITEM.match(text, at)
        if item is None:
            raise ValueError(f'not a string literal: {text[at:].strip()[:100]}')
        once, times = unescape(item.group(1)), int(item.group(2) or 1)
        if len(out) + len(once) * times > MOST:
            raise ValueError(f'more than {MOST >> 20} MB: {text[at:].strip()[:100]}')
        out += once * times
        at = item.end()
    if at == 0:
        raise ValueError('a string literal is missing')
    return out


def escape(data):
    """The literal for some bytes, as `script` reads it and traces show it."""
    return '"' + data.decode('latin-1').translate(_ESCAPED) + '"'


# What a terminal does not show, or shows elsewhere: controls but the end of a line, and
# bidirectional ones.
_CONTROL = re.compile('[\0-\t\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')


def readable(data):
    """What a server wrote, for a report: lines stay lines, and no control reaches a terminal. A
    backslash is not doubled, because a log has escaped what clients sent."""
    text = data.decode(errors='backslashreplace')
    return _CONTROL.sub(lambda found: ''.join(f'\\x{byte:02x}' for byte in found[0].encode()), text)
