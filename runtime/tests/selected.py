"""Checks that a service that is not selected leaves no symbol in a server, and neither do mailboxes.

The sample server is compiled in every model with no feature and with all. Symbols of a service are
those that its files define, without those that its none.c or a part that is no service defines as well.
"""

import os
import subprocess
import sys

from harness import MODELS, check, finish, runtime_list, sample

OPTIONAL = ("service/", "mailbox", "links", "encrypted", "deep", "stages", "encodes")  # parts that only some servers have, beginnings of their names
HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [f"-DNEST__{name}=1" for name in ("RULES", "CLASSES", "CONDITIONS", "TAGS", "REGISTERS", "PARTS", "THREAD_WORDS",
                                          "NFA_STATES", "LOG_REQUESTS", "LOG_MARKS", "PIPES", "SPLICES", "FALLBACK", "TIMERS",
                                          "LOSSY", "TLS", "DECODES", "ENCODES", "PROXIED", "RETURNS", "POLLED", "PROCESSORS",
                                          "HAS_END")]
SIZES += ["-DNEST__STANDALONE=0", "-DNEST__EARLY=0", "-DNEST__MESSAGES=0"]


def defined(build, compiler, name, text):
    """The symbols that a unit defines."""
    unit = f"{build}/selected-{name}.c"
    with open(unit, "w") as out:
        out.write(f'#include "seam.h"\n{text}')
    subprocess.run([compiler, "-std=c17", "-O1", "-Wno-unused-function", *SIZES, "-iquote", f"{HERE}/..", "-c",
                    unit, "-o", f"{unit}.o"], check=True)
    lines = subprocess.run(["nm", f"{unit}.o"], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {words[-1] for words in map(str.split, lines) if words[-2] not in "Uw"}
    return {name.split(".")[0] for name in found if not name.startswith(".")}  # no labels, no numbers


def main():
    build, compiler = sys.argv[1], sys.argv[2]
    count, seen = 0, set()
    for poller, workers in sample.some(MODELS, 2):
        model = [poller, workers]
        parts = {}
        for features in ["--with", "all"], []:
            for line in runtime_list("parts", *model, *features).splitlines():
                part, files = line.split("\t")
                parts.setdefault(part, []).append((files, features))
        servers = {key: defined(build, compiler, f"{workers}-{poller}-{key}",
                                runtime_list("unit", *model, *features))
                   for key, features in (("all", ["--with", "all"]), ("none", []))}
        files = [file for part, forms in parts.items() if part.startswith(OPTIONAL)
                 for names, features in forms if not features for file in names.split()]
        others = defined(build, compiler, f"{workers}-{poller}-others",
                         runtime_list("unit", *model, *[word for file in files for word in ("--without", file)]))
        for part, forms in parts.items():
            always = len(forms) == 2 and forms[0][0] == forms[1][0]
            if always or not part.startswith(OPTIONAL):
                continue
            own = {}
            for files, features in forms:
                own["all" if features else "none"] = defined(
                    build, compiler, part.replace("/", "-"), runtime_list("unit", *model, *features, "--part", part))
            symbols = own.get("all", set()) - own.get("none", set()) - others
            count += 1
            seen.add(part)
            check(f"{part} has no symbol of its own in the {poller} {workers} server that selects it",
                  bool(symbols & servers["all"]), True)
            check(f"{part} is not selected, and is in the {poller} {workers} server",
                  sorted(symbols & servers["none"]), [])
    check("services that can be selected", len(seen) >= 10, True)
    finish("selected", count)


main()
