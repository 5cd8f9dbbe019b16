"""Runs cases × models × cells, decides what is skipped and why, and reports.

Must not know: how a cell works.
"""

import concurrent.futures
import sys
import time
from . import client, process, rings, script, sockets, timeouts, variants
from .build import BuildError

BLOCKING = ('process', 'prefork', 'thread')     # a process or a thread serves one client
WAITING = 12    # run in parallel, in addition to the others
COLOURS = {'passed': '32', 'failed': '31', 'skipped': '33', 'dim': '2', 'bold': '1'}


class Suite:
    """One run of the suite. `models`: a function from a case to the models in which it is run. `cuts`:
    which splits of a conversation are tried without sockets. `passed`: results that need not be repeated."""

    def __init__(self, builder, models, verbose=False, colour=None, quick=False,
                 cuts=variants.all_of, passed=None):
        self.builder, self.models, self.verbose, self.quick = builder, models, verbose, quick
        self.cuts, self.passed, self.unchanged = cuts, passed, []
        self.colour = sys.stdout.isatty() if colour is None else colour
        self.counts = {'passed': 0, 'failed': 0, 'skipped': 0}
        self.reasons = {}
        self.slow = []
        self.has_ipv6 = client.ipv6()

    def paint(self, what, text):
        """Text in colour if the output is a terminal."""
        return f'\033[{COLOURS[what]}m{text}\033[0m' if self.colour else text

    def run(self, cases, jobs):
        """Runs everything. Returns whether nothing failed."""
        # Cases in which time passes hardly need a processor, so others run beside them. The longest
        # ones start first, so that the end does not wait for them.
        cases = sorted(cases, key=lambda case: -case.passes())
        pools = [concurrent.futures.ThreadPoolExecutor(count) for count in (jobs, WAITING)]
        try:
            futures = {pools[case.passes() > 0].submit(self._case, case): case for case in cases}
            for done in concurrent.futures.as_completed(futures):
                self._report(futures[done], *done.result())
        finally:
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)
        return self.counts['failed'] == 0

    def broken(self, name, error):
        """Records a file that is not a case."""
        self.counts['failed'] += 1
        print(f'{self.paint("failed", "FAILED")} {name}: {error}')

    # -- one case --------------------------------------------------------------------------------

    def _case(self, case):
        start = time.monotonic()
        try:
            if case.diagnostics is not None:
                cells = [('diagnostics', 'failed' if wrong else 'passed', wrong)
                         for wrong in [diagnose(self.builder, case)]]
            else:
                cells = []
                for model in self.models(case):
                    if any(isinstance(reason, timeouts.Hung) for _, _, reason in cells):
                        cells.append((model, 'skipped', 'a server had already kept this page waiting'))
                    else:
                        cells += self._model(case, model)
        except OSError as error:                         # usually files that cannot be created
            cells = [('files', 'failed', f'{error.strerror}: {error.filename}')]
        except Exception as error:                       # an error of the runner is a failure too
            cells = [('runner', 'failed', f'{type(error).__name__}: {error}')]
        return cells, time.monotonic() - start

    def _model(self, case, model):
        """[(cell, result, reason)] of one case in one model."""
        if case.models and model not in case.models:
            return [(model, 'skipped', f'the page names other models: {", ".join(case.models)}')]
        if model == 'script' and case.reloads():
            return [(model, 'skipped', 'a script has no configuration to read again')]
        if model != 'script' and 'sockets' in case.skips:
            return [(model, 'skipped', case.skips['sockets'])]
        if model in BLOCKING and 'blocking' in case.skips:
            return [(model, 'skipped', case.skips['blocking'])]
        if model == 'uring' and not rings.available():
            return [(model, 'skipped', 'this kernel gives no io_uring')]
        try:
            binary = self.builder.server(case, model)
        except BuildError as error:
            return [(model, 'failed', str(error))]
        if self.passed is None:
            return self._cells(case, model, binary)
        key = self.passed.key(case, binary, model, self.has_ipv6)
        cells = self.passed.cells(key)
        if cells is not None:
            self.unchanged.append(len(cells))
            return cells
        cells = self._cells(case, model, binary)
        self.passed.keep(key, cells)
        return cells

    def _cells(self, case, model, binary):
        if case.exit is not None:
            wrong = process.must_exit(case, binary)
            return [(f'{model} exit', 'failed' if wrong else 'passed', wrong)]
        if model == 'script':
            wrong = script.run(case, binary, None if self.quick else self.cuts)
            return [(model, 'failed' if wrong else 'passed', wrong)]
        kinds, cells = [], []
        for kind in ('tcp4', 'tcp6', 'unix'):
            reason = case.skips.get('unix' if kind == 'unix' else 'tcp')
            if kind == 'tcp6' and not self.has_ipv6:
                reason = 'this machine has no IPv6'
            if kind == 'unix' and case.resets():
                reason = 'a Unix socket cannot be reset'
            if reason:
                cells.append((f'{model} {kind}', 'skipped', reason))
            else:
                kinds.append(kind)
        for name, wrong in sockets.run(case, binary, kinds, self.quick) if kinds else []:
            cells.append((f'{model} {name}', 'failed' if wrong else 'passed', wrong))
        return cells

    # -- the report ------------------------------------------------------------------------------

    def _report(self, case, cells, seconds):
        self.slow.append((seconds, case.name))
        for _, outcome, reason in cells:
            self.counts[outcome] += 1
            if outcome == 'skipped':
                self.reasons[reason] = self.reasons.get(reason, 0) + 1
        bad = [cell for cell in cells if cell[1] == 'failed']
        word = self.paint('failed', 'FAILED') if bad else self.paint('passed', 'ok    ')
        good = sum(1 for cell in cells if cell[1] == 'passed')
        took = self.paint('dim', f'{good} of {len(cells)} cells, {seconds:.1f} s')
        if bad or self.verbose or self.colour:
            print(f'{word} {case.name}  {took}')
        if self.verbose:
            for cell, outcome, _ in cells:
                print(f'       {self.paint(outcome, outcome):8} {cell}')
        alike = {}
        for cell, _, reason in bad:
            alike.setdefault(str(reason), []).append(cell)
        for reason, names in alike.items():
            print(f'   {self.paint("bold", ", ".join(names))}: ' + reason.replace('\n', '\n     '))
        sys.stdout.flush()

    def close(self):
        """Prints the closing lines."""
        for reason, count in sorted(self.reasons.items()):
            print(f'{self.paint("skipped", "skipped")} {count}: {reason}')
        if self.verbose:
            for seconds, name in sorted(self.slow, reverse=True)[:8]:
                print(self.paint('dim', f'{seconds:6.1f} s  {name}'))
        if self.unchanged:
            print(f'unchanged {sum(self.unchanged)}: the same server has passed the same case')
        print('{passed} passed, {failed} failed, {skipped} skipped'.format(**self.counts))


def diagnose(builder, case):
    """Compares the compiler's findings with those of the case. Returns None or the difference."""
    try:
        found, status = builder.check(case)
    except BuildError as error:
        return str(error)
    said = [f'{d["code"]} {d["file"]}:{d["line"]}:{d["column"]} {d["message"]}' for d in found]
    lines = '\n  '.join(['it said:'] + (said or ['nothing']))
    if len(found) != len(case.diagnostics):
        return f'{len(case.diagnostics)} findings expected, {len(found)} made\n  {lines}'
    for (code, file, row, column, part), d in zip(case.diagnostics, found):
        place = (d['code'], d['line'], d['column'])
        if place != (code, row, column) or file not in (None, d['file']):
            return f'expected {code} {(file + ":") if file else ""}{row}:{column}\n  {lines}'
        if part is not None and part not in d['message'] + '\n' + (d['help'] or ''):
            return f'{code} does not say "{part}"\n  {lines}'
    errors = any(d['severity'] == 'error' for d in found)
    if status != (1 if errors else 0):
        return f'exit status {status}'
    return None
