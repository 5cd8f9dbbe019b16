#!/usr/bin/env python3
"""Simulates random conversations with the whole runtime in virtual time.

    runtime/tests/simulate.py                       25 lives of each server, some of them with
                                                    sanitizers; CHECK_ALL=1: 500
    runtime/tests/simulate.py --from 77             other seeds (default: from CHECK_SEED)
    runtime/tests/simulate.py --seed 5 [-v]         repeats one run of a server; -v prints its commands
    runtime/tests/simulate.py --mutations [NAME …]  plants each bug of simulate/mutations.py, which
                                                    must be found; --few: some of them, drawn by
                                                    CHECK_SEED; CHECK_ALL=1: all

A failure prints the command that repeats it. Needs gcc; no compiler of ours, no socket.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "simulate"))
sys.path.insert(0, os.path.join(os.path.dirname(RUNTIME), "tests"))
import mutations
import unit
from support import sample

SPECS = list(unit.SPECS)
FLAGS = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-g"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O0"]
CONVERSATIONS = 1000    # of one server's life
SHARE = 50              # lives in one process
LIVES = 25, 500         # of each specification: of a sample, of everything
SEARCH = 200            # lives in which a planted bug must be found, always from the same seed on
FEW = 3                 # planted bugs of a sample
SOUND = 10              # lives in which nothing may be found before a sample plants some
QUICKLY = ["-O1"]       # for a few lives: what optimising more would cost exceeds what it saves


def build(folder, spec, flags, runtime=RUNTIME, cc="gcc"):
    """The path of the simulation of one specification; None if it does not compile."""
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, spec)
    done = subprocess.run([cc, *FLAGS, *flags, *unit.flags(folder, runtime, spec),
                           unit.source(spec, runtime), "-o", program],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-3000:])
        return None
    return program


def simulate(program, seed, runs, conversations, *more):
    """None, or what was found."""
    done = subprocess.run([program, "--seed", str(seed), "--runs", str(runs), "--conversations",
                           str(conversations), *more], capture_output=True, text=True,
                          errors="replace", timeout=900)
    return None if done.returncode == 0 else (done.stderr or f"status {done.returncode}")


def command(spec, found, conversations, sanitize):
    seed = re.search(r"seed (\d+)", found)
    return (f"runtime/tests/simulate.py --spec {spec} --seed {seed.group(1) if seed else '?'}"
            f" --conversations {conversations}{' --sanitize' if sanitize else ''} -v")


def many(folder, arguments):
    """All specifications, plain and sanitized: how many conversations, how many failures."""
    plans = []
    for spec in arguments.spec or SPECS:
        lives = arguments.lives or -(-arguments.of // unit.SPECS[spec].share)
        for sanitize, count in ((False, lives), (True, max(1, lives // 25))):
            program = build(f"{folder}/{'sanitized' if sanitize else 'plain'}", spec,
                            SANITIZE if sanitize else QUICKLY if lives < SHARE else [])
            if program is None:
                return 0, 1
            plans += [(program, spec, sanitize, first, min(SHARE, count - first))
                      for first in range(0, count, SHARE)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda plan: simulate(plan[0], arguments.first + plan[3], plan[4],
                                                 arguments.conversations), plans)
        for (_, spec, sanitize, _, _), found in zip(plans, results):
            if found is not None:
                failures += 1
                print(f"FAILED, {spec}:\n{found[-3000:]}\nagain: "
                      f"{command(spec, found, arguments.conversations, sanitize)}")
    return sum(plan[4] for plan in plans) * arguments.conversations, failures


def stale():
    """What is wrong with the list of bugs: those whose text is not in the runtime exactly once."""
    for name, path, old, *_ in mutations.MUTATIONS:
        with open(f"{RUNTIME}/{path}") as file:
            count = file.read().count(old)
        if count != 1:
            yield f"mutation {name}: its text is {count} times in {path}, not once"


def plant(folder, mutation):
    """A copy of the runtime with one bug."""
    name, path, old, new = mutation[:4]
    copy = os.path.join(folder, name)
    shutil.copytree(RUNTIME, copy, ignore=shutil.ignore_patterns("build", "*.py", "sample"))
    with open(f"{copy}/{path}") as file:
        text = file.read()
    with open(f"{copy}/{path}", "w") as file:
        file.write(text.replace(old, new))
    return copy


def spec_of(mutation):
    return mutation[4] if len(mutation) > 4 else "stream"


def is_sound(folder, chosen, arguments):
    """Whether nothing is found where nothing is planted."""
    specs = sorted({spec_of(mutation) for mutation in chosen})
    programs = [build(f"{folder}/sound", spec, QUICKLY) for spec in specs]
    lives = SOUND if arguments.few and not sample.ALL else SHARE
    return all(program is not None and
               simulate(program, arguments.first, lives, arguments.conversations) is None
               for program in programs)


def mutate(folder, mutation, arguments):
    """How it went: a line, and whether the bug was found."""
    name, spec = mutation[0], spec_of(mutation)
    try:
        copy = plant(folder, mutation)
    except ValueError as error:
        return str(error), False
    program = build(f"{folder}/{name}.out", spec, ["-Wno-error", *QUICKLY], runtime=copy)
    if program is None:
        return f"mutation {name} does not compile", False
    for first in range(0, arguments.lives, SHARE):
        found = simulate(program, arguments.first + first, SHARE, arguments.conversations)
        if found is not None:
            what = re.search(r"broken: (.*)", found)
            after = re.search(r"seed (\d+), after (\d+)", found)
            lives = int(after.group(1)) - arguments.first if after else first
            return (f"{name}: found in life {lives + 1}: "
                    f"{(what.group(1) if what else found.strip().splitlines()[-1])[:110]}"), True
    return f"{name}: NOT found in {arguments.lives * arguments.conversations} conversations", False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--from", type=int, dest="first")
    parser.add_argument("--spec", action="append", choices=SPECS)
    parser.add_argument("--lives", type=int)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--mutations", nargs="*")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", action="store_true", dest="verbose")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # no disk is worn by it
    with (tempfile.TemporaryDirectory(prefix="nest-simulate-") as folder,
          tempfile.TemporaryDirectory(prefix="nest-simulate-", dir=memory) as files):
        os.environ["TMPDIR"] = files  # fileRoots lie in it: also those of lives that failed
        if arguments.seed is not None:
            spec = (arguments.spec or ["stream"])[0]
            program = build(folder, spec, SANITIZE if arguments.sanitize else [])
            sys.stdout.flush()
            sys.exit(2 if program is None else subprocess.run(
                [program, "--seed", str(arguments.seed), "--conversations",
                 str(arguments.conversations), *(["-v"] if arguments.verbose else [])]).returncode)
        if arguments.mutations is not None or arguments.few:
            if wrong := list(stale()):
                sys.exit("\n".join(wrong))
            arguments.lives, arguments.first = arguments.lives or SEARCH, arguments.first or 1
            chosen = [m for m in mutations.MUTATIONS if m[0] in (arguments.mutations or [m[0]])]
            if arguments.few:
                chosen = sample.some(chosen, FEW)
                print(f"mutations: {sample.described()}")
            if not is_sound(folder, chosen, arguments):
                sys.exit("mutations: the runtime fails without them; simulate.py says how")
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                results = []
                for result in pool.map(lambda m: mutate(folder, m, arguments), chosen):
                    results.append(result)
                    print(result[0], flush=True)
            failed = sum(not found for _, found in results)
            print(f"mutations: {len(results)} planted, {failed} not found")
            sys.exit(1 if failed or not results else 0)
        first, lives = sample.seeds(*LIVES)
        arguments.first, arguments.of = arguments.first or first, lives
        print(f"simulate: {sample.described()}")
        count, failed = many(folder, arguments)
        print(f"simulate: {count} conversations, {failed} failed")
        sys.exit(1 if failed else 0)


main()
