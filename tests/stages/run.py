#!/usr/bin/env python3
"""Stages: what zlib's functions do to the input of a server, in every model, in clear and encrypted; a
decompression bomb, and input that cannot be decoded. What they do to its output is in encoded.py.

usage: run.py [MODEL ...]

Without a model: one that CHECK_SEED draws, or with CHECK_ALL=1 all.
Must not know: how a server calls the functions.
"""

import os
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tls'))
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                                  # noqa: E402
from support.cases import attempt                                           # noqa: E402
from support.expect import same, until                                      # noqa: E402
from support.nest import SOCKET_MODELS, Failed, program, run                # noqa: E402
from support.report import Report                                           # noqa: E402
from support.server import Client, Server                                   # noqa: E402
from links import Link, certificate, context                                # noqa: E402
import encoded                                                              # noqa: E402
from pair import INFLATE, MOST, Stream, own                                 # noqa: E402

RULES = r'''
END            { fprintf(stderr, "end %s.\n", $reasonText()); }
"QUIT" NL      { $reply("Goodbye.\n"); $close(); }
"READ" NL      { char *line = $readLine(100); $reply("read ", line == NULL ? "nothing" : line, "\n"); }
"TAKE" NL      { static _Thread_local char all[50000]; long n = $readInto(all, sizeof all);
                 $reply("took %ld %c\n", n, all[sizeof all - 1]); }
"START" NL     { $reply("go on\n"); if ($tls() == NEST_TLS_READY) { $startTLS(); } }
[^\r\n]{0,7000} NL { $reply($1, "\n"); }
'''
SPEC = '%option eventServer 100\n%option tls one.pem one.key\n' + INFLATE + RULES.replace('$startTLS();', '')
LATER = '%option eventServer 100\n%option tls one.pem one.key\n' + INFLATE + RULES
PLAIN = '%option eventServer 100\nNL "\\r"?"\\n"\n%%\n[^\\r\\n]* NL { $reply($1, "\\n"); }\n'
SEVERAL = r'''
%option eventServer 100
%option tls one.pem one.key
%{
#include <stdint.h>
#include <string.h>
/* After '%' come 2^38 times '#'. */
struct repeating { uint64_t left; };
static int repeat(nest_stage *stage, struct repeating *it) {
    while (stage->gave < stage->out_n && (it->left > 0 || stage->took < stage->in_n)) {
        if (it->left > 0) {
            size_t room = stage->out_n - stage->gave, n = it->left < room ? (size_t)it->left : room;
            memset(stage->out + stage->gave, '#', n);
            stage->gave += n;
            it->left -= n;
        } else if (stage->in[stage->took] == '%') {
            it->left = (uint64_t)1 << 38;
            stage->took++;
        } else {
            stage->out[stage->gave++] = stage->in[stage->took++];
        }
    }
    return 0;
}
/* Drops '#', and keeps what follows '~' for the end, where it gives one byte in a call. */
struct dropping { char kept[64]; size_t n, at; int keeps; };
static int drop(nest_stage *stage, struct dropping *it) {
    if (stage->end && it->at < it->n) stage->out[stage->gave++] = (uint8_t)it->kept[it->at++];
    while (stage->took < stage->in_n && stage->gave < stage->out_n) {
        uint8_t c = stage->in[stage->took++];
        if (it->keeps && it->n < sizeof it->kept) it->kept[it->n++] = (char)c;
        else if (c != '#' && c != '~') stage->out[stage->gave++] = c;
        it->keeps = c == '~';
    }
    return 0;
}
%}
%decode repeat(repeat, struct repeating)
%decode drop(drop, struct dropping)
NL "\r"?"\n"
%%
"QUIT" NL { $reply("Goodbye.\n"); $close(); }
[^\r\n]* NL { $reply($1, "\n"); }
'''
REFUSED = 'the input cannot be decoded'


class Case:
    """A server of a model, and the folder of its certificate."""

    def __init__(self, exe, folder):
        self.exe, self.folder = exe, folder

    def server(self, *options, tls=False):
        """A running one."""
        pair = f'{self.folder}/one.pem {self.folder}/one.key' if tls else 'none'
        return Server([self.exe], options=(f'tls={pair}', *options))


