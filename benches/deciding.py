#!/usr/bin/env python3
"""Whether `nest bench` decides in time, and decides the same each time, for the examples echo, mail, memcached, web and
ftp.

usage: deciding.py [--runs N] [--time TIME] [--only NAME,...] [--no-defaults] [--record FILE]

Each example is measured once with the defaults and an empty cache, so that the time contains building: it must be at most
five minutes. Then it is measured again and again (--runs, --time), and the model that is named must be the same in at least
nine of ten runs. Models whose cost differs by less than 10 % from that of the cheapest over all runs are as good as it is,
so each of them may be named. Fails if a limit is not held. Must not know: how nest bench measures.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests'))
from support.nest import ROOT, Failed, run                          # noqa: E402

EXAMPLES = {
    'echo': ['examples/echo/echo.nest'],
    'mail': ['examples/mail/mail.nest'],
    'memcached': ['examples/memcached/memcached.nest'],
    'web': ['examples/web/web.nest'],
    'ftp': ['examples/ftp/ftp.nest', '--profile', 'examples/ftp/bench.profile', '--', '--', '--anonymous', '.'],
}
MINUTES = 5
AGREE = 0.9             # of the runs
ALIKE = 1.1             # times as dear: no difference that matters
HANGS = 1800            # seconds


def bench(nest, example, cache, more, result):
    """(the figures of a run, its seconds)."""
    words = EXAMPLES[example]
    words = [nest, 'bench', words[0], *more, '--json', result, *words[1:]]
    begun = time.monotonic()
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, 'XDG_CACHE_HOME': cache}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANGS, check=False)
    seconds = time.monotonic() - begun
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}: status {done.returncode}\n{done.stdout.decode(errors="replace")[-2000:]}')
    with open(result, encoding='utf-8') as file:
        return json.load(file), seconds


def named(figures):
    """The model that a run names."""
    return figures['sentence'].split(':')[0]


def ratios(figures):
    """What each model costs in units of the one that is named, by the geometric mean of the rounds."""
    costs = {server['name']: [sample['cost'] for sample in server['rounds']] for server in figures['servers']}
    best = costs[named(figures)]
    return {name: math.exp(statistics.mean(math.log(cost / its) for cost, its in zip(all_costs, best)))
            for name, all_costs in costs.items()}


def judged(runs):
    """(the cheapest model over all runs, {model: its ratios to that one in each run}, the runs that name it or another
    that is as good)."""
    every = [ratios(figures) for figures in runs]
    mean = {name: statistics.mean(math.log(its[name]) for its in every) for name in every[0]}
    best = min(mean, key=mean.get)
    beside = {name: [its[name] / its[best] for its in every] for name in mean}
    good = {name for name, its in beside.items() if statistics.geometric_mean(its) < ALIKE}
    return best, beside, [named(figures) in good for figures in runs]


def shown(best, beside):
    """The ratios of the other models, the cheapest first."""
    others = sorted((statistics.geometric_mean(its), name, its) for name, its in beside.items() if name != best)
    return ', '.join(f'{name} {mean:.2f} ({min(its):.2f} to {max(its):.2f})' for mean, name, its in others)


def examined(nest, example, args, folder):
    """The cells of an example, and whether it holds its limits."""
    result = f'{folder}/result.json'
    cells, holds = [example], True
    cache = f'{folder}/cache-{example}'
    if args.no_defaults:
        cells += ['-', '-']
    else:
        figures, seconds = bench(nest, example, cache, [], result)
        holds = seconds <= MINUTES * 60
        cells += [f'{seconds:.0f} s' + ('' if holds else ' **too long**'), named(figures)]
    if args.runs > 0:
        more = ['--time', args.time] if args.time else []
        runs = []
        for number in range(args.runs):
            runs.append(bench(nest, example, cache, [*more, '--seed', str(1 if args.seed else number + 1)], result)[0])
            print(f'{example}, run {number + 1}: {runs[-1]["sentence"]}', file=sys.stderr, flush=True)
        best, beside, agree = judged(runs)
        enough = sum(agree) >= AGREE * len(agree)
        holds = holds and enough
        rounds = statistics.median(len(figures['servers'][0]['rounds']) for figures in runs)
        cells += [f'{sum(agree)} of {len(agree)}' + ('' if enough else ' **too few**'), f'{rounds:.0f}', best,
                  shown(best, beside)]
    return cells, holds


def main():
    """Prints a line for each example."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--runs', type=int, default=10)
    parser.add_argument('--time', help='of each of these runs, as nest bench takes it; else the default')
    parser.add_argument('--seed', action='store_true', help='all runs have the same conversations')
    parser.add_argument('--only', help='these examples', type=lambda text: text.split(','))
    parser.add_argument('--no-defaults', action='store_true', help='leave out the run with the defaults')
    parser.add_argument('--record', metavar='FILE', help='write the table to this file, too')
    args = parser.parse_args()
    wrong = [name for name in args.only or [] if name not in EXAMPLES]
    if wrong:
        parser.error(f'--only: no example {", ".join(wrong)}; there are {", ".join(EXAMPLES)}')
    run(['cargo', 'build', '--release', '--quiet', '--package', 'nest-cli'], ROOT)
    target = os.environ.get('CARGO_TARGET_DIR') or os.path.join(ROOT, 'target')
    nest = os.path.join(target, 'release', 'nest')
    lines = ['| example | with defaults | it names | runs that agree | rounds | cheapest of all runs | others, in its units |',
             '|---|---|---|---|---|---|---|']
    print('\n'.join(lines), flush=True)
    every = True
    with tempfile.TemporaryDirectory(prefix='nest-deciding-') as folder:
        for example in args.only or EXAMPLES:
            cells, holds = examined(nest, example, args, folder)
            every = every and holds
            lines.append('| ' + ' | '.join(cells + ['-'] * (7 - len(cells))) + ' |')
            print(lines[-1], flush=True)
    load = '%.1f' % os.getloadavg()[0]
    conversations = 'the same conversations in all runs' if args.seed else 'other conversations in each run'
    lines.append(f'\n{args.runs} runs of {args.time or "the default time"}, {conversations}; '
                 f'{len(os.sched_getaffinity(0))} processors, load average {load} at the end.')
    print(lines[-1])
    if args.record:
        with open(args.record, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
    sys.exit(0 if every else 1)


if __name__ == '__main__':
    try:
        main()
    except Failed as failure:
        sys.exit(f'deciding.py: {failure}')
