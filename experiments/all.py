#!/usr/bin/env python3
"""The experiments of all four documents, and the page that brings their reports together.

    experiments/all.py [--page-only | --check] [OPTION of the four ...]

Runs nest.py, nserver.py, conditioning.py and kernel.py one after the other with the other options, such as --quick, then
writes README.md from what they have recorded. One that fails does not stop the others; the page says what is missing.
--quick measures for seconds and writes to a temporary folder unless --output names one. --page-only measures nothing.
--check fails if README.md is not what it would write.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from common import together
import conditioning.report
import kernel.report
import nest.report
import nserver.report

HERE = os.path.dirname(os.path.abspath(__file__))
REPORTS = {'nest': nest.report, 'nserver': nserver.report, 'conditioning': conditioning.report, 'kernel': kernel.report}


def arguments():
    """The command line: our options, and those for the four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument('--page-only', action='store_true', help='measure nothing, write the page')
    what.add_argument('--check', action='store_true', help='measure and write nothing; fail if the page is another one')
    parser.add_argument('--quick', action='store_true', help='seconds for each experiment')
    parser.add_argument('--output', help='the folder of the reports and of the page')
    args, rest = parser.parse_known_args()
    if rest and (args.page_only or args.check):
        parser.error(f'nothing is measured, so {rest[0]} means nothing')
    if '--only' in rest or any(word.startswith('--only=') for word in rest):
        parser.error('--only names experiments of one document; use make experiments-NAME, then --page-only')
    if not args.output:
        args.output = tempfile.mkdtemp(prefix='experiments-') if args.quick else HERE
    return args, rest


def measure(args, rest):
    """Runs the four. How many failed."""
    failed = 0
    for name in REPORTS:
        words = [sys.executable, f'{HERE}/{name}.py', '--output', args.output, *(['--quick'] if args.quick else []), *rest]
        print(f'experiments: {name}', flush=True)
        failed += subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode != 0
    return failed


def main():
    """The exit status."""
    args, rest = arguments()
    path = f'{args.output}/README.md'
    try:
        if args.check:
            with open(path, encoding='utf-8') as file:
                same = file.read() == together.text(REPORTS, args.output)
            if not same:
                print(f'experiments: {path} is not what the records say; run make experiments EXPERIMENTS=--page-only',
                      file=sys.stderr)
            return 0 if same else 1
        failed = 0 if args.page_only else measure(args, rest)
        text = together.text(REPORTS, args.output)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    except KeyboardInterrupt:
        return 130
    except (OSError, together.Wrong) as why:
        print(f'experiments: {why}', file=sys.stderr)
        return 1
    print(path)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
