"""Tables of what was measured, and how the targets fare. Must not know: how it was measured."""

import statistics

from .machine import FOREIGN
from .servers import SERVERS
from .workloads import WORKLOADS

FULL, STOLEN, DOUBTFUL = .97, .01, .1   # shares of a core that a reader must be told of
FLAGS = {'L': "the load generator's core was full, the server's was not: it can do more than the "
              'rate says; the cost holds',
         'N': f'others had more than {FOREIGN:.0%} of the server\'s core: the cost is what is '
              'counted for its processes, and what the others leave in the caches shows in it',
         'D': f'more than {DOUBTFUL:.0%} of the time of the server\'s core was not its processes\': '
              'others may have had it, and it is in the cost',
         'U': 'who else was on the server\'s core could not be seen, which takes root',
         'S': f'the hypervisor took more than {STOLEN:.0%} of the time',
         'F': 'something failed: see faults'}


def rows(cells):
    """{row: its cells, in the order of the rounds}."""
    out = {}
    for cell in cells:
        name = f"{cell['server']} {cell['variant']}".strip()
        out.setdefault(name, []).append(cell)
    return out


def good(cells):
    """Those with figures."""
    return [cell for cell in cells if 'error' not in cell and cell.get('cost') is not None]


def median(cells, figure):
    """Of a figure over the rounds; None if there is none."""
    values = [cell[figure] for cell in good(cells) if cell.get(figure) is not None]
    return statistics.median(values) if values else None


def flags(cells):
    """What a reader must know of these cells."""
    out = set()
    for cell in cells:
        if 'error' in cell or cell.get('fault_count'):
            out.add('F')
        if 'error' in cell:
            continue
        if cell['load_busy'] > FULL > cell['server_busy']:
            out.add('L')
        if (cell['others'] or 0) > FOREIGN * cell['seconds']:
            out.add('N')
        if (cell.get('unexplained') or 0) > DOUBTFUL * cell['seconds']:
            out.add('D')
        if cell['own'] is None:
            out.add('U')
        if cell['stolen'] > STOLEN:
            out.add('S')
    return ''.join(sorted(out))


def ratios(cells, others, figure):
    """One row's figure divided by another's, round by round."""
    by_round = {cell['round']: cell[figure] for cell in good(others) if cell.get(figure)}
    return [cell[figure] / by_round[cell['round']] for cell in good(cells)
            if cell.get(figure) and cell['round'] in by_round]


def spread(values, digits=2):
    """A median with the least and the most."""
    if not values:
        return '-'
    text = f'{statistics.median(values):.{digits}f}'
    if len(values) > 1:
        text += f' ({min(values):.{digits}f} to {max(values):.{digits}f})'
    return text


def number(value, digits=0):
    """A number with its thousands, '-' if there is none."""
    return '-' if value is None else f'{value:,.{digits}f}'


def faults(cells):
    """What failed, by kind, over all rounds."""
    out, errors = {}, []
    for cell in cells:
        error = cell.get('error', '').strip().partition('\n')[0]
        if error and error not in errors:
            errors.append(error)
        for name, count in cell.get('faults', {'all': cell.get('fault_count', 0)}).items():
            out[name] = out.get(name, 0) + count
        out['unserved'] = out.get('unserved', 0) + cell.get('unserved', 0)
    said = [f'{count} {name}' for name, count in out.items() if count] + errors
    return ', '.join(said).replace('|', '/') or '0'


def table(workload, cells):
    """Lines of Markdown: a row each, the figures that fit the workload."""
    grouped = rows(cells)
    reference = next((name for name in grouped if name.startswith('floor-')), None)
    heads = ['server', 'requests/s', 'cost, us', 'own, us']
    if reference:
        heads.append(f'cost / {reference}')
    heads += ['p50, us', 'p99, us', 'p99.9, us']
    if not workload.path:
        heads += ['Jain', 'MB/s']
    heads += ['server busy', 'load busy', 'faults', '']
    lines = ['| ' + ' | '.join(heads) + ' |', '|---|' + '---:|' * (len(heads) - 3) + '---|---|']
    for name, found in grouped.items():
        line = [name, number(median(found, 'rate')), number(median(found, 'cost'), 2),
                number(median(found, 'own_cost'), 2)]
        if reference:
            line.append(spread(ratios(found, grouped[reference], 'cost')))
        line += [number(median(found, figure)) for figure in ('p50', 'p99', 'p99.9')]
        if not workload.path:
            sent = [cell['bytes'] / cell['seconds'] / 1e6 for cell in good(found)]
            line += [number(median(found, 'jain'), 4),
                     number(statistics.median(sent) if sent else None)]
        busy = (median(found, 'server_busy'), median(found, 'load_busy'))
        line += ['-' if share is None else f'{share:.0%}' for share in busy]
        line += [faults(found), flags(found)]
        lines.append('| ' + ' | '.join(line) + ' |')
    return lines