def told(server, reason):
    """Waits until END has said it."""
    until(f'the end is told: {reason}', lambda: f'end {reason}.' in server.said())


# -- conversations


def talk(send, expect, rest):
    """Lines, reads of an action, a large one among them, and the end."""
    stream = Stream()
    send(stream(b'abc\nREAD\n'))
    expect(b'abc\n')
    send(stream(b'yes\n' + b'x' * 7000 + b'\n'))
    expect(b'read yes\n' + b'x' * 7000 + b'\n')
    send(stream(b'TAKE\n' + b'y' * 50000))
    expect(b'took 50000 y\n')
    send(stream(b'line\n' * 3000))
    expect(b'line\n' * 3000)
    send(stream.end(b'QUIT\n'))
    same('the end', rest(), b'Goodbye.\n')


def conversation(case):
    """In pieces, and each byte alone; every connection releases what it had."""
    with case.server() as server:
        for singly in (False, True):
            with Client(server) as client:
                def send(data, client=client, singly=singly):
                    for i in range(0, len(data), 1 if singly else len(data)):
                        client.send(data[i:i + 1] if singly else data)
                talk(send, client.expect, client.rest)
        with Client(server) as client:
            client.half_close()
            same('nothing', client.rest(), b'')
        told(server, 'closed by the client')
        until('all is released', lambda: server.said().count('released') == 3)
        same('status', server.stop(), 0)


def encrypted(case):
    """The same above TLS."""
    with case.server(tls=True) as server:
        for singly in (False, True):
            with Link(server.port, context(case.folder)) as link:
                link.singly = singly
                link.shake()
                talk(link.send, link.expect, link.rest)
        until('all is released', lambda: server.said().count('released') == 2)


# -- bombs


def bomb(case):
    """Half a gigabyte in half a megabyte: the connection ends as soon as no rule can be selected, and others
    are served meanwhile."""
    stream = Stream()
    data = b''.join(stream(bytes(1 << 20)) for _ in range(512))
    with case.server() as server, Client(server) as other, Client(server) as client:
        words = Stream()
        other.send(words(b'a\n'))
        other.expect(b'a\n')
        try:
            client.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass                # the server did not read all of it
        told(server, 'no rule matches the input')
        other.send(words(b'b\n'))
        other.expect(b'b\n')
        if own(server) > MOST:
            raise Failed(f'the server has {own(server) >> 20} MB')


def pressure(case):
    """15 MB of lines in 30 KB, by a client that does not read their answers: what is not decoded waits, and
    nothing is lost."""
    line = b'0123456789' * 500 + b'\n'
    stream = Stream()
    data = stream(line * 3000)
    with case.server() as server, Client(server, receive=4096) as client:
        client.send(data + stream.end(b'QUIT\n'))
        before = -1
        while own(server) != before:    # until nothing changes any more; later changes are seen below
            before = own(server)
            time.sleep(0.3)
        if before > MOST:
            raise Failed(f'the server has {before >> 20} MB')
        for _ in range(3000):
            client.expect(line)
        same('the end', client.rest(), b'Goodbye.\n')
        if own(server) > MOST:
            raise Failed(f'the server has {own(server) >> 20} MB')


# -- input that is refused


def refused(case):
    """What was decoded before is answered; the reason says what has happened."""
    with case.server() as server:
        stream = Stream()
        for n, data in enumerate((stream(b'a\n') + b'\xff' * 100, Stream()(b'a\n')[:-4],
                                  Stream().end(b'a\n') + b'more', b'not compressed\n')):
            with Client(server) as client:
                client.send(data)
                if n == 1:
                    client.half_close()
                same(f'the answer {n}', client.rest(), b'' if n == 3 else b'a\n')
            until(f'end {n} is told', lambda n=n: server.said().count(f'end {REFUSED}.') == n + 1)
        until('all is released', lambda: server.said().count('released') == 4)
        same('status', server.stop(), 0)


