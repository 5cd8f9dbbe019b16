#!/usr/bin/env python3
"""The program that `nest test` runs: it tests servers that are already built with pages of the user.

Standard input begins with a request, a JSON object on one line. Results go to standard output as JSON,
one object per line. At the end of standard input the program exits, because its caller has gone. Must not
know: anything that is not in runner/. See README.md.
"""

import faulthandler
import json
import os
import re
import shutil
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runner import process, scratch, script, timeouts, trace, unread    # noqa: E402
from runner.build import MODELS, BuildError, bounded        # noqa: E402
from runner.case import Case, CaseError                     # noqa: E402
from runner.suite import Suite                              # noqa: E402

_PLACE = re.compile(r' (?:at|after) line (\d+) of the page')


class Given:
    """Servers of one specification, one per model, that have already been built."""

    def __init__(self, nest, spec, servers):
        self.nest, self.spec, self.servers = nest, spec, servers

    def server(self, _case, model):
        """The path of the server for a model."""
        return self.servers[model]

    def check(self, _case):
        """The findings of `nest check`: a list of its JSON objects."""
        folder, name = os.path.split(self.spec)
        status, out, errors = bounded([self.nest, 'check', '--format', 'json', name], 60, cwd=folder)
        if status not in (0, 1):
            raise BuildError(errors.decode(errors='replace'))
        return [json.loads(line) for line in out.splitlines() if line.startswith(b'{')], status


class Told(Suite):
    """A run that reports in JSON."""

    def _report(self, case, cells, seconds):
        written = bool(case.untraced) and all(outcome != 'failed' for _, outcome, _ in cells)
        if written:
            try:
                add(case)
            except OSError as error:
                written, cells = False, [*cells, ('page', 'failed', f'it cannot be written: {error.strerror}')]
        self.counts['failed'] += any(outcome == 'failed' for _, outcome, _ in cells)
        say(page=case.name, seconds=round(seconds, 2), cells=[told(*cell) for cell in cells],
            written=written, heard=[[entry(line) for line in lines] for lines in case.heard])


def told(cell, outcome, reason):
    """A cell as an object."""
    found = _PLACE.search(str(reason))
    return {'cell': cell, 'outcome': outcome, 'line': int(found.group(1)) if found else None,
            'reason': _PLACE.sub('', str(reason), count=1) if reason else None}


def entry(line):
    """A line of a trace; each byte is a character."""
    return [list(part) if isinstance(part, tuple) else
            part.decode('latin-1') if isinstance(part, bytes) else part for part in line]


def say(**what):
    """Prints a line to standard output."""
    print(json.dumps(what), flush=True)


def record(case, server):
    """Completes the traces of a page. Raises CaseError if the server does not do what it says."""
    if case.untraced and case.reloads():
        raise CaseError('without sockets the server reads no configuration again: write this trace by hand', 1)
    if case.untraced and (wrong := script.record(case, server)):
        raise CaseError(f'no trace is written: {wrong}')


def add(case):
    """Appends the traces that a page lacked. A reader sees the old page or the new one."""
    with open(case.path, 'rb') as file:
        page = file.read()
    text = ''.join('\n' + trace.fence(client, case.traces[client]) for client in case.untraced)
    line_end = b'\r\n' if b'\r\n' in page else b'\n'
    if not page.endswith(b'\n'):
        page += line_end
    beside = f'{case.path}.{os.getpid()}.tmp'
    try:
        with open(beside, 'xb') as file:
            file.write(page + text.encode().replace(b'\n', line_end))
        shutil.copymode(case.path, beside)
        os.replace(beside, case.path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)


def follow():
    """Ends this program when the program that started it has ended."""
    while os.read(0, 1):
        pass
    # Otherwise another thread could get the signal, and the main thread would continue to wait.
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)


def beat():
    """Ends this program with "Timeout (" on standard output when it hangs: a regular expression
    that runs for ever does not let any other thread run."""
    while True:
        faulthandler.dump_traceback_later(max(5, 2 * timeouts.seconds()), exit=True, file=1)
        time.sleep(1)


def main():
    """Runs the request and returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    request = json.loads(sys.stdin.readline())
    if why := unread.wrong():
        say(wrong=f'this machine cannot tell what a server has received: {why}')
        return 2
    timeouts.choose(request['timeout'])
    process.BRANCHES = request['branches']
    temporary = scratch.begin(request['keep'])
    try:
        threading.Thread(target=follow, daemon=True).start()
        threading.Thread(target=beat, daemon=True).start()
        suite = Told(Given(request['nest'], request['spec'], request['servers']),
                     lambda _: request['models'], colour=False, quick=request['quick'])
        cases = []
        for page in request['pages']:
            try:
                case = Case(page, page, request['spec'], MODELS, request['write'])
                record(case, request['servers'].get('script'))
                cases.append(case)
            except (CaseError, OSError, ValueError) as error:
                why = getattr(error, 'strerror', None) or error
                say(page=page, seconds=0, cells=[told('page', 'failed', why)], written=False, heard=[])
        good = suite.run(cases, request['jobs']) and len(cases) == len(request['pages'])
        say(kept=temporary if request['keep'] else None)
    except (KeyboardInterrupt, BrokenPipeError):    # the caller has gone
        process.kill_all()
        scratch.end()
        os._exit(130)                    # threads of the suite may still be waiting
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        scratch.end()
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
