"""Whether `nest accelerate` can work on this machine.

Must not know: who asks.
"""

import os
import shutil
import subprocess


def lacks(nest):
    """What is missing, as a sentence; None if nothing is."""
    if os.geteuid() != 0:
        return 'needs root'
    if not shutil.which('nginx', path=os.environ.get('PATH', '') + ':/usr/sbin'):
        return 'needs nginx'
    # With a socket that cannot be made, it looks at the system and starts nothing.
    told = subprocess.run([nest, 'accelerate', '--port', '1', '--root', '/', '--state', '/nonexistent/state', '--',
                           'true'], capture_output=True, text=True, timeout=60, check=False)
    return told.stderr.strip() if told.returncode == 69 else None
