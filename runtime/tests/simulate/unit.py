"""The servers that are simulated: which services and files they have, and what of them the simulation hears."""

import os
import subprocess
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import runtime_list

HERE = os.path.dirname(os.path.abspath(__file__))
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

# Several loops, which are processes: loops/server.c includes the files of servers with sockets that let
# them send to each other, in place of those of scripts.
LOOPS = ["unit", "script", "loops", "--with", "groups", "--with", "send", "--with", "alloc",
         *(word for path in ("main.c", "poller/command.c", "workers/supervisor_none.c",
                             "workers/mailbox_script.c", "service/alive/alone.c",
                             "service/groups/published_script.c", "service/region/alone.c")
           for word in ("--without", path)),
         "--listen", "sim:tests/simulate/loops/hooks.h:open,mail,end",
         "--rename", "platform/log.c:nest__say=log_say",
         "--rename", "workers/share_none.c:nest__dispatchers_most=share_alone",
         "--rename", "service/groups/loop.c:nest__clock_ns=sim_clock",
         "--rename", "service/groups/loop.c:nest__mail_hold=book_hold",
         "--rename", "service/send/loop.c:nest__mail_hold=book_hold",
         "--rename", "service/send/loop.c:nest__mail_send=book_send",
         "--rename", "service/mail/loop.c:nest__mailbox_take=book_take"]


# Servers of short messages: with classes of clients; whose loop has too much to do, so that clients wait,
# or are told.
SMALL_WORDS = ["unit", "script", "loops", "--with", "blocks", "--without", "main.c",
               "--without", "poller/command.c", "--listen", "small:tests/simulate/small.h:take",
               "--rename", "platform/log.c:nest__say=log_say"]
OVERLOAD_WORDS = [*SMALL_WORDS, "--with", "overload",
                  "--rename", "loop/accept.c:nest__take=marks_take",
                  "--rename", "loop/loop.c:nest__poller_sleep=marks_sleep",
                  "--rename", "loop/loop.c:nest__accept_load=marks_load",
                  "--rename", "loop/loop.c:nest__poller_clients=marks_completed",
                  "--rename", "service/overload/overload.c:nest__clock_ms=marks_ms",
                  "--rename", "service/overload/overload.c:nest__clock_us=marks_us"]
CLASSES_WORDS = [*SMALL_WORDS, "--with", "priorities",
                 "--rename", "loop/accept.c:nest__take=shares_take",
                 "--rename", "loop/loop.c:nest__poller_sleep=shares_sleep"]

# A server whose actions open second connections: second/server.c includes the files of servers with sockets,
# in place of those of scripts.
SECOND_WORDS = ["unit", "script", "loops", "--with", "dial", "--without", "main.c", "--without", "poller/command.c",
                "--without", "service/dial/script.c", "--without", "loop/many_none.c",
                "--rename", "platform/log.c:nest__say=log_say"]


class Server(NamedTuple):
    """How a simulated server is made."""
    source: str                 # what is compiled, beneath simulate/
    words: list                 # what it has of the runtime; none: its source includes that
    flags: tuple = ()           # of the compiler
    tables: tuple = ("tables.py",)      # what prints its tables
    share: int = 1              # one of so many lives is run: its lives take longer


# Messages that are found in a stream of bytes; a message for each receive; conversations that join groups
# and send to each other; the same, by several loops; servers of short messages; second connections; contents of files in memory,
# without the rest of a server.
SPECS = {
    "stream": Server("server.c", WORDS),
    "message": Server("server.c", WORDS, ("-DNEST__MESSAGES=1",)),
    "groups": Server("server.c", WORDS, ("-DSIMULATE_MEETS=1",)),
    "loops": Server("loops/server.c", LOOPS, tables=("loops/tables.py",)),
    "classes": Server("shares.c", CLASSES_WORDS, tables=("tables.py", "small")),
    "overload": Server("marks.c", OVERLOAD_WORDS, tables=("tables.py", "small")),
    "told": Server("marks.c", OVERLOAD_WORDS, ("-DMARKS_TOLD=1",), ("tables.py", "small")),
    "second": Server("second/server.c", SECOND_WORDS, tables=("tables.py", "small"), share=3),
    "contents": Server("cached.c", []),
}


def source(spec, runtime):
    """What is compiled."""
    return f"{runtime}/tests/simulate/{SPECS[spec].source}"


def flags(folder, runtime, spec):
    """Writes the unit and the tables to a folder; the compiler's flags for them and the runtime."""
    server = SPECS[spec]
    if not server.words:
        return ["-iquote", runtime]
    paths = [os.path.join(folder, f"{spec}-{name}.h") for name in ("unit", "tables")]
    with open(paths[0], "w") as out:
        out.write(runtime_list(*server.words))
    with open(paths[1], "w") as out:
        subprocess.run([sys.executable, os.path.join(HERE, server.tables[0]), *server.tables[1:]], stdout=out,
                       check=True)
    return [*server.flags, f'-DSIMULATE_UNIT="{paths[0]}"', f'-DSIMULATE_TABLES="{paths[1]}"', "-iquote", runtime]
