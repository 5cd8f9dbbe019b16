#!/usr/bin/env python3
"""Which lines of loop/ and of the common part of channel/ the simulation does not run.

    runtime/tests/coverage.py [--from SEED] [--lives N]

Every line that is not run is listed in uncovered.txt with its reason, and every line that is listed
there is not run, unless its reason begins with "rare": else this fails. Needs gcc and gcov.
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "simulate"))
import unit

SHARE = 10      # lives in one process
COVERED = [spec for spec, server in unit.SPECS.items() if server.source in ("server.c", "second/server.c")]
FILES = [f"loop/{name}.c" for name in ("accept", "channels", "end", "loop", "slots", "stop", "timers", "visit", "wait", "wheel")]
FILES += ["channel/queue.c", "channel/pool.c", "engine/channels.c", "poller/direct.c"]
# As in simulate.py, but nothing is inlined or left out.
FLAGS = ["-std=c17", "-O0", "-g", "--coverage", "-fprofile-update=atomic", "-Wno-unused-function"]


def build(folder, spec):
    os.makedirs(folder)
    subprocess.run(["gcc", *FLAGS, *unit.flags(folder, RUNTIME, spec), "-c", "-o",
                    f"{folder}/server.o", unit.source(spec, RUNTIME)], check=True)
    subprocess.run(["gcc", "--coverage", f"{folder}/server.o", "-o", f"{folder}/server"], check=True)


def run(folder, seed, lives, conversations):
    subprocess.run([f"{folder}/server", "--seed", str(seed), "--runs", str(lives), "--conversations",
                    str(conversations)], check=True, capture_output=True, timeout=900)


def lines_of(folder):
    """{file: {line: how often}} of one build."""
    subprocess.run(["gcov", "--json-format", "server.o"], cwd=folder, check=True, capture_output=True)
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".gcov.json.gz"):
            with gzip.open(os.path.join(folder, name)) as file:
                for source in json.load(file)["files"]:
                    path = os.path.relpath(os.path.normpath(os.path.join(HERE, source["file"])), RUNTIME)
                    counts = found.setdefault(path, {})
                    for line in source["lines"]:
                        number = line["line_number"]
                        counts[number] = counts.get(number, 0) + line["count"]
    return found


def allowed():
    """{(file, text): reason}: lines that are not run, from uncovered.txt: `file: text  # reason`."""
    found = {}
    with open(f"{HERE}/uncovered.txt") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                what, _, reason = line.rstrip("\n").rpartition("  # ")
                path, _, text = what.partition(": ")
                if not reason.strip() or not text:
                    sys.exit(f"uncovered.txt: no reason: {line}")
                found[path, text] = reason
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--lives", type=int, default=240)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory(prefix="nest-coverage-") as top:
        os.environ["TMPDIR"] = top
        folders = [os.path.join(top, spec) for spec in COVERED]
        for folder, spec in zip(folders, COVERED):
            build(folder, spec)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for done in [pool.submit(run, folder, arguments.first + at, SHARE, arguments.conversations)
                         for folder in folders for at in range(0, arguments.lives // len(COVERED), SHARE)]:
                done.result()
        for folder in folders:
            for path, lines in lines_of(folder).items():
                for line, count in lines.items():
                    of = counts.setdefault(path, {})
                    of[line] = of.get(line, 0) + count
    missed, total = set(), 0
    for path in FILES:
        with open(f"{RUNTIME}/{path}") as file:
            text = file.read().splitlines()
        if path not in counts:
            sys.exit(f"coverage: {path} is no part of the simulation")
        total += len(counts[path])
        missed |= {(path, text[line - 1].strip()) for line, count in counts[path].items() if count == 0}
    listed = allowed()
    stale = {what for what, reason in listed.items() if what not in missed and not reason.startswith("rare")}
    for path, text in sorted(missed - listed.keys()):
        print(f"not run, and no reason is listed: {path}: {text}")
    for path, text in sorted(stale):
        print(f"listed in uncovered.txt, and it is run, or gone: {path}: {text}")
    sound = not stale and missed <= listed.keys()
    print(f"coverage: {total} lines, {len(missed)} of them not run, each with a reason" if sound
          else "coverage: FAILED")
    sys.exit(not sound)


main()
