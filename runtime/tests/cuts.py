"""Checks that trace and output of a conversation are the same however input is split and output stalls."""

import random
import sys

from harness import check, finish, quote, script

TEXT = (b"NAME bob\r\nWHO\nECHO \x00\xff tab\t\"\\\r\nSPLIT abc12de.\nSPLIT 9.\r\nSPLIT .\nDATA\nline\n.\r\n.\n"
        b"KEEP 10\nKEEP 70000\nBIG 300\nFLOOD 20\nECHO \nWHO\r\n"
        b"READ 5\nWHO\n\x00READ 0\nLINE 9\r\na line\r\nLINE 4\nfour\nLINE 4\nfour\r\nLINE 0\r\n\nLINE 2\nWHO\n"
        + b"READ 9999999\nINTO 3\nabcSKIP 8\nQUIT\r\n\r\nINTO 5000\n" + b"i" * 5000 + b"SKIP 5000\n"
        + b"s" * 5000 + b"NAP 0\nREAD 1000\n" + b"r" * 1000 + b"QUIT\r\nWHO\n")
LETTERS = bytes(97 + i % 26 for i in range(300))
OUT = (b"hello\r\nok\r\nbob 1\r\n<\x00\xff tab\t\"\\\r>\r\n"  # greedy: the CR is the text's
       + b"SPLIT |abc|12|de|.|1\r\nSPLIT ||9||.|2\r\nSPLIT ||||.|1\r\ndata 7\r\nkept\r\nno\r\n"
       + LETTERS + b"\r\n" + b"".join(b"bob %d of 20\r\n" % i for i in range(20))
       + b"<>\r\nbob 2\r\n[WHO\n\x00] READ 5\n[] READ 0\n[a line] LINE 9\r\n[four] LINE 4\n[four] LINE 4\n"
       + b"[] LINE 0\r\nnone: size\r\nbob 3\r\nnone: size\r\n[abc] INTO 3\n8 skipped\n\r\n[" + b"i" * 5000
       + b"] INTO 5000\n5000 skipped\n\r\nyawn\r\nup 0\r\n[" + b"r" * 1000
       + b"] READ 1000\nclosing\r\nbye: closed by the server\r\n")

# name, input, half-closed?, arguments, the reason it ends, the last answer
ENDS = [
    ("eof", b"WHO\n", True, [], "eof", b"nobody 1\r\nbye: closed by the client\r\n"),
    ("eof in a message", b"WHO\nWH", True, [], "input",
     b"nobody 1\r\nbye: no rule matches the input\r\n"),
    ("input", b"WHO\nWHX\n", False, [], "input", b"nobody 1\r\nbye: no rule matches the input\r\n"),
    ("stuck", b"WHO\nSTUCK\nWHO\n", False, [], "stuck", b"nobody 1\r\nbye: no rule is active\r\n"),
    ("inactive", b"KEEP 1\n", False, [], "input", b"hello\r\nbye: no rule matches the input\r\n"),
    ("overflow", b"ECHO " + b"x" * 30 + b"\n", False, ["--set", "inputBuffer=32"], "overflow",
     b"hello\r\nbye: a message exceeds inputBuffer\r\n"),
    ("overflow before eof", b"DATA\n" + b"x" * 27, True, ["--set", "inputBuffer=32"], "overflow",
     b"hello\r\nbye: a message exceeds inputBuffer\r\n"),
    ("exactly full", b"ECHO " + b"x" * 26 + b"\n", True, ["--set", "inputBuffer=32"], "eof",
     b"<" + b"x" * 26 + b">\r\nbye: closed by the client\r\n"),
]


