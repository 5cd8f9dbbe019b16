"""What functions of %encode do to the output of a server: zlib compresses it; large files, slow clients, resets,
expansion, ends and failures.

Must not know: how a server calls the functions.
"""

import os
import random
import socket
import struct
import subprocess
import time
import zlib

from support.expect import same, until
from support.nest import Failed
from support.server import Client
from links import Link, context
from pair import INFLATE, MOST, Stream, own

DEFLATE = r'''
%{
struct deflating { z_stream z; int begun; };
static int compress_more(nest_stage *stage, struct deflating *it) {
    if (stage->over) {
        if (it->begun) deflateEnd(&it->z);
        fputs("let go\n", stderr);
        return 0;
    }
    if (!it->begun && deflateInit(&it->z, Z_DEFAULT_COMPRESSION) != Z_OK) return -1;
    it->begun = 1;
    it->z.next_in = (Bytef *)(uintptr_t)stage->in;
    it->z.avail_in = (uInt)stage->in_n;
    it->z.next_out = stage->out;
    it->z.avail_out = (uInt)stage->out_n;
    int result = deflate(&it->z, stage->end ? Z_FINISH : stage->flush ? Z_SYNC_FLUSH : Z_NO_FLUSH);
    stage->took = stage->in_n - it->z.avail_in;
    stage->gave = stage->out_n - it->z.avail_out;
    return result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END ? 0 : -1;
}
%}
%encode deflate(compress_more, struct deflating)
'''
BOTH = INFLATE.replace('%decode', DEFLATE + '%decode')
RULES = r'''
START          { $join("all"); }
END            { fprintf(stderr, "end %s.\n", $reasonText()); $reply("bye\n"); }
"QUIT" NL      { $reply("Goodbye.\n"); $close(); }
"FILE" NL      { $fileReply("data"); $reply("sent\n"); }
"MANY" NL      { for (int i = 0; i < 5000; i++) $reply("%d,", i); $reply("\n"); }
"ALL" NL       { $broadcastAll("all", "everybody\n"); }
"ASK" NL       { $reply("what? "); char *line = $readLine(100); $reply("read ", line == NULL ? "nothing" : line, "\n"); }
"SLEEP" NL     { $reply("wait\n"); $sleep(200ms); $reply("done\n"); }
"START" NL     { $reply("go on\n"); if ($tls() == NEST_TLS_READY) { $startTLS(); } }
[^\r\n]{0,7000} NL { $reply($1, "\n"); }
'''
HEAD = '%option eventServer 100\n%option fileRoot .\n%option outputBuffer 64K\n%option tls one.pem one.key\n'
SPEC = HEAD + BOTH + RULES.replace('$startTLS();', '')
LATER = HEAD + BOTH + RULES
EXPANDING = r'''
%option eventServer 100
%option outputBuffer 64K
%option tls one.pem one.key
%{
#include <string.h>
#include <stdint.h>
/* Each '*' becomes 2^20 times '*', and the end 2^22 times '#'; nothing else is changed, but '!' is refused. */
struct growing { uint64_t left; int ended; };
static int grow(nest_stage *stage, struct growing *it) {
    while (stage->gave < stage->out_n) {
        size_t room = stage->out_n - stage->gave, n = it->left < room ? (size_t)it->left : room;
        if (n > 0) {
            memset(stage->out + stage->gave, it->ended ? '#' : '*', n);
            stage->gave += n;
            it->left -= n;
        } else if (stage->took < stage->in_n) {
            uint8_t c = stage->in[stage->took++];
            if (c == '!') return -1;
            if (c == '*') it->left = (uint64_t)1 << 20;
            else stage->out[stage->gave++] = c;
        } else if (stage->end && !it->ended) {
            it->ended = 1;
            it->left = (uint64_t)1 << 22;
        } else {
            break;
        }
    }
    return 0;
}
/* Takes one byte in a call, and keeps it until the next one, or until it is asked for it. */
struct keeping { uint8_t c; int has; };
static int keep(nest_stage *stage, struct keeping *it) {
    for (;;) {
        if (it->has && stage->gave < stage->out_n && (stage->took < stage->in_n || stage->flush || stage->end)) {
            stage->out[stage->gave++] = it->c;
            it->has = 0;
        }
        if (it->has || stage->took == stage->in_n) return 0;
        it->c = stage->in[stage->took++];
        it->has = 1;
    }
}
%}
%encode grow(grow, struct growing)
%encode keep(keep, struct keeping)
NL "\r"?"\n"
%%
END { fprintf(stderr, "end %s.\n", $reasonText()); }
"QUIT" NL { $reply("Goodbye.\n"); $close(); }
[^\r\n]* NL { $reply($1, "\n"); }
'''.replace('#include <string.h>', '#include <stdio.h>\n#include <string.h>')
FLUSHED = b'\0\0\xff\xff'  # the end of what zlib flushes
FILE = 12 << 20         # bytes of the large file


