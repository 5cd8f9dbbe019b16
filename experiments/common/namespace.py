"""A network namespace of the experiment's own, with a loopback alone.

A client's port rests for a minute after its connection (TIME-WAIT). Clients that share one address have used all ports
long before, so the namespace lets few of them rest: nothing is delayed on a loopback that could come late.
Must not know: what is measured.
"""

import os
import sys

INSIDE = 'EXPERIMENT_NAMESPACE'         # set in the environment of the program that runs in it
PREPARE = ('ip link set lo up && sysctl -q net.ipv4.ip_local_port_range="1024 65535" net.ipv4.tcp_max_tw_buckets=4096 && '
           'exec "$@"')


def enter():
    """Runs this program again inside, unless it is. Returns inside; does not return elsewhere."""
    if INSIDE in os.environ:
        return
    rights = [] if os.geteuid() == 0 else ['--map-root-user']
    words = ['unshare', '--net', *rights, 'sh', '-c', PREPARE, 'sh', sys.executable, *sys.argv]
    os.execvpe(words[0], words, {**os.environ, INSIDE: '1'})
