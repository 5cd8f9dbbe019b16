"""A server and its clients in two network namespaces, joined by a veth pair, and the clients' load.

The server's processes and the softirq of its end (RPS) are on CPU 0, the clients and the softirq of their end on the last one.

Must not know: which servers there are, what is compared.
"""

import contextlib
import os
import re
import subprocess
from common import driver, processes
from common.processes import Failed

SERVER, CLIENT = '10.98.0.1', '10.98.0.2'
SERVER_CORE, LOAD_CORE = 0, (os.cpu_count() or 1) - 1
WAIT = 60
UNITS = {'us': 1e-6, 'ms': 1e-3, 's': 1.0, 'm': 60.0}


class Context(driver.Context):
    """What the experiments get: the network too, which is made at the first use and ends with this process."""

    def __init__(self, args, folder):
        super().__init__(args, folder)
        self.made = None

    @property
    def net(self):
        """The network."""
        self.made = self.made or Network()
        return self.made

    @property
    def seconds(self):
        """How long one measurement loads a server."""
        return 2 if self.quick else 4

    @property
    def rounds(self):
        """How many times each measurement is made, in turns."""
        return 1 if self.quick else 3


def run(*words):
    """Runs a tool; Failed if it cannot."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=WAIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f'{words[0]}: {error}') from None
    if done.returncode:
        raise Failed(f'{" ".join(words)}: {done.stderr.strip()[-200:]}')
    return done.stdout


class Network:
    """The two namespaces. They have no names in the file system: each is held by a process that sleeps, so they end with us."""

    def __init__(self):
        if os.geteuid():
            raise Failed('root is needed, for namespaces and for the kernel part')
        self.holders = [processes.start(['unshare', '--net', 'sleep', 'infinity'], stdin=subprocess.DEVNULL) for _ in range(2)]
        for holder in self.holders:
            own = os.readlink('/proc/self/ns/net')
            processes.until(lambda at=holder.pid: os.readlink(f'/proc/{at}/ns/net') != own, 'unshare makes no namespace')
        server, client = (holder.pid for holder in self.holders)
        run(*self.inside(server), 'ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', str(client))
        for pid, device, address, core in ((server, 'near', SERVER, SERVER_CORE), (client, 'far', CLIENT, LOAD_CORE)):
            for words in (('link', 'set', 'lo', 'up'), ('address', 'add', f'{address}/24', 'dev', device), ('link', 'set', device, 'up')):
                run(*self.inside(pid), 'ip', *words)
            # sysfs shows the devices of the namespace in which it was mounted.
            run(*self.inside(pid), 'unshare', '--mount', 'sh', '-c', 'mount -t sysfs none /sys && '
                f'echo {1 << core:x} >/sys/class/net/{device}/queues/rx-0/rps_cpus && '
                'sysctl -q net.ipv4.ip_local_port_range="1024 65535" net.ipv4.tcp_tw_reuse=1')

    @staticmethod
    def inside(pid):
        """What runs a command in the namespace of a process."""
        return ['nsenter', f'--net=/proc/{pid}/ns/net']

    def serving(self, words):
        """The command in the server's namespace, on its core."""
        return [*self.inside(self.holders[0].pid), 'taskset', '-c', str(SERVER_CORE), *words]

    def asking(self, words):
        """The command in the clients' namespace, on their core."""
        return [*self.inside(self.holders[1].pid), 'taskset', '-c', str(LOAD_CORE), *words]

    @contextlib.contextmanager
    def limited(self, rate):
        """The link carries at most `rate` Mb/s each way; None: no limit."""
        ends = [(self.holders[0].pid, 'near'), (self.holders[1].pid, 'far')] if rate else []
        for pid, device in ends:
            # A bucket of 2 ms, or of a packet that the device need not part.
            run(*self.inside(pid), 'tc', 'qdisc', 'add', 'dev', device, 'root', 'tbf', 'rate', f'{rate}mbit',
                'burst', str(max(rate * 250, 70_000)), 'latency', '100ms')
        try:
            yield
        finally:
            for pid, device in ends:
                run(*self.inside(pid), 'tc', 'qdisc', 'delete', 'dev', device, 'root')

    def load(self, server, path, seconds, clients, *more):
        """What wrk sees: answers a second, MB a second, seconds of latency at the median and the 99th percentile; `each`: answers for
        each second that the server's core was busy. Failed if an answer was wrong."""
        words = ['wrk', '-t1', f'-c{clients}', f'-d{seconds}', '--timeout', '10', '--latency', *more,
                 f'http://{SERVER}:{server.port}{path}']
        before = busy()
        try:
            said = subprocess.run(self.asking(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  timeout=seconds + WAIT).stdout
        except subprocess.TimeoutExpired:
            raise Failed('wrk does not end') from None
        used = busy() - before
        found = {name: re.search(pattern, said) for name, pattern in
                 {'rate': r'Requests/sec:\s+([\d.]+)', 'count': r'(\d+) requests in', 'half': r'50%\s+([\d.]+)(us|ms|s|m)',
                  'most': r'99%\s+([\d.]+)(us|ms|s|m)'}.items()}
        wrong = re.search(r'Non-2xx.*|Socket errors:.*', said)
        if not all(found.values()) or (wrong and re.search(r'Non-2xx|read [1-9]|write [1-9]', wrong[0])):
            raise Failed(f'{server.label}: wrk says {(wrong[0] if wrong else said[-200:])!r}')
        rate, count = float(found['rate'][1]), int(found['count'][1])
        return {'rate': rate, 'each': count / used if used else None,
                **{name: float(found[name][1]) * UNITS[found[name][2]] for name in ('half', 'most')}}


def busy():
    """Seconds that the server's core has worked, in processes and for the network."""
    with open('/proc/stat', encoding='ascii') as file:
        fields = next(line.split() for line in file if line.startswith(f'cpu{SERVER_CORE} '))
    user, nice, system, _, _, irq, softirq, *_ = map(int, fields[1:])
    return (user + nice + system + irq + softirq) / os.sysconf('SC_CLK_TCK')