class Zipped:
    """What a client says and gets, both compressed."""

    def __init__(self, link):
        self.link, self.stream, self.it, self.text = link, Stream(), zlib.decompressobj(), b''

    def send(self, data, singly=False):
        """Compresses and sends it."""
        data = self.stream(data)
        for i in range(0, len(data), 1 if singly else len(data)):
            self.link.send(data[i:i + 1] if singly else data)

    def more(self, most):
        """Adds what comes to its text; False: nothing follows."""
        data = self.link.take(most)
        self.text += self.it.decompress(data)
        return data != b''

    def expect(self, data, most=1):
        """The next bytes must be these; `most`: encoded bytes that are received at once."""
        while len(self.text) < len(data) and self.more(most):
            pass
        got, self.text = self.text[:len(data)], self.text[len(data):]
        if got != data:
            raise Failed(f'expected {data[:100]!r}\nreceived {got[:100]!r}')

    def end(self, data):
        """The rest must be this, and the compressed stream whole."""
        while self.more(1 << 16):
            pass
        same('the end', self.text, data)
        same('the stream is whole, and nothing follows', (self.it.eof, self.it.unused_data), (True, b''))


def content():
    """Of a file: parts that can be compressed, and parts that cannot."""
    draw, text = random.Random(1), bytearray()
    while len(text) < FILE:
        text += draw.randbytes(300000) + b'nest ' * 60000
    return bytes(text[:FILE])


def told(server, what, times=1):
    """Waits until it is on stderr so often."""
    until(f'{what} is told {times} times', lambda: server.said().count(what) == times)


# -- compressed


def talk(zipped, singly):
    """Every kind of reply, each of which comes without another request."""
    zipped.send(b'abc\n', singly)
    zipped.expect(b'abc\n')
    zipped.send(b'ASK\n', singly)
    zipped.expect(b'what? ')
    zipped.send(b'yes\n' + b'x' * 7000 + b'\n', singly)
    zipped.expect(b'read yes\n' + b'x' * 7000 + b'\n')
    zipped.send(b'SLEEP\n', singly)
    zipped.expect(b'wait\ndone\n')
    zipped.send(b'MANY\n', singly)
    zipped.expect(b''.join(b'%d,' % i for i in range(5000)) + b'\n')
    zipped.send(b'line\n' * 3000, singly)
    zipped.expect(b'line\n' * 3000)
    zipped.send(b'QUIT\n')
    zipped.end(b'Goodbye.\nbye\n')


def conversation(case):
    """In pieces, and each byte alone; a client that only closes; all is released."""
    with case.server() as server:
        for singly in (False, True):
            with Client(server) as client:
                talk(Zipped(client), singly)
        with Client(server) as client:
            client.half_close()
            Zipped(client).end(b'bye\n')
        told(server, 'let go', 3)
        same('status', server.stop(), 0)


