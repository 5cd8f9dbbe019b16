#!/usr/bin/env python3
"""Every test of connection conditioning. The last line counts them.

A test that returns a reason could not be run, which is shown and counted.

    tests/check.py                 all
    tests/check.py filters.ratelimit …    parts or tests whose names begin so
"""

import faulthandler
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import building     # noqa: E402
import chains       # noqa: E402
import changes      # noqa: E402
import conditioned  # noqa: E402
import faults       # noqa: E402
import filters      # noqa: E402
import generated    # noqa: E402
import kills        # noqa: E402
import ports        # noqa: E402
import preloaded    # noqa: E402
import refusals     # noqa: E402
import serving      # noqa: E402
import states       # noqa: E402
import stores       # noqa: E402
import trials       # noqa: E402
import wakes        # noqa: E402

LONGEST = 900   # seconds for a test; one that takes more hangs, and the stacks of all threads are shown

PARTS = [building, serving, filters, chains, kills, ports, conditioned, generated, trials, faults, refusals, preloaded, states,
         changes, stores, wakes]


def main():
    """Runs the tests."""
    wanted, passed, failed, not_run = sys.argv[1:], 0, [], []
    for part in PARTS:
        for test in part.TESTS:
            name = f'{part.__name__}.{test.__name__}'
            needed = getattr(test, 'needed', False)
            if wanted and not needed and not any(name.startswith(w) for w in wanted):
                continue
            start = time.monotonic()
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            try:
                missing = test()
                why = ''
                passed += not missing
                if missing:
                    print(f'  not run: {name}: {missing}')
                    not_run.append(name)
                    continue
            except Exception as error:      # a test that is itself wrong must not hide the others
                why = f'{type(error).__name__}: {error}'
                failed.append(name)
            print(f'  {"FAILED" if why else "ok":6} {name:32} {time.monotonic() - start:5.1f} s  '
                  f'{test.__doc__.strip().splitlines()[0]}', flush=True)
            if why:
                print('    ' + why.replace('\n', '\n    '), flush=True)
                if needed:
                    break
    print(f'{passed} passed, {len(failed)} failed' + (': ' + ' '.join(failed) if failed else '') +
          (f', {len(not_run)} not run: {" ".join(not_run)}' if not_run else ''))
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
