"""Runs a program for which the kernel refuses io_uring, as containers do.

seccomp.py ERRNO PROGRAM [ARGUMENT...]; ERRNO: a name, as in EPERM.
"""
import ctypes
import errno
import os
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'conformance'))
from runner.rings import SETUP                                      # noqa: E402

NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2   # of prctl
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06          # of a BPF program: load the number, jump if equal, return
ALLOW, ERROR = 0x7fff0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('instructions', ctypes.c_void_p)]


def refuse(error):
    """Has the kernel answer io_uring_setup with this number, in this process and its children."""
    code = b''.join(struct.pack('HBBI', *row) for row in (
        (LOAD, 0, 0, 0), (EQUAL, 0, 1, SETUP), (RETURN, 0, 0, ERROR | error), (RETURN, 0, 0, ALLOW)))
    memory = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), 'prctl')


if __name__ == '__main__':
    refuse(getattr(errno, sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
