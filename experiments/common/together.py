"""The page of several reports: what each document has by its number, then every section that is recorded.

A figure that no run has is named as missing, with the command that makes it; nothing is filled in.

Must not know: how anything is measured, which experiments there are.
"""

import json
import re
from common import page

INTRODUCTION = '''# The experiments of four documents, on today's servers

[`experiments/all.py`](all.py) writes this page from what the four reports have recorded (`NAME.json`); `make experiments` repeats the
experiments and writes it again, `make experiments EXPERIMENTS=--page-only` only writes it. nest goes back to these documents. For
each of their tables and figures this page has what the document found, what was measured here, and what could not be repeated.

**How to read it.** Documents and measurements are twenty years and several kinds of machines apart, and here servers and clients share
one machine. Compare shapes and ratios, not rates. The report of each document explains its measurements; the line below each section says
when and how it was measured. A dash is a value that was not measured.
'''


class Wrong(Exception):
    """A record and the list of a report do not fit together."""


def load(name, folder):
    """The record of a report; None if there is none."""
    try:
        with open(f'{folder}/{name}.json', encoding='utf-8') as file:
            record = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as why:
        raise Wrong(f'{folder}/{name}.json is no record: {why}; measure again by make experiments-{name}') from None
    return record if record.get('sections') else None


def anchor(title):
    """The name of a heading in links, as GitHub and the book make it."""
    return re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')


def command(name, experiment):
    """What makes a missing section."""
    return f"`make experiments-{name} EXPERIMENTS='--only {experiment}'`"


def state(name, item, sections):
    """The last cell of an item's row."""
    _, _, experiment, why = item
    if experiment is None:
        return why
    found = sections.get(experiment)
    if found is None:
        return f'not recorded; {command(name, experiment)}'
    left = '; *Not repeated* says what not' if found.get('limits') else ''
    return f'[repeated](#{anchor(found["title"])}){left}'


def chapter(name, report, record):
    """Lines about one document."""
    sections = record['sections'] if record else {}
    order = list(dict.fromkeys(item[2] for item in report.ITEMS if item[2]))
    strange = [one for one in sections if one not in order]
    if strange:
        raise Wrong(f'{name}.json has a section {strange[0]}, of which ITEMS in experiments/{name}/report.py has no row; add one')
    out = ['', f'## {report.DOCUMENT}', '']
    if record:
        out += [f'[The report]({name}.md). {page.about(record)}', '']
    else:
        out += [f'**No run is recorded.** `make experiments-{name}` makes one{report.NEEDS}.', '']
    out += ['| in the document | what | here |', '|---|---|---|']
    out += [f'| {item[0]} | {item[1]} | {state(name, item, sections)} |' for item in report.ITEMS]
    for experiment in order:
        if experiment in sections:
            out += page.section(sections[experiment], report.SOURCE, '###')
    return out


def text(reports, folder):
    """The page; `reports` are modules by their names."""
    out = [INTRODUCTION.rstrip('\n')]
    for name, report in reports.items():
        out += chapter(name, report, load(name, folder))
    return '\n'.join(out) + '\n'
