#!/usr/bin/env python3
"""A real browser, Chromium, loads nest's book over HTTPS from examples/web: every page, its cache, compressed text, a list.

usage: run.py [MODEL ...]

Without a model: one that CHECK_SEED draws, or with CHECK_ALL=1 all.
Must not know: how the browser is driven.
"""

import base64
import contextlib
import hashlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
from support import sample                                      # noqa: E402
from support.cases import attempt                               # noqa: E402
from support.certificate import certificate                     # noqa: E402
from support.expect import WAIT, same, until                    # noqa: E402
from support.nest import ROOT, SOCKET_MODELS, Failed, program, run      # noqa: E402
from support.report import Report                               # noqa: E402
from support.server import Server                               # noqa: E402
from chromium import Browser, found                             # noqa: E402

HOWTO = os.path.join(ROOT, 'docs', 'howto', 'http.md')
WEB = os.path.join(ROOT, 'examples', 'web', 'web.nest')
PAGES = 25          # of a sample: so many of the book's
HEAD = 400          # bytes: an answer without content is no longer


class Site:
    """A served folder, and its access log; the server listens on a port of localhost."""

    def __init__(self, server, cert, log):
        self.server, self.cert, self.log = server, cert, log
        self.marks = 0

    def url(self, path=''):
        """The address of a file."""
        return f'https://localhost:{self.server.port}/{path}'

    def lines(self):
        """The requests so far: (target, status, bytes). A request of our own comes last, so none before it is missed."""
        self.marks += 1
        target = f'/mark-{self.marks}'
        trust = ssl.create_default_context(cafile=self.cert)
        with socket.create_connection(('127.0.0.1', self.server.port), WAIT) as plain, \
                trust.wrap_socket(plain, server_hostname='localhost') as link:
            link.sendall(f'GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'.encode())
            while link.recv(4096):
                pass

        def whole():
            with open(self.log, encoding='utf-8') as file:
                text = file.read()
            return text if f'GET {target} ' in text else None

        text = until(f'the access log has {target}', whole)
        found_lines = re.findall(r'"[A-Z]+ (\S+) HTTP/1\.1" (\d+) (\d+|-)', text)
        return [(target, int(status), 0 if size == '-' else int(size)) for target, status, size in found_lines
                if not target.startswith('/mark-') and target != '/favicon.ico']


@contextlib.contextmanager
def encrypted(exe, folder, *options, arguments=()):
    """A server that encrypts."""
    cert, key = certificate(folder)
    with tempfile.TemporaryDirectory(prefix='nest-log-') as logs:
        log = os.path.join(logs, 'access.log')
        with Server([exe], options=(f'tls={cert} {key}', f'accessLog={log}', *options), arguments=arguments) as server:
            yield Site(server, cert, log)


def served(exe, folder, book, *arguments):
    """A server of the book."""
    return encrypted(exe, folder, f'fileRoot={book}', arguments=arguments)


def example(folder):
    """The specification with a form in the how-to about HTTP, beside the library that it includes."""
    with open(HOWTO, encoding='utf-8') as file:
        text = re.search(r'^```nest form\.nest\n(.*?)^```$', file.read(), re.DOTALL | re.MULTILINE)[1]
    place = os.path.join(folder, 'form.nest')
    with open(place, 'w', encoding='utf-8') as file:
        file.write('%option logging requests\n' + text)
    for name in ('http', 'requests', 'conditions', 'ranges'):
        shutil.copy(os.path.join(os.path.dirname(WEB), f'{name}.nest'), folder)
    return place


def trusted(folder):
    """The SHA-256 of the public key of the test's certificate."""
    cert, _ = certificate(folder)
    pem = subprocess.run(['openssl', 'x509', '-in', cert, '-pubkey', '-noout'], capture_output=True, timeout=60, check=True)
    der = subprocess.run(['openssl', 'pkey', '-pubin', '-outform', 'DER'], input=pem.stdout, capture_output=True,
                         timeout=60, check=True)
    return base64.b64encode(hashlib.sha256(der.stdout).digest()).decode()


def right(visit):
    """Raises Failed if anything of a page did not come, or not as HTTP over TLS."""
    if visit.wrong:
        raise Failed('; '.join(visit.wrong))
    for url, answer in visit.answers.items():
        if answer['status'] not in (200, 304) or not answer['cached'] and \
                (answer['protocol'] != 'http/1.1' or answer['tls'] != 'TLS 1.3'):
            raise Failed(f'{url}: {answer}')