def judge(target, grouped):
    """(whether the target is held, or None if it was not measured; a line that says it)."""
    cells = grouped.get(target.row, [])
    others = {name: median(grouped.get(name, []), target.figure) for name in target.others}
    others = {name: value for name, value in others.items() if value is not None}
    if not cells or (target.others and not others):
        return None, ''
    what = f'{target.row}, {target.figure}'
    failed = [cell for cell in cells if 'error' in cell or cell.get('fault_count')]
    if target.others:
        best = min(others, key=others.get)
        values = ratios(cells, grouped[best], target.figure)
        held = bool(values) and statistics.median(values) <= target.most
        said = f'{spread(values, 3)} of {best}, at most {target.most:.3f}'
        unsure = bool(values) and min(values) <= target.most < max(values)
    else:
        values = [cell[target.figure] for cell in good(cells)]
        held = bool(values) and statistics.median(values) >= target.most
        said = f'{spread(values, 4)}, at least {target.most}'
        unsure = bool(values) and min(values) < target.most <= max(values)
    if failed:
        return False, f'FAILED  {what}: {faults(cells)}'
    doubt = ' (the rounds disagree)' if unsure else ''
    return held, f'{"held  " if held else "MISSED"}  {what}: {said}{doubt}'


def verdicts(workload, cells):
    """[(held, line)] of the targets that could be judged."""
    grouped = rows(cells)
    judged = [judge(target, grouped) for target in workload.targets]
    return [(held, line) for held, line in judged if held is not None]


def section(network, workload, cells):
    """(lines of one workload on one network, whether all its targets are held)."""
    judged = verdicts(workload, cells)
    lines = [f'### {workload.name}, {network}', '', f'{workload.about}.', '',
             *table(workload, cells), '']
    if judged:
        lines += ['- ' + line for _, line in judged] + ['']
    return lines, all(held for held, _ in judged)


def groups(cells):
    """{(network, workload): cells}, in the order in which they were measured."""
    out = {}
    for cell in cells:
        out.setdefault((cell['network'], cell['workload']), []).append(cell)
    return out


def document(run):
    """The whole record as Markdown."""
    machine = run['machine']
    lines = [
        f"# {run['date']}: beside today's servers", '',
        f"At {run['commit']}, by `make bench BENCH='{run['arguments']}'`"
        f"{' (cut short)' if run['interrupted'] else ''}; {run['rounds']} rounds of "
        f"{run['seconds']:g} s, the servers in turn in each.", '',
        f"{machine['cores']} x {machine['processor']}"
        f"{', virtual' if machine['virtual'] else ''}, {machine['memory_mb']:,} MB, "
        f"{machine['system']}, Linux {machine['kernel']}, {machine['compiler']}; load "
        f"{' '.join(machine['load'])} at the beginning. Server on core {run['cores']['server']}, "
        f"load on core {run['cores']['load']}.", '',
        ', '.join(f'{name} {version}' for name, version in run['versions'].items()) + '.', '']
    for name, package in run['missing'].items():
        lines += [f'Not measured: {name}, for `apt-get install {package}`.', '']
    lines += ['A cost is the time that the server\'s core was busy with it, for each request; '
              '`own` is what of that is counted for its processes. Ratios are of costs in the '
              'same round: their median, the least, the most.', '']
    lines += [f'- {flag}: {meaning}.' for flag, meaning in FLAGS.items()] + ['']
    lines += ['| server | |', '|---|---|']
    used = {cell['server'] for cell in run['cells']}
    lines += [f'| {server.name} | {server.about} |' for server in SERVERS.values()
              if server.name in used] + ['']
    for (network, name), cells in groups(run['cells']).items():
        lines += section(network, WORKLOADS[name], cells)[0]
    return '\n'.join(lines)
