"""The machine: networks between server and load, groups of processes, what a core did.

Whatever is made here carries this process's id in its name, is remembered, and is removed by
`Machine.close`; what a killed run has left is removed by the next. Must not know: servers, loads.
"""

import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, PR_SET_PDEATHSIG = 0x40000000, 1
PREFIX = 'nestbench-'
CPUACCT, UNIFIED = '/sys/fs/cgroup/cpuacct', '/sys/fs/cgroup'
TICK = os.sysconf('SC_CLK_TCK')
FOREIGN = .02                           # of a core: others that a reader must be told of
STOP = 5                                # seconds that a server has to end


class Failed(Exception):
    """A step of a measurement did not work; the measurement says so and the next one begins."""


def read(path):
    """A small file, '' if it is not there."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def command(*words):
    """Runs a tool of the system; Failed if it cannot."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=30)
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}: {done.stderr.strip()}')
    return done.stdout


def gone(name):
    """Whether a name of PREFIX is of a run that is no more."""
    found = re.match(PREFIX + r'(\d+)-', name)
    return found is not None and not os.path.exists(f'/proc/{found.group(1)}')


def clear_folders(base):
    """Removes what killed runs have left in the folder of temporary files."""
    for name in os.listdir(base):
        if gone(name):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


class Loopback:
    """Server and load share this system's loopback; packets are handled on the sender's core."""

    name, host = 'loopback', '127.0.0.1'
    sources = [f'127.0.0.{i}' for i in range(2, 10)]    # so that ports do not run out

    def enter(self, side):
        """In a child: nothing is to be done."""

    def inside(self, work):
        """What `work` gives, run where the load is."""
        return work()

    def close(self):
        """Nothing was made."""


class Veth:
    """A namespace each for server and load, joined by veth. Packets are handled on the core of who
    receives them (RPS), so the server's core carries all that a request costs its side."""

    name, host = 'veth', '10.99.0.1'
    sources = [f'10.99.0.{i}' for i in range(2, 10)]
    settings = {'net/core/somaxconn': '4096', 'net/ipv4/tcp_max_syn_backlog': '4096',
                'net/ipv4/ip_local_port_range': '1024 64999', 'net/ipv4/tcp_tw_reuse': '1'}

    def __init__(self, cores):
        for name in os.listdir('/run/netns') if os.path.isdir('/run/netns') else []:
            if gone(name):
                command('ip', 'netns', 'del', name)
        self.spaces = {side: f'{PREFIX}{os.getpid()}-{side}' for side in ('server', 'load')}
        self.made = []
        try:
            self.make(cores)
        except BaseException:
            self.close()
            raise

    def make(self, cores):
        """The two ends, their addresses, and who handles what they receive."""
        for space in self.spaces.values():
            command('ip', 'netns', 'add', space)
            self.made.append(space)
            command('ip', '-n', space, 'link', 'set', 'lo', 'up')
            for name, value in self.settings.items():
                command('ip', 'netns', 'exec', space, 'sh', '-c',
                        f'echo {value} > /proc/sys/{name}')
        command('ip', 'link', 'add', 'server', 'netns', self.spaces['server'], 'type', 'veth',
                'peer', 'name', 'load', 'netns', self.spaces['load'])
        for side, addresses in (('server', [self.host]), ('load', self.sources)):
            space = self.spaces[side]
            for address in addresses:
                command('ip', '-n', space, 'address', 'add', f'{address}/24', 'dev', side)
            command('ip', '-n', space, 'link', 'set', side, 'up')
            command('ip', 'netns', 'exec', space, 'sh', '-c',
                    f'for queue in /sys/class/net/{side}/queues/rx-*; do '
                    f'echo {1 << cores[side]:x} > $queue/rps_cpus; done')

    def enter(self, side):
        """In a child, or a thread: what it does from here on, it does there."""
        with open(f'/run/netns/{self.spaces[side]}', 'rb') as file:
            if LIBC.setns(file.fileno(), CLONE_NEWNET) == -1:
                raise OSError(ctypes.get_errno(), 'setns')

    def inside(self, work):
        """What `work` gives, run where the load is: in a thread of its own, which moves there."""
        out = []

        def moved():
            try:
                self.enter('load')
                out.append((work(), None))
            except Exception as error:          # raised again in the caller
                out.append((None, error))
        thread = threading.Thread(target=moved)
        thread.start()
        thread.join()
        if out[0][1] is not None:
            raise out[0][1]
        return out[0][0]

    def close(self):
        """Removes both."""
        while self.made:
            command('ip', 'netns', 'del', self.made.pop())


class Group:
    """The processes of one server: a control group where one can be made, else a session."""

    def __init__(self):
        self.path, self.usage, self.sessions = None, None, []
        if os.geteuid() != 0:
            return
        accounting = os.path.isdir(CPUACCT)
        base = CPUACCT if accounting else UNIFIED
        for name in os.listdir(base):
            if gone(name):
                kill_group(os.path.join(base, name))
        path = os.path.join(base, f'{PREFIX}{os.getpid()}-server')
        try:
            os.mkdir(path)
        except OSError as error:
            print(f'bench: no control group: {error}', file=sys.stderr)
            return
        self.path = path
        self.usage = os.path.join(path, 'cpuacct.usage' if accounting else 'cpu.stat')

    def enter(self):
        """In a child, before it runs the server."""
        os.setsid()
        if self.path:
            with open(os.path.join(self.path, 'cgroup.procs'), 'w', encoding='ascii') as file:
                file.write(str(os.getpid()))

    def members(self):
        """The ids of its processes."""
        if self.path:
            return [int(pid) for pid in read(os.path.join(self.path, 'cgroup.procs')).split()]
        out = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                fields = read(f'/proc/{name}/stat').rpartition(')')[2].split()
                if len(fields) > 3 and int(fields[3]) in self.sessions and fields[0] != 'Z':
                    out.append(int(name))
        return out

    def close(self):
        """Ends what is left of it."""
        if self.path:
            kill_group(self.path)
        else:
            kill(self.members)


