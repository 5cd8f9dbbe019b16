"""Tables of a result, and where nest stands against its aims.

Must not know: how anything was measured.
"""

from statistics import median

from tasks import MATCHERS, TASKS


def number(value, digits=2):
    """A figure, '-' if there is none."""
    return '-' if value is None else f'{value:,.{digits}f}'


def of(cells, **key):
    """The first cell with this key, or None."""
    return next((c for c in cells if all(c[k] == v for k, v in key.items())), None)


def speed(cell):
    """GB/s in each round."""
    return [cell['bytes'] / seconds / 1e9 for seconds in cell['rounds']]


def ratios(cell, other):
    """How many times as fast as another, in each round."""
    return [theirs / mine for mine, theirs in zip(cell['rounds'], other['rounds'])]


def spread(values, digits=2):
    """The median, and the least and the most."""
    return f'{number(median(values), digits)} ({number(min(values), digits)}..' \
           f'{number(max(values), digits)})'


def per_byte(cell, what):
    """A count for each byte."""
    return cell[what] / cell['bytes'] if what in cell else None


def place_table(cells):
    """Those of one task, input, mode and compiler."""
    nest = of(cells, matcher='nest')
    cycles = any('cycles' in cell for cell in cells)
    lines = ['| matcher | GB/s | × nest | instructions/byte |' + (' cycles/byte |' if cycles else ''),
             '|---|---|---|---|' + ('---|' if cycles else '')]
    for cell in cells:
        times = spread(ratios(cell, nest)) if nest else '-'
        lines.append(f"| {cell['matcher']} | {spread(speed(cell), 3)} | {times} | "
                     f"{number(per_byte(cell, 'instructions'))} |"
                     + (f" {number(per_byte(cell, 'cycles'))} |" if cycles else ''))
    return lines + ['']


def overview(cells):
    """One mode and compiler at a glance: GB/s, and instructions a byte where they were counted."""
    names = [name for name in MATCHERS if of(cells, matcher=name)]
    lines = ['| task, input | ' + ' | '.join(names) + ' |', '|---' * (len(names) + 1) + '|']
    for task, corpus in dict.fromkeys((c['task'], c['corpus']) for c in cells):
        row = []
        for name in names:
            cell = of(cells, task=task, corpus=corpus, matcher=name)
            count = cell and per_byte(cell, 'instructions')
            row.append('' if cell is None else number(median(speed(cell)), 3)
                       + ('' if count is None else f'; {number(count)}'))
        lines.append(f'| {task}, {corpus} | ' + ' | '.join(row) + ' |')
    return lines + ['']


def making_table(cells):
    """What it takes to make each matcher, and how large it is."""
    lines = ['| task | matcher | for | generation, ms | C, bytes | code and tables, bytes |',
             '|---|---|---|---|---|---|']
    seen = set()
    for cell in cells:
        mode = 'all' if not MATCHERS[cell['matcher']].two else \
            'whole' if cell['mode'] == 'whole' else 'pieces'
        key = cell['task'], cell['matcher'], mode
        if key in seen or cell['matcher'] == 'engine':
            continue
        seen.add(key)
        made = cell.get('generation')
        lines.append(f"| {cell['task']} | {cell['matcher']} | {mode} | "
                     f"{number(made and made * 1e3, 1)} | {number(cell.get('c'), 0)} | "
                     f"{number(cell.get('code'), 0)} |")
    return lines + ['']


AIMED = 'whole', 'packets'      # a server has the one or the other; byte by byte is for proofs


def aim(text, kept, found):
    """A line of the list of aims."""
    return f"- {'kept' if kept else 'MISSED'}: {text}: {found}"


def against(cells, peer, least, text):
    """An aim over a peer, for each place where both were measured."""
    for nest in cells:
        other = of(cells, matcher=peer, **{k: nest[k] for k in ('task', 'corpus', 'mode')})
        if nest['matcher'] == 'nest' and nest['mode'] in AIMED and TASKS[nest['task']].parts \
                and other:
            times = ratios(nest, other)
            yield aim(f"{text}, {nest['task']} of {nest['corpus']}, {nest['mode']}",
                      median(times) >= least, f'{spread(times, 3)} times')


def aims(cells):
    """All aims."""
    yield from against(cells, 're2c', 2, 'twice re2c with parts')
    yield from against(cells, 'ragel', 2, 'twice Ragel with parts')
    yield from against(cells, 'llhttp', 1, 'ahead of llhttp')
    lines = of(cells, matcher='nest', task='lines', mode='whole')
    if lines:
        yield aim('3 GB/s where runs dominate', median(speed(lines)) >= 3,
                  f'{spread(speed(lines))} GB/s')
    for cell in cells:
        found = per_byte(cell, 'instructions')
        if (cell['matcher'], cell['task'], cell['mode']) == ('nest', 'heads', 'whole') and found:
            yield aim(f"1.0 instruction a byte at most, heads of {cell['corpus']}", found <= 1,
                      number(found))


def tables(result):
    """All of it, as lines of Markdown."""
    machine, cells = result['machine'], result['cells']
    counters = {cell.get('counter', 'the processor') for cell in cells if 'instructions' in cell}
    lines = [f"{machine['processor']}, {machine['cores']} cores"
             f"{', virtual' if machine['virtual'] else ''}, {machine['system']}, "
             f"{machine['compiler']}, load {' '.join(machine['load'])}. Commit {result['commit']}, "
             f"{result['rounds']} rounds of {result['seconds']} s for each figure, seed "
             f"{result['seed']}. Median (least..most) of the rounds; a ratio is of one round. "
             f"Instructions counted by {' and '.join(sorted(counters)) or 'nobody'}.", '',
             'All matchers found the same parts.' if result['same'] else
             'THE MATCHERS DISAGREE; these figures are worth nothing.', '']
    places = []
    for cell in cells:
        place = {k: cell[k] for k in ('task', 'corpus', 'mode', 'cc')}
        if place not in places:
            places.append(place)
    for mode, cc in dict.fromkeys((place['mode'], place['cc']) for place in places):
        lines += [f'### {mode}, {cc}: GB/s; instructions a byte', '']
        lines += overview([c for c in cells if (c['mode'], c['cc']) == (mode, cc)])
    for place in places:
        lines += [f"### {place['task']}, {place['corpus']}, {place['mode']}, {place['cc']}", '']
        lines += place_table([c for c in cells if all(c[k] == v for k, v in place.items())])
    for cc in sorted({cell['cc'] for cell in cells}):
        mine = [cell for cell in cells if cell['cc'] == cc]
        lines += [f'### What is made, {cc}', ''] + making_table(mine)
        lines += [f'### Aims, {cc}', ''] + list(aims(mine)) + ['']
    lines += [f'{m.name} {m.cannot}.' for m in MATCHERS.values()
              if m.cannot and of(cells, matcher=m.name)]
    lines += [f'Not measured: {name}, for `apt-get install --no-install-recommends {package}`.'
              for name, package in result['absent'].items()]
    return lines
