"""A conversation with wide.nest that includes waits of actions, however the server was built.

Must not know: how the server was built.
"""

import os
import re
import subprocess
import time
from support.nest import Failed, environment
from support.server import Client, Server

LINES = 12000       # of 500 bytes: more than the kernel holds for a client that does not read
QUESTION = b'NAME bob\nWHO\nTELL x\nAGAIN\nKEEP a\nKEEP b\n' + b'ab' + 15 * b'a' + b'\n#abcd\nPEER\n'
ANSWER = b'ok\nbob 1 none 2\ntold x\n1 42\na\nab\nhalf 18\n1633837924\npeer 1\n'


def big(lines):
    """A request for a large reply, and that reply."""
    text = b''.join((f'{n} eve '.encode() + 500 * b'.')[:499] + b'\n' for n in range(lines))
    return (f'name eve\nBIG {lines}\nWHO\n'.encode(),
            b'ok\n' + text + f'end {lines} {lines * (lines - 1) // 2}\n'.encode()
            + b'eve 1 none 2\n')


def answers(server, lines=LINES):
    """Talks with a server over sockets. Two clients let it wait while a third is served."""
    request, reply = big(lines)
    with Client(server, 4096) as first, Client(server, 4096) as second, Client(server) as third:
        for client in (first, second, third):
            client.expect(b'welcome\n')
        first.send(request)
        second.send(request)
        time.sleep(0.3)
        third.send(QUESTION)
        third.expect(ANSWER)
        for client in (second, first):
            client.expect(reply)
        for byte in QUESTION:               # in pieces
            first.send(bytes([byte]))
        first.expect(ANSWER.replace(b'bob 1', b'bob 2'))
        third.send(b'WHO\nQUIT\nWHO\n')
        third.expect(b'bob 2 none 2\nbye $1\n')
        if third.rest():
            raise Failed('something after QUIT')
        second.half_close()
        if second.rest():
            raise Failed('something after the end')
    with Client(server, 4096) as gone:      # leaves while its answer waits
        gone.send(request)
        time.sleep(0.1)


def by_sockets(words, clients=8, lines=LINES, **more):
    """Starts a server, talks, stops it; what it wrote to stderr."""
    with Server(words, clients, **more) as server:
        answers(server, lines)
        status = server.stop()
        said = server.said()
    if status != 0:
        raise Failed(f'the server ended with status {status}\n{said}')
    return said


def quote(data):
    """Bytes as a script has them."""
    return ''.join(f'\\x{b:02x}' if b < 32 or b > 126 or b in b'"\\' else chr(b) for b in data)


def unquote(text):
    """And back."""
    names = {'r': b'\r', 'n': b'\n', 't': b'\t', '\\': b'\\', '"': b'"'}
    parts = re.split(r'\\(x[0-9a-fA-F]{2}|.)', text)
    out = [parts[0].encode()]
    for escape, rest in zip(parts[1::2], parts[2::2]):
        out.append(names.get(escape) or bytes([int(escape[1:], 16)]))
        out.append(rest.encode())
    return b''.join(out)


def by_script(words, lines=200, **more):
    """The same without sockets; what it wrote to stderr."""
    request, reply = big(lines)
    script = ['open 1', 'open 2', 'open 3', 'open 4', 'room 1 0', 'room 2 0', 'room 4 0',
              f'in 1 "{quote(request)}"', f'in 2 "{quote(request)}"', f'in 4 "{quote(request)}"',
              f'in 3 "{quote(QUESTION)}"', 'room 2 1000', 'room 1 5', 'room 2 -', 'room 1 -',
              *(f'in 1 "{quote(bytes([byte]))}"' for byte in QUESTION),
              f'in 3 "{quote(b"WHO" + bytes([10]) + b"QUIT" + bytes([10]))}"', 'reset 4', 'eof 2']
    try:
        done = subprocess.run(words, input='\n'.join(script).encode() + b'\n', timeout=120,
                              capture_output=True, env=environment(**more))
    except subprocess.TimeoutExpired as error:
        raise Failed('the script did not end within 120 s') from error
    said = done.stderr.decode(errors='replace')
    if done.returncode != 0:
        raise Failed(f'the server ended with status {done.returncode}\n{said[-4000:]}')
    got = {n: b'' for n in range(1, 5)}
    for line in done.stdout.decode().splitlines():
        number, word, *text = line.split(' ', 2)
        if word == 'out':
            got[int(number)] += unquote(text[0][1:-1])
    expected = {1: b'welcome\n' + reply + ANSWER.replace(b'bob 1', b'bob 2'),
                2: b'welcome\n' + reply, 3: b'welcome\n' + ANSWER + b'bob 2 none 2\nbye $1\n'}
    for number, data in expected.items():
        if got[number] != data:
            raise Failed(f'conversation {number} differs: {len(got[number])} bytes, not '
                         f'{len(data)}; its end {got[number][-200:]!r}')
    return said


def talk(model, words, lines=None, **more):
    """The conversation in a model."""
    if model == 'script':
        return by_script(words, **more)
    return by_sockets(words, lines=lines or LINES, **more)


def memcheck(model, server, folder):
    """The same under valgrind; how many processes took part. Failed with what it says."""
    logs = os.path.join(folder, 'memcheck')
    os.makedirs(logs, exist_ok=True)
    for name in os.listdir(logs):
        os.remove(os.path.join(logs, name))
    said = talk(model, ['valgrind', '--leak-check=full', '--track-fds=yes', '--trace-children=yes',
                 '--fair-sched=yes', f'--log-file={logs}/%p', server])
    if said.strip():
        raise Failed(f'the server wrote to stderr\n{said}')
    read = 0
    for name in sorted(os.listdir(logs)):
        with open(os.path.join(logs, name), encoding='utf-8', errors='replace') as file:
            text = re.sub(r'(?m)^==\d+== ?', '', file.read())
        wrong = complaint(text, model)
        if wrong:
            raise Failed(f'{wrong}\n{text[-5000:]}')
        read += 1
    return read


def complaint(text, model):
    """What valgrind found in a process, or None. What a server opens once, at its start, lives as
    long as it does; a descriptor that a client brought does not."""
    if 'ERROR SUMMARY: 0 errors' not in text:
        return 'errors, or no summary'
    for kind in ('definitely', 'indirectly', 'possibly'):
        found = re.search(rf'{kind} lost: ([\d,]+) bytes', text)
        if found and found.group(1) != '0':
            return f'{found.group(1)} bytes {kind} lost'
    once = ('<inherited from parent>', 'nest__workers_prepare', 'nest__loop_start', 'nest__listen_open',
            'threads_signals')
    if model == 'uring':        # a ring closes connections, which valgrind does not see
        once += ('nest__take',)
    for block in re.findall(r'(?m)^Open .*\n(?:[ \t]+\S.*\n)*', text):
        if not any(name in block for name in once):
            return 'a descriptor is open at the end'
    if 'Warning:' in text:
        return 'a warning'
    return None
