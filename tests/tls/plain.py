"""A server that does not encrypt contains nothing of it, and needs no library for it.

Must not know: how a server encrypts.
"""

import os
import re
from support.cases import built
from support.expect import same
from support.nest import run

SPEC = '%option eventServer 10\n%%\n"QUIT\\n" { $close(); }\n'
OURS = re.compile(r'tls|shake|ssl|ticket|\bnest__deep|\bpair_', re.IGNORECASE)


def parts(exe):
    """The symbols of a server that belong to encryption, and the libraries."""
    symbols = [line.split()[-1] for line in run(['nm', exe]).splitlines() if line]
    libraries = [line.split()[0] for line in run(['ldd', exe]).splitlines() if line]
    return ([name for name in symbols if OURS.search(name)],
            [name for name in libraries if name.startswith(('libssl', 'libcrypto'))])


def absent(nest, model, folder):
    """The same specification, with the option and without."""
    bare = parts(built(nest, model, SPEC, os.path.join(folder, f'bare-{model}')))
    same('symbols and libraries of a server without TLS', bare, ([], []))
    symbols, libraries = parts(built(nest, model, f'%option tls one.pem one.key\n{SPEC}', os.path.join(folder, f'with-{model}')))
    same('symbols and libraries of a server with it', (len(symbols) > 20, len(libraries)), (True, 2))