def kill(members):
    """Kills those of a group until it is empty."""
    end = time.monotonic() + STOP
    while (pids := members()) and time.monotonic() < end:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(.02)


def kill_group(path):
    """Kills the processes of a control group and removes it."""
    kill(lambda: [int(pid) for pid in read(os.path.join(path, 'cgroup.procs')).split()])
    for _ in range(50):
        try:
            os.rmdir(path)
            return
        except OSError:
            time.sleep(.02)


class Machine:
    """Two cores, a network, and all that runs for a measurement."""

    def __init__(self, network, cores):
        self.cores = cores
        self.network = Veth(cores) if network == 'veth' else Loopback()
        self.running = []

    def start(self, side, words, group=None, **more):
        """Starts a program on its side's core and network. It dies with us."""
        core, network, parent = self.cores[side], self.network, os.getpid()

        def prepare():
            if group:
                group.enter()
            network.enter(side)
            os.sched_setaffinity(0, {core})
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        try:
            process = subprocess.Popen(words, preexec_fn=prepare, **more)
        except (OSError, subprocess.SubprocessError) as error:
            raise Failed(f'cannot run {words[0]}: {error}') from error
        if group:
            group.sessions.append(process.pid)
        self.running.append(process)
        return process

    def end(self, process):
        """Ends a program that `start` started, gently if it lets us."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process in self.running:
            self.running.remove(process)

    def free_port(self):
        """A port where the server will listen; who else takes it meanwhile makes the start fail."""
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            return probe.getsockname()[1]

    def close(self):
        """Ends and removes all."""
        for process in list(self.running):
            self.end(process)
        self.network.close()


def interrupts_of(core):
    """Where the kernel's thread that handles a core's packets, when there are many, counts its time;
    '' if that cannot be seen."""
    for name in os.listdir('/proc'):
        if name.isdigit() and read(f'/proc/{name}/comm') == f'ksoftirqd/{core}\n':
            path = f'/proc/{name}/schedstat'
            return path if os.path.exists(path) else ''
    return ''


def readings(group, core):
    """Files that say what the server's core and its processes have done: name, path."""
    out = [('stat', '/proc/stat')]
    interrupts = interrupts_of(core)
    if interrupts:
        out.append(('interrupts', interrupts))
    if group.usage:
        out.append(('own', group.usage))
    if group.usage and os.path.isdir(CPUACCT):
        out.append(('all', os.path.join(CPUACCT, 'cpuacct.usage_percpu')))
    return out


def own_seconds(text):
    """Processor time of a control group."""
    found = re.search(r'usage_usec (\d+)', text)
    return int(found.group(1)) / 1e6 if found else int(text) / 1e9


def nanoseconds(before, after, name, field):
    """Seconds between two readings of a file of nanoseconds; 0 if it was not read."""
    if name not in before:
        return 0
    return (int(after[name].split()[field]) - int(before[name].split()[field])) / 1e9


def core_of(text, core):
    """(idle, stolen) seconds of a core since the system began."""
    fields = re.search(rf'^cpu{core} (.*)', text, re.M).group(1).split()
    return (int(fields[3]) + int(fields[4])) / TICK, int(fields[7]) / TICK


def used(before, after, seconds, cores):
    """What was used between two readings: seconds of the core that was busy with the server, of its
    processes, of the thread for packets, of others on its core; shares of cores that were busy."""
    idle, stolen = {}, 0
    for side, core in cores.items():
        first, last = core_of(before['stat'], core), core_of(after['stat'], core)
        idle[side] = last[0] - first[0]
        stolen += last[1] - first[1]
    busy = max(0, seconds - idle['server'])
    own = own_seconds(after['own']) - own_seconds(before['own']) if 'own' in before else None
    interrupts = nanoseconds(before, after, 'interrupts', 0)
    others, unexplained = None, None
    if 'all' in before:
        every = nanoseconds(before, after, 'all', cores['server'])
        others = max(0, every - own - interrupts)
    elif own is not None: # others, or interrupts while no process ran
        unexplained = max(0, busy - own - interrupts)
    return {
        'core': busy - (others or 0),
        'own': own,
        'interrupts': interrupts,
        'others': others,
        'unexplained': unexplained,
        'server_busy': busy / seconds,
        'load_busy': max(0, 1 - idle['load'] / seconds),
        'stolen': stolen / seconds,
    }


def describe():
    """What a reader must know of this machine to compare."""
    model = re.search(r'^model name\s*:\s*(.*)', read('/proc/cpuinfo'), re.M)
    memory = re.search(r'^MemTotal:\s*(\d+)', read('/proc/meminfo'), re.M)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', read('/etc/os-release'), re.M)
    compiler = shutil.which('cc') and command('cc', '--version').splitlines()[0]
    return {
        'processor': model.group(1).strip() if model else os.uname().machine,
        'cores': os.cpu_count(),
        'memory_mb': int(memory.group(1)) // 1024 if memory else None,
        'virtual': 'hypervisor' in read('/proc/cpuinfo'),
        'kernel': os.uname().release,
        'system': system.group(1) if system else '',
        'compiler': compiler or '',
        'load': read('/proc/loadavg').split()[:3],
    }
