#!/usr/bin/env python3
"""The cost of a request. It is counted, never timed, so that noise cannot hide a regression.

Must not know: how anything is counted.
"""

import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import calls                                                        # noqa: E402
import instructions                                                 # noqa: E402
import memory                                                       # noqa: E402
import worst                                                        # noqa: E402
from support.nest import MODELS, Failed, program, run               # noqa: E402
from support.report import Report                                   # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC, UPLOAD, FILE, GROUP, PROCESSORS, WORST = (os.path.join(HERE, f'{name}.nest') for name in (
    'cost', 'upload', 'file', 'group', 'processors', 'worst'))


def build(nest, folder):
    """{model: server}, {model: project}, and {model: server} of uploads, of a file, of groups, of a thread for
    actions, of the worst."""
    servers, projects, uploads, files, groups, threads, worsts = {}, {}, {}, {}, {}, {}, {}
    for model in MODELS:
        projects[model] = os.path.join(folder, model)
        servers[model] = os.path.join(folder, model, 'server')
        run([nest, 'gen', SPEC, '--model', model, '-o', projects[model]])
        # Instructions are counted of the script as users build it; what else is counted is the same anyhow.
        run([nest, 'build', SPEC, '--model', model, '-o', servers[model]],
            **({'CFLAGS': ''} if model == 'script' else {}))
        uploads[model] = os.path.join(folder, model, 'upload')
        run([nest, 'build', UPLOAD, '--model', model, '-o', uploads[model]])
        files[model] = os.path.join(folder, model, 'file')
        run([nest, 'build', FILE, '--model', model, '-o', files[model]])
        if model in calls.LOOPS:
            groups[model] = os.path.join(folder, model, 'group')
            run([nest, 'build', GROUP, '--model', model, '-o', groups[model]])
            threads[model] = os.path.join(folder, model, 'processors')
            run([nest, 'build', PROCESSORS, '--model', model, '-o', threads[model]])
        worsts[model] = os.path.join(folder, model, 'worst')
        run([nest, 'build', WORST, '--model', model, '-o', worsts[model]])
    return servers, projects, uploads, files, groups, threads, worsts


def main():
    """Runs all; the exit status."""
    parser = argparse.ArgumentParser(
        description='Counts what a request costs in every model: system calls, allocations, '
                    'wake-ups, instructions.',
        epilog='environment: NEST is the compiler to use (default: built by cargo)')
    parser.add_argument('--record', action='store_true',
                        help='write the instruction counts to benches/record/instructions.json')
    parser.add_argument('--only', action='append', choices=['calls', 'mallocs', 'idle', 'size',
                                                            'worst', 'instructions'],
                        help='only this part (may be repeated)')
    options = parser.parse_args()
    report = Report('cost')
    nest = program()
    with tempfile.TemporaryDirectory(prefix='nest-cost-') as folder:
        servers, projects, uploads, files, groups, threads, worsts = build(nest, folder)
        parts = {
            'calls': lambda: (calls.check_warm(report, servers),
                              calls.check_lines(report, uploads),
                              calls.check_files(report, files),
                              calls.check_groups(report, groups),
                              calls.check_processors(report, threads),
                              calls.check_alone(report, servers)),
            'mallocs': lambda: (memory.check_mallocs(report, servers, folder),
                                memory.check_lines(report, uploads, folder)),
            'idle': lambda: memory.check_idle(report, servers),
            'size': lambda: memory.check_size(report, projects),
            'worst': lambda: worst.check(report, worsts),
            'instructions': lambda: instructions.check(report, servers['script'], options.record),
        }
        for name, part in parts.items():
            if options.only is None or name in options.only:
                try:
                    part()
                except Failed as error:
                    report.line(False, '', name, '', error)
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'cost: {error}')
