"""Whether the kernel gives programs io_uring as servers of the uring model need it: Linux 6.1, and no rule of a
container against it.

Must not know: servers.
"""

import ctypes
import functools
import os

SETUP = 425                                     # the number of io_uring_setup, the same on x86-64 and AArch64
SINGLE_ISSUER, DEFER_TASKRUN = 1 << 12, 1 << 13


@functools.cache
def available():
    """True: it does."""
    parameters = (ctypes.c_uint32 * 30)()       # struct io_uring_params; the third word is for flags
    parameters[2] = SINGLE_ISSUER | DEFER_TASKRUN
    fd = ctypes.CDLL(None).syscall(SETUP, 1, parameters)
    if fd >= 0:
        os.close(fd)
    return fd >= 0
