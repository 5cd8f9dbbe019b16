"""The server that is simulated: which services and files it has, and what of it the simulation hears."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import runtime_list

os.environ.pop("NEST_USER", None)   # harness sets it; the simulated server has no such option

# It draws commands instead of reading them, hears what the runtime says to operators, and sees every
# attempt to accept a client.
WORDS = ["unit", "script", "loops", "--with", "files", "--with", "blocks", "--with", "keep",
         "--with", "timeout", "--with", "channels", "--with", "groups",
         "--with", "send", "--without", "main.c", "--without", "poller/command.c",
         "--listen", "sim:tests/simulate/hooks.h:open,take,timer,reply,file,acted,mail,end",
         "--rename", "platform/log.c:nest__say=log_say",
         "--rename", "loop/accept.c:nest__take=newcomers_take",
         "--rename", "loop/accept.c:nest__poller_arm=newcomers_arm",
         "--rename", "loop/visit.c:nest__accept_pause=newcomers_pause",
         "--rename", "loop/loop.c:nest__poller_sleep=record_sleep",
         "--rename", "service/groups/loop.c:nest__clock_ns=post_clock",
         "--rename", "service/mail/loop.c:nest__mailbox_take=post_take"]


# What is simulated, by the compiler's flags: messages that are found in a stream of bytes; a message for
# each receive; conversations that join groups and send to each other.
SPECS = {"stream": [], "message": ["-DNEST__MESSAGES=1"], "groups": ["-DSIMULATE_MEETS=1"]}


# Other servers, which are small: classes of clients; a loop that has too much to do, whose clients wait
# then, or are told; contents of files in memory, without the rest of a server. By its name: its file, the
# compiler's flags, its words.
SMALL_WORDS = ["unit", "script", "loops", "--with", "blocks", "--without", "main.c",
               "--without", "poller/command.c", "--listen", "small:tests/simulate/small.h:take",
               "--rename", "platform/log.c:nest__say=log_say"]
OVERLOAD_WORDS = [*SMALL_WORDS, "--with", "overload",
                  "--rename", "loop/accept.c:nest__take=marks_take",
                  "--rename", "loop/loop.c:nest__poller_sleep=marks_sleep",
                  "--rename", "loop/loop.c:nest__accept_load=marks_load",
                  "--rename", "loop/loop.c:nest__poller_completed=marks_completed",
                  "--rename", "service/overload/overload.c:nest__clock_ms=marks_ms",
                  "--rename", "service/overload/overload.c:nest__clock_us=marks_us"]
SMALL = {"classes": ("shares.c", [], [*SMALL_WORDS, "--with", "priorities",
                                      "--rename", "loop/accept.c:nest__take=shares_take",
                                      "--rename", "loop/loop.c:nest__poller_sleep=shares_sleep"]),
         "overload": ("marks.c", [], OVERLOAD_WORDS),
         "told": ("marks.c", ["-DMARKS_TOLD=1"], OVERLOAD_WORDS),
         "contents": ("cached.c", [], None)}


def program(spec):
    """Its file, the compiler's flags, the words of its unit, those of its tables."""
    if spec in SPECS:
        return "server.c", SPECS[spec], WORDS, []
    return *SMALL[spec], ["small"]


def flags(folder, runtime, words=tuple(WORDS)):
    """Writes the unit to a folder; the compiler's flags for it and the runtime."""
    if words is None:
        return ["-iquote", runtime]
    path = os.path.join(folder, "unit.h")
    with open(path, "w") as out:
        out.write(runtime_list(*words))
    return [f'-DSIMULATE_UNIT="{path}"', "-iquote", runtime]
