"""Server processes: starts them, finds their addresses, ends them, and checks how they ended.

Must not know: conversations.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from . import files, scratch, timeouts, trace
from .literal import readable

SETTINGS = []       # NAME=VALUE: options of every server
BRANCHES = None     # the file in which servers mark the branches of actions that run
_REPORT = re.compile(rb'(ERROR: (?:Address|Leak|Undefined)\S*Sanitizer|WARNING: ThreadSanitizer|'
                     rb'runtime error: |SUMMARY: \S*Sanitizer|AddressSanitizer:)')


def clean_environment(trace_path):
    """The environment for a server under test. Only the trace is set by us, and that the server
    stays who it is, because not only root runs tests."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('NEST_')}
    env['NEST_USER'], env['NEST_CHROOT'] = 'root' if os.geteuid() == 0 else '', ''
    env['NEST_TRACE'] = trace_path
    if BRANCHES is not None:
        env['NEST_BRANCHES'] = BRANCHES
    env['ASAN_OPTIONS'] = 'detect_leaks=1:detect_stack_use_after_return=0:abort_on_error=0'
    env['UBSAN_OPTIONS'] = 'print_stacktrace=1:halt_on_error=1'
    env['TSAN_OPTIONS'] = 'halt_on_error=1:second_deadlock_stack=1'
    return env


def sanitizer_report(errors):
    """The beginning of a sanitizer's report in the output of a server, or None."""
    found = _REPORT.search(errors)
    if found is None:
        return None
    start = errors.rfind(b'\n', 0, found.start()) + 1
    return 'sanitizer report\n' + readable(errors[start:start + 3000])


def must_exit(case, binary):
    """Checks that a server exits with the case's status and never listens. Returns an error or
    None."""
    status = case.exit
    with scratch.folder('exit') as folder:
        process = start(case.command(binary), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, cwd=folder,
                        env=clean_environment(os.path.join(folder, 'trace')))
        with running(process):
            try:
                out, errors = process.communicate(timeout=timeouts.seconds())
            except subprocess.TimeoutExpired:
                return timeouts.Hung(f'it was still there after {timeouts.shown()}')
    if b'listening' in out:
        return 'it listened'
    if process.returncode != status:
        return f'exit status {process.returncode}, not {status}'
    return sanitizer_report(errors) or unsaid(case, errors)


def unsaid(case, errors):
    """A pattern of the case that standard error does not match; None if there is none."""
    for pattern in case.says:
        if re.search(pattern.encode(), errors, re.M) is None:
            return f'standard error holds nothing like {pattern}'
    return None


class ServerError(Exception):
    """The server did not start or end as it should."""


class Silent(ServerError):
    """It did not do so in time."""


_lock = threading.Lock()
_running = set()
_over = False           # under the lock, as additions to the set


def start(command, **more):
    """Starts a process that kill_all() kills."""
    with _lock:
        if _over:
            raise KeyboardInterrupt
        process = subprocess.Popen(command, **more)
        _running.add(process)
        return process


def kill_all():
    """Kills every server that still runs, after an interruption, and lets nobody start another."""
    global _over
    with _lock:
        _over = True
        for process in list(_running):
            process.kill()


@contextlib.contextmanager
def running(process):
    """A started process, which is killed at the end of the block."""
    try:
        with process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        _running.discard(process)


