"""Compares the symbols that each part of the runtime needs from others with layers.txt.

Parts and their files come from the list of the runtime's files (../embed.rs). Each part is compiled
alone, in every form that a server has of it: with each model, with all features and with none, by one
of the compilers in a sample; only all of them show what a part is allowed and does not need. What
the join points call is not counted: services add it, and the part does not know them. With --write as
the last argument layers.txt gets the lists as they are; read what changed in it before you commit it.
"""

import os
import re
import subprocess
import sys

from harness import MODELS, check, finish, runtime_list, sample

FEATURES = [["--with", "all"], ["--with", "processors"], []]  # without $block, processors bring the file of workers
SIZES = {"RULES": 19, "CLASSES": 3, "CONDITIONS": 2, "STANDALONE": 19, "EARLY": 0, "TAGS": 1, "REGISTERS": 1, "PARTS": 6, "THREAD_WORDS": 96,
         "NFA_STATES": 48, "MESSAGES": 0, "TIMERS": 1, "PIPES": 1, "SPLICES": 1, "FALLBACK": 1, "LOG_REQUESTS": 1, "LOG_MARKS": 1,
         "LOSSY": 1, "TLS": 1, "DECODES": 2, "ENCODES": 2, "PROXIED": 1, "RETURNS": 1, "POLLED": 1,
         "PROCESSORS": 1, "HAS_END": 1}
# what compilers put in by themselves
COMPILERS = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__tls_get_addr", "memcpy", "memset",
             "memmove", "memcmp", "bcmp", "strlen"}
# what a libc's headers make of names
ALIASES = {"__getdelim": "getline", "__sysconf": "sysconf", "__ctype_toupper_loc": "toupper",
           "__pthread_register_cancel": "pthread_cleanup_push", "__pthread_unwind_next": "pthread_cleanup_push",
           "__sigsetjmp": "pthread_cleanup_push", "__pthread_unregister_cancel": "pthread_cleanup_pop"}
VERSIONS = re.compile(r"^__isoc\d+_")


def forms():
    """{part: {its files: the words that ask for them}}."""
    found = {}
    for model in MODELS:
        for features in FEATURES:
            words = [*model, *features]
            for line in runtime_list("parts", *words).splitlines():
                part, files = line.split("\t")
                found.setdefault(part, {}).setdefault(files, words)
    return found


def asked(part, words, unit, compiler):
    """The symbols that a form of a part asks for."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(unit, "w") as out:
        for name, value in SIZES.items():
            out.write(f"#define NEST__{name} {value}\n")
        out.write(f'#include "seam.h"\n{runtime_list("unit", *words, "--part", part)}')
    subprocess.run([compiler, "-std=c17", "-O1", "-Wno-unused-function", "-Werror=implicit-function-declaration",
                    "-iquote", f"{here}/..", "-c", unit,
                    "-o", f"{unit}.o"], check=True)
    found = subprocess.run(["nm", "-u", f"{unit}.o"], check=True, capture_output=True, text=True).stdout.split()
    joined = set(runtime_list("joined", *words).split())
    names = {VERSIONS.sub("", name.split("@")[0]) for name in found if name not in ("U", "w")} - COMPILERS - joined
    return {ALIASES.get(name, name) for name in names}


def shown(part, names):
    """Lines of layers.txt, of at most 100 columns: the runtime's own names behind those of libc."""
    line, lines = f"{part}:", []
    for name in sorted(names, key=lambda name: (name.startswith("nest_"), name.strip("_"), name)):
        if len(line) + len(name) > 99:
            lines.append(line)
            line = f"{part}:"
        line += f" {name}"
    return "\n".join([*lines, line])


def parts_of(lines):
    """(part, names) of each line of layers.txt; no part for a comment or an empty line."""
    for line in lines:
        part, colon, names = line.split("#")[0].partition(":")
        yield (part if colon else None), names.split()


def write(path, lists):
    """Replaces the lists in a file, and keeps its comments and its order. The list of a new part comes
    behind that of the last part in its folder, else at the end."""
    lines = open(path).read().splitlines()
    kept = [(part, line) for (part, _), line in zip(parts_of(lines), lines) if part is None or part in lists]
    for part in lists:
        places = [n for n, (old, _) in enumerate(kept) if old == part]
        if not places:
            folder = part.split("/")[0]
            near = [n for n, (old, _) in enumerate(kept) if old and old.split("/")[0] == folder]
            places = [near[-1] + 1 if near else len(kept)]
            kept.insert(places[0], (part, ""))
        kept = [row for n, row in enumerate(kept) if n not in places[1:]]
        kept[places[0]] = (part, shown(part, lists[part]))
    with open(path, "w") as out:
        out.write("".join(f"{line}\n" for _, line in kept))


def main():
    writing = sys.argv[-1] == "--write"
    build, every = sys.argv[1], sys.argv[2:-1] if writing else sys.argv[2:]
    compilers = every if writing else sample.some(every, 1)
    path = f"{os.path.dirname(os.path.abspath(__file__))}/layers.txt"
    allowed, asks = {}, {}
    for part, names in parts_of(open(path)):
        if part:
            allowed.setdefault(part, set()).update(names)
    parts = forms()
    if not writing:
        check("layers.txt names parts that do not exist", sorted(set(allowed) - set(parts)), [])
    for part, files in parts.items():
        may, asks[part] = allowed.get(part, set()), set()
        for compiler in compilers:
            names = set()
            for n, words in enumerate(files.values()):
                unit = f"{build}/layer-{part.replace('/', '-').replace(' ', '-')}-{n}.c"
                names |= asked(part, words, unit, compiler)
            asks[part] |= names
            if not writing:
                check(f"{part} asks for what it may not ({compiler})", sorted(names - may), [])
        if not writing and compilers == every:
            check(f"{part} is allowed what it does not ask for", sorted(may - asks[part]), [])
    if writing:
        write(path, {part: names for part, names in asks.items() if names})
    finish("layers", len(parts) * len(compilers))


main()
