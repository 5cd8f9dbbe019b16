#!/usr/bin/env python3
"""Opens connections, asks once on each, says so, and holds them: holder.py ADDRESS PORT PATH NUMBER."""

import resource
import signal
import socket
import sys

address, port, path, number = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for _ in range(number):
    client = socket.create_connection((address, port), timeout=20)
    client.sendall(f'GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n'.encode())
    data = b''
    while b'\r\n\r\n' not in data or len(data.partition(b'\r\n\r\n')[2]) < int(path[1:]):
        part = client.recv(65536)
        if not part:
            sys.exit('the server closes')
        data += part
    held.append(client)
print('ready', flush=True)
signal.pause()
