"""Prints results as lines of a table, and a closing line.

A program that prints no result for very long hangs: it ends then, and shows where each of its threads is.
Must not know: what is checked.
"""

import faulthandler
import time

LONGEST = 1800      # seconds without a result


def going_on():
    """Begins the time anew after which this program counts as hanging."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)


class Report:
    """Collects results; prints each as it comes."""

    def __init__(self, title):
        self.title = title
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.start = time.monotonic()
        going_on()

    def heading(self, text):
        """Begins a part of the table."""
        going_on()
        print(f'\n{text}', flush=True)

    def line(self, good, who, what, counted='', wrong=''):
        """Prints one result. `wrong` is printed below a failure, indented."""
        going_on()
        self.passed += good
        self.failed += not good
        mark = 'ok' if good else 'FAILED'
        print(f'  {mark:6} {who:8} {what:58} {counted}'.rstrip(), flush=True)
        if not good and wrong:
            print('    ' + str(wrong).strip().replace('\n', '\n    '), flush=True)

    def skip(self, who, what, reason):
        """Prints something that this machine cannot check."""
        self.skipped += 1
        print(f'  {"skip":6} {who:8} {what:58} {reason}', flush=True)

    def note(self, text):
        """Prints a remark that is not a result."""
        going_on()
        print(f'  {text}', flush=True)

    def close(self):
        """Prints the last lines and returns the exit status."""
        more = f', {self.skipped} skipped (reasons above)' if self.skipped else ''
        print(f'\n{self.title}: {time.monotonic() - self.start:.0f} s{more}')
        print(f'{self.passed} passed, {self.failed} failed', flush=True)
        return 1 if self.failed else 0
