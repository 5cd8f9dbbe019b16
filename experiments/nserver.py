#!/usr/bin/env python3
"""The experiments of the N-Server (Guo, Schaeffer, Szafron, Earl), repeated with today's servers.

    experiments/nserver.py [--quick] [--only NAME,...] [--report]

Writes nserver.md, nserver.json and plots/ beside itself; sections that are not measured again stay. --quick measures for
seconds and writes to a temporary folder unless --output names one. --report only writes the page again.
"""

import sys
from common import driver
from nserver import classes, fairness, overload, report

EXPERIMENTS = {'fairness': fairness, 'classes': classes, 'overload': overload}

if __name__ == '__main__':
    sys.exit(driver.Report('nserver', EXPERIMENTS, report).main(__doc__, minutes=20))
