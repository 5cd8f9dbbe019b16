#!/usr/bin/env python3
"""Tests examples/mail with real clients in every model: the Maildir contains each message once and complete.

`mail.py [MODEL ...]`; `mail.py --measure` says what waiting for the disk costs. `run(report)` is for the
driver of all servers. Must not know: the runtime.
"""

import collections
import glob
import os
import random
import re
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.nest import Failed, Missing, ROOT, SOCKET_MODELS, environment, program, run as run_program  # noqa: E402
from support.report import Report                                   # noqa: E402
from support.server import Server                                   # noqa: E402

SPEC = os.path.join(ROOT, 'examples', 'mail', 'mail.nest')
NAME = 'example.org'                # the server's, and so the domain that it takes mail for
SENDER, RECIPIENT = 'alice@client.example', f'bob@{NAME}'
SESSIONS, MESSAGES = 20, 10_000     # of smtp-source
SENDERS, SECONDS = 6, 12            # of those whose server is killed
ROUNDS = 3                          # of what is measured
TIME = 300                          # seconds for a client program
HEAD = re.compile(rb'Return-Path: <(.*)>\n((?:Delivered-To: .*\n)+)'
                  rb'Received: from \S+ \(.*\)\n\tby \S+ with (E?SMTP) id (\S+);\n\t.* \+0000\n')
NASTY = (b'Subject: =?utf-8?q?n=C3=A4sty?=\n\n.\n..\n.\t\n \n' + 'Grüße\n'.encode() + b'x' * 998
         + b'\n\xff\xfe\n\n.\n\n')


# -- the server and its Maildir

def build(nest, model, folder, spec):
    """The server's program."""
    exe = os.path.join(folder, 'mail')
    run_program([nest, 'build', '--model', model, spec, '-o', exe])
    return exe


def serve(words, root, *options):
    """The server, whose Maildir is `root`."""
    return Server(words, options=(f'serverName={NAME}', f'fileRoot={root}', *options))


def stored(root):
    """{name: (head, text)} of all messages; Failed if one is none, or if anything else lies there."""
    out = {}
    for name in os.listdir(os.path.join(root, 'new')):
        with open(os.path.join(root, 'new', name), 'rb') as file:
            data = file.read()
        head = HEAD.match(data)
        if head is None or head.group(4).decode() != name:
            raise Failed(f'new/{name} is no message: {data[:200]!r}')
        out[name] = head, data[head.end():]
    for folder in ('tmp', 'cur'):
        if os.listdir(os.path.join(root, folder)):
            raise Failed(f'{folder}/ is not empty')
    return out


def only(root, wanted, how=b'ESMTP', recipients=(RECIPIENT,)):
    """The one message in the Maildir is this; it is deleted."""
    found = stored(root)
    if len(found) != 1:
        raise Failed(f'{len(found)} messages were stored, not 1')
    for name, (head, text) in found.items():
        to = b''.join(b'Delivered-To: %s\n' % address.encode() for address in recipients)
        same('the sender, the recipients, the protocol', (head.group(1), head.group(2), head.group(3)),
             (SENDER.encode(), to, how))
        same('the text', text, wanted)
        os.unlink(os.path.join(root, 'new', name))


def same(what, got, wanted):
    """Failed unless they are equal."""
    if got != wanted:
        raise Failed(f'{what} is\n{got!r:.600}\nand should be\n{wanted!r:.600}')


def client(words, data=b'', status=0):
    """A program to its end: what it wrote; Failed unless it ends with that status."""
    try:
        done = subprocess.run(words, input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIME, env=environment(PATH=os.environ['PATH'] + ':/usr/sbin'))
    except subprocess.TimeoutExpired as error:
        raise Failed(f'{words[0]} did not end within {TIME} s') from error
    if (done.returncode == 0) != (status == 0):
        raise Failed(f'{words[0]}: status {done.returncode}\n{done.stdout[-2000:].decode("latin-1")}')
    return done.stdout


def have(name):
    """Missing, which skips a check, if a client is not installed."""
    if shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin') is None:
        raise Missing(f'there is no {name}; see scripts/setup')


# -- the checks: (the server's program, a folder for the Maildir) -> what is said beside the result

