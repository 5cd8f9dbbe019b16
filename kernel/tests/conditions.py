"""Conditional requests behind nest accelerate: which ones the kernel answers with 304.

Must not know: how the kernel decides.
"""

import os
import re
import socket

from accelerated import WAIT, Failed, Site, answer, same, undated, until


def unchanged(folder):
    """Requests that name the version of a file are answered with nginx's own 304; all others as nginx answers.
    A changed file is not called unchanged."""
    log = os.path.join(folder, 'kernel.log')
    with Site(folder, ['--log', log]) as site:
        site.write('a.txt', b'hello')
        site.write('b.txt', b'b' * 5000)
        head = site.get('a.txt', site.alone)[0].decode()
        tag, date = (re.search(f'\r\n{name}: ([^\r]*)', head)[1] for name in ('ETag', 'Last-Modified'))
        since = f'If-Modified-Since: {date}\r\n'

        def tags(value):
            return f'If-None-Match: {value}\r\n'

        here = [tags(tag), tags('W/' + tag), tags('*'), tags(f'"x", {tag}'), tags(f'{tag},W/"x"'), since,
                tags(tag) + since, since + tags('W/' + tag), tags(tag).lower()]
        passed_on = [tags('"x"'), tags(f'"x" , {tag}'), tags(tag + ' '), tags(tag) + tags(tag), since + since,
                     tags(tag[:-1]), tags(tag[1:]), tags(''), tags(tag) + 'Range: bytes=1-2\r\n',
                     tags(tag) + f'If-Match: {tag}\r\n', 'If-Modified-Since: Thu, 01 Jan 2037 00:00:00 GMT\r\n',
                     tags(tag) + 'If-Modified-Since: Thu, 01 Jan 1970 00:00:01 GMT\r\n', tags('"x"') + since]

        def told_here():
            return site.counts()['unchanged']

        def asked(fields, method='GET', name='a.txt'):
            with socket.create_connection(('127.0.0.1', site.port), WAIT) as client:
                # The server has accepted the connection when it has answered a first request.
                client.sendall(b'GET /a.txt HTTP/1.1\r\nHost: test\r\n\r\n')
                answer(client)
                client.sendall(f'{method} /{name} HTTP/1.1\r\nHost: test\r\n{fields}\r\n'.encode())
                got = answer(client, method)
            same(f'{method} with {fields!r}', undated(b''.join(got)),
                 undated(b''.join(site.get(name, site.alone, method, fields))))
            return got[0]

        until('the kernel says 304', lambda: asked(tags(tag)) and told_here())
        for fields in here:
            for method in ('GET', 'HEAD'):
                def by_kernel(fields=fields, method=method):
                    before = told_here()
                    if b' 304 ' not in asked(fields, method):
                        raise Failed(f'{method} with {fields!r} is not answered with 304')
                    return told_here() - before == 1
                # On a busy machine the loader may be late, and the server answers.
                until(f'the kernel says 304 to {method} with {fields!r}', by_kernel)
        before = told_here()
        for fields in passed_on:
            asked(fields)
        asked(tags(tag), name='none')
        same('304s of the kernel to others', told_here() - before, 0)
        until('the kernel says 304 of b.txt', lambda: asked(since, name='b.txt') and told_here() > before)
        site.write('a.txt', b'changed')
        until('a.txt is new', lambda: site.get('a.txt', fields=tags(tag))[1] == b'changed')
        site.keep('a.txt')
        same('a.txt with the old tag', site.get('a.txt', fields=tags(tag))[1], b'changed')
        count = told_here()

        def lines():
            with open(log, encoding='ascii') as file:
                return re.findall(r'"(?:GET|HEAD) /[ab]\.txt HTTP/1\.1" 304 \d+\n', file.read())

        until('the log has the 304s', lambda: len(lines()) >= count)
        same('304s in the log', len(lines()), count)
    return f'{count} times 304'
