#!/usr/bin/env python3
"""The experiments of "Connection Conditioning" (Park and Pai, 2006), repeated with today's servers.

    experiments/conditioning.py [--quick] [--only NAME,...] [--report]

Writes conditioning.md, conditioning.json and plots/ beside itself; sections that are not measured again stay. --quick
measures for seconds and writes to a temporary folder unless --output names one. --report only writes the page again.
"""

import os
import sys
from common import driver
from conditioning import (chained, clients, files, heavy, idle, report, servers, sets, sizes, slow, slashes, starvation)

EXPERIMENTS = {'sizes': sizes, 'files': files, 'sets': sets, 'filters': chained, 'incomplete': starvation,
               'rare': heavy, 'persistent': idle, 'slowhttptest': slow, 'beck': slashes}


class Context(driver.Context):
    """Also the files to serve, and the builder of what is run."""

    def __init__(self, args, folder):
        super().__init__(args, folder)
        self.shop = servers.Builder(args.nest)
        self.shop.build()
        self.site = os.path.join(folder, 'site')
        clients.make_site(self.site)

    def left_out(self, name, filters, why):
        """A sentence for the report."""
        return f'{" ".join([name, *filters])}: left out, {why or f"the experiment has had its {self.minutes:g} minutes"}.'


if __name__ == '__main__':
    sys.exit(driver.Report('conditioning', EXPERIMENTS, report, Context).main(__doc__))
