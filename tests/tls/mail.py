"""examples/mail over TLS, with smtplib, curl and swaks: STARTTLS, and AUTH after it.

Must not know: how the server encrypts.
"""

import base64
import os
import re
import shutil
import smtplib
from support.expect import same
from support.nest import ROOT, Failed, run
from support.server import Server
from links import REPLY, context

SPEC = os.path.join(ROOT, 'examples', 'mail', 'mail.nest')
NAME, USER, PASSWORD = 'one.test', 'alice', 'so;secret'
SENDER, RECIPIENT = f'alice@{NAME}', f'bob@{NAME}'
TEXT = f'From: {SENDER}\r\nTo: {RECIPIENT}\r\nSubject: lunch\r\n\r\n.\r\nAt one?\r\n'


def build(nest, model, folder):
    """The server."""
    exe = os.path.join(folder, f'mail-{model}')
    run([nest, 'build', '--model', model, SPEC, '-o', exe])
    return exe


def serve(exe, folder, *arguments, tls=True):
    """A running one, with an empty Maildir."""
    root = os.path.join(folder, 'maildir')
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    pair = f'tls={folder}/one.pem {folder}/one.key' if tls else 'tls=none'
    return Server([exe], options=(f'serverName={NAME}', f'fileRoot={root}', pair), arguments=arguments)


def stored(folder):
    """The messages in the Maildir."""
    place = os.path.join(folder, 'maildir', 'new')
    texts = []
    for name in os.listdir(place):
        with open(os.path.join(place, name), encoding='utf-8') as file:
            texts.append(file.read())
    return texts


def plain_answer(name, password, acts_for=''):
    """What a client says with AUTH PLAIN (RFC 4616)."""
    return base64.b64encode(f'{acts_for}\0{name}\0{password}'.encode()).decode()


def encrypted(exe, folder):
    """A message comes encrypted, from anybody."""
    with serve(exe, folder) as server, smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
        client._host = NAME         # the name in the certificate
        client.ehlo()
        same('STARTTLS is offered', client.has_extn('starttls'), True)
        same('the answer', client.starttls(context=context(folder))[0], 220)
        same('order after it', client.docmd('MAIL', f'FROM:<{SENDER}>')[0], 503)
        client.ehlo()
        same('offers after it', (client.has_extn('starttls'), client.has_extn('auth')), (False, False))
        same('STARTTLS again', client.docmd('STARTTLS')[0], 503)
        client.sendmail(SENDER, [RECIPIENT], TEXT)
        found = stored(folder)
        same('messages', len(found), 1)
        same('the protocol', re.findall(r' with (\w+) id ', found[0]), ['ESMTPS'])
        same('the text', found[0].partition('\nFrom: ')[2],
             TEXT.replace('\r\n', '\n').partition('From: ')[2])


