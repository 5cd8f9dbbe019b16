#!/usr/bin/env python3
"""Prints the matcher tables of the simulated server of several loops; how they are made is the sample's."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sample"))
import tables
from tables import text

tables.RULES = [("do", [text("DO\n")], True)]

if __name__ == "__main__":
    tables.main()
