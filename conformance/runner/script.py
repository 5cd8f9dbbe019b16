"""The script cells: a whole server in one process without sockets, with every split of every
conversation.

Must not know: sockets, how the server was built.
"""

import os
import re
import subprocess
import time
from . import files, literal, scratch, timeouts, trace, variants
from .process import clean_environment, running, sanitizer_report, start, unsaid

STOPS = 24      # splits of a conversation that stops the server: each needs a script of its own
ENDLESS = 256 << 20     # bytes of a trace without a message after which the server is considered to loop
SHOWN = 1 << 20         # bytes of a trace, or of a client's output, that are searched for the reason
_BOUNDARY = re.compile(rb'^\d+ (?:open|take|end)\b', re.M)


class Conversation:
    """One conversation of a script: the expected and the actual behaviour."""

    def __init__(self, label, client):
        self.label, self.client = label, client
        self.out, self.closed, self.cut = b'', False, False


def write_script(case, cuts):
    """The commands for [(label, talk)], and {conversation number: Conversation}."""
    commands, talks = [], {}
    for label, talk in cuts:
        numbers = {}

        def connect(client):
            numbers[client] = len(talks) + 1
            talks[numbers[client]] = Conversation(label, client)
            commands.append(f'open {numbers[client]}')

        for client in case.at_first():
            connect(client)
        ended = set()
        for client, step, argument in talk:
            if step == 'connect':
                connect(client)
            number = numbers[client]
            if step == 'send':
                commands.append(f'in {number} {literal.escape(argument)}')
            elif step == 'half-close':
                commands.append(f'eof {number}')
                ended.add(client)
            elif step == 'reset':
                commands.append(f'reset {number}')
                ended.add(client)
            elif step == 'stall':
                commands.append(f'room {number} 0')
            elif step == 'resume':
                commands.append(f'room {number} -')
            elif step == 'pass':
                commands.append(f'pass {argument}')
            elif step == 'stop':
                commands.append('drain')
            elif step == 'expect-cut':
                commands.append(f'room {number} -')
                ended.add(client)
            elif step == 'expect-close':
                ended.add(client)
        for client in case.clients():
            if client not in ended:
                commands.append(f'eof {numbers[client]}')
    return '\n'.join(commands).encode() + b'\n', talks


def run(case, server, splits):
    """Runs the cell. Returns None or an error. `splits`: a function from a conversation to the ways to
    split it; None: it is not split."""
    cuts = list(splits(case.talk)) if case.cuts and splits else [('whole', case.talk)]
    if case.stops() is None:
        return _run(case, server, cuts)
    for cut in variants.sample(cuts, STOPS):
        wrong = _run(case, server, [cut])
        if wrong:
            return wrong
    return None


def record(case, server):
    """Runs the unsplit conversation and completes the traces of the case from those of the server.
    Returns None or an error."""
    return _run(case, server, [('whole', case.talk)])


class _Progress:
    """The progress of a script, according to its trace: each matched message is progress."""

    def __init__(self, path):
        self.path, self.read, self.rest = path, 0, b''
        self.since, self.behind = time.monotonic(), 0

    def wrong(self):
        """Why the runner stops waiting for the server; None to continue."""
        data = b''
        if os.path.exists(self.path):
            with open(self.path, 'rb') as file:
                file.seek(self.read)
                data = file.read(1 << 24)
        self.read += len(data)
        whole, _, self.rest = (self.rest + data).rpartition(b'\n')
        if _BOUNDARY.search(whole):
            self.since, self.behind = time.monotonic(), 0
        self.behind += len(data)
        self.rest = self.rest[-(1 << 16):]
        if self.behind > ENDLESS:
            return f'its trace has more than {ENDLESS >> 20} MB'
        if time.monotonic() - self.since > timeouts.seconds():
            return f'the server did not come to its end within {timeouts.shown()}'
        return None


def _hung(case, folder, talks, why):
    """Where a script stopped: the conversation, what its client waits for, and its trace."""
    traces = {}
    if os.path.exists(path := os.path.join(folder, 'trace')):
        with open(path, 'rb') as file:
            begins = max(0, os.path.getsize(path) - SHOWN)
            file.seek(begins)
            lines = file.read(SHOWN).split(b'\n')[1 if begins else 0:-1]
        traces = trace.parse_server(b'\n'.join(lines))
    begun = [number for number, lines in traces.items() if not trace.finished(lines)]
    number = max(begun, default=min(talks))
    received, size = [], 0
    with open(os.path.join(folder, 'out'), 'rb') as file:
        for line in file:
            if line.startswith(b'%d ' % number) and line.endswith(b'\n') and size < SHOWN:
                received.append(line)
                size += len(line)
    read_output(b''.join(received), talks)
    talk, lines = talks[number], traces.get(number, [])
    if talk.label == 'whole':
        case.hear([lines])
    step, left = case.unmet(talk.client, talk.out)
    waited = ['and its client waits for the end'] if step is None else [
        'and its client waits:', f'- {trace.show(("reply", step[2]))[6:]}', f'+ {literal.escape(left)[:400]}']
    last = step or [entry for entry in case.talk if entry[0] == talk.client][-1]
    who = f'conversation {number}' + (f', client {talk.client}' if talk.client else '')
    return timeouts.Hung('\n  '.join([
        f'{talk.label} ({who}): {why}{trace.place(last)}', *waited,
        'the trace so far ends with:', *(trace.show(line, 160) for line in lines[-8:])]))


