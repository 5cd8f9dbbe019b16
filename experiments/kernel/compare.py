"""Measures servers in turns, and makes the tables and plots of a section.

Must not know: which section.
"""

import statistics
from common.processes import Failed
from kernel.servers import Server


def rounds(context, rows, columns, load):
    """Each of the server's `rows` with each of `columns`, in turns; load(server, column) measures. `columns` gives each column's size
    of file. All that was measured by row and column, and what could not be measured."""
    found, limits = {}, []
    for _ in range(context.rounds):
        for column, size in columns.items():
            for row in rows:
                if context.over():
                    limits.append(f'{row[0]}, {column}: the experiment has had its {context.minutes:g} minutes.')
                    continue
                try:
                    with Server(context, *row, size=size) as server:
                        one = load(server, column)
                except Failed as why:
                    limits.append(f'{row[0]}, {column}: {why}.')
                    continue
                found.setdefault(row[0], {}).setdefault(column, []).append(one)
                context.say(f'  {row[0]}, {column}: {one["rate"]:,.0f}/s')
    return found, list(dict.fromkeys(limits))


def measure(context, rows, columns, load):
    """The same, of each row and column the medians."""
    found, limits = rounds(context, rows, columns, load)
    return {label: {column: {key: middle([one[key] for one in many]) for key in many[0]} for column, many in by.items()}
            for label, by in found.items()}, limits


def middle(values):
    """The median of those that are known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def table(title, found, columns, value):
    """A table: value(what was measured) by server and column."""
    return {'title': title, 'head': ['', *map(str, columns)],
            'rows': [[label, *(value(by[column]) if column in by else None for column in columns)] for label, by in found.items()]}


def plot(file, title, x, y, found, columns, value, **more):
    """A plot: value(what was measured) over `columns`, which gives each column's place."""
    return {'file': f'kernel-{file}', 'title': title, 'x': x, 'y': y, **more,
            'series': {label: [[place, value(by[column])] for column, place in columns.items() if column in by]
                       for label, by in found.items()}}


def gains(found, columns, value=lambda one: one['rate']):
    """A sentence for each server that was measured alone and with the kernel in front."""
    said = []
    for label in found:
        alone = label.removesuffix(', kernel')
        both = [column for column in columns if alone != label and column in found[label] and column in found.get(alone, {})]
        if both:
            said.append(f'{alone}: with the kernel in front, ' + ', '.join(
                f'{value(found[label][column]) / value(found[alone][column]):.2f} times as many ({column})' for column in both) + '.')
    return said
