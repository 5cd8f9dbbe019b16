"""Runs experiments one after the other, and writes their report after each.

A report is NAME.md, NAME.json and plots/ in the folder of the script, or where --output says.

Must not know: which experiments there are.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from common import page, plots, processes

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(HERE)


class Context:
    """What an experiment gets: whether to be quick, a folder, the compiler, a voice."""

    def __init__(self, args, folder):
        self.quick, self.minutes, self.nest, self.folder = args.quick, args.minutes, args.nest, folder
        self.end = 0

    def begin(self):
        """An experiment begins."""
        self.end = time.monotonic() + 60 * self.minutes

    def over(self):
        """Whether the experiment has had its time: it measures no further servers."""
        return time.monotonic() > self.end

    def say(self, text):
        """A line of progress."""
        print(f'{time.strftime("%H:%M:%S")} {text}', flush=True)


class Report:
    """What is measured: `experiments` are modules by their names, each with run(context); `report` has what the page says."""

    def __init__(self, name, experiments, report, context=Context):
        self.name, self.experiments, self.report, self.context = name, experiments, report, context

    def arguments(self, about, minutes):
        """The command line."""
        parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument('--quick', action='store_true', help='seconds for each experiment')
        parser.add_argument('--only', default=','.join(self.experiments), help=f'some of {", ".join(self.experiments)}')
        parser.add_argument('--output', help='the folder of the report')
        parser.add_argument('--nest', default=f'{TOP}/target/release/nest', help='the compiler')
        parser.add_argument('--minutes', type=float, default=minutes,
                            help='after so many, an experiment measures no further servers')
        parser.add_argument('--note', default='', help='a sentence about the machine, for the report')
        parser.add_argument('--report', action='store_true', help='measure nothing')
        args = parser.parse_args()
        args.only = args.only.split(',')
        wrong = [name for name in args.only if name not in self.experiments]
        if wrong:
            parser.error(f'there is no {wrong[0]}; there are {", ".join(self.experiments)}')
        if not args.output:
            args.output = tempfile.mkdtemp(prefix='experiments-') if args.quick else HERE
        return args

    def load(self, folder):
        """The record of earlier runs."""
        try:
            with open(f'{folder}/{self.name}.json', encoding='utf-8') as file:
                return json.load(file)
        except FileNotFoundError:
            return {'sections': {}}

    def write(self, record, folder):
        """The record, the page and the plots."""
        os.makedirs(f'{folder}/plots', exist_ok=True)
        with open(f'{folder}/{self.name}.json', 'w', encoding='utf-8') as file:
            json.dump(record, file, indent=1, ensure_ascii=False)
            file.write('\n')
        with open(f'{folder}/{self.name}.md', 'w', encoding='utf-8') as file:
            file.write(page.text(record, self.experiments, self.report.INTRODUCTION, self.report.SOURCE))
        drawn = [plots.draw(plot, f'{folder}/plots')
                 for section in record['sections'].values() for plot in section.get('plots', [])]
        if not all(drawn):
            print('no plots were drawn: python3-matplotlib is missing; run scripts/setup experiments', file=sys.stderr)

    def measure(self, args, context, record):
        """Runs the experiments; one that fails does not stop the others. How many failed."""
        failed = 0
        for name in args.only:
            context.say(f'{name}: begins')
            context.begin()
            before, begin = os.getloadavg()[0], time.monotonic()
            try:
                found = self.experiments[name].run(context)
            except (processes.Failed, OSError) as why:
                context.say(f'{name}: failed: {why}')
                failed += 1
                continue
            took = time.monotonic() - begin
            found['run'] = {'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
                            'seconds': took, 'before': before, 'after': os.getloadavg()[0],
                            'command': f'experiments/{self.name}.py{" --quick" if args.quick else ""} '
                                       f'--minutes {args.minutes:g} --only {name}'}
            record['sections'][name] = found
            self.write(record, args.output)
            context.say(f'{name}: took {took:.0f} s')
        return failed

    def main(self, about, minutes=4):
        """Measures and writes. The exit status."""
        args = self.arguments(about, minutes)
        record = self.load(args.output)
        if args.report:
            if not record['sections']:
                print(f'experiments: there is no record {args.output}/{self.name}.json', file=sys.stderr)
                return 1
            self.write(record, args.output)
            return 0
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        processes.adopt()
        commit = subprocess.run(['git', '-C', HERE, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=False)
        record.update(machine=page.machine(), versions=page.versions(self.report.PROGRAMS),
                      commit=commit.stdout.strip() or 'unknown')
        record['note'] = args.note or record.get('note', '')
        with tempfile.TemporaryDirectory(prefix='experiment-') as folder:
            os.chmod(folder, 0o755)
            try:
                failed = self.measure(args, self.context(args, folder), record)
            except KeyboardInterrupt:
                return 130
            except (processes.Failed, OSError) as why:
                print(f'experiments: {why}', file=sys.stderr)
                return 1
            finally:
                left = processes.end_all()
                if left:
                    print(f'experiments: these processes do not end: {left}', file=sys.stderr)
        print(f'{args.output}/{self.name}.md')
        return 1 if failed else 0
