#!/usr/bin/env python3
"""Measures servers that nest builds beside floors and servers of others; benches/README.md says how.

`make bench` runs it. Must not know: how a server is started, what a load is, what is compared.
"""

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)
from harness import report                                              # noqa: E402
from harness.machine import (PREFIX, Failed, Machine, clear_folders,      # noqa: E402
                             command, describe)
from harness.measure import measure                                     # noqa: E402
from harness.servers import SERVERS, Workshop, missing, versions        # noqa: E402
from harness.workloads import WORKLOADS, make_files                     # noqa: E402


def names(known):
    """A type of argument: names of a table, with commas."""
    def parse(text):
        out = []
        for name in text.split(','):
            found = [one for one in known if one == name or one.startswith(name + '-')]
            if not found:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
            out += [one for one in found if one not in out]
        return out
    return parse


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        prog='bench', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Measures servers that nest builds beside floors and servers of others.',
        epilog='workloads:\n' + '\n'.join(f'  {w.name:14} {w.about}' for w in WORKLOADS.values())
               + '\n\nservers:\n'
               + '\n'.join(f'  {s.name:14} {s.about}' for s in SERVERS.values()))
    parser.add_argument('--only', type=names(WORKLOADS), default=list(WORKLOADS),
                        metavar='WORKLOAD,…', help="these; 'file' is all that begin so")
    parser.add_argument('--servers', type=names(SERVERS), default=list(SERVERS),
                        metavar='SERVER,…', help='these')
    parser.add_argument('--net', default='veth' if os.geteuid() == 0 else 'loopback',
                        help='loopback; veth, which needs root; or both with a comma (%(default)s)')
    parser.add_argument('--rounds', type=int, default=3, help='%(default)s')
    parser.add_argument('--seconds', type=float, default=2, help='of one measurement: %(default)s')
    parser.add_argument('--server-core', type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument('--load-core', type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument('--files', metavar='SPEC', help='the specification that serves files: '
                        'examples/web/web.nest, or benches/specs/files.nest')
    parser.add_argument('--nest', default=os.environ.get('NEST'), help='the compiler')
    parser.add_argument('--record', metavar='PREFIX', help='write PREFIX.md and PREFIX.json too')
    parser.add_argument('--report', metavar='FILE.json', nargs='+',
                        help='measure nothing: print the tables of records')
    options = parser.parse_args()
    options.networks = options.net.split(',')
    if not set(options.networks) <= {'loopback', 'veth'}:
        parser.error('--net is loopback, veth or both')
    if 'veth' in options.networks and os.geteuid() != 0:
        parser.error('--net veth makes network namespaces and needs root')
    if options.server_core == options.load_core and not options.report:
        parser.error('server and load need a core each')
    if not options.report and not options.nest:
        parser.error('--nest, or NEST in the environment, is needed; make bench gives it')
    return options


def progress(cell, turn, rounds):
    """A line for one measurement."""
    name = f"{cell['server']} {cell['variant']}".strip()
    if 'error' in cell:
        said = cell['error']
    else:
        said = f"{cell['rate']:>9,.0f}/s {report.number(cell['cost'], 2):>10} us  " \
               f"p99 {report.number(cell.get('p99')):>9}  {report.flags([cell])}"
    print(f"  {cell['network']:8} {cell['workload']:12} {turn + 1}/{rounds} {name:22} {said}",
          file=sys.stderr, flush=True)


def rate_for(machine, shop, server, workload, variant):
    """The workload's share of what a server can do at most, by what a request costs it."""
    cell = measure(machine, shop, server, workload, variant, 1)
    if not cell.get('cost'):
        raise Failed(f"{server.name}: {cell.get('error', 'no answers')}")
    return workload.share * 1e6 / cell['cost']


def run_workload(machine, shop, workload, servers, options, cells):
    """All of one workload, the servers in turn in each round; cells are added."""
    rates = {}
    rounds = 1 if workload.once else options.rounds
    for turn in range(rounds):
        for server in servers:
            for variant in workload.variants:
                if workload.share and server.name not in rates:
                    try:
                        rates[server.name] = rate_for(machine, shop, server, workload, variant)
                    except Failed as error:
                        print(f'bench: {error}', file=sys.stderr)
                        rates[server.name] = None
                if workload.share and rates[server.name] is None:
                    continue
                cell = measure(machine, shop, server, workload, variant, options.seconds,
                               rates.get(server.name))
                cell['round'] = turn
                cells.append(cell)
                progress(cell, turn, rounds)


def run_all(options, run, shop):
    """Everything that was asked for; prints each workload's table as it is done."""
    sound = True
    for network in options.networks:
        machine = Machine(network, run['cores'])
        try:
            for name in options.only:
                workload = WORKLOADS[name]
                servers = [SERVERS[one] for one in workload.servers
                           if one in options.servers and one not in run['missing']]
                if workload.httperf and shutil.which('httperf') is None:
                    print('bench: no httperf: apt-get install httperf', file=sys.stderr)
                    continue
                cells = []
                try:
                    run_workload(machine, shop, workload, servers, options, cells)
                finally:
                    run['cells'] += cells
                if cells:
                    lines, held = report.section(network, workload, cells)
                    sound = sound and held
                    print('\n'.join(lines), flush=True)
        finally:
            machine.close()
    return sound


def interrupted(*_):
    """A signal that asks to end ends like Ctrl-C: what runs is ended, what was made removed."""
    raise KeyboardInterrupt


def commit():
    """What is measured."""
    try:
        return command('git', '-C', ROOT, 'describe', '--always', '--dirty').strip()
    except (Failed, OSError):
        return 'an unknown commit'


def repeated(words):
    """The arguments without those that are this machine's alone."""
    out, rest = [], iter(words)
    for word in rest:
        if word in ('--nest', '--record'):
            next(rest, None)
        else:
            out.append(word)
    return ' '.join(out)


def record(prefix, run):
    """Writes the record."""
    with open(prefix + '.json', 'w', encoding='utf-8') as file:
        json.dump(run, file, indent=1)
        file.write('\n')
    with open(prefix + '.md', 'w', encoding='utf-8') as file:
        file.write(report.document(run))


def main():
    """Measures, or prints what was measured."""
    options = arguments()
    if options.report:
        for path in options.report:
            with open(path, encoding='utf-8') as file:
                print(report.document(json.load(file)))
        return 0
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, interrupted)
    absent = missing(options.servers)
    for name, package in absent.items():
        print(f'bench: {name} is left out: apt-get install --no-install-recommends {package}',
              file=sys.stderr)
    web = os.path.join(ROOT, 'examples', 'web', 'web.nest')
    files = options.files or (web if os.path.exists(web)
                              else os.path.join(HERE, 'specs', 'files.nest'))
    run = {'date': datetime.date.today().isoformat(), 'commit': commit(),
           'arguments': repeated(sys.argv[1:]), 'rounds': options.rounds,
           'seconds': options.seconds, 'machine': describe(), 'files': os.path.relpath(files, ROOT),
           'cores': {'server': options.server_core, 'load': options.load_core},
           'versions': versions(options.servers), 'missing': absent, 'interrupted': False,
           'cells': []}
    sound = False
    clear_folders(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f'{PREFIX}{os.getpid()}-') as folder:
        os.chmod(folder, 0o755)
        make_files(os.path.join(folder, 'files'))
        shop = Workshop(folder, options.nest, os.path.abspath(files))
        try:
            print('bench: building', file=sys.stderr, flush=True)
            shop.build([SERVERS[name] for name in options.servers],
                       [WORKLOADS[name] for name in options.only])
            os.sched_setaffinity(0, {options.load_core})
            sound = run_all(options, run, shop)
        except KeyboardInterrupt:
            run['interrupted'] = True
            print('bench: cut short', file=sys.stderr)
        except Failed as error:
            run['interrupted'] = True
            print(f'bench: {error}', file=sys.stderr)
    if options.record:
        record(options.record, run)
    failed = any('error' in cell or (cell.get('fault_count') and not WORKLOADS[cell['workload']].once)
                 for cell in run['cells'])
    return 0 if sound and not failed and not run['interrupted'] else 1


if __name__ == '__main__':
    sys.exit(main())