def pieces(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def conversation(parts, eof):
    return ["open 1"] + [f"in 1 {quote(part)}" for part in parts] + (["eof 1"] if eof else [])


def main():
    build = sys.argv[1]
    count = 0
    binaries = [f"{build}/script{kind}" for kind in ("", "-clang", "-asan", "-ucontext")]
    wanted = None
    for binary in binaries:
        for size in [len(TEXT)] + list(range(1, 48)) + [64, 100]:
            for arguments in ([], ["--set", "outputBuffer=16"], ["--set", "outputBuffer=100"]):
                status, trace, out, error = script(binary, conversation(pieces(TEXT, size), False),
                                                   *arguments)
                what = f"{binary} in pieces of {size} {arguments}"
                check(what, (status, out["1"], error), (0, OUT, ""))
                wanted = wanted or trace
                check(f"trace of {what}", trace, wanted)
                count += 1
    for name, data, eof, arguments, reason, last in ENDS:
        for size in range(1, len(data) + 1):
            _, trace, out, _ = script(binaries[2], conversation(pieces(data, size), eof), *arguments)
            what = f"{name} in pieces of {size}"
            check(what, (trace["1"][-2:], out["1"][-len(last):]), ([f"end {reason}", "closed"], last))
            count += 1
    # Many conversations at once, cut at random, whose clients take output in random portions.
    for seed in range(40):
        chance = random.Random(seed)
        waiting = []
        clients = 30
        for c in range(1, clients + 1):
            steps, at = [], 0
            while at < len(TEXT):
                size = chance.choice([1, 3, 20, 400])
                steps.append(f"in {c} {quote(TEXT[at:at + size])}")
                at += size
                if chance.random() < 0.5:
                    steps.append(f"room {c} {chance.choice([0, 1, 7, 50, 500])}")
            waiting.append(steps + [f"room {c} 60", f"room {c} -"])
        lines = [f"open {c}" for c in range(1, clients + 1)]
        while waiting:
            steps = chance.choice(waiting)
            lines.append(steps.pop(0))
            if not steps:
                waiting.remove(steps)
        status, trace, out, error = script(binaries[2 if seed % 2 else 0], lines, "--set",
                                           f"outputBuffer={chance.choice([16, 64, 1000])}")
        check(f"seed {seed}", (status, error), (0, ""))
        for c in range(1, clients + 1):
            check(f"seed {seed}, conversation {c}", (trace[str(c)], out[str(c)]), (wanted["1"], OUT))
            count += 1
    # A thousand actions wait at the same time; then some are reset, the others served, in disorder.
    lines = []
    order = list(range(1, 1001))
    for c in order:
        lines += [f"open {c}", f"room {c} 3", f"in {c} {quote(b'BIG 5000' + bytes([10]) + b'QUIT' + bytes([10]))}"]
    random.Random(1).shuffle(order)
    lines += [f"reset {c}" if c % 3 == 0 else f"room {c} -" for c in order]
    for binary in binaries:
        status, trace, out, error = script(binary, lines, "--set", "outputBuffer=1K")
        check("a thousand waits", (status, error), (0, ""))
        for c in order:
            wanted_end = "end gone" if c % 3 == 0 else "end closed"
            check(f"wait {c}", (trace[str(c)][-2:], len(out[str(c)])),
                  ([wanted_end, "closed"], 10 if c % 3 == 0 else 5045))
            count += 1
    # START and END wait as well, and are cut short as well
    status, trace, out, error = script(binaries[2], [
        "room 1 0", "open 1", "room 2 2", "open 2", "room 3 1", "open 3", "in 1 \"WHO\\nQUIT\\n\"",
        "room 1 5", "room 1 10", "room 1 -", "reset 2", "drain", "room 3 -"],
        "--set", "outputBuffer=4")
    check("START and END wait", (status, error, out["1"], trace["1"][-2:]), (0, "",
          b"hello\r\nnobody 1\r\nclosing\r\nbye: closed by the server\r\n", ["end closed", "closed"]))
    check("cut short in START", (out["2"], trace["2"][-2:]), (b"he", ["end gone", "closed"]))
    check("drained in START", (out["3"], trace["3"][-2:]),
          (b"hello\r\nbye: the server stops\r\n", ["end shutdown", "closed"]))
    # an action waits for more than fits behind its message and what is unread: both move
    _, _, out, _ = script(binaries[2], [
        "open 1", 'in 1 "WH"', f"in 1 {quote(b'O' + bytes([10]) + 1022 * (b'WHO' + bytes([10])))[:-1]}"
        'READ 16\\nabc"', 'in 1 "0123456789xyzWHO\\n"', "reset 1"], "--set", "inputBuffer=16")
    check("no room behind the message", out["1"][-45:],
          b"nobody 1023\r\n[abc0123456789xyz] READ 16\nnobody 1024\r\n"[-45:])
    # message framing: one receive, one message; what the match leaves is dropped
    _, _, out, _ = script(f"{build}/script-message",
                          ["open 1", 'in 1 "WHO\\nWHO\\n"', 'in 1 "WH"', 'in 1 "O\\n"',
                           'in 1 "ECHO a\\nECHO b"', 'in 1 "READ 2\\nabWHO\\n"',
                           'in 1 "READ 4\\nw"', 'in 1 "xyzWHO\\n"', 'in 1 "QUIT\\n"'])
    # what an action takes may come in more than one; what it leaves of the last is dropped too
    check("message framing", out["1"], b"hello\r\nnobody 1\r\nnobody 2\r\n<a>\r\n[ab] READ 2\n"
          b"[wxyz] READ 4\nclosing\r\nbye: closed by the server\r\n")
    # what is no script
    for line in ("opne 1", "open 2", "open", "in 1 \"x\"", "open 1 2", "room 1 x"):
        status, _, _, error = script(binaries[0], [line])
        check(f"refuses {line}", (status, error.startswith("sample: script line 1: ")), (2, True))
        count += 1
    for line in ("in 1 x", "in 1 \"x", "in 1 \"\\q\"", "in 1 \"\\x0\"", "room 1 -1", "eof 2"):
        status, trace, _, error = script(binaries[2], ["open 1", line])
        check(f"refuses {line}", (status, error.startswith("sample: script line 2: "),
                                  trace["1"][-2:]), (2, True, ["end gone", "closed"]))
        count += 1
    finish("cuts", count + 2)


main()
