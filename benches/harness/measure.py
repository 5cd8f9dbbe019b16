"""One measurement: a server is started, asked once, loaded, and ended.

What comes of it is a dictionary; `error` in it says why there are no figures. Must not know: what
is compared with what.
"""

import contextlib
import json
import os
import re
import subprocess
import time

from .machine import FOREIGN, Failed, read, readings, used
from .servers import Running
from .workloads import content

SLACK = 60                              # seconds that a load may take beyond its time


def check(running, workload, server):
    """Asks once and compares every byte. The length of the body that is to be expected."""
    path = workload.path or '/2048'
    status, body = running.ask(path)
    if status != 200:
        raise Failed(f'status {status} for {path}')
    if workload.serve == 'constant':
        if len(body) != server.constant:
            raise Failed(f'{len(body)} bytes for {path}')
    elif server.name != 'floor-constant' and body != content(int(path[1:])):
        raise Failed(f'other bytes than the file has for {path}')
    return len(body)


def target(server, workload, shop, body):
    """What the load generator is to ask for."""
    if workload.path or server.name == 'floor-constant':
        return ['--path', workload.path or '/constant', '--body', str(body)]
    return ['--mix', os.path.join(shop.folder, 'mix')]


def drive(running, machine, shop, words):
    """Runs the load generator; its result, with what the machine did in the measured time."""
    with contextlib.ExitStack() as stack:
        watched = readings(running.group, machine.cores['server'])
        files = [stack.enter_context(open(path, 'rb')) for _, path in watched]
        fds = [file.fileno() for file in files]
        load = machine.start(
            'load', [shop.load(), '--to', f'{machine.network.host}:{running.port}', *words,
                     *[word for fd in fds for word in ('--read', str(fd))]],
            pass_fds=fds, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            out, errors = load.communicate(timeout=SLACK + 2 * seconds_of(words))
        except subprocess.TimeoutExpired as error:
            raise Failed('the load generator did not end') from error
        finally:
            machine.end(load)
    if load.returncode != 0:
        raise Failed(f'the load generator: {errors.strip()}')
    result = json.loads(out)
    texts = result.pop('reads')
    before, after = ({name: text[k] for (name, _), text in zip(watched, texts)} for k in (0, 1))
    result.update(used(before, after, result['seconds'], machine.cores))
    return result


def seconds_of(words):
    """The measured time."""
    return float(words[words.index('--seconds') + 1])


def figures(result):
    """The figures that are compared: what a request costs, in microseconds of the server's core."""
    result['rate'] = result['ended'] / result['seconds']
    result.update(costs(result))
    latencies = result.pop('us')
    if result['answers']:
        result.update(latencies)
    result['fault_count'] = sum(result['faults'].values()) + result['unserved']
    return result


def costs(result):
    """Microseconds of the server's core, and of its processes, for a request. Where others were on
    that core, what interrupts cost the server cannot be told from what they cost them: then the
    cost is the time of its processes and of the thread for packets."""
    ended, own = result['ended'], result['own']
    if not ended:
        return {'cost': None, 'own_cost': None}
    crowded = (result['others'] or 0) > FOREIGN * result['seconds']
    core = own + result['interrupts'] if crowded else result['core']
    return {'cost': core / ended * 1e6,
            'own_cost': own / ended * 1e6 if own else None}


def httperf(running, machine, rate, seconds):
    """httperf at a rate; a result like the load generator's."""
    group = dict(readings(running.group, machine.cores['server']))
    before = {name: read(path) for name, path in group.items()}
    began = time.monotonic()
    process = machine.start('load', [
        'httperf', '--hog', '--server', machine.network.host, '--port', str(running.port),
        '--uri', '/2048', '--rate', str(rate), '--num-conns', str(int(rate * seconds)),
        '--num-calls', '1', '--timeout', '2', '--add-header', 'Connection: close\\n'],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=seconds + SLACK)
    except subprocess.TimeoutExpired as error:
        raise Failed('httperf did not end') from error
    finally:
        machine.end(process)
    took = time.monotonic() - began
    after = {name: read(path) for name, path in group.items()}

    def number(pattern):
        found = re.search(pattern, out)
        return float(found.group(1)) if found else None
    replies, duration = number(r'replies (\d+)'), number(r'test-duration ([\d.]+)')
    if not replies or not duration:
        raise Failed(f'httperf: {(out + errors).strip()[-300:]}')
    result = used(before, after, took, machine.cores) | {'seconds': took, 'ended': int(replies)}
    good, wrong = number(r'2xx=(\d+)') or 0, number(r'Errors: total (\d+)') or 0
    return result | costs(result) | {
        'rate': replies / duration,
        'p50': 1e3 * (number(r'median ([\d.]+)') or 0), 'p99': None,
        'mean': 1e3 * (number(r'Connection time \[ms\]: min [\d.]+ avg ([\d.]+)') or 0),
        'most': 1e3 * (number(r'max ([\d.]+) median') or 0),
        'no_descriptor': int(number(r'fd-unavail (\d+)') or 0),
        'fault_count': int(wrong + replies - good),
    }


def measure(machine, shop, server, workload, variant, seconds, rate=None):
    """One cell of a table. `rate`: of an open loop that the workload leaves to us."""
    name, more = variant
    seconds *= workload.longer
    result = {'network': machine.network.name, 'workload': workload.name, 'server': server.name,
              'variant': name}
    try:
        with Running(server, machine, shop, workload) as running:
            body = check(running, workload, server)
            if workload.httperf:
                return result | httperf(running, machine, int(more[1]), seconds)
            words = [*target(server, workload, shop, body), '--seconds', str(seconds), *workload.load,
                     *more]
            if workload.closing:
                words.append('--close')
            if workload.closing or '--idle' in words:
                words += ['--from', ','.join(machine.network.sources)]
            if rate:
                words += ['--rate', f'{rate:.0f}']
                result['asked'] = rate
            result |= figures(drive(running, machine, shop, words))
            if result['ended'] == 0 and not workload.once:
                raise Failed('no answer in the measured time')
            return result
    except Failed as error:
        return result | {'error': str(error)}