def encrypted(case):
    """The same above TLS."""
    with case.server(tls=True) as server:
        for singly in (False, True):
            with Link(server.port, context(case.folder)) as link:
                link.shake()
                talk(Zipped(link), singly)
                link.rest()         # it is the end of the encrypted stream, too
        told(server, 'let go', 2)


def put(server, data):
    """The file that the server sends."""
    with open(os.path.join(server.folder.name, 'data'), 'wb') as file:
        file.write(data)


def files(case):
    """A large file, in clear and encrypted, to a client that reads little at a time and to one that reads much."""
    data = content()
    for tls in (False, True):
        with case.server('fileRoot=.', tls=tls) as server:
            put(server, data)
            for receive in (4096, None):
                with (Link(server.port, context(case.folder), receive=receive) if tls
                      else Client(server, receive=receive)) as link:
                    if tls:
                        link.shake()
                    zipped = Zipped(link)
                    zipped.send(b'a\nFILE\nb\nQUIT\n')
                    zipped.expect(b'a\n')
                    zipped.expect(data + b'sent\n', 1 << 14)
                    zipped.end(b'b\nGoodbye.\nbye\n')
            until('all is released', lambda: server.said().count('let go') == 2)


def pressure(case):
    """A client that does not read: its output waits in bounded memory, others are served, and it loses nothing."""
    draw = random.Random(2)
    lines = [draw.randbytes(3000).hex().encode() + b'\n' for _ in range(600)]
    with case.server() as server, Client(server, receive=4096) as client, Client(server) as client2:
        zipped, other = Zipped(client), Zipped(client2)
        client.socket.setblocking(False)
        data = zipped.stream(b''.join(lines) + b'QUIT\n')
        sent, before = 0, -1
        while sent != before:       # until neither side takes more; what is sent later is read below
            before, end = sent, time.monotonic() + 0.5
            while sent < len(data) and time.monotonic() < end:
                try:
                    sent += client.socket.send(data[sent:sent + (1 << 16)])
                except BlockingIOError:
                    time.sleep(0.02)
        other.send(b'a\n')
        other.expect(b'a\n')
        if own(server) > MOST:
            raise Failed(f'the server has {own(server) >> 20} MB')
        got = b''
        while True:
            try:
                if sent < len(data):
                    sent += client.socket.send(data[sent:sent + (1 << 16)])
            except (BlockingIOError, TimeoutError):
                pass
            client.socket.settimeout(0.01 if sent < len(data) else 60)
            try:
                chunk = client.socket.recv(1 << 16)
            except TimeoutError:
                if sent == len(data):
                    raise
                continue
            if not chunk:
                break
            got += zipped.it.decompress(chunk)
        same('all of it', got == b''.join(lines) + b'Goodbye.\nbye\n', True)
        same('the stream is whole', zipped.it.eof, True)


def resets(case):
    """Clients go while output waits for them; what they had is released, and others are served."""
    with case.server('fileRoot=.') as server:
        put(server, content())
        for n in range(8):
            with Client(server, receive=4096) as client:
                zipped = Zipped(client)
                zipped.send(b'FILE\nFILE\n')
                client.take(1 + 5000 * n)
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        told(server, 'let go', 8)
        with Client(server) as client:
            zipped = Zipped(client)
            zipped.send(b'b\nQUIT\n')
            zipped.end(b'b\nGoodbye.\nbye\n')
        same('status', server.stop(), 0)


def everybody(case):
    """A message to a group: each member's stream is its own."""
    with case.server() as server, Client(server) as one, Client(server) as two:
        zipped = [Zipped(one), Zipped(two)]
        for n, client in enumerate(zipped):
            client.send(b'x' * (n * 100) + b'\n')
            client.expect(b'x' * (n * 100) + b'\n')
        zipped[0].send(b'ALL\n')
        for client in zipped:
            client.expect(b'everybody\n')
            client.send(b'QUIT\n')
            client.end(b'Goodbye.\nbye\n')