def with_smtplib(exe, root):
    """smtplib of Python: what the server can, a nasty text, a refused recipient, sizes."""
    with serve([exe], root) as server, \
            smtplib.SMTP('127.0.0.1', server.port, local_hostname='client.example') as smtp:
        smtp.ehlo()
        same('what it can', {'pipelining', 'size', '8bitmime', 'enhancedstatuscodes'}
             - set(smtp.esmtp_features), set())
        others = [RECIPIENT, 'eve@elsewhere.example', f'carol@{NAME}']
        refused = smtp.sendmail(SENDER, others, NASTY.replace(b'\n', b'\r\n'), ['BODY=8BITMIME'])
        same('who was refused', list(refused), ['eve@elsewhere.example'])
        only(root, NASTY, recipients=(RECIPIENT, f'carol@{NAME}'))
        try:
            smtp.sendmail(SENDER, RECIPIENT, 'x' * (33 << 20))
            raise Failed('33 MB, which it was told at once, were not refused')
        except smtplib.SMTPSenderRefused as error:
            same('the answer to SIZE', error.smtp_code, 552)
        smtp.esmtp_features.pop('size')
        try:
            smtp.sendmail(SENDER, RECIPIENT, b'x' * 900 + b'\r\n' + (b'y' * 900 + b'\r\n') * 38_000)
            raise Failed('34 MB were not refused')
        except smtplib.SMTPDataError as error:
            same('the answer to the text', error.smtp_code, 552)
        text = b''.join(b'%d\n' % i for i in range(1_000_000))
        smtp.sendmail(SENDER, RECIPIENT, text.replace(b'\n', b'\r\n'))
        only(root, text)
        same('the answer to VRFY', smtp.verify('bob'), (252, b'2.0.0 send it and see'))
        same('the answer to RSET', smtp.rset()[0], 250)


def with_swaks(exe, root):
    """swaks: a message with an attachment, one group of commands at a time; a refused recipient."""
    have('swaks')
    with serve([exe], root) as server:
        words = ['swaks', '--server', f'127.0.0.1:{server.port}', '--from', SENDER, '--ehlo',
                 'client.example', '--to']
        client([*words, RECIPIENT, '--pipeline', '--attach', f'@{SPEC}'])
        found = stored(root)
        same('messages', len(found), 1)
        same('the attachment is named', b'filename="mail.nest"' in next(iter(found.values()))[1], True)
        os.unlink(os.path.join(root, 'new', next(iter(found))))
        client([*words, RECIPIENT, '--data', 'Subject: dots\\n\\n.\\n..\\nend\\n'])
        only(root, b'Subject: dots\n\n.\n..\nend\n\n')
        same('the refusal is told', b'550 5.7.1' in client([*words, 'eve@elsewhere.example'],
                                                           status=1), True)
        same('messages', len(stored(root)), 0)


def with_msmtp(exe, root):
    """msmtp: a message as sendmail takes it from standard input."""
    have('msmtp')
    with serve([exe], root) as server:
        words = ['msmtp', '--host=127.0.0.1', f'--port={server.port}', f'--from={SENDER}',
                 '--domain=client.example', '--set-date-header=off', '--set-msgid-header=off']
        client([*words, RECIPIENT, f'carol@{NAME}'], NASTY)
        found = stored(root)
        same('messages', len(found), 1)
        same('the text', next(iter(found.values()))[1].endswith(NASTY[NASTY.index(b'\n\n'):]), True)
        client([*words, 'eve@elsewhere.example'], NASTY, status=1)
        same('messages', len(stored(root)), 1)


def with_curl(exe, root):
    """curl: a message from a file, and HELP."""
    have('curl')
    with serve([exe], root) as server, tempfile.NamedTemporaryFile() as file:
        file.write(NASTY.replace(b'\n', b'\r\n'))
        file.flush()
        url = f'smtp://127.0.0.1:{server.port}/client.example'
        client(['curl', '-sS', url, '--mail-from', SENDER, '--mail-rcpt', RECIPIENT, '-T', file.name])
        only(root, NASTY)
        same('HELP is answered', b'214 2.0.0' in client(['curl', '-sS', url, '-X', 'HELP']), True)


