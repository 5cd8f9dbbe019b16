"""What each part asks of others, against layers.txt: layers are proven, not promised."""

import os
import subprocess
import sys

from harness import check, finish

PARTS = {
    "engine": ["channel/queue.c", "engine/work.c", "engine/threads.c", "engine/matcher.c", "engine/parts.c",
               "engine/output.c", "engine/clock.c", "engine/wait.c", "engine/input.c",
               "engine/session.c", "engine/directives.c", "engine/keep.c",
               "engine/files.c", "engine/uploads.c", "engine/lists.c"],
    "file": ["file/root.c", "file/home.c", "file/cache.c", "file/file.c", "file/upload.c", "file/commit.c",
             "file/list.c"],
    "helpers": ["loop/helpers.c"],
    "loop": ["fiber/stacks.c", "fiber/fiber.c", "loop/slots.c", "loop/wheel.c", "loop/timers.c", "loop/accept.c", "loop/visit.c", "loop/wait.c",
             "loop/end.c", "loop/stop.c", "loop/loop.c"],
    "wheel": ["loop/wheel.c"],
    "loops": ["fiber/stacks.c", "fiber/fiber.c", "workers/loops.c"],
    "channel": ["channel/socket.c", "channel/pipe.c", "channel/channel.c"],
    "blocking": ["blocking/watch.c", "blocking/blocking.c"],
    "epoll": ["poller/direct.c", "poller/epoll.c"],
    "system": ["poller/system.c"],
    "script": ["poller/direct.c", "poller/script_faults.c", "poller/command.c", "poller/script_jobs.c",
               "poller/script.c", "poller/script_poller.c",
               "poller/script_later.c", "poller/script_steps.c"],
    "supervisor": ["workers/service_process_none.c", "workers/shared.c", "workers/backoff.c",
                   "workers/exits.c", "workers/children.c", "workers/phases.c", "workers/supervisor.c"],
    "one": ["workers/one.c"],
    "process": ["workers/idle_exit.c", "workers/spares.c", "workers/worker.c", "workers/process.c"],
    "thread": ["workers/idle_exit.c", "workers/thread.c"],
    "service_process": ["workers/service_process.c"],
    "rings": ["workers/mailbox_rings.c"],
    "sockets": ["workers/mailbox_sockets.c"],
}
SIZES = {"RULES": 19, "CONDITIONS": 2, "STANDALONE": 19, "TAGS": 1, "REGISTERS": 1, "PARTS": 6, "THREAD_WORDS": 96, "NFA_STATES": 48, "MESSAGES": 0,
         "TIMERS": 1, "PIPES": 0}
# what compilers put in by themselves
COMPILERS = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__tls_get_addr", "memcpy", "memset",
             "memmove", "memcmp", "bcmp", "strlen"}
ALIASES = {"__getdelim": "getline"} # what a libc's header makes of a name


def main():
    build, compilers = sys.argv[1], sys.argv[2:]
    here = os.path.dirname(os.path.abspath(__file__))
    allowed = {}
    for line in open(f"{here}/layers.txt"):
        words = line.split("#")[0].split()
        if words:
            allowed.setdefault(words[0].rstrip(":"), set()).update(words[1:])
    for part, files in PARTS.items():
        unit = f"{build}/layer-{part}.c"
        with open(unit, "w") as out:
            for name, value in SIZES.items():
                out.write(f"#define NEST__{name} {value}\n")
            out.write(f'#include "{here}/../seam.h"\n#include "{here}/sample/hooks_none.h"\n')
            out.writelines(f'#include "{here}/../{file}"\n' for file in files)
        for compiler in compilers:
            subprocess.run([compiler, "-std=c17", "-O1", "-Wno-unused-function", "-c", unit, "-o",
                            f"{unit}.o"], check=True)
            found = subprocess.run(["nm", "-u", f"{unit}.o"], check=True, capture_output=True,
                                   text=True).stdout.split()
            asked = {name.split("@")[0] for name in found if name != "U"} - COMPILERS
            asked = {ALIASES.get(name, name) for name in asked}
            check(f"{part} asks for what it may not ({compiler})", sorted(asked - allowed.get(part, set())), [])
            if compiler == compilers[0]:
                check(f"{part} is allowed what it does not ask for", sorted(allowed.get(part, set()) - asked), [])
    finish("layers", len(PARTS) * len(compilers))


main()
