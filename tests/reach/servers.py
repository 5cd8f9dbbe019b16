#!/usr/bin/env python3
"""What the checker says is reached, against generated servers: random specifications are built, and
talked to at random. The states that a server's trace shows are among those that the checker knows,
and a rule takes only where the checker says that it can.

Must not know: how specifications are drawn, how reach is found.
"""

import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import sample                                              # noqa: E402
from support.nest import ROOT, TIME, Failed, environment, program, run   # noqa: E402
from support.report import Report                                       # noqa: E402

VOLUME = 6, 60          # specifications of a sample, of everything
TURNS = 5               # so often, others are drawn if those before have taken too few messages
WALKS = 200             # conversations that the test tries with each
CLIENTS, STEPS = 300, 12
TEST = ('cargo', 'test', '--quiet', '--workspace', '--test', 'reach_random')
# What decides branches: a number from 0 to 3, another one each time.
ANY = '''static int any(void) {
    static unsigned long long x = 88172645463325252ULL;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return (int)(x >> 40 & 3);
}'''


def drawn(folder, turn):
    """Has specifications written there; their paths without endings."""
    first, count = sample.seeds(*VOLUME)
    first += turn * VOLUME[1]
    os.mkdir(folder)
    done = subprocess.run(TEST, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=4 * TIME,
                          env=dict(os.environ, NEST_WRITE=folder, CHECK_SEED=str(first),
                                   CHECK_TRIALS=str(count * WALKS), CHECK_SHARD='1/1'))
    if done.returncode != 0:
        raise Failed(done.stdout.decode(errors='replace')[-2000:])
    return sorted(os.path.join(folder, name[:-5]) for name in os.listdir(folder)
                  if name.endswith('.nest'))


def known(path):
    """What is said of it: states to the rules that take anything there."""
    with open(path + '.sets', encoding='ascii') as file:
        lines = [line.split('|') for line in file]
    return {frozenset(states.split()): set(rules.split()) for states, rules in lines}


def script(chance):
    """What clients do, one after the other."""
    out = []
    for client in range(1, CLIENTS + 1):
        out.append(f'open {client}')
        for _ in range(STEPS):
            letter = chance.choice('abcd ')
            out.append('pass 3000' if letter == ' ' else f'in {client} "{letter}\\x0A"')
        out.append(f'reset {client}')
    return '\n'.join(out) + '\n'


def talked(path, nest, chance):
    """The trace of the server that is built of it."""
    with open(path + '.nest', encoding='utf-8') as file:
        text = file.read()
    os.mkdir(path)
    server = os.path.join(path, 't')                    # the name that its C knows
    with open(server + '.nest', 'w', encoding='utf-8') as file:
        file.write(text.replace('extern int any(void);', ANY))
    run([nest, 'build', '--model', 'script', '--trace', server + '.nest', '-o', server],
        CFLAGS='-O0 -w')
    subprocess.run([server], input=script(chance).encode(), stdout=subprocess.DEVNULL,
                   timeout=TIME, check=True, env=environment(NEST_TRACE=path + '.trace'))
    with open(path + '.trace', encoding='utf-8') as file:
        return file.read().splitlines()


def compared(sets, trace):
    """(what is wrong or '', read points, takes)."""
    now, points, takes = {}, 0, 0
    for at, line in enumerate(trace):
        client, what, *rest = line.split(' ')
        if what == 'states':
            now[client] = frozenset(word for word in rest if not word.startswith('last='))
            # Behind an action that closes there is no read point.
            if trace[at + 1] == f'{client} end closed':
                continue
            points += 1
            if now[client] not in sets:
                return f'not among the sets: {line}', points, takes
        elif what == 'take':
            takes += 1
            if rest[0] not in sets[now[client]]:
                return f'is said to take nothing in {set(now[client])}: {line}', points, takes
    return '', points, takes


def main():
    """Builds and talks; the exit status."""
    report, nest = Report('reach of servers'), program()
    all_points, all_takes = 0, 0
    with tempfile.TemporaryDirectory(prefix='nest-reach-') as folder:
        for turn in range(TURNS):
            for path in drawn(os.path.join(folder, str(turn)), turn):
                chance = random.Random(int(os.path.basename(path)))
                wrong, points, takes = compared(known(path), talked(path, nest, chance))
                all_points, all_takes = all_points + points, all_takes + takes
                with open(path + '.nest', encoding='utf-8') as file:
                    text = file.read()
                wrong = wrong and f'{wrong}\nagain: CHECK_SEED={os.path.basename(path)} tests/reach/servers.py'
                report.line(not wrong, 'server', f'seed {os.path.basename(path)}',
                            f'{points} read points, {takes} messages', f'{wrong}\n{text}')
            if min(all_points, all_takes) >= CLIENTS:
                break
    enough = min(all_points, all_takes) >= CLIENTS
    report.line(enough, 'servers', 'all', f'{all_points} read points, {all_takes} messages',
                'that is too little to show anything')
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'reach of servers: {error}')
