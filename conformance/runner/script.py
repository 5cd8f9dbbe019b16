"""The script cells: a whole server in one process without sockets, every cut of every conversation.

Must not know: sockets, how the server was built.
"""

import os
import re
import subprocess
from . import files, literal, scratch, trace, variants
from .process import clean_environment, sanitizer_report, unsaid

TIME = 120
STOPS = 24      # cuts of a conversation in which the server stops: each needs a script of its own


class Conversation:
    """One conversation of a script: what it should do, what it did."""

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


def run(case, server, quick=False):
    """None, or what went wrong. `quick`: the conversation whole, and no cut of it."""
    cuts = list(variants.all_of(case.talk)) if case.cuts and not quick else [('whole', case.talk)]
    if case.stops() is None:
        return _run(case, server, cuts)
    for cut in variants.sample(cuts, STOPS):
        wrong = _run(case, server, [cut])
        if wrong:
            return wrong
    return None


def _run(case, server, cuts):
    commands, talks = write_script(case, cuts)
    status = case.stops() or 0
    with scratch.folder('script') as folder:
        path = os.path.join(folder, 'trace')
        try:
            done = subprocess.run(case.command(server), input=commands, capture_output=True,
                                  timeout=TIME, cwd=files.make(case, folder), env=clean_environment(path))
        except subprocess.TimeoutExpired:
            return f'the script did not end within {TIME} s ({len(talks)} conversations)'
        report = sanitizer_report(done.stderr)
        if report:
            return report
        if done.returncode != status:
            return (f'exit status {done.returncode}{f", not {status}" if status else ""}\n'
                    + done.stderr.decode(errors='replace')[-2000:])
        wrong = unsaid(case, done.stderr) or files.wrong(case, folder)
        if wrong:
            return wrong + '\n' + done.stderr.decode(errors='replace')[-2000:]
        try:
            with open(path, 'rb') as file:
                traces = trace.parse_server(file.read())
            read_output(done.stdout, talks)
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
    """Fills in what each conversation received."""
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
    """One conversation against its case; None, or what is wrong."""
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
    replied = trace.output(lines)
    if replied[:len(talk.out)] != talk.out or not (cut or len(replied) == len(talk.out)):
        return ('what was delivered is not what was replied'
                f'\n  replied:   {literal.escape(replied)[:400]}'
                f'\n  delivered: {literal.escape(talk.out)[:400]}')
    return None