class Server:
    """A running server; a context manager that ends it and raises ServerError if something was
    wrong."""

    def __init__(self, case, binary, listen, clients):
        self.case = case
        base = self.folder = scratch.make('serve')
        self.stopping = False               # it was told to stop and may end at any time
        self.config = os.path.join(base, 'config')
        self.trace_path = os.path.join(base, 'trace')
        self.unix = os.path.join(base, 'socket')
        names = {'tcp4': '127.0.0.1:0', 'tcp6': '[::1]:0', 'unix': 'unix:' + self.unix}
        addresses = ' '.join(names[kind] for kind in listen)
        options = ['--set', f'listen={addresses}', '--set', f'maxClients={clients}']
        for option in SETTINGS:
            options += ['--set', option]
        if case.reloads():
            open(self.config, 'wb').close()
            options += ['--config', self.config]
        command = case.command(binary, *options)
        root = files.make(case, base)
        self.errors = open(os.path.join(base, 'stderr'), 'w+b')
        open(self.trace_path, 'wb').close()
        self.process = start(command, stdin=subprocess.DEVNULL, cwd=root, stdout=subprocess.PIPE,
                             stderr=self.errors, env=clean_environment(self.trace_path))
        self.traced, self.known = 0, {}
        self.addresses = {}
        try:
            self._started(listen)
        except ServerError:
            self.kill()
            raise

    def _started(self, listen):
        line, end = b'', time.monotonic() + timeouts.seconds()
        while b'\n' not in line:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else None
            if not chunk:
                if ready:
                    raise ServerError(f'the server ended before it listened: {self.said()}')
                raise Silent(f'the server did not listen within {timeouts.shown()}: {self.said()}')
            line += chunk
        text = readable(line)
        shapes = {'tcp4': r'127\.0\.0\.1:(\d+)', 'tcp6': r'\[::1\]:(\d+)', 'unix': r'unix:()'}
        for kind in listen:
            found = re.search(shapes[kind], text)
            if 'listening on' not in text or not found:
                raise ServerError(f'its first line does not name its address: {text.strip()}')
            self.addresses[kind] = self.unix if kind == 'unix' else int(found.group(1))

    def said(self, most=3000):
        """The last part of its stderr output, or all of it."""
        with open(self.errors.name, 'rb') as file:
            text = readable(file.read())
        return text if most is None else text[-most:]

    def alive(self):
        """Whether it still runs."""
        return self.process.poll() is None

    def traces(self, count, seconds):
        """Its traces once `count` connections have ended, or those that exist after some seconds."""
        end, wait = time.monotonic() + seconds, 0.001
        while True:
            ended = not self.alive()        # test this first, so that its last output is read afterwards
            with open(self.trace_path, 'rb') as file:
                file.seek(self.traced)
                data = file.read()
            complete = data[:data.rfind(b'\n') + 1]
            self.traced += len(complete)
            trace.parse_server(complete, self.known)
            done = sum(1 for lines in self.known.values() if trace.finished(lines))
            if done >= count or time.monotonic() > end or ended:
                return {number: list(lines) for number, lines in self.known.items()}
            time.sleep(wait)
            wait = min(wait * 2, 0.1)

    def tell(self, what, argument=None):
        """Executes a step for the server."""
        if not self.alive():
            if what == 'stop' and self.stopping:
                return
            raise ServerError(f'{what}: the server has ended')
        if what == 'stop':
            self.stopping = True
            self.process.terminate()
            return
        said = len(self.said(None))
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(argument + '\n')
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + timeouts.seconds()
        while '\n' not in self.said(None)[said:]:
            if time.monotonic() > end:
                raise Silent(f'reload: it said nothing within {timeouts.shown()}')
            time.sleep(0.01)

    def stop(self):
        """Ends it with SIGTERM, or waits for it if that was done before. Returns an error or None."""
        wrong, status = None, 0
        if not self.alive() and not self.stopping:
            wrong = f'the server ended by itself with status {self.process.returncode}'
        else:
            if self.stopping:
                status = self.case.stops()
            else:
                self.process.terminate()
            try:
                self.process.wait(timeouts.seconds())
            except subprocess.TimeoutExpired:
                wrong = timeouts.Hung(f'the server was still there {timeouts.shown()} after TERM')
                self.process.kill()
                self.process.wait()
            else:
                if self.process.returncode != status:
                    wrong = (f'exit status {self.process.returncode} after TERM'
                             + (f', not {status}' if status else ''))
        with open(self.errors.name, 'rb') as file:
            errors = file.read()
        report = sanitizer_report(errors)
        wrong = wrong or unsaid(self.case, errors) or files.wrong(self.case, self.folder)
        self._forget()
        if report:
            return report
        if wrong:
            return type(wrong)(wrong + '\n' + readable(errors[-2000:]))
        return None

    def kill(self):
        """Kills it."""
        if self.alive():
            self.process.kill()
            self.process.wait()
        self._forget()

    def _forget(self):
        _running.discard(self.process)
        self.process.stdout.close()
        self.errors.close()
        scratch.dispose(self.folder)
