#!/usr/bin/env python3
"""The experiments of the thesis that nest comes from (2005), repeated with today's servers.

    experiments/nest.py [--quick] [--only NAME,...] [--report]

Writes nest.md, nest.json and plots/ beside itself; sections that are not measured again stay. --quick measures for
seconds and writes to a temporary folder unless --output names one. --report only writes the page again.
"""

import sys
from common import driver, namespace
from nest import matching, rates, report

EXPERIMENTS = {'process': rates.PROCESS, 'event': rates.EVENT, 'thread': rates.THREAD, 'matching': matching}

if __name__ == '__main__':
    if not {'--report', '-h', '--help'} & set(sys.argv):
        namespace.enter()
    sys.exit(driver.Report('nest', EXPERIMENTS, report).main(__doc__, minutes=40))
