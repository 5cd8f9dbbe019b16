#!/usr/bin/env python3
"""The experiments of "Connection Conditioning" (Park and Pai, 2006), repeated with today's servers.

    experiments/conditioning.py [--quick] [--only NAME,...] [--report]

Writes conditioning.md, conditioning.json and plots/ beside itself; sections that are not measured again stay. --quick
measures for seconds and writes to a temporary folder unless --output names one. --report only writes the page again.
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
from conditioning import (chained, clients, files, heavy, idle, plots, processes, report, servers, sets, sizes, slow,
                          slashes, starvation)

HERE = os.path.dirname(os.path.abspath(__file__))
EXPERIMENTS = {'sizes': sizes, 'files': files, 'sets': sets, 'filters': chained, 'incomplete': starvation,
               'rare': heavy, 'persistent': idle, 'slowhttptest': slow, 'beck': slashes}


class Context:
    """What an experiment gets: whether to be quick, the files to serve, the builder, a voice."""

    def __init__(self, quick, minutes, shop, folder):
        self.quick, self.minutes, self.shop, self.folder = quick, minutes, shop, folder
        self.end = 0
        self.site = os.path.join(folder, 'site')
        clients.make_site(self.site)

    def begin(self):
        """An experiment begins."""
        self.end = time.monotonic() + 60 * self.minutes

    def over(self):
        """Whether the experiment has had its time: it measures no further servers."""
        return time.monotonic() > self.end

    def left_out(self, name, filters, why):
        """A sentence for the report."""
        return f'{" ".join([name, *filters])}: left out, {why or f"the experiment has had its {self.minutes:g} minutes"}.'

    def say(self, text):
        """A line of progress."""
        print(f'{time.strftime("%H:%M:%S")} {text}', flush=True)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='seconds for each experiment')
    parser.add_argument('--only', default=','.join(EXPERIMENTS), help=f'some of {", ".join(EXPERIMENTS)}')
    parser.add_argument('--output', help='the folder of the report')
    parser.add_argument('--nest', default=f'{servers.TOP}/target/release/nest', help='the compiler')
    parser.add_argument('--minutes', type=float, default=4, help='after so many, an experiment measures no further servers')
    parser.add_argument('--note', default='', help='a sentence about the machine, for the report')
    parser.add_argument('--report', action='store_true', help='measure nothing')
    args = parser.parse_args()
    args.only = args.only.split(',')
    wrong = [name for name in args.only if name not in EXPERIMENTS]
    if wrong:
        parser.error(f'there is no {wrong[0]}; there are {", ".join(EXPERIMENTS)}')
    if not args.output:
        args.output = tempfile.mkdtemp(prefix='experiments-') if args.quick else HERE
    return args


def load(path):
    """The record of earlier runs."""
    try:
        with open(path, encoding='utf-8') as file:
            return json.load(file)
    except FileNotFoundError:
        return {'sections': {}}


def write(record, folder):
    """The record, the page and the plots."""
    os.makedirs(f'{folder}/plots', exist_ok=True)
    with open(f'{folder}/conditioning.json', 'w', encoding='utf-8') as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write('\n')
    with open(f'{folder}/conditioning.md', 'w', encoding='utf-8') as file:
        file.write(report.text(record, EXPERIMENTS))
    drawn = [plots.draw(plot, f'{folder}/plots') for s in record['sections'].values() for plot in s.get('plots', [])]
    if not all(drawn):
        print('no plots were drawn: python3-matplotlib is missing; run scripts/setup experiments', file=sys.stderr)


def measure(args, context, record):
    """Runs the experiments; one that fails does not stop the others. How many failed."""
    failed = 0
    for name in args.only:
        context.say(f'{name}: begins')
        context.begin()
        before, begin = os.getloadavg()[0], time.monotonic()
        try:
            found = EXPERIMENTS[name].run(context)
        except processes.Failed as why:
            context.say(f'{name}: failed: {why}')
            failed += 1
            continue
        found['run'] = {'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
                        'seconds': time.monotonic() - begin, 'before': before, 'after': os.getloadavg()[0],
                        'command': f'experiments/conditioning.py{" --quick" if args.quick else ""} '
                                   f'--minutes {args.minutes:g} --only {name}'}
        record['sections'][name] = found
        write(record, args.output)
        context.say(f'{name}: took {time.monotonic() - begin:.0f} s')
    return failed


def main():
    """Measures and writes."""
    args = arguments()
    record = load(f'{args.output}/conditioning.json')
    if args.report:
        write(record, args.output)
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    processes.adopt()
    commit = subprocess.run(['git', '-C', HERE, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=False)
    record.update(machine=report.machine(), versions=report.versions(), commit=commit.stdout.strip() or 'unknown')
    record['note'] = args.note or record.get('note', '')
    with tempfile.TemporaryDirectory(prefix='experiment-') as folder:
        os.chmod(folder, 0o755)
        try:
            shop = servers.Builder(args.nest)
            shop.build()
            failed = measure(args, Context(args.quick, args.minutes, shop, folder), record)
        except KeyboardInterrupt:
            return 130
        except processes.Failed as why:
            print(f'experiments: {why}', file=sys.stderr)
            return 1
        finally:
            left = processes.end_all()
            if left:
                print(f'experiments: these processes do not end: {left}', file=sys.stderr)
    print(f'{args.output}/conditioning.md')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
