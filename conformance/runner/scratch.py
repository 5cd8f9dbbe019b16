"""Temporary folders, removed when they are done with, unless they are to be kept.

Must not know: what is put into them.
"""

import contextlib
import shutil
import tempfile

_state = {'root': None, 'keep': False}


def begin(keep):
    """Makes the folder in which all others will be; its path."""
    _state.update(root=tempfile.mkdtemp(prefix='nest-conformance-'), keep=keep)
    return _state['root']


def end():
    """Removes what is left."""
    if not _state['keep']:
        shutil.rmtree(_state['root'], ignore_errors=True)


def make(kind):
    """A new folder, of which the caller disposes."""
    return tempfile.mkdtemp(prefix=kind + '-', dir=_state['root'])


def dispose(folder):
    """The folder is not needed any more."""
    if not _state['keep']:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def folder(kind):
    """A folder for the time of a block."""
    path = make(kind)
    try:
        yield path
    finally:
        dispose(path)