def login(exe, folder):
    """With users, mail is taken only from them, and their passwords only encrypted."""
    with serve(exe, folder, '--user', f'{USER}:{PASSWORD}') as server:
        with smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
            client._host = NAME
            client.ehlo()
            same('AUTH in clear', client.has_extn('auth'), False)
            same('it', client.docmd('AUTH', 'PLAIN AGFsaWNlAHNvO3NlY3JldA==')[0], 502)
            same('mail', client.docmd('MAIL', f'FROM:<{SENDER}>')[0], 530)
            client.starttls(context=context(folder))
            client.ehlo()
            for name, password in ((USER, 'wrong'), ('bob', PASSWORD), (USER, PASSWORD + 'x')):
                try:
                    client.login(name, password)
                    raise Failed(f'{name} with {password} is let in')
                except smtplib.SMTPAuthenticationError as error:
                    same('the answer', error.smtp_code, 535)
        with smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
            client._host = NAME
            client.starttls(context=context(folder))
            client.ehlo()
            for answer, code in (('=', 535), ('====', 501), ('AA', 501), ('AAAA', 535), ('!', 501), ('*', 501), ('AGFsaWNl', 535),
                                 (plain_answer(USER, PASSWORD, 'bob'), 535), ('A' * 600, 500)):
                same(f'AUTH PLAIN {answer}', client.docmd('AUTH', f'PLAIN {answer}')[0], code)
        with smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
            client._host = NAME
            client.starttls(context=context(folder))
            client.ehlo()
            same('AUTH LOGIN', client.docmd('AUTH', 'LOGIN')[0], 504)
            for answer, code in (('*', 501), ('', 535), (plain_answer(USER, PASSWORD, USER), 235)):
                same('AUTH PLAIN', client.docmd('AUTH', 'PLAIN')[0], 334)
                same(f'the answer {answer}', client.docmd(answer)[0], code)
            for more, code in ((' AUTH=<> SIZE=99999999999', 552), (' AUTH=a=b', 555), (' AUTH=<> BODY=7BIT AUTH=<>', 501),
                               (' SIZE=10 AUTH=e+3Dmc2@example.com BODY=8BITMIME', 250)):
                same(f'MAIL{more}', client.docmd('MAIL', f'FROM:<{SENDER}>{more}')[0], code)
        with smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
            client._host = NAME
            client.starttls(context=context(folder))
            client.ehlo()
            client.login(USER, PASSWORD)
            client.sendmail(SENDER, [RECIPIENT], TEXT)
        same('the protocol', re.findall(r' with (\w+) id ', stored(folder)[0]), ['ESMTPSA'])
        with open(f'{folder}/letter', 'w', encoding='ascii') as out:
            out.write(TEXT)
        run(['curl', '--silent', '--show-error', '--ssl-reqd', '--cacert', f'{folder}/one.pem',
             '--resolve', f'{NAME}:{server.port}:127.0.0.1', f'smtp://{NAME}:{server.port}/client.example',
             '--mail-from', SENDER, '--mail-rcpt', RECIPIENT, '--user', f'{USER}:{PASSWORD}',
             '--login-options', 'AUTH=PLAIN', '--upload-file', f'{folder}/letter'])
        same('messages', len(stored(folder)), 2)
    name, password = 'n' * 255, 'p' * 255       # RFC 4616, 2
    with serve(exe, folder, '--user', f'{name}:{password}') as server, smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
        client._host = NAME
        client.starttls(context=context(folder))
        client.ehlo()
        same('AUTH PLAIN', client.docmd('AUTH', 'PLAIN')[0], 334)
        same('the longest answer', client.docmd(plain_answer(name, password, name))[0], 235)


def others(exe, folder):
    """swaks says STARTTLS, verifies the certificate, and logs in."""
    with serve(exe, folder, '--user', f'{USER}:{PASSWORD}') as server:
        words = ['swaks', '--server', f'127.0.0.1:{server.port}', '--ehlo', 'client.example', '--from', SENDER, '--to', RECIPIENT,
                 '--tls', '--tls-verify', '--tls-ca-path', f'{folder}/one.pem', '--tls-sni', NAME]
        login = ['--auth', 'PLAIN', '--auth-user', USER]
        said = run([*words, *login, '--auth-password', PASSWORD, '--data', TEXT.replace('\r\n', '\\n')])
        same('encryption', '=== TLS started with cipher' in said, True)
        same('the protocol', re.findall(r' with (\w+) id ', stored(folder)[0]), ['ESMTPSA'])
        try:
            run([*words, *login, '--auth-password', 'wrong'])
        except Failed as error:
            same('the answer', '535 5.7.8' in str(error), True)
        else:
            raise Failed('a wrong password is let in')
        same('messages', len(stored(folder)), 1)


def plain(exe, folder):
    """Without a certificate, the server is what it was."""
    with serve(exe, folder, tls=False) as server:
        with smtplib.SMTP('127.0.0.1', server.port, timeout=REPLY) as client:
            client.ehlo()
            same('offers', (client.has_extn('starttls'), client.has_extn('auth')), (False, False))
            client.sendmail(SENDER, [RECIPIENT], TEXT)
        same('the protocol', re.findall(r' with (\w+) id ', stored(folder)[0]), ['ESMTP'])


CASES = (('mail, encrypted', encrypted), ('mail, with a password', login), ('mail of swaks', others), ('mail, in clear', plain))
