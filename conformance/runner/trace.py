"""Traces: the lines written by a server with tracing, and those that a case expects.

A line is a tuple: ('open',), ('take', name, bytes), ('timeout', name), ('reply', bytes), ('states',
names, last), ('end', reason). Expected traces also have ('reply~', regex) and ('reply...',): any
output or none. Consecutive replies are merged, because the way in which an action splits its output
is not part of the language. Must not know: how the server was run.
"""

import itertools
import re
from . import literal, pattern

_TAKE = re.compile(r'take (.+?) (".*)$')


class _Placed(tuple):
    """A line or a step, and its location in the page."""


def placed(line, at):
    """The line at that location."""
    made = _Placed(line)
    made.at = at
    return made


def place(line, word='at'):
    """The location of a line as text; empty if it is unknown."""
    at = getattr(line, 'at', None)
    return f' {word} line {at} of the page' if at else ''


def parse_line(text, expected=False):
    """Parses a line without its connection number; ValueError if it is invalid."""
    word, _, rest = text.partition(' ')
    if text == 'open':
        return ('open',)
    if word == 'take':
        found = _TAKE.match(text)
        if found:
            return ('take', found.group(1), literal.parse(found.group(2)))
    if word == 'timeout' and rest:
        return ('timeout', rest)
    if word == 'reply':
        if expected and rest == '...':
            return ('reply...',)
        return ('reply', literal.parse(rest))
    if word == 'reply~' and expected:
        return ('reply~', pattern.read(literal.parse(rest), text))
    if word == 'states':
        names = rest.split()
        if names and names[-1].startswith('last='):
            return ('states', tuple(names[:-1]), names[-1][5:])
    if word == 'end' and re.fullmatch(r'[a-z]+', rest):
        return ('end', rest)
    raise ValueError(f'not a trace line: {text}')


def parse_server(data, traces=None):
    """Adds a server's trace output to {connection: [line]}, in order of first occurrence."""
    traces = {} if traces is None else traces
    for raw in data.decode('latin-1').split('\n'):
        if raw:
            number, _, text = raw.partition(' ')
            if not number.isdigit():
                raise ValueError(f'not a trace line: {raw}')
            traces.setdefault(int(number), []).append(parse_line(text))
    return traces


def normal(lines):
    """Merges consecutive replies and removes empty ones. A reply becomes ('reply', data) or
    ('reply~', regex)."""
    out = []
    for together, group in itertools.groupby(lines, lambda line: line[0] in ('reply', 'reply~')):
        group = list(group)
        at = getattr(group[0], 'at', None)
        if not together:
            out += group
        elif all(line[0] == 'reply' for line in group):
            data = b''.join(line[1] for line in group)
            out += [placed(('reply', data), at)] if data else []
        else:
            out.append(placed(('reply~', pattern.behind(
                (line[1],) if line[0] == 'reply' else line[1] for line in group)), at))
    return out


def without_replies(lines):
    """The lines as a page expects them if its clients say what the replies are."""
    return [('reply...',) if line[0] == 'reply' else line for line in normal(lines)]


def fence(client, lines):
    """The lines as a fence of a page."""
    body = ['reply ...' if line == ('reply...',) else show(line, None) for line in normal(lines)]
    return '\n'.join([f'```trace {client}'.rstrip(), *body, '```', ''])


def show(line, limit=300):
    """A line as text, shortened for humans if there is a limit."""
    kind = line[0]
    if kind.startswith('reply') and len(line) == 2:
        text = f'{kind} {literal.escape(line[1])}'
    elif kind == 'take':
        text = f'take {line[1]} {literal.escape(line[2])}'
    elif kind == 'states':
        text = ' '.join(('states',) + line[1] + ('last=' + line[2],))
    else:
        text = ' '.join(line)
    if limit and len(text) > limit:
        text = f'{text[:limit]}... ({len(text)} characters)'
    return text


def _same(want, got):
    if want[0] == 'reply~' and got[0] == 'reply':
        return re.fullmatch(want[1], got[1], re.S) is not None
    return want == got


def difference(expected, actual):
    """None if the actual trace is the expected one; otherwise the first difference: its location,
    some lines before it, and the two lines."""
    want, got = normal(expected), normal(actual)
    at, before = 0, None
    for line in want:
        if line[0] == 'reply...':
            if at < len(got) and got[at][0] == 'reply':
                at += 1
            continue
        if at >= len(got):
            return f'the trace stops{place(line)}' + _shown(got, at, line, None)
        if not _same(line, got[at]):
            return f'the trace differs{place(line)}' + _shown(got, at, line, got[at])
        at, before = at + 1, line
    if at < len(got):
        return f'the trace goes on{place(before, "after")}' + _shown(got, at, None, got[at])
    return None


def _shown(got, at, want, have):
    """The lines before, the expected line with a minus, the actual line with a plus."""
    lines = [f'  {show(line, 120)}' for line in got[max(0, at - 3):at]]
    shared = 0
    if want and have and want[0] == have[0] == 'reply':
        shared = _shared(want[1], have[1])
    lines += [f'{sign} {show(_behind(line, shared))}' for sign, line in (('-', want), ('+', have)) if line]
    return ''.join('\n  ' + line for line in lines)


def _shared(one, other):
    """How many bytes of two long texts need not be shown, because they are equal."""
    same = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return same - 30 if same > 150 else 0


def _behind(line, skipped):
    return (f'{line[0]} (behind {skipped} bytes)', line[1][skipped:]) if skipped else line


def output(lines):
    """All bytes the connection replied with."""
    return b''.join(line[1] for line in lines if line[0] == 'reply')


def finished(lines):
    """Whether END has run."""
    return bool(lines) and lines[-1][0] == 'end'
