#!/usr/bin/env python3
"""What overload control is worth: clients that come at rising rates, whether they are served or not.

usage: overload.py [--nest NEST] [--seconds N] [--rounds N]

One loop, whose requests take 2 ms each, so 500 a second at most. Clients come at random times (Poisson), ask once and
leave. The rates are multiples of that capacity, in turns with control and without. A row has the answers a second, those
who were turned away, and the mean time from connecting to the answer of those who were not.

Must not know: how the server decides whom it turns away.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'tests'))
from support.server import Server                                    # noqa: E402

SPEC = r'''%option eventServer 4000
%option overload actions 20 5
%{
#include <time.h>

static void work(void) {
    struct timespec left = {.tv_nsec = 2 * 1000 * 1000};
    while (nanosleep(&left, &left) == -1) { }
}
%}
NL "\n"
%%
START { $reply("220\n"); }
OVERLOAD { $reply("421\n"); }
"WORK" NL { work(); $reply("250\n"); $close(); }
'''
CAPACITY = 500                          # requests a second
RATES = (0.5, 0.9, 1, 2, 4)             # of that
LIMIT = 20                              # seconds that a client waits at most


class Clients:
    """What became of the clients of one measurement."""

    def __init__(self, port):
        self.port, self.took, self.away, self.failed = port, [], 0, 0

    async def one(self):
        """A client: connects, asks, and leaves."""
        begin = time.monotonic()
        writer = None
        try:
            async with asyncio.timeout(LIMIT):
                reader, writer = await asyncio.open_connection('127.0.0.1', self.port)
                if (await reader.readline()) == b'421\n':
                    self.away += 1
                    return
                writer.write(b'WORK\n')
                if (await reader.readline()) != b'250\n':
                    raise ConnectionError
                self.took.append(time.monotonic() - begin)
        except (OSError, TimeoutError):
            self.failed += 1
        finally:
            if writer:
                writer.close()

    async def come(self, rate, seconds):
        """They come for so long. How long it took until the last was gone."""
        begin = when = time.monotonic()
        tasks = []
        while when < begin + seconds:
            when += random.expovariate(rate)
            await asyncio.sleep(max(0, when - time.monotonic()))
            tasks.append(asyncio.create_task(self.one()))
        await asyncio.gather(*tasks)
        return time.monotonic() - begin


def measure(exe, settings, factor, seconds):
    """(answers a second, turned away a second, mean ms of those answered, failed)."""
    with Server([exe], options=settings) as server:
        clients = Clients(server.port)
        took = asyncio.run(clients.come(factor * CAPACITY, seconds))
    return len(clients.took) / took, clients.away / took, 1000 * statistics.fmean(clients.took or [0]), clients.failed


def main():
    """Measures, and prints a table and what is asked of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--nest', default='target/release/nest')
    parser.add_argument('--seconds', type=float, default=5, help='of a measurement: %(default)s')
    parser.add_argument('--rounds', type=int, default=3, help='%(default)s')
    words = parser.parse_args()
    ways = {'with': (), 'without': ('overload=none',)}
    found = {}
    with tempfile.TemporaryDirectory(prefix='nest-overload-') as folder:
        spec, exe = os.path.join(folder, 'slow.nest'), os.path.join(folder, 'slow')
        with open(spec, 'w', encoding='ascii') as file:
            file.write(SPEC)
        subprocess.run([os.path.abspath(words.nest), 'build', spec, '-o', exe], check=True, stderr=subprocess.DEVNULL)
        for _ in range(words.rounds):
            for factor in RATES:
                for way, settings in ways.items():
                    found.setdefault((way, factor), []).append(measure(exe, settings, factor, words.seconds))
    print('| control | clients a second / capacity | answers a second | turned away a second | mean ms | failed |\n'
          '|---|---:|---:|---:|---:|---:|')
    middle = {key: [statistics.median(column) for column in zip(*rounds)] for key, rounds in found.items()}
    for (way, factor), (answers, away, took, failed) in sorted(middle.items()):
        print(f'| {way} | {factor:g} | {answers:.0f} | {away:.0f} | {took:.1f} | {failed:.0f} |')
    peak = max(middle['with', factor][0] for factor in RATES)
    print(f"\nAt four times the capacity: {middle['with', 4][2] / middle['with', 1][2]:.2f} of the mean time at the capacity, "
          f"{middle['with', 4][0] / peak:.2f} of the most answers a second.")


if __name__ == '__main__':
    main()
