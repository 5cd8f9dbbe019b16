"""Conversations with a script server, several at a time, and what it answers at each step.

After each step a conversation of its own, the first, asks for a dot: a server processes a step
completely before it reads the next, so that the dots part the answers.

Must not know: rules, what is expected.
"""

import re
import subprocess
from support.nest import TIME, Failed, environment

SIDE_BY_SIDE = 6
LINE = re.compile(rb'(\d+) (?:out "(.*)"|(closed))')
ESCAPE = re.compile(rb'\\(x..|.)')
SHORT = {b'n': b'\n', b'r': b'\r', b't': b'\t', b'\\': b'\\', b'"': b'"'}
EOF = None          # the last step of a conversation


def _unquote(text):
    return ESCAPE.sub(lambda m: SHORT.get(m[1]) or bytes([int(m[1][1:], 16)]), text)


def _quote(data):
    return ''.join(f'\\x{b:02x}' for b in data)


def _order(conversations, random):
    """(conversation, step) in the order in which they are sent, each conversation's in order."""
    waiting, now = list(range(len(conversations)))[::-1], []
    while waiting or now:
        while waiting and len(now) < SIDE_BY_SIDE:
            now.append((waiting.pop(), 0))
        at = random.randrange(len(now))
        who, step = now[at]
        yield who, step
        now[at] = (who, step + 1)
        if step + 1 == len(conversations[who]):
            del now[at]


def talk(server, options, marker, conversations, random, closed):
    """What each conversation, a list of steps, was answered at each; and how many bytes its matcher
    was given (watch.c) for them. Failed, with the step at which it happened, if the server does not
    live through them."""
    order = list(_order(conversations, random))
    lines, numbers = ['open 1', f'in 1 "{_quote(marker)}"'], {}
    for who, step in order:
        if step == 0:
            numbers[who] = len(numbers) + 2
            lines.append(f'open {numbers[who]}')
        data = conversations[who][step]
        sent = f'eof {numbers[who]}' if data is EOF else f'in {numbers[who]} "{_quote(data)}"'
        lines += [sent, 'in 1 "."']
    words = [server] + [word for option in options for word in ('--set', option)]
    try:
        done = subprocess.run(words, input='\n'.join(lines).encode() + b'\n', capture_output=True,
                              timeout=TIME, env=environment())
    except subprocess.TimeoutExpired as error:
        raise Failed(f'the server did not end within {TIME} s') from error
    found = [[b''] * len(steps) for steps in conversations]
    dots = 0
    for line in done.stdout.split(b'\n'):
        match = LINE.fullmatch(line)
        if match is None:
            continue
        if match[1] == b'1':
            dots += match[2] == b'.'    # else it ends, with stdin
            continue
        if dots == len(order):
            raise Failed(f'an answer behind the last step: {line.decode()}')
        who, step = order[dots]
        said = closed if match[3] else _unquote(match[2])
        if int(match[1]) != numbers[who]:
            raise Failed(f'a step of conversation {numbers[who]} is answered to {int(match[1])}: '
                         'too late, or by mistake')
        found[who][step] += said
    if done.returncode != 0 or dots != len(order):
        who, step = order[min(dots, len(order) - 1)]
        raise Failed(f'status {done.returncode}, {dots} of {len(order)} steps done, the next is '
                     f'{conversations[who][step]!r} of {conversations[who]!r}\n'
                     f'{done.stderr.decode(errors="replace")[:3000]}')
    given = re.search(r'^given (\d+)$', done.stderr.decode(errors='replace'), re.M)
    if given is None:
        raise Failed('the server does not say how many bytes its matcher was given')
    return found, int(given[1]) - len(marker) - dots
