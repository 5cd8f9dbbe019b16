#!/usr/bin/env python3
"""Prints the matcher tables of a simulated server; how they are made is the sample's.

    tables.py [small]
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sample"))
import tables
from tables import ANY, DIGIT, LETTER, NL, SMALL, text, times

NUMBER = times(DIGIT, 1, 9)


def word(name, *behind):
    """One rule: its word, what stands behind it, the end of the line."""
    return name.strip().lower(), [text(name), *behind, NL], True


# in the order of enum sim_rule
tables.RULES = [
    word("SAY ", times(LETTER, 0)),
    *(word(name + " ", NUMBER) for name in ("BIG", "FLOOD", "READ", "LINE", "INTO", "SKIP", "NAP",
                                            "KEEP", "IDLE", "MODE")),
    word("QUIT"),
    word("STUCK"),
    ("data", [text("DATA"), NL, times(("set", ANY), 0, None, False), text("\n.\n")], False),
    ("parts", [text("PARTS "), times(SMALL, 0, None, False), times(DIGIT, 0), times(SMALL, 0, 3),
               text("."), NL], False),
    word("PEEK"),
    word("BLOCK"),
    word("GET ", times(SMALL, 1, 8)),
    word("PUT ", times(SMALL, 1, 8), text(" "), NUMBER),
    word("MEET ", times(SMALL, 1), text(" "), times(DIGIT, 1), text(" "), times(DIGIT, 1)),
]

# in the order of enum small_rule; each message has four bytes
SMALL_RULES = [
    word("ASK"),
    word("BLK"),
    word("QUT"),
    word("R0", DIGIT),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["small"]:
        tables.RULES = SMALL_RULES
    tables.main()
