"""The report: sections of the experiments as Markdown, with plots beside it.

A section is a dictionary of JSON: title, paper (what the paper found), method, tables, plots, findings, limits.

Must not know: how anything is measured.
"""

import os
import platform
import re
import subprocess

INTRODUCTION = '''# The experiments of the paper, on today's servers

[`experiments/conditioning.py`](conditioning.py) writes this page and its plots; `make experiments-conditioning` repeats it.
The experiments are those of section 4 of *Connection Conditioning: Architecture-Independent Support for Simple,
Robust Servers* by KyoungSoo Park and Vivek S. Pai (NSDI 2006), each beside the figure or table that it repeats.

**How to read it.** Servers that are compared run at the same time, and are measured in turns: A, B, A, B, … . A ratio is the median of the
ratios of neighbours, so load that other processes put on the machine affects both sides. Rates are medians. Server and
load share the machine and its loopback; the paper had five machines. Absolute numbers of 2006 and of today are not
comparable; shapes and ratios are. The figures of the paper were available as text only: where its text gives no number, the shape that the
text describes stands here.

**CPU** is the time that the scheduler counts for all processes of a server, filters and cc-chain included, divided by the number
of answers.

**The servers.** Apache is prefork with 150 processes, unmodified, behind `cc-condition`; the paper modified Apache to use
its library. nginx takes the place of Flash as the event-driven server. nest is the server that nest generates from `examples/web`, event model.
ccserver is our version of the paper's CCServer, on the library; it cannot run without filters. Haboob (Java, 2001) is
left out: it is no longer maintained, and no package of it exists.
'''


def machine():
    """What a reader must know of this machine."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        model = re.search(r'model name\s*:\s*(.*)', file.read())
    with open('/proc/meminfo', encoding='ascii') as file:
        memory = int(re.search(r'MemTotal:\s*(\d+)', file.read())[1]) // 2**20
    return f'{os.cpu_count()} × {model[1] if model else platform.machine()}, {memory} GB, Linux {platform.release()}'


def versions():
    """The programs that were used."""
    found = []
    for words, pattern in ((['nginx', '-v'], r'nginx/\S+'), (['apache2', '-v'], r'Apache/\S+'), (['wrk', '-v'], r'wrk \S+'),
                           (['slowhttptest', '-h'], r'version \S+')):
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError:
            continue
        match = re.search(pattern, done.stdout + done.stderr)
        if match:
            found.append(match[0].replace('version', 'slowhttptest'))
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


def section(name, found):
    """Lines of a section."""
    out = ['', f'## {found["title"]}', '', f'**The paper.** {found["paper"]}', '', f'**Here.** {found["method"]}', '']
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


def text(record, order):
    """The page."""
    out = [INTRODUCTION, f'**The machine.** {record["machine"]}; {record["versions"]}. Commit {record["commit"]}. '
           f'{record["note"]}']
    for name in order:
        if name in record['sections']:
            out += section(name, record['sections'][name])
    return '\n'.join(out) + '\n'
