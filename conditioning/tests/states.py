"""cc-condition --status: the counters of a running one, as a table and as OpenMetrics text."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import tempfile
import time
from conditioned import CONDITION, good, missing
from faults import Logged
from refusals import once
from support import WAIT, Client, Wrong, children, environment, expect, until


def status(path, *more):
    """What --status says: (exit status, output, messages)."""
    done = subprocess.run([CONDITION, '--status', '--state', path, *more], capture_output=True, text=True,
                          check=False, timeout=WAIT, env=environment())
    return done.returncode, done.stdout, done.stderr.splitlines()


def metrics(path):
    """{name{labels}: value} of --metrics, and the text."""
    got, text, errors = status(path, '--metrics')
    expect(got == 0 and not errors and text.endswith('# EOF\n'), f'{got} {text} {errors}')
    samples = {}
    for line in text.splitlines():
        expect(re.fullmatch(r'# (TYPE|HELP|UNIT) \w+ .+|# EOF|\w+({(\w+="[^"\\]*",?)+})? [\d.]+', line), line)
        if not line.startswith('#'):
            name, value = line.rsplit(' ', 1)
            expect(name not in samples, f'twice: {name}')
            samples[name] = float(value)
    return samples, text


def value(samples, name, place, reason=''):
    """A sample of the filter at a place."""
    more = f',reason="{reason}"' if reason else ''
    found = [v for k, v in samples.items() if k.startswith(f'{name}{{') and f'place="{place}"' in k and
             (f'{more}}}' in k if reason else True)]
    expect(len(found) == 1, f'{name} {place} {reason}: {found} of {list(samples)}')
    return found[0]


class Shown(Logged):
    """The plain server behind filters, with a state socket."""

    def __init__(self, *filters, style='prefork', options=()):
        self.folder_of_state = tempfile.TemporaryDirectory(prefix='cc-')
        self.state = f'{self.folder_of_state.name}/state'
        super().__init__(style, *filters, options=['--state', self.state, *options])

    def close(self):
        """Ends it."""
        said = super().close()
        self.folder_of_state.cleanup()
        return said


def counters():
    """What was accepted, passed, refused by reason and is held now, and for how long, is counted exactly."""
    with Shown('request,timeout=30s', 'check,slashes=refuse') as server:
        until(lambda: value(metrics(server.state)[0], 'cc_accepted_total', 0) == 1, 'the first connection')
        until(lambda: value(metrics(server.state)[0], 'cc_held', 0) == 0, 'the first connection stays')
        good(server.port, 10)
        before = time.monotonic()
        with Client(server.port) as bad, Client(server.port) as waits:
            bad.get('/..%2f..')
            expect(bad.answer()[0] == 400, 'a bad request')
            waits.send('GET / HT')
            until(lambda: value(metrics(server.state)[0], 'cc_held', 0) == 1, 'it is not held')
            samples = metrics(server.state)[0]
            after = time.monotonic()
            want = {('cc_accepted_total', 0): 13, ('cc_passed_total', 0): 11, ('cc_held', 0): 1, ('cc_deaths_total', 0): 0,
                    ('cc_accepted_total', 1): 11, ('cc_passed_total', 1): 10, ('cc_held', 1): 0}
            got = {key: value(samples, *key) for key in want}
            expect(got == want, f'{got}')
            expect(value(samples, 'cc_refused_total', 1, 'suspicious path') == 1, f'{samples}')
            oldest = value(samples, 'cc_oldest_seconds', 0)
            expect(0 <= oldest <= after - before + 0.001, f'{oldest} of {after - before}')
            code, table, errors = status(server.state)
            expect(code == 0 and not errors, f'{code} {errors}')
            expect(re.search(r'^chain \d+, for [\d.]+s, restarted 0 times$', table, re.M), table)
            expect(re.search(rf'^127\.0\.0\.1:{server.port}$', table, re.M), table)
            expect(re.search(r'^request +\d+ +13 +11 +0 +1 +[\d.]+s +0$', table, re.M), table)
            expect(re.search(r'^check +\d+ +11 +10 +1 +0 +0\.0s +0$', table, re.M), table)
            expect(re.search(r'^ +suspicious path +1$', table, re.M), table)


def deaths():
    """Deaths of filters and of the chain are counted, and the state socket comes back."""
    with Shown('request', 'pass') as server:
        until(lambda: server.filters_of(['request', 'pass']), 'filters are missing')
        os.kill(children(server.chain())['pass'][0], signal.SIGKILL)
        until(lambda: value(metrics(server.state)[0], 'cc_deaths_total', 1) == 1, 'a death is not counted')
        os.kill(until(server.chain, 'there is no chain'), signal.SIGKILL)

        def again():
            return status(server.state)[0] == 0 and metrics(server.state)[0]['cc_chain_restarts_total'] == 1
        until(again, 'a restart is not counted')
        good(server.port, 3)
        expect('restarted 1 times' in status(server.state)[1], 'the table')


def held_socket(pid, path):
    """The socket of another process that listens at a path; None: this may not have it."""
    with open('/proc/net/unix', encoding='utf-8', errors='replace') as file:
        inode = next(line.split()[6] for line in file if line.endswith(f' {path}\n'))
    fd = next(fd for fd in os.listdir(f'/proc/{pid}/fd') if os.readlink(f'/proc/{pid}/fd/{fd}') == f'socket:[{inode}]')
    process = os.pidfd_open(pid)
    got = ctypes.CDLL(None).syscall(438, process, int(fd), 0)     # pidfd_getfd
    os.close(process)
    return None if got == -1 else got


def inherited():
    """The state socket comes back although another process still has that of the chain that has died."""
    with Shown('request') as server:
        chain = until(server.chain, 'there is no chain')
        held = held_socket(chain, server.state)
        if held is None:
            return 'descriptors of other processes cannot be had'
        os.kill(chain, signal.SIGKILL)
        until(lambda: 'it is started again' in server.said(), 'the chain has not died')

        def again():
            with contextlib.suppress(Wrong):
                return metrics(server.state)[0]['cc_chain_restarts_total'] == 1
        until(again, 'the state is not shown')
        expect('in use' not in server.said(), server.said())
        os.close(held)
    return ''


def refusals():
    """--status needs the socket of one that runs, and starts nothing."""
    for words, why in ((['--status'], '--status needs --state SOCKET'), (['--metrics'], '--metrics needs --status: write --status'),
                       (['--metrics', '[::1]:9'], "'[::1]:9' is not an option, and --metrics takes no value"),
                       (['--state'], '--state has no value'), (['--state', '--', 'true'], '--state has no value'),
                       (['--metric'], 'there is no option --metric'), (['true'], "'true' is not an option: write the server's"),
                       (['--status', '--state', 'x', '--', 'true'], '--status starts nothing'),
                       (['--status', '--state', 'x', '--filter', 'pass'], '--status starts nothing'),
                       (['--status', '--state', 'x', '--options'], '--status starts nothing'),
                       (['--status', '--state', 'x', '--ready', '5'], '--status starts nothing'),
                       (['--check', '--ready', '5', '--', 'true'], '--check starts no filters')):
        done = subprocess.run([CONDITION, *words], capture_output=True, text=True, check=False, timeout=WAIT,
                              env=environment())
        expect(done.returncode == 2 and why in done.stderr, f'{words}: {done}')
    code, _, errors = status('/there/is/none')
    once((code, errors), 69, 'nothing answers at /there/is/none')


def promtool():
    """promtool imports the metrics and finds nothing to complain about."""
    if missing('promtool'):
        return missing('promtool')
    with Shown('request', 'check,slashes=refuse') as server:
        good(server.port, 3)
        with Client(server.port) as bad:
            bad.get('/..%2f..').answer()
        text = metrics(server.state)[1]
    with tempfile.TemporaryDirectory() as place:
        # The importer of OpenMetrics wants a time with each sample.
        lines = [line if line.startswith('#') else f'{line} 1700000000' for line in text.splitlines()]
        with open(f'{place}/metrics', 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')
        done = subprocess.run(['promtool', 'tsdb', 'create-blocks-from', 'openmetrics', f'{place}/metrics', f'{place}/db'],
                              capture_output=True, text=True, check=False, timeout=WAIT)
        expect(done.returncode == 0 and os.listdir(f'{place}/db'), f'{done}')
        with open(f'{place}/metrics', 'w', encoding='ascii') as file:
            file.write('\n'.join(lines).replace('# EOF', 'cc_wrong{ 1 1700000000\n# EOF') + '\n')
        done = subprocess.run(['promtool', 'tsdb', 'create-blocks-from', 'openmetrics', f'{place}/metrics', f'{place}/db'],
                              capture_output=True, text=True, check=False, timeout=WAIT)
        expect(done.returncode != 0, 'promtool accepts anything')
    # The linter reads the older format, in which the name of a counter's family has its suffix.
    counters_of = re.findall(r'^# TYPE (\w+) counter$', text, re.M)
    for name in counters_of:
        text = re.sub(rf'^# (TYPE|HELP) {name} ', rf'# \1 {name}_total ', text, flags=re.M)
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, check=False,
                          timeout=WAIT)
    expect(done.returncode == 0 and done.stdout + done.stderr == '', f'{done}')
    return ''


TESTS = [counters, deaths, inherited, refusals, promtool]
