"""The page of a report: sections of experiments as Markdown, with plots beside it.

A section is a dictionary of JSON: title, paper (what the document found), method, tables, plots, findings, limits.

Must not know: which experiments there are, how anything is measured.
"""

import os
import platform
import re
import subprocess

TIME = 20


def machine():
    """What a reader must know of this machine."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        model = re.search(r'model name\s*:\s*(.*)', file.read())
    with open('/proc/meminfo', encoding='ascii') as file:
        memory = int(re.search(r'MemTotal:\s*(\d+)', file.read())[1]) // 2**20
    return f'{os.cpu_count()} × {model[1] if model else platform.machine()}, {memory} GB, Linux {platform.release()}'


def versions(programs):
    """The programs that were used: of ((WORDS, PATTERN, SHOWN), …), what each says of itself."""
    found = []
    for words, pattern, shown in programs:
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        match = re.search(pattern, done.stdout + done.stderr)
        if match:
            found.append(shown.format(match[match.re.groups]))
    return ', '.join(found)


def number(value):
    """A cell of a table."""
    if value is None:
        return '–'
    if not isinstance(value, float):
        return f'{value:,}' if isinstance(value, int) else str(value)
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.1f}' if abs(value) >= 10 else f'{value:.2f}'


def table(head, rows):
    """Lines of a table; the first column is text."""
    out = [f'| {" | ".join(head)} |', '|---|' + '---:|' * (len(head) - 1)]
    return out + [f'| {" | ".join(map(number, row))} |' for row in rows]


def section(found, source, mark='##'):
    """Lines of a section; `source` is the document that is repeated."""
    out = ['', f'{mark} {found["title"]}', '', f'**{source}.** {found["paper"]}', '', f'**Here.** {found["method"]}', '']
    for plot in found.get('plots', []):
        out += [f'![{plot["title"]}](plots/{plot["file"]}.svg)', '']
    for one in found.get('tables', []):
        out += [*([one['title'], ''] if one.get('title') else []), *table(one['head'], one['rows']), '']
    out += [f'- {line}' for line in found.get('findings', [])]
    if found.get('limits'):
        out += ['', '**Not repeated.** ' + ' '.join(found['limits'])]
    run = found['run']
    return out + ['', f'*{run["date"]}, {run["seconds"]:.0f} s, load average {run["before"]:.1f} before and {run["after"]:.1f} '
                  f'after; `{run["command"]}`.*']


def about(record):
    """The line about the machine and the run."""
    return f'**The machine.** {record["machine"]}; {record["versions"]}. Commit {record["commit"]}. {record["note"]}'


def text(record, order, introduction, source):
    """The page; `order` are the names of its sections."""
    out = [introduction, about(record)]
    for name in order:
        if name in record['sections']:
            out += section(record['sections'][name], source)
    return '\n'.join(out) + '\n'
