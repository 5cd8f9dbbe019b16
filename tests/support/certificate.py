"""A certificate for servers on loopback.

Must not know: who serves with it, and who verifies it.
"""

import os
import subprocess


def certificate(folder):
    """Makes cert.pem and key.pem for localhost, 127.0.0.1 and ::1 in a folder, once. The path of the certificate, and of the key."""
    path, key = os.path.join(folder, 'cert.pem'), os.path.join(folder, 'key.pem')
    if not os.path.exists(key):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                        '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1', '-keyout', key, '-out', path],
                       capture_output=True, timeout=60, check=True)
    return path, key