def _run(case, server, cuts):
    commands, talks = write_script(case, cuts)
    status = case.stops() or 0
    with scratch.folder('script') as folder:
        places = {name: os.path.join(folder, name) for name in ('in', 'out', 'errors', 'trace')}
        with open(places['in'], 'wb') as file:
            file.write(commands)
        with open(places['in'], 'rb') as given, open(places['out'], 'wb') as out, \
                open(places['errors'], 'wb') as errors:
            process = start(case.command(server), stdin=given, stdout=out, stderr=errors,
                            cwd=files.make(case, folder), env=clean_environment(places['trace']))
        with running(process):
            progress, pause = _Progress(places['trace']), 0.001
            while True:
                try:
                    process.wait(pause)
                    break
                except subprocess.TimeoutExpired:
                    pause = min(2 * pause, 0.05)
                if why := progress.wrong():
                    process.kill()
                    process.wait()
                    return _hung(case, folder, talks, why)
        with open(places['errors'], 'rb') as file:
            errors = file.read()
        report = sanitizer_report(errors)
        if report:
            return report
        said = literal.readable(errors)[-2000:]
        if process.returncode != status:
            return f'exit status {process.returncode}{f", not {status}" if status else ""}\n{said}'
        wrong = unsaid(case, errors) or files.wrong(case, folder)
        if wrong:
            return f'{wrong}\n{said}'
        try:
            with open(places['trace'], 'rb') as file:
                traces = trace.parse_server(file.read())
            with open(places['out'], 'rb') as file:
                read_output(file.read(), talks)
        except (OSError, ValueError) as error:
            return str(error)
    case.hear(traces.get(number, []) for number, talk in talks.items() if talk.label == 'whole')
    for number, talk in talks.items():
        wrong = judge(case, talk, traces.get(number, []))
        if wrong:
            who = f'conversation {number}' + (f', client {talk.client}' if talk.client else '')
            return f'{talk.label} ({who}): {wrong}'
    return None


def read_output(data, talks):
    """Stores what each conversation received."""
    for line in data.decode('latin-1').split('\n'):
        number, _, rest = line.partition(' ')
        if not number.isdigit():
            continue
        talk = talks.get(int(number))
        if talk is None:
            raise ValueError(f'output for a conversation that was never opened: {line[:200]}')
        word, _, text = rest.partition(' ')
        if talk.closed:
            raise ValueError(f'something after closing: {line[:200]}')
        if word == 'out':
            talk.out += literal.parse(text)
        elif word in ('closed', 'cut'):
            talk.closed, talk.cut = True, word == 'cut'


def judge(case, talk, lines):
    """Compares one conversation with its case. Returns None or an error. A client without a trace gets
    this one."""
    if talk.client in case.untraced and talk.client not in case.traces:
        patterns = any(step == 'expect~' for step, _ in case.steps(talk.client))
        case.traces[talk.client] = trace.without_replies(lines) if patterns else lines
    wrong = trace.difference(case.traces[talk.client], lines)
    if wrong:
        return wrong
    if not talk.closed:
        return 'it was never closed'
    cut = case.is_cut(talk.client)
    if talk.cut and not cut:
        return 'it was cut off, its output dropped'
    expected = case.expected(talk.client)
    if re.fullmatch(expected + (b'.*' if cut else b''), talk.out, re.S) is None:
        unmet, left = case.unmet(talk.client, talk.out)
        if unmet is None:
            return f'there is more output\n  + {literal.escape(left)[:400]}'
        return (f'output differs{trace.place(unmet)}\n  - {literal.escape(unmet[2])[:400]}'
                f'\n  + {literal.escape(left)[:400]}')
    replied = talk.out if case.encodes() else trace.output(lines)
    if replied[:len(talk.out)] != talk.out or not (cut or len(replied) == len(talk.out)):
        return ('what was delivered is not what was replied'
                f'\n  replied:   {literal.escape(replied)[:400]}'
                f'\n  delivered: {literal.escape(talk.out)[:400]}')
    return None