def with_smtp_source(exe, root):
    """smtp-source of Postfix: 20 sessions, 10,000 messages, a new connection for half of them."""
    have('smtp-source')
    with serve([exe], root) as server:
        start = time.monotonic()
        for more in ((), ('-d',)):
            source(server, MESSAGES // 2, *more)
        seconds = time.monotonic() - start
        texts, ids = stored(root), set()
        for _, text in texts.values():
            ids.add(re.search(rb'^Message-Id: (.*)$', text, re.M).group(1))
            same('the length of a message', len(text.partition(b'\n\n')[2]) > 950, True)
        same('messages', (len(texts), len(ids)), (MESSAGES, MESSAGES))
        same('exit status', server.stop(), 0)
    return f'{MESSAGES / seconds:.0f}/s'


def source(server, count, *more):
    """smtp-source, to its end."""
    client(['smtp-source', '-s', str(SESSIONS), '-m', str(count), '-l', '1000', *more, '-f', SENDER,
            '-t', RECIPIENT, '-M', 'client.example', f'127.0.0.1:{server.port}'])


def with_little_room(exe, root):
    """A file that may not grow: the text is taken, 451 at its end, and the next message is stored."""
    have('prlimit')
    with serve(['prlimit', '--fsize=60000', exe], root) as server, \
            smtplib.SMTP('127.0.0.1', server.port, local_hostname='client.example') as smtp:
        for _ in range(3):
            try:
                smtp.sendmail(SENDER, RECIPIENT, b'0123456789abcdef\r\n' * 10_000)
                raise Failed('a message was acknowledged that cannot be stored')
            except smtplib.SMTPDataError as error:
                same('the answer', (error.smtp_code, error.smtp_error[:5]), (451, b'4.3.0'))
            smtp.sendmail(SENDER, RECIPIENT, b'small\r\n')
            only(root, b'small\n')


def killed(exe, root):
    """kill -9 of workers and of all at random: what was acknowledged is there, whole and once."""
    load = Load(random.randrange(1 << 32), root)
    port, kills, chance = 0, 0, random.Random(load.seed)
    threads = [threading.Thread(target=load.send, args=(number,), daemon=True) for number in range(SENDERS)]
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            with serve([exe], root, f'listen=127.0.0.1:{port}') as server:
                load.port = port = server.port
                for thread in threads:
                    if thread.ident is None:
                        thread.start()
                whole = time.monotonic() + chance.uniform(1, 3)
                while time.monotonic() < min(whole, end):
                    time.sleep(chance.uniform(0.02, 0.3))
                    workers = server.family()[1:]
                    if workers:
                        kill(chance.choice(workers), exe)
                        kills += 1
                for pid in server.family():     # and then all of it
                    kill(pid, exe)
                kills += 1
                free(port)
        load.over.set()
    finally:
        load.over.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join(TIME)
    left = len(glob.glob(os.path.join(root, 'new', '.nest-upload-*')))
    for path in glob.glob(os.path.join(root, 'new', '.nest-upload-*')):
        os.unlink(path)             # the language reference says that these may be left
    try:
        again = load.check(stored(root))
    except Failed as error:
        raise Failed(f'seed {load.seed}: {error}') from error
    return f'{kills} kills, {len(load.told)} acknowledged, {again} more stored, {left} unnamed left'


def free(port):
    """Waits for a worker that began while the others were killed: it ends behind its parent."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            socket.create_connection(('127.0.0.1', port), 10).close()
        except ConnectionRefusedError:
            return
        except OSError:
            pass                        # it has been reset
        time.sleep(0.01)
    raise Failed(f'somebody listens on {port} though all were killed')


def kill(pid, exe):
    """As the system does it that has no memory left; only if it still is a process of the server."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if os.readlink(f'/proc/{pid}/exe') == os.path.realpath(exe):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass                        # it has ended meanwhile
    finally:
        os.close(process)


class Load:
    """Messages that can be told apart, and which of them were acknowledged."""

    def __init__(self, seed, root):
        self.seed, self.root, self.port = seed, root, 0
        self.told, self.over = set(), threading.Event()

    def text(self, number):
        """A message: it follows from its number and the seed."""
        chance = random.Random(f'{self.seed} {number}')
        lines = [b'Subject: %s' % number.encode(), b'']
        for _ in range(chance.choice((0, 1, 20, 200, 5000))):
            lines.append(chance.choice((b'', b'.', b'..', b'x', b'.x')) + b'y' * chance.randrange(70))
        return b'\n'.join(lines) + b'\nend of ' + number.encode() + b'\n'

    def send(self, sender):
        """Sends until it is over, on a new connection whenever one is lost."""
        count = 0
        while not self.over.is_set():
            try:
                with smtplib.SMTP('127.0.0.1', self.port, local_hostname='client.example',
                                  timeout=20) as smtp:
                    while not self.over.is_set():
                        count += 1
                        number = f'{sender}-{count}'
                        smtp.sendmail(SENDER, RECIPIENT, self.text(number).replace(b'\n', b'\r\n'))
                        self.told.add(number)
            except (smtplib.SMTPException, OSError):
                time.sleep(0.02)

    def check(self, found):
        """Every file is a whole message, each message there once, the acknowledged ones all; how many
        there are of which the client was not told."""
        numbers = collections.Counter()
        for name, (_, text) in found.items():
            number = text[len(b'Subject: '):text.index(b'\n')].decode()
            numbers[number] += 1
            if text != self.text(number):
                raise Failed(f'new/{name} is not whole: {len(text)} bytes of {len(self.text(number))}')
        twice = [number for number, count in numbers.items() if count > 1]
        lost = sorted(self.told - set(numbers))
        if twice or lost or not self.told:
            raise Failed(f'{len(self.told)} acknowledged; lost {lost[:9]}, twice {twice[:9]}')
        return len(set(numbers) - self.told)


CHECKS = (with_smtplib, with_swaks, with_msmtp, with_curl, with_little_room, with_smtp_source, killed)


def run(report, models=SOCKET_MODELS, checks=CHECKS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'mail: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-mail-') as folder:
            try:
                exe = build(nest, model, folder, SPEC)
            except Failed as error:
                report.line(False, model, 'builds', '', error)
                continue
            for check in checks:
                attempt(report, model, check, exe)


def attempt(report, model, check, exe):
    """One check, with a Maildir of its own; what it is about is what stands before its colon."""
    about = ' '.join(check.__doc__.split()).partition(':')[0]
    with tempfile.TemporaryDirectory(prefix='nest-mail-') as root:
        try:
            report.line(True, model, about, check(exe, root) or '')
        except Missing as reason:
            report.skip(model, about, str(reason))
        except (Failed, OSError, LookupError, ValueError, smtplib.SMTPException) as error:
            report.line(False, model, about, '', error if isinstance(error, Failed) else repr(error))


def measure(models):
    """Messages a second, on disk before they are acknowledged and not: the best of rounds by turns."""
    nest, count = program(), MESSAGES // 5
    for model in models:
        with tempfile.TemporaryDirectory(prefix='nest-mail-') as folder:
            with open(SPEC, encoding='utf-8') as file:
                text = file.read()
            lax = text.replace('$fileCommit(m.file, NEST_SYNC)', '$fileCommit(m.file)')
            same('a specification that does not wait for the disk differs', lax != text, True)
            servers = []
            for number, form in enumerate((text, lax)):
                os.mkdir(os.path.join(folder, str(number)))
                path = os.path.join(folder, str(number), 'mail.nest')
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(form)
                servers.append((build(nest, model, os.path.dirname(path), path), []))
            for _ in range(ROUNDS):
                for exe, rates in servers:
                    rates.append(rate(exe, os.path.join(folder, 'root'), count))
            kept, not_kept = (max(rates) for _, rates in servers)
            print(f'{model:8} on disk {kept:6.0f}/s, not {not_kept:6.0f}/s, '
                  f'ratio {not_kept / kept:.1f}', flush=True)
    return 0


def rate(exe, root, count):
    """So many messages a second come from smtp-source."""
    os.mkdir(root)
    with serve([exe], root) as server:
        start = time.monotonic()
        source(server, count, '-d')
        seconds = time.monotonic() - start
    same('messages', len(stored(root)), count)
    shutil.rmtree(root)
    return count / seconds


def main():
    """The exit status."""
    models = [word for word in sys.argv[1:] if not word.startswith('-')] or SOCKET_MODELS
    if '--measure' in sys.argv:
        return measure(models)
    report = Report('mail')
    run(report, models)
    return report.close()


if __name__ == '__main__':
    sys.exit(main())
