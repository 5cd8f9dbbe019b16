"""How the server ends connections, and what works without /proc. Each check gets a World of its own. Must not know: models."""

import contextlib
import os
import platform
import re
import resource
import socket
from support.connection import all_of
from support.expect import expect
from world import BIG, LIMIT, Control

OPTIONS = ('readTimeout=2s', 'drainTimeout=30s', 'perAddress=none')


def interface():
    """A link-local address of this machine with its interface; None: it has none."""
    with open('/proc/net/if_inet6', encoding='ascii') as file:
        for address, _, _, scope, flags, name in map(str.split, file):
            if scope == '20' and int(flags, 16) & 0x40 == 0:    # not one that is still being tried
                return f'{socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address))}%{name}'
    return None


LINK = interface()
JAIL = (*OPTIONS, 'chroot={root}')      # {root}: fileRoot


def halves(world):
    """A command that does not come to its end in time is answered with 421, also half of one during a transfer, which ends with 426"""
    with Control(world) as c:
        c.socket.sendall(b'NOO')
        c.code(421)
        expect(c.reply()[0] == 0, 'it was not closed')
    world.put('alice/halves', b'old')
    for kind in ('I', 'A'):
        with Control(world) as c:
            c.ask(f'TYPE {kind}', 200)
            with c.passive() as data:
                c.send('STOR halves')
                c.code(150)
                data.sendall(b'new')
                c.socket.sendall(b'STA')
                c.code(426)
                c.code(421)
                expect(c.reply()[0] == 0, 'it was not closed')
    expect(world.get('alice/halves') == b'old', 'the upload is seen')


def endless(world):
    """A line without an end is answered with 500, also during a transfer, before the connection ends"""
    with Control(world) as c:
        c.socket.sendall(b'A' * 4096)
        c.code(500)
        expect(c.reply()[0] == 0, 'it was not closed')
    with Control(world) as c:
        with c.passive() as data:
            c.send('STOR endless')
            c.code(150)
            data.sendall(b'new')
            c.send('A' * 1000)
            c.code(426)
            c.code(221)
            expect(c.reply()[0] == 0, 'it was not closed')
    expect(world.get('alice/endless') is None, 'the upload is seen')


def stops(world):
    """A server that stops says so with 421, to clients whose transfer is under way when it is complete"""
    with Control(world) as idle, Control(world) as busy:
        with busy.passive() as data:
            busy.send('STOR stopped')
            busy.code(150)
            world.server.process.terminate()
            idle.code(421)
            expect(idle.reply()[0] == 0, 'it was not closed')
            data.sendall(b'new')
        busy.code(226)
        busy.code(421)
        expect(busy.reply()[0] == 0, 'it was not closed')
    expect(world.get('alice/stopped') == b'new', 'the upload is not seen')


def cut(world):
    """A transfer that is not complete after drainTimeout is cut without a reply, and so is its client; the old file stays"""
    world.put('alice/cut', b'old')
    with Control(world) as c, c.passive() as data:
        c.send('STOR cut')
        c.code(150)
        data.sendall(b'new')
        world.server.process.terminate()
        expect(all_of(c.socket) in (b'', None), 'there was a reply')
        with contextlib.suppress(ConnectionResetError):
            expect(data.recv(1) == b'', 'the data connection is open')
    world.server.process.wait(LIMIT)
    expect(world.get('alice/cut') == b'old', 'the upload is seen')


def jailed(world):
    """In a chroot without /proc, MFMT and SITE CHMOD change files; the latter by a call that Linux has since 6.6"""
    world.put('alice/jailed', b'x')
    has = [int(n) for n in re.findall(r'\d+', platform.release())[:2]] >= [6, 6]
    with Control(world) as c:
        c.ask('MFMT 20200102030405 jailed', 213)
        c.ask('SITE CHMOD 604 jailed', 200 if has else 550)
    about = os.stat(world.path('alice/jailed'))
    expect(about.st_mtime == 1577934245 and (not has or about.st_mode & 0o777 == 0o604), str(about))


def full(world):
    """An upload for which there is no room is answered with 552, and logged with the bytes that came; the old file stays"""
    world.put('alice/full', b'old')
    most = 3_000_000
    with Control(world) as c:
        for pid in world.server.family():   # now there is one that serves
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        data = c.passive()
        c.send('STOR full')
        c.code(150)
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            data.sendall(BIG)
        c.code(552)
        data.close()
        c.ask('QUIT', 221)
        expect(c.reply()[0] == 0, 'it was not closed')
    with open(world.log, encoding='ascii') as file:
        sizes = re.findall(r' (\d+) /alice/full b _ i r alice ftp 0 \* i\n', file.read())
    expect(len(sizes) == 1 and most - 1024 * 1024 <= int(sizes[0]) <= most, f'{sizes}')
    expect(world.get('alice/full') == b'old', 'the upload is seen')


def linked(world):
    """Data goes both ways over link-local addresses of IPv6, which peers have with their interface"""
    world.put('alice/linked', b'linked')
    port = int(re.search(r'\[fe80:[^\]]*\]:(\d+)', world.server.ready)[1])
    number, _, name = LINK.partition('%')
    with Control(world, at=(LINK, port)) as c, socket.socket(socket.AF_INET6) as door:
        door.bind((number, 0, 0, socket.if_nametoindex(name)))
        door.listen()
        own = door.getsockname()[1]
        for host in (number, LINK):
            c.ask(f'EPRT |2|{host}|{own}|', 200)
            c.send('RETR linked')
            c.code(150)
            with door.accept()[0] as data:
                expect(all_of(data) == b'linked', f'EPRT {host}')
            c.code(226)
        with c.passive() as data:
            c.send('RETR linked')
            c.code(150)
            expect(all_of(data) == b'linked', 'EPSV')
        c.code(226)
        c.ask(f'EPRT |2|fe80::1:2:3:4|{own}|', 501)
        c.ask(f'EPRT |2|fe80::1:2:3:4%{name}|{own}|', 501)


def durable(world, syncs):
    """What the disk does not keep is not said to be complete, and the old file stays; with --no-sync the server does not wait for the disk"""
    code, text = (451, b'old') if syncs else (226, b'new')
    with Control(world) as c:
        for kind, verb, whole in (('I', 'STOR', text), ('A', 'STOR', text), ('I', 'APPE', b'old' if syncs else b'oldnew')):
            world.put('alice/durable', b'old')
            c.ask(f'TYPE {kind}', 200)
            data = c.passive()
            c.send(f'{verb} durable')
            c.code(150)
            data.sendall(b'new')
            data.close()
            c.code(code)
            expect(world.get('alice/durable') == whole, f'{kind} {verb}: {world.get("alice/durable")}')


ALL = ((halves, OPTIONS), (endless, OPTIONS), (stops, OPTIONS), (cut, ('drainTimeout=1s', 'perAddress=none')), (jailed, JAIL), (full, OPTIONS),
       *([(linked, (*OPTIONS, f'listen=127.0.0.1:0 [::1]:0 [{LINK}]:0'))] if LINK else []))
