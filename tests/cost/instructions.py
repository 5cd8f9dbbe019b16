"""User instructions per request, counted by callgrind on the script model, held to a record.

Counted is what the engine, the generated code and the actions do, and the C library for them: the
model that reads scripts is none of a server's cost. Must not know: system calls, allocations.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
from support.nest import ROOT, Failed, environment, run

RECORD = os.path.join(ROOT, 'benches', 'record', 'instructions.json')
ROUNDS = 200
DEARER = 0.03
# Whose work counts, by source file; #line makes an action's file the specification.
_OURS = re.compile(r'(/runtime/(?:engine|service)/|/runtime/channel/queue|/server\.c$|/nest\.h$|/actions\.c$|\.nest$)')


def keep_alive(request, count):
    """A script: one conversation with so many requests."""
    return 'open 1\n' + count * f'in 1 "{request}"\n'


def connections(request, count):
    """A script: so many conversations of one request."""
    return ''.join(f'open {n}\nin {n} "{request}"\n' for n in range(1, count + 1))


KINDS = (   # name, script, its argument, requests in one round
    ('a constant answer', keep_alive, 'HELLO\\n', 1),
    ('an answer with parts', keep_alive, 'ADD abc 0\\n', 1),
    ('a one-request connection', connections, 'ONCE\\n', 1),
    ('16 pipelined requests, each', keep_alive, 16 * 'HELLO\\n', 16),
)


def ours(path):
    """The instructions of a callgrind profile that count.

    The format: fl/fi/fe name the source file of the lines that follow, ob their object; a line
    behind calls= is the inclusive cost of those calls.
    """
    total, source, binary, callee, inclusive = 0, '', '', None, False
    home = None
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            line = line.rstrip('\n')
            key, sign, value = line.partition('=')
            if sign and key in ('fl', 'fi', 'fe'):
                source = os.path.normpath(value)    # one name for a header, wherever it is included from
            elif sign and key == 'ob':
                binary = value
                home = home or (value if value.endswith('/server') else None)
            elif sign and key == 'fn':
                callee = None
            elif sign and key == 'cob':
                callee = value
            elif sign and key == 'calls':
                inclusive = True
            elif line[:1].isdigit():
                cost = int(line.split()[1])
                counts = binary.endswith('/server') and _OURS.search(source)
                if counts and (not inclusive or (callee and not callee.endswith('/server'))):
                    total += cost
                if inclusive:
                    inclusive, callee = False, None
    if home is None:
        raise Failed('callgrind has written no line about the server')
    return total


def profile(server, script, folder):
    """Runs a script under callgrind; the instructions that count."""
    out = os.path.join(folder, 'profile')
    try:
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', '--compress-strings=no', '--compress-pos=no',
             f'--callgrind-out-file={out}', server], input=script.encode(), timeout=120,
            capture_output=True, env=environment(LD_BIND_NOW='1'))
    except subprocess.TimeoutExpired as error:
        raise Failed('callgrind did not end within 120 s') from error
    if done.returncode != 0:
        raise Failed(f'callgrind failed\n{done.stderr.decode(errors="replace")[-2000:]}')
    return ours(out)


def key():
    """Under what the numbers can be compared."""
    words = run(['cc', '--version']).splitlines()[0]
    return f'{words}, {platform.machine()}, {" ".join(platform.libc_ver())}'


def load():
    """The record: {key: {kind: instructions}}."""
    try:
        with open(RECORD, encoding='utf-8') as file:
            return json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Failed(f'{RECORD} is no JSON: {error}') from error


def check(report, server, record):
    """Counts each kind; compares, or records."""
    report.heading('User instructions per request: engine, matcher, action (callgrind, script)')
    found = {}
    with tempfile.TemporaryDirectory(prefix='nest-instructions-') as folder:
        for name, script, argument, requests in KINDS:
            once = profile(server, script(argument, ROUNDS), folder)
            twice = profile(server, script(argument, 2 * ROUNDS), folder)
            found[name] = round((twice - once) / ROUNDS / requests, 1)
    mine, known = key(), load()
    if record:
        known[mine] = found
        with open(RECORD, 'w', encoding='utf-8') as file:
            json.dump(known, file, indent=2, sort_keys=True)
            file.write('\n')
        report.note(f'recorded for {mine}')
    for name, count in found.items():
        before = known.get(mine, {}).get(name)
        if count <= 0:
            report.line(False, 'script', name, f'{count:g}', 'a request cannot cost nothing')
        elif before is None:
            report.skip('script', name, f'{count:g}: not compared, no record for {mine}')
        else:
            change = count / before - 1
            report.line(change <= DEARER, 'script', name,
                        f'{count:g} (record {before:g}, {change:+.1%})',
                        f'more than {DEARER:.0%} dearer; if it is worth it, record it with '
                        'tests/cost/run.py --record and say why in the commit')