def stopped(case):
    """A stop ends the stream of a client that waits."""
    with case.server() as server, Client(server) as client:
        zipped = Zipped(client)
        zipped.send(b'a\n')
        zipped.expect(b'a\n')
        same('status', server.stop(), 0)
        zipped.end(b'bye\n')


def upgraded(case):
    """Encryption that begins later: the stages begin anew."""
    with case.server(tls=True) as server:
        link = Link(server.port, context(case.folder))
        with link:
            link.socket.sendall(Stream()(b'a\nSTART\n'))
            raw = b''
            while not raw.endswith(FLUSHED) or len(zlib.decompressobj().decompress(raw)) < 8:
                raw += link.socket.recv(1)
            same('in clear', zlib.decompressobj().decompress(raw), b'a\ngo on\n')
            link.shake()
            talk(Zipped(link), False)


# -- what grows


def expansion(case):
    """30 bytes become 30 MB and the end 4 MB: they wait in bounded memory, and come whole to a slow client."""
    with case.server('lingerTimeout=none') as server, Client(server, receive=4096) as client, Client(server) as other:
        client.send(b'*' * 30 + b'\nQUIT\n')
        client.expect(b'*' * 100000)
        other.send(b'a\n')
        other.expect(b'a\n')
        if own(server) > MOST:
            raise Failed(f'the server has {own(server) >> 20} MB')
        got = client.rest()
        same('all of it', got == b'*' * ((30 << 20) - 100000) + b'\nGoodbye.\n' + b'#' * (4 << 20), True)


def failing(case):
    """A function that refuses output ends its connection alone, by a reset, with a line and a reason of its own."""
    with case.server() as server, Client(server) as other:
        with Client(server) as client:
            client.send(b'a\n')
            client.expect(b'a\n')
            client.send(b'b!\n')
            try:
                same('the end', client.socket.recv(100), None)
            except ConnectionResetError:
                pass
        told(server, 'end the output cannot be encoded.')
        told(server, '%encode grow: it refuses output: the connection ends')
        other.send(b'c\n')
        other.expect(b'c\n')


ZIPPED = (('compressed output', conversation), ('compressed output over TLS', encrypted), ('compressed files', files),
          ('compressed output waits', pressure), ('resets', resets), ('compressed messages', everybody),
          ('a stop and the end of a stream', stopped))
def limited(exe):
    """In virtual time: what counts for writeTimeout and minimumRate is the encoded form, although a byte of a
    reply, which may become a megabyte, counts as sent only when all of that has left."""
    def reason(rate, *lines):
        script = ('room 1 10', 'open 1', 'in 1 "*\\n"', *lines, 'reset 1')
        done = subprocess.run([exe, '--set', 'writeTimeout=3s', '--set', f'minimumRate={rate}'], text=True,
                              input='\n'.join(script) + '\n', capture_output=True, timeout=60, check=False)
        return [line for line in done.stderr.splitlines() if line.startswith('end ')]
    gone, late = ['end the client is gone.'], ['end timed out.']
    steady = ('pass 2900', 'room 1 1') * 10
    same('steadily', reason(0, *steady), gone)
    same('steadily, then nothing yet', reason(0, *steady, 'pass 2999'), gone)
    same('steadily, then nothing', reason(0, *steady, 'pass 3400'), late)
    same('nothing', reason(0, 'pass 3000'), late)
    same('fast enough', reason(10, *('pass 2000', 'room 1 20') * 30), gone)
    same('too slow', reason(10, *('pass 2000', 'room 1 19') * 30), late)


SERVERS = ((SPEC, ZIPPED, 'encoded-'), (LATER, (('compressed and encrypted later', upgraded),), 'encoded-later-'),
           (EXPANDING, (('expansion', expansion), ('refused output', failing)), 'expanding-'))
