"""Tests examples/web by the letter of RFC 9110 and RFC 9112: every row of rows/, in one packet with a second request.

A message that is taken in two ways is seen: the second request is answered once and as itself after an answer that
keeps the connection, and not at all after one that ends it. Must not know: how the server is made.
"""

import email.utils
import os
import re
import tempfile
from rows import SUBJECTS
from rows.row import CLOSED, CONTENT, OK, STORED
from support.nest import SOCKET_MODELS, Failed, program
from support.server import Client
from web import COPS, SITE, SPEC, Site, build

SECOND = b'GET /data.json HTTP/1.1\r\nHost: second\r\nConnection: close\r\n\r\n'


class Answer:
    """One answer, at the beginning of `data`; `behind` is what follows it."""

    def __init__(self, data, head):
        top, blank, rest = data.partition(b'\r\n\r\n')
        lines = top.decode('latin-1').split('\r\n')
        found = re.fullmatch('HTTP/1\\.1 ([1-5][0-9][0-9]) [ -~]*', lines[0])
        if not blank or found is None or not all(re.fullmatch('[A-Za-z-]+: .*[^ ]', line) for line in lines[1:]):
            raise Failed(f'no answer: {data[:300]!r}')
        self.status = int(found[1])
        self.fields = {name.lower(): value for name, _, value in (line.partition(': ') for line in lines[1:])}
        if len(self.fields) < len(lines) - 1:
            raise Failed(f'a field stands twice: {top!r}')
        empty = head or self.status in (204, 304) or self.status < 200
        length = 0 if empty else int(self.fields.get('content-length', -1))
        if not 0 <= length <= len(rest):
            raise Failed(f'{len(rest)} bytes follow: {top!r}')
        self.content, self.behind = rest[:length], rest[length:]
        self.ends = self.fields.get('connection') == 'close'

    def lawful(self, old):
        """Failed if no request would allow this answer. `old`: the request was HTTP/1.0."""
        fields = self.fields
        wrong = [text for holds, text in (
            (self.status != 101 and not (old and self.status < 200), '9110 15.2: such an interim answer'),
            (self.status < 200 or 'date' in fields, '9110 6.6.1: no Date'),
            (self.status != 204 or 'content-length' not in fields, '9110 8.6: 204 with a length'),
            (self.status != 405 or 'allow' in fields, '9110 15.5.6: 405 without Allow'),
            (self.status != 416 or 'content-range' in fields, '9110 15.5.17: 416 without Content-Range'),
            (not self.content or 'content-type' in fields, '9110 8.3: content without a type')) if not holds]
        date = fields.get('date')
        if date and email.utils.format_datetime(email.utils.parsedate_to_datetime(date), usegmt=True) != date:
            wrong.append(f'9110 5.6.7: Date: {date}')
        if wrong:
            raise Failed('; '.join(wrong))


def talk(site, data):
    """All that the server says to these bytes and the end of input."""
    with Client(site) as client:
        try:
            client.send(data)
            client.half_close()
        except OSError:
            pass                    # the server has refused it before it read all
        return client.rest()


def answers(data, head, old):
    """The answers of a connection, without interim ones. `head`, `old`: of the first request."""
    found = []
    while data:
        answer = Answer(data, head and not found)
        answer.lawful(old and not found)
        data = answer.behind
        if answer.status >= 200:
            found.append(answer)
    return found


def check(site, row):
    """Failed unless the answers to the row are what its clause allows."""
    path = site.path('up/x')
    if os.path.exists(path):
        os.unlink(path)
    found = answers(talk(site, row.sent.encode('latin-1') + (b'' if row.alone else SECOND)),
                    row.sent.startswith('HEAD '), ' HTTP/1.0\r\n' in row.sent)
    first = found[0] if found else None
    status = first.status if first else CLOSED
    if status not in row.allowed:
        raise Failed(f'{status} instead of {sorted(row.allowed)}')
    ends = first is None or first.ends
    if row.ends and not ends or row.keeps and ends:
        raise Failed(f'{status}, and the connection {"ends" if ends else "goes on"}')
    if len(found) != (first is not None) + (not ends and not row.alone):
        raise Failed(f'{status}, {"the end" if ends else "no end"}, and {len(found)} answers')
    if len(found) == 2 and (found[1].status not in row.then or
                            found[1].status == 200 and found[1].content != SITE['data.json']):
        raise Failed(f'{status}, and the second request gets {found[1].status} {found[1].content[:80]!r}')
    if row.content is not None and status in OK | {206} and first.content != row.content:
        raise Failed(f'{status} with {first.content[:80]!r}')
    if row.field and not re.fullmatch(row.field[1], first.fields.get(row.field[0], '')):
        raise Failed(f'{status} with {row.field[0]}: {first.fields.get(row.field[0])}')
    if os.path.exists(path) != (status in STORED and row.sent.startswith('PUT')):
        raise Failed(f'{status}, and the file is {"there" if os.path.exists(path) else "not there"}')
    if row.stored is not None and status in STORED and site.content('up/x') != row.stored:
        raise Failed(f'{status}, and {site.content("up/x")[:80]!r} is stored')


def all_of(site, rows):
    """Checks the rows; the messages of those that fail."""
    wrong = []
    for row in rows:
        try:
            check(site, row)
        except Failed as error:
            wrong.append(f'{row.name} (RFC {row.clause}): {error}')
    return wrong


def run(report, models=SOCKET_MODELS):
    """All rows, for the driver."""
    nest = program()
    servers = [(model, SPEC) for model in models] + [(model, COPS) for model in models if model == 'event']
    for model, spec in servers:
        name = os.path.basename(spec)
        report.heading(f'requests: {model}, {name}')
        with tempfile.TemporaryDirectory(prefix='nest-requests-') as folder, Site(build(nest, model, folder, spec)) as site:
            for subject, rows in SUBJECTS.items():
                wrong = all_of(site, rows)
                report.line(not wrong, model, f'{name}: {subject}', f'{len(rows)} requests', '\n'.join(wrong))
            if site.content('small.txt') != CONTENT:
                raise Failed('a file of the site has changed')
            if site.stop() != 0:
                raise Failed(f'its end: {site.said()}')
