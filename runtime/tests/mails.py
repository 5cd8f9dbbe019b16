"""Mail for sessions of a loop, in virtual time: it comes between actions, in order, to its session
alone, and bounded. A session that has more than its bound loses the oldest.

usage: mails.py BINARY
"""

import sys

from harness import check, finish, quote, script

GREETING, BYE = b"hello\r\n", b"bye: closed by the client\r\n"
HELD = 64 * 1024 // (24 + 4)  # outputBuffer, in messages of 4 bytes with their records


def said(who, text):
    return f"in {who} {quote(text)}"


def mail(who, text):
    return f"mail {who} {quote(text)}"


def mails(*texts):
    return b"".join(b"mail 0 %s\r\n" % text for text in texts)


MANY = [b"%04d" % number for number in range(HELD + 100)]
# what it is about, commands after the first three clients came, what the first two are told
CASES = [
    ("at rest", [mail(1, b"one"), mail(1, b"two")], mails(b"one", b"two"), b""),
    ("to several", [mail(1, b"a"), mail(2, b"b"), mail(1, b"c")], mails(b"a", b"c"), mails(b"b")),
    ("in a message", [said(1, b"EC"), mail(1, b"a"), said(1, b"HO x\n")], mails(b"a") + b"<x>\r\n", b""),
    ("while an action waits", [said(1, b"NAP 100\n"), mail(1, b"a"), mail(2, b"b"), mail(1, b"c"), "pass 100"],
     b"yawn\r\nup 100\r\n" + mails(b"a", b"c"), mails(b"b")),
    ("behind what was held", [said(1, b"NAP 100\n"), mail(1, b"a"), "pass 100", mail(1, b"b")],
     b"yawn\r\nup 100\r\n" + mails(b"a", b"b"), b""),
    ("two actions", [said(1, b"NAP 100\nNAP 50\n"), mail(1, b"a"), "pass 100", "pass 50"],
     b"yawn\r\nup 100\r\nyawn\r\nup 50\r\n" + mails(b"a"), b""),
    ("while output waits", ["room 1 3", said(1, b"ECHO abc\n"), mail(1, b"a"), "room 1 -"],
     b"<abc>\r\n" + mails(b"a"), b""),
    ("more than is held", [said(1, b"NAP 9\n"), *[mail(1, text) for text in MANY], "pass 9", mail(1, b"z")],
     b"yawn\r\nup 9\r\n" + mails(*MANY[-HELD:], b"z"), b""),
    ("without memory", [said(1, b"NAP 9\n"), "fail memory 1", mail(1, b"lost"), mail(1, b"kept"), "pass 9"],
     b"yawn\r\nup 9\r\n" + mails(b"kept"), b""),
    ("for one that has ended", [said(1, b"NAP 9\n"), mail(1, b"a"), "reset 1", mail(1, b"b"), "pass 9",
                                mail(2, b"c")], b"yawn\r\n", mails(b"c")),
    ("its slot is used again", ["eof 3", "open 4", mail(3, b"a"), mail(4, b"b"), mail(2, b"c")], b"",
     mails(b"c")),
    ("in a stop", [said(1, b"NAP 9\n"), "drain", mail(1, b"a"), "pass 9"], b"yawn\r\nup 9 draining\r\n", b""),
]


def main():
    binary = sys.argv[1]
    for name, lines, first, second in CASES:
        status, trace, out, error = script(binary, ["clients 3", "open 1", "open 2", "open 3", *lines])
        got = {who: text for who, text in out.items()}
        for who, wanted in (("1", first), ("2", second)):
            text = got[who].removeprefix(GREETING)
            check(f"{name}: {who}", text[:text.rfind(b"bye: ")] if b"bye: " in text else text, wanted)
        check(f"{name}: errors", (status in (0, 1), error), (True, ""))
    refused = script(binary, ["open 1", mail(1, b"x" * 20000)])
    check("a message too long", (refused[0], "the message too long" in refused[3]), (2, True))
    finish("mails", len(CASES) + 1)


main()
