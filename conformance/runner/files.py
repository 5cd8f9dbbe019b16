"""The files below fileRoot: creates them for a server and checks them when it has ended.

The file `outside/secret` is beside the root; no server may ever show or change it. Must not know:
conversations, servers.
"""

import os
from . import literal

SECRET = b'outside of fileRoot\n'


def make(case, base):
    """Creates the root, a new folder in `base`, with the files of the case. Returns its path."""
    outside = os.path.join(base, 'outside')
    os.mkdir(outside)
    with open(os.path.join(outside, 'secret'), 'wb') as file:
        file.write(SECRET)
    root = os.path.join(base, 'root')
    os.mkdir(root)
    for path, data in case.root.items():
        whole = os.path.join(root, path)
        if path.endswith('/'):
            os.makedirs(whole, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, 'wb') as file:
            file.write(data)
    for path, target in case.links.items():
        whole = os.path.join(root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        os.symlink(target, whole)
    return root


def wrong(case, base):
    """The difference between the case and the files after the server has ended; None if there is
    none."""
    with open(os.path.join(base, 'outside', 'secret'), 'rb') as file:
        if file.read() != SECRET or os.listdir(os.path.join(base, 'outside')) != ['secret']:
            return 'what lies outside of fileRoot has changed'
    wanted = {path: data for path, data in {**case.root, **case.after}.items()
              if path not in case.absent and not path.endswith('/')}
    root = os.path.join(base, 'root')
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            whole = os.path.join(folder, name)
            path = os.path.relpath(whole, root)
            if os.path.islink(whole):
                if case.links.get(path) != os.readlink(whole):
                    return f'{path} has become a link'
                continue
            with open(whole, 'rb') as file:
                found[path] = file.read()
    wrong = _varying(case, found, wanted)
    if wrong:
        return wrong
    for path in sorted(set(wanted) | set(found)):
        if path not in found:
            return f'the file {path} is missing'
        if path not in wanted:
            return f'the file {path} was left: {_short(found[path])}'
        if found[path] != wanted[path]:
            return (f'the file {path} differs\n  expected: {_short(wanted[path])}'
                    f'\n  found:    {_short(found[path])}')
    for path in case.links:
        if not os.path.islink(os.path.join(root, path)) and path not in found:
            return f'the link {path} is gone'
    return None


def _varying(case, found, wanted):
    """Removes from `found` the files that match patterns of the case. Returns an error or None."""
    unseen = list(case.patterns)
    for path in sorted(set(found) - set(wanted)):
        shapes = [shape for shape in case.patterns if shape[0].fullmatch(path)]
        fits = [shape for shape in shapes if shape[1].fullmatch(found[path])]
        if shapes and not fits:
            return f'the file {path} is like none that is expected: {_short(found[path])}'
        unseen = [shape for shape in unseen if shape not in fits]
        if fits:
            del found[path]
    return f'there is no file like {unseen[0][0].pattern}' if unseen else None


def _short(data):
    text = literal.escape(data[:200])
    return text if len(data) <= 200 else f'{text} ... ({len(data)} bytes)'