def pages(browser, exe, folder, book):
    """Pages of the book load with all that they need, byte for byte."""
    names = sorted(os.path.relpath(os.path.join(at, name), book) for at, _, files in os.walk(book)
                   for name in files if name.endswith('.html'))
    names = ['index.html'] + (sample.share(names) if sample.ALL else sample.some(names, PAGES))
    with served(exe, folder, book) as site:
        for name in names:
            visit = browser.visit(site.url(name))
            right(visit)
            with open(os.path.join(book, name), 'rb') as file:
                same(name, browser.body(visit.answers[site.url(name)]), file.read())
        wrong = [line for line in site.lines() if line[1] not in (200, 304)]
        if wrong:
            raise Failed(f'the access log has {wrong}')


def kept(browser, exe, folder, book):
    """What may be cached is not asked for again."""
    with served(exe, folder, book, '--cache', '*=3600') as site:
        right(browser.visit(site.url()))
        first = site.lines()
        if len(first) < 3:
            raise Failed(f'the first visit asked only for {first}')
        again = browser.visit(site.url())
        right(again)
        same('sent at the second visit', again.sent(), [])
        same('the access log after it', site.lines(), first)


def asked(browser, exe, folder, book):
    """What must be asked for is not sent again."""
    with served(exe, folder, book, '--cache', '*=0') as site:
        right(browser.visit(site.url()))
        first = site.lines()
        right(browser.visit(site.url()))
        second = site.lines()[len(first):]
        if not second or any(status != 304 or size > HEAD for _, status, size in second):
            raise Failed(f'the second visit: {second}')
        same('asked for', sorted(target for target, _, _ in second), sorted(target for target, _, _ in first))


def compressed(browser, exe, folder, book):
    """Text comes compressed, and the browser reads it."""
    with served(exe, folder, book, '--gzip') as site:
        visit = browser.visit(site.url())
        right(visit)
        plain = [url for url, answer in visit.answers.items() if answer['fields'].get('content-encoding') != 'gzip']
        same('answers that are not compressed', plain, [])
        with open(os.path.join(book, 'index.html'), 'rb') as file:
            same('the page', browser.body(visit.answers[site.url()]), file.read())


def listed(browser, exe, folder, book):
    """A list of a folder is sorted by a click, and a click at a name leads to the file."""
    small = tempfile.mkdtemp(prefix='list-', dir=folder)
    for name, size in (('a b & <c>.txt', 30), ('z.txt', 10), ('ümlaut "?#%41.txt', 20)):
        with open(os.path.join(small, name), 'w', encoding='utf-8') as file:
            file.write(name[0] * size)
    with served(exe, folder, small, '--listings') as site:
        right(browser.visit(site.url()))
        names = '[...document.querySelectorAll("a")].map(a => a.textContent).filter(t => t.includes(".txt")).map(t => t[0])'
        same('by name', browser.evaluate(names), ['a', 'z', 'ü'])
        right(browser.act('[...document.querySelectorAll("a")].find(a => /size/i.test(a.textContent)).click()'))
        if browser.evaluate(names) not in (['z', 'a', 'ü'], ['ü', 'a', 'z']):
            raise Failed(f'by size: {browser.evaluate(names)}')
        right(browser.act('[...document.querySelectorAll("a")].find(a => a.textContent.startsWith("ü")).click()'))
        same('the file', browser.evaluate('document.body.innerText'), 'ü' * 20)


def filled(browser, server):
    """A form is filled in and sent."""
    with server as site:
        right(browser.visit(site.url()))
        right(browser.act('document.forms[0].name.value = "Zoë & Bo"; document.forms[0].querySelector("button").click()'))
        said = browser.evaluate('document.body.innerText')
        if 'Zoë & Bo' not in said:
            raise Failed(f'the answer: {said}')


CASES = (('pages of the book', pages), ('a second visit sends nothing', kept), ('a second visit only asks', asked),
         ('compressed text', compressed), ('a list that one clicks at', listed))


def main():
    """Runs all; the exit status."""
    report, nest = Report('browser'), program()
    if not found():
        raise Failed('needs Chromium (package chromium)')
    models = sys.argv[1:] or (list(SOCKET_MODELS) if sample.ALL else sample.some(SOCKET_MODELS, 1))
    report.note(sample.described())
    run(['cargo', 'xtask', 'book'], ROOT)
    book = os.path.join(os.environ.get('CARGO_TARGET_DIR') or os.path.join(ROOT, 'target'), 'book')
    with tempfile.TemporaryDirectory(prefix='nest-browser-') as folder:
        key = trusted(folder) if certificate(folder) else None
        for model in models:
            exe = os.path.join(folder, model)
            run([nest, 'build', '--tls', '--model', model, WEB, '-o', exe])
            with Browser(key) as browser:
                for name, case in CASES:
                    attempt(report, model, 'browser', name, lambda c=case, b=browser, e=exe: c(b, e, folder, book))
                run([nest, 'build', '--tls', '--model', model, example(folder), '-o', exe + '-form'])
                attempt(report, model, 'browser', 'a form that one fills in',
                        lambda b=browser, e=exe: filled(b, encrypted(e + '-form', folder)))
    return report.close()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f'browser: {error}')
