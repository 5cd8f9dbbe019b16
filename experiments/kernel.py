#!/usr/bin/env python3
"""The measurements of "High performance kernel mode web server" (Brantén, 2005), repeated with today's kernel and servers.

    experiments/kernel.py [--quick] [--only NAME,...] [--report]

Writes kernel.md, kernel.json and plots/ beside itself; sections that are not measured again stay. --quick measures for
seconds and writes to a temporary folder unless --output names one. --report only writes the page again. Needs root.
"""

import sys
from common import driver
from kernel import closing, filtered, idle, links, many, network, report, sizes

EXPERIMENTS = {'sizes': sizes, 'closing': closing, 'links': links, 'idle': idle, 'many': many, 'filtered': filtered}

if __name__ == '__main__':
    sys.exit(driver.Report('kernel', EXPERIMENTS, report, network.Context).main(__doc__, minutes=30))
