"""Checks that limits, TIMEOUT rules, pauses and stops happen when they are due, and not before."""

import sys

from harness import check, finish, quote, script

LIMITS = ["--set", "idleTimeout=10s", "--set", "readTimeout=4s", "--set", "writeTimeout=3s",
          "--set", "drainTimeout=5s"]
BYE = {None: b"", "input": b"bye: no rule matches the input\r\n",
       "timeout": b"bye: timed out\r\n", "shutdown": b"bye: the server stops\r\n",
       "eof": b"bye: closed by the client\r\n", "closed": b"bye: closed by the server\r\n"}


def said(text):
    return f"in 1 {quote(text)}"


def parts(text, *times):
    """A text in as many pieces, with time before each."""
    size = -(-len(text) // len(times))
    lines = []
    for i, ms in enumerate(times):
        lines += [f"pass {ms}"] * (ms > 0) + [said(text[size * i:size * (i + 1)])]
    return lines


# name, commands after open, how it ends (None: it does not), what is answered between hello and bye
CASES = [
    ("not yet idle", ["pass 9999"], None, b""),
    ("idle", ["pass 10000"], "timeout", b""),
    ("a visit renews nothing", ["pass 9000", "room 1 -", "pass 1000"], "timeout", b""),
    ("idle after a message", ["pass 9000", said(b"WHO\n"), "pass 9999"], None, b"nobody 1\r\n"),
    ("idle in the end", ["pass 9000", said(b"WHO\n"), "pass 10000"], "timeout", b"nobody 1\r\n"),
    ("a message in time", parts(b"WHO\n", 9999, 3999), None, b"nobody 1\r\n"),
    ("a message is late", parts(b"WHO\n", 9999, 4000), "timeout", b""),
    ("bytes renew nothing", parts(b"WHO\n", 1, 1333, 1333, 1334), "timeout", b""),
    ("after a message another", parts(b"WHO\nWH", 0, 3000, 2000) + ["pass 3999"], None,
     b"nobody 1\r\n"),
    ("another limit", [said(b"LULL 20000\n"), "pass 19999"], None, b""),
    ("another limit ends", [said(b"LULL 20000\n"), "pass 20000"], "timeout", b""),
    ("a shorter limit", [said(b"LULL 5\n"), "pass 5"], "timeout", b""),
    ("no limit", [said(b"LULL 0\n"), "pass 80000000"], None, b""),
    # output
    ("not taken in time", ["room 1 3", said(b"BIG 100\n"), "pass 2999", "room 1 -"], None,
     None),
    ("not taken", ["room 1 3", said(b"BIG 100\n"), "pass 3000"], "timeout", None),
    ("a reader is not idle", [said(b"LULL 10\n"), "room 1 3", said(b"BIG 100\n"), "pass 2999",
                              "room 1 -", "pass 9"], None, None),
    ("idle since it was read", [said(b"LULL 10\n"), "room 1 3", said(b"BIG 100\n"), "pass 2999",
                                "room 1 -", "pass 10"], "timeout", None),
    ("a message rests while output waits", ["room 1 0", said(b"WHO\nWH"), "pass 2900", "room 1 -",
                                            "pass 3999"], None, b"nobody 1\r\n"),
    ("and goes on", ["room 1 0", said(b"WHO\nWH"), "pass 2900", "room 1 -", "pass 4000"], "timeout",
     b"nobody 1\r\n"),
    ("nobody takes the end", ["room 1 0", said(b"QUIT\n"), "pass 3000"], "closed", None),
    # TIMEOUT rules
    ("before the first tick", [said(b"TICK\n"), "pass 999"], None, b""),
    ("ticks", [said(b"TICK\n"), "pass 2999"], None, b"tick 1\r\ntick 2\r\n"),
    ("the last tick", [said(b"TICK\n"), "pass 3000"], "closed", b"tick 1\r\ntick 2\r\ntick 3\r\n"),
    ("a byte begins anew", [said(b"TICK\n"), "pass 999", said(b"W"), "pass 999"], None, b""),
    ("a tick in a message", [said(b"TICK\n"), "pass 999", said(b"W"), "pass 1000", said(b"HO\n")],
     None, b"tick 1\r\nnobody 1\r\n"),
    ("readTimeout does not rest", [said(b"TICK\nLULL 1\nW"), "pass 2999", said(b"H"), "pass 999"],
     None, b"tick 1\r\ntick 2\r\n"),
    ("nor is it renewed", [said(b"TICK\nW"), "pass 2999", said(b"H"), "pass 501", said(b"O"),
                           "pass 500"], "timeout", b"tick 1\r\ntick 2\r\n"),
    ("the shorter first", [said(b"NAME bob\nTICK\n"), "pass 2399"], None, b"ok\r\nnameless\r\n"),
    ("then the other", [said(b"NAME bob\nTICK\n"), "pass 2400"], None,
     b"ok\r\nnameless\r\ntick 1\r\n"),
    ("active until then", [said(b"NAME bob\nTICK\nKEE"), "pass 399", said(b"P 1\n")], None,
     b"ok\r\nkept\r\n"),
    ("other rules are active", [said(b"NAME bob\nTICK\nKEE"), "pass 1400"], "input",
     b"ok\r\nnameless\r\n"),
    ("the same bytes, other rules", [said(b"NAME bob\nTICK\nW"), "pass 1400", said(b"HO\n")], None,
     b"ok\r\nnameless\r\nbob 1\r\n"),
    ("a rule's own time is not the message's", [
        said(b"NAME bob\nTICK\nW"), "pass 2300", said(b"H"), "pass 900", said(b"O"), "pass 900",
        said(b"\r"), "pass 899"], None, b"ok\r\nnameless\r\n"),
    ("the message's own time", [
        said(b"NAME bob\nTICK\nW"), "pass 2300", said(b"H"), "pass 900", said(b"O"), "pass 900",
        said(b"\r"), "pass 900"], "timeout", b"ok\r\nnameless\r\n"),
    ("a timer takes input", [said(b"HUSH\nW"), "pass 300", said(b"NAME bob\nWHO\n")], None,
     b"hush 1\r\nok\r\nbob 1\r\n"),
    ("a timer with nothing to take", [said(b"HUSH\n"), "pass 300", said(b"WHO\n")], None,
     b"hush 0\r\nnobody 1\r\n"),
    ("no pattern rule, but ticks", [said(b"TICK\nSTUCK\n"), "pass 3000"], "closed",
     b"tick 1\r\ntick 2\r\ntick 3\r\n"),
    ("no pattern rule for a byte", [said(b"TICK\nSTUCK\n"), "pass 1000", said(b"W")], "input",
     b"tick 1\r\n"),
    ("eof without a pattern rule", [said(b"TICK\nSTUCK\n"), "pass 1000", "eof 1"], "eof",
     b"tick 1\r\n"),
    ("eof instead", [said(b"TICK\n"), "pass 999", "eof 1"], "eof", b""),
    # reads
    ("a read in time", [said(b"READ 3\n"), "pass 9999", said(b"a"), "pass 3999", said(b"bc")], None,
     b"[abc] READ 3\n"),
    ("a read is idle", [said(b"READ 3\n"), "pass 10000"], "timeout", b""),
    ("a read is late", [said(b"READ 3\n"), "pass 9999", said(b"a"), "pass 3999", said(b"b"),
                        "pass 1"], "timeout", b""),
    ("a line is late", [said(b"LINE 3\nab"), "pass 4000"], "timeout", b""),
    ("many may be slow", [said(b"INTO 3\na"), "pass 9999", said(b"b"), "pass 9999", said(b"c")],
     None, b"[abc] INTO 3\n"),
    ("many are idle", [said(b"INTO 9000\na"), "pass 10000"], "timeout", b""),
    ("skipping is idle", [said(b"SKIP 9000\na"), "pass 9999", said(b"b"), "pass 10000"], "timeout",
     b""),
    ("another limit for reads", [said(b"LULL 50000\nREAD 1\n"), "pass 49999", said(b"x")], None,
     b"[x] READ 1\n"),
    ("idle after a read", [said(b"READ 1\n"), "pass 9999", said(b"x"), "pass 9999"], None,
     b"[x] READ 1\n"),
    ("eof in a read", [said(b"READ 3\nW"), "eof 1"], "input", b"none: eof\r\n"),
    ("eof in a read, then a message", [said(b"READ 9\nWHO\n"), "eof 1"], "eof",
     b"none: eof\r\nnobody 1\r\n"),
    ("eof in many", [said(b"INTO 9\nWHO\n"), "eof 1"], "eof", b"[WHO\n] INTO 9\n"),
    ("eof in a line", [said(b"LINE 9\nWHO"), "eof 1"], "input", b"none: eof\r\n"),
    ("output leaves before a read", ["room 1 0", said(b"WHO\nREAD 1\nx"), "pass 2999", "room 1 -"],
     None, b"nobody 1\r\n[x] READ 1\n"),
    ("output does not leave", ["room 1 0", said(b"WHO\nREAD 1\nx"), "pass 3000"], "timeout", None),
    ("nothing is pending", [said(b"MORE\n"), said(b"MORE\nW")], None, b"nothing\r\nmore\r\n"),
    # pauses
    ("a pause", [said(b"NAP 99999\n"), "pass 99998"], None, b"yawn\r\n"),
    ("a pause is over", [said(b"NAP 99999\nWHO\n"), "pass 99999"], None,
     b"yawn\r\nup 99999\r\nnobody 1\r\n"),
    ("a pause of days", [said(b"NAP 200000000\n"), "pass 80000000", "pass 80000000",
                         "pass 40000000"], None, b"yawn\r\nup 200000000\r\n"),
    ("a pause is not for output", ["room 1 0", said(b"NAP 99999\n"), "pass 3000"], "timeout", None),
    ("output leaves in a pause", ["room 1 0", said(b"NAP 4000\n"), "pass 2999", "room 1 -",
                                  "pass 1001"], None, b"yawn\r\nup 4000\r\n"),
    # stops
    ("a stop", ["drain"], "shutdown", b""),
    ("a stop between messages", [said(b"WHO\n"), "drain"], "shutdown", b"nobody 1\r\n"),
    ("a stop in a message", [said(b"WH"), "drain", said(b"O\nWHO\n")], "shutdown", b"nobody 1\r\n"),
    ("a stop, and eof", [said(b"WH"), "drain", "eof 1"], "input", b""),
    ("a stop in a late message", [said(b"WH"), "drain", "pass 3999", said(b"O"), "pass 1"],
     "timeout", b""),
    ("a stop in a read", [said(b"READ 1\n"), "drain", "pass 3999", said(b"x")], "shutdown",
     b"[x] READ 1\n"),
    ("a stop in a pause", [said(b"NAP 100\n"), "drain", "pass 100"], "shutdown",
     b"yawn\r\nup 100 draining\r\n"),
    ("a stop cuts a pause", [said(b"NAP 6000\n"), "drain", "pass 5000"], "shutdown", None),
    ("a stop cuts a read", [said(b"READ 1\n"), "drain", "pass 5000"], "shutdown", None),
    ("a stop during ticks", [said(b"NAME bob\nTICK\nW"), "drain", "pass 1400", said(b"HO\n")],
     "shutdown", b"ok\r\nnameless\r\nbob 1\r\n"),
    ("a reset in a read", [said(b"READ 3\n"), "reset 1"], "gone", None),
    ("a reset in a pause", [said(b"NAP 3\n"), "reset 1", "pass 3"], "gone", None),
]
# Whose output is dropped, and whose connection is therefore reset.
CUT = {"not taken", "output does not leave", "a pause is not for output", "a stop cuts a pause",
       "a stop cuts a read", "nobody takes the end"}
# outputBuffer is 10 bytes; each byte that is taken begins writeTimeout, 3 s, anew; the greeting is 7
# bytes. `early`: 5 of these are taken at first.
WRITES = [
    ("early, then more", ["pass 2999", "room 1 2", "pass 2999"], None),
    ("early, then nothing", ["pass 2999", "room 1 2", "pass 3000"], "timeout"),
    ("early, a look between", ["pass 1000", "room 1 2", "pass 2999"], None),
    ("early, a look between, nothing", ["pass 1000", "room 1 2", "pass 3000"], "timeout"),
    ("nothing", ["pass 3000"], "timeout"),
    ("nothing yet", ["pass 2999"], None),
    ("before the first look", ["pass 3", "room 1 1", "pass 2999"], None),
    ("nothing since", ["pass 3", "room 1 1", "pass 3000"], "timeout"),
    ("a byte in time", ["pass 2999", "room 1 1", "pass 2999"], None),
    ("a byte in time, then none", ["pass 2999", "room 1 1", "pass 3000"], "timeout"),
    ("in parts", ["pass 2999", "room 1 9", "room 1 1", "pass 2999"], None),
    ("steadily", ["pass 2900", "room 1 1"] * 10, None),
    ("steadily, then nothing", ["pass 2900", "room 1 1"] * 10 + ["pass 3000"], "timeout"),
    ("all in time", ["pass 2999", "room 1 10", "pass 2999", "room 1 10", "pass 2999", "room 1 -"],
     None),
]
# The same with minimumRate, 10 bytes a second over 10 s, which begin with the first look, at 46 ms.
RATES = [
    ("as much", ["pass 2000", "room 1 20"] * 30, None),
    ("less", ["pass 2000", "room 1 19"] * 5 + ["pass 46"], "timeout"),
    ("less so far", ["pass 2000", "room 1 19"] * 5 + ["pass 45"], None),
    ("at last", ["pass 2000", "room 1 1"] * 4 + ["pass 2045", "room 1 96", "pass 1"], None),
    ("not again", ["pass 2000", "room 1 1"] * 4 + ["pass 2045", "room 1 96"] +
     ["pass 2000", "room 1 1"] * 5 + ["pass 1"], "timeout"),
    ("nothing", ["pass 3000"], "timeout"),
]


def main():
    count = 0
    for binary in sys.argv[1:]:
        for name, lines, reason, answer in CASES:
            lines = ["open 1", *lines, "reset 1"]  # who is still there, is gone then
            status, trace, out, error = script(binary, lines, *LIMITS)
            what = f"{binary}: {name}"
            ends = [line for line in trace["1"] if line.startswith("end ")]
            check(f"{what}: status, errors", (status in (0, 1), error), (True, ""))
            check(what, ends, [f"end {reason or 'gone'}"])
            check(f"{what}: delivered", trace["1"][-1] == "cut", name in CUT)
            if answer is not None:
                bye = BYE[reason]
                check(f"{what}: answers", out["1"], b"hello\r\n" + answer + bye)
            count += 1
        for rate, cases in ((0, WRITES), (10, RATES)):
            for name, lines, reason in cases:
                lines = [f"room 1 {5 if name.startswith('early') else 7}", "open 1",
                         said(b"BIG 2000\n"), *lines, "reset 1"]
                status, trace, out, error = script(
                    binary, lines, *LIMITS, "--set", "outputBuffer=10", "--set",
                    f"minimumRate={rate}")
                check(f"{binary}: taken {name}", (
                    [line for line in trace["1"] if line.startswith("end ")], error),
                    ([f"end {reason or 'gone'}"], ""))
                count += 1
        trace = script(binary, ["open 1", said(b"NAME bob\nTICK\n"), "pass 4400"], *LIMITS)[1]["1"]
        check("the trace names the rules", [line for line in trace if line.startswith("timeout")],
              ["timeout line 91"] + ["timeout line 90"] * 3)
        count += 1
    finish("times", count)


main()
