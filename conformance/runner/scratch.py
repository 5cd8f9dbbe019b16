"""Temporary folders, removed after use unless they shall be kept.

Must not know: their contents.
"""

import contextlib
import shutil
import tempfile

_state = {'root': None, 'keep': False}


def begin(keep):
    """Creates the folder that contains all others and returns its path."""
    _state.update(root=tempfile.mkdtemp(prefix='nest-conformance-'), keep=keep)
    return _state['root']


def end():
    """Removes what is left."""
    if not _state['keep']:
        shutil.rmtree(_state['root'], ignore_errors=True)


def make(kind):
    """A new folder, which the caller removes."""
    return tempfile.mkdtemp(prefix=kind + '-', dir=_state['root'])


def dispose(folder):
    """Removes a folder that is not needed any more."""
    if not _state['keep']:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def folder(kind):
    """A folder for the duration of a block."""
    path = make(kind)
    try:
        yield path
    finally:
        dispose(path)