def stopped(case):
    """A stop while input is held back: it waits for none of it."""
    stream = Stream()
    data = stream((b'0123456789' * 500 + b'\n') * 3000)
    with case.server('drainTimeout=1s') as server, Client(server, receive=4096) as client:
        client.send(data)
        client.expect(b'0123456789')
        begun = time.monotonic()
        server.stop()           # the client is cut off or not, as much as the system buffers
        if time.monotonic() - begun > 20:
            raise Failed('the stop took too long')


# -- what functions give and drop


def kept(case):
    """At the end of input a function is called until it gives nothing."""
    with case.server() as server, Client(server) as client:
        client.send(b'abc\n~x~y~z~\n')
        client.half_close()
        same('all of it', client.rest(), b'abc\nxyz\n')


def dropped(case):
    """The end does not destroy the last answer, although input waits that decodes to nothing."""
    with case.server() as server:
        for _ in range(5):
            with Client(server) as client:
                client.send(b'QUIT\n' + b'#' * 200000)
                client.expect(b'Goodbye.\n')
                try:
                    same('the end', client.socket.recv(1), b'')
                except ConnectionResetError as error:
                    raise Failed('the connection is reset over input that was not read') from error


def drained(case):
    """A function drops all that another gives, and that is much: others are served, and a stop is heard."""
    with case.server('drainTimeout=1s') as server, Client(server) as other, Client(server) as client:
        other.send(b'a\n')
        other.expect(b'a\n')
        client.send(b'b\n%')
        client.expect(b'b\n')
        other.send(b'c\n')
        other.expect(b'c\n')
        same('status', server.stop(), 0)


# -- encryption that begins later


def upgraded(case):
    """The stages begin anew, so that nothing of what came in clear is left in them."""
    with case.server(tls=True) as server:
        link = Link(server.port, context(case.folder))
        with link:
            stream = Stream()
            link.socket.sendall(stream(b'a\nSTART\ninjected\n') + stream.it.flush(zlib.Z_FULL_FLUSH))
            got = b''
            while len(got) < 8:
                got += link.socket.recv(8 - len(got))
            same('in clear', got, b'a\ngo on\n')
            link.shake()
            talk(link.send, link.expect, link.rest)


# -- servers without


def absent(case):
    """A server without stages has no symbol of them."""
    names = subprocess.run(['nm', case.exe], stdout=subprocess.PIPE, check=True, timeout=60).stdout
    stages = (b'nest__stages', b'nest__encodes', b'decode')
    same('symbols', [name for name in names.split() if any(word in name for word in stages)], [])


CASES = (('conversation', conversation), ('over TLS', encrypted), ('a bomb', bomb), ('a client that does not read', pressure),
         ('refused input', refused), ('a stop', stopped))
GIVEN = (('bytes kept for the end', kept), ('dropped input', dropped), ('a dropped bomb', drained))


def built(nest, model, text, base):
    """A server of this specification, with zlib."""
    with open(base + '.nest', 'w', encoding='ascii') as file:
        file.write(text)
    run([nest, 'build', '--model', model, base + '.nest', '-o', base], LDLIBS='-lz')
    return base


def main():
    """Runs all; the exit status."""
    report, nest = Report('stages'), program()
    models = sys.argv[1:] or sample.some(SOCKET_MODELS, 1)
    report.note(sample.described())
    with tempfile.TemporaryDirectory(prefix='nest-stages-') as folder:
        certificate(folder, 'one')
        for model in models:
            for text, cases, kind in ((SPEC, CASES, ''), (LATER, (('begun later', upgraded),), 'later-'),
                                      (SEVERAL, GIVEN, 'several-'), *encoded.SERVERS, (PLAIN, (('without stages', absent),), 'plain-')):
                exe = built(nest, model, text, os.path.join(folder, kind + model))
                for name, case in cases:
                    attempt(report, model, 'stages', name, lambda c=case, e=exe: c(Case(e, folder)))
        exe = built(nest, 'script', encoded.EXPANDING, os.path.join(folder, 'script'))
        attempt(report, 'script', 'stages', 'limits of encoded output', lambda: encoded.limited(exe))
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
