"""What tests do with a connected socket.

Must not know: what is on the other side.
"""

import socket
import struct


def all_of(connection):
    """What comes until the end; None if it ends by a reset."""
    out = bytearray()
    try:
        while chunk := connection.recv(65536):
            out += chunk
    except ConnectionResetError:
        return None
    return bytes(out)


def exactly(connection, n):
    """n bytes, or fewer at the end."""
    out = bytearray()
    while len(out) < n and (chunk := connection.recv(n - len(out))):
        out += chunk
    return bytes(out)


def reset(connection):
    """Ends a connection by a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    connection.close()
