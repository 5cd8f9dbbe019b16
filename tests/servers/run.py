#!/usr/bin/env python3
"""Tests the servers among the examples with common clients.

usage: run.py [--only MODULE] [MODEL ...]

Without a model: one that CHECK_SEED draws, or with CHECK_ALL=1 all.

Every file beside this one that defines run(report, models) is a part. Must not know: any server.
"""

import argparse
import glob
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                          # noqa: E402
from support.nest import SOCKET_MODELS, Failed                      # noqa: E402
from support.report import Report                                   # noqa: E402


def parts():
    """The modules, by name."""
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, '*.py')))
    modules = {name: importlib.import_module(name) for name in names if name != 'run'}
    return {name: module for name, module in modules.items() if hasattr(module, 'run')}


def main():
    """Runs all, or those that are named; the exit status."""
    known = parts()
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--only', action='append', choices=sorted(known), metavar='MODULE',
                        help='only this part (may be repeated)')
    parser.add_argument('models', nargs='*', choices=(*SOCKET_MODELS, []), metavar='MODEL',
                        help=f'{", ".join(SOCKET_MODELS)}: only this model (may be repeated)')
    options = parser.parse_args()
    report = Report('servers')
    report.note(sample.described())
    models = options.models or sample.some(SOCKET_MODELS, 1)
    for name, module in known.items():
        if options.only is None or name in options.only:
            try:
                module.run(report, models)
            except Failed as error:
                report.line(False, '', name, '', error)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
