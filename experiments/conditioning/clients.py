"""The files that are served, and requests for sets of files as SPECweb99 draws them.

Must not know: servers.
"""

import os

SIZES = [100, 1000, 5000, 10000, 50000, 100000, 500000, 1000000]


def make_site(folder):
    """Files whose names are their sizes."""
    os.makedirs(folder, mode=0o755)
    for size in SIZES:
        with open(f'{folder}/{size}', 'wb') as file:
            file.write(b'x' * size)
