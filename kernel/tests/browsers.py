"""Requests of browsers behind nest accelerate: which fields the kernel passes over, and which it leaves to the server.

Must not know: how the kernel decides.
"""

import os
import re
import socket

import servers
from accelerated import WAIT, Site, answer, same, undated, until

PAGE = 'http://test/'


def lines(*fields):
    return ''.join(field + '\r\n' for field in fields)


def fetched(site, mode, what, *more):
    """The fields about a fetch; a navigation that a user began has one more."""
    return (f'Sec-Fetch-Site: {site}', f'Sec-Fetch-Mode: {mode}', *more, f'Sec-Fetch-Dest: {what}')


KEEP = 'Connection: keep-alive'
INSECURE = 'Upgrade-Insecure-Requests: 1'
BY_USER = 'Sec-Fetch-User: ?1'
CHROME_UA = ('User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) '
             'Chrome/142.0.0.0 Safari/537.36')
CHROME_HINTS = ('sec-ch-ua: "Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"', 'sec-ch-ua-mobile: ?0',
                'sec-ch-ua-platform: "Windows"')
CHROME_PAGES = ('Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;'
                'q=0.8,application/signed-exchange;v=b3;q=0.7')
CHROME_IMAGES = 'Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8'
CHROME_END = ('Accept-Encoding: gzip, deflate, br, zstd', 'Accept-Language: en-US,en;q=0.9,de;q=0.8')
FIREFOX_START = ('User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',)
FIREFOX_MORE = ('Accept-Language: en-US,en;q=0.5', 'Accept-Encoding: gzip, deflate, br, zstd')
FIREFOX_PAGES = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
SAFARI_UA = ('User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) '
             'Version/26.1 Safari/605.1.15')
SAFARI_END = ('Accept-Language: en-GB,en;q=0.9', 'Accept-Encoding: gzip, deflate')

# What each sends over HTTP/1.1, in its order, without Host, which comes before, and without cookies.
SENT = {
    'Chrome, page': lines(KEEP, *CHROME_HINTS, INSECURE, CHROME_UA, CHROME_PAGES,
                          *fetched('none', 'navigate', 'document', BY_USER), *CHROME_END),
    'Chrome, page without TLS': lines(KEEP, INSECURE, CHROME_UA, CHROME_PAGES, *CHROME_END),
    'Chrome, reload': lines(KEEP, 'Cache-Control: max-age=0', *CHROME_HINTS, INSECURE, CHROME_UA, CHROME_PAGES,
                            *fetched('same-origin', 'navigate', 'document', BY_USER), *CHROME_END),
    'Chrome, style sheet': lines(KEEP, CHROME_HINTS[2], CHROME_UA, *CHROME_HINTS[:2], 'Accept: text/css,*/*;q=0.1',
                                 *fetched('same-origin', 'no-cors', 'style'), f'Referer: {PAGE}', *CHROME_END),
    'Chrome, script': lines(KEEP, CHROME_HINTS[2], CHROME_UA, *CHROME_HINTS[:2], 'Accept: */*',
                            *fetched('same-origin', 'no-cors', 'script'), f'Referer: {PAGE}', *CHROME_END),
    'Chrome, image of another site': lines(
        KEEP, CHROME_HINTS[2], CHROME_UA, *CHROME_HINTS[:2], CHROME_IMAGES, *fetched('cross-site', 'no-cors', 'image'),
        'Sec-Fetch-Storage-Access: none', 'Referer: http://other/', *CHROME_END),
    'Chrome, fetch': lines(KEEP, CHROME_HINTS[2], CHROME_UA, *CHROME_HINTS[:2], 'Accept: */*',
                           *fetched('same-origin', 'cors', 'empty'), f'Referer: {PAGE}', *CHROME_END),
    'Chrome on Android that saves data': lines(
        KEEP, *CHROME_HINTS, 'Save-Data: on', 'DNT: 1', INSECURE, CHROME_UA, CHROME_PAGES,
        *fetched('none', 'navigate', 'document', BY_USER), *CHROME_END),
    'Firefox, page': lines(*FIREFOX_START, FIREFOX_PAGES, *FIREFOX_MORE, 'Sec-GPC: 1', KEEP, INSECURE,
                           'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Site: none', BY_USER,
                           'Priority: u=0, i'),
    'Firefox, page, with DNT': lines(*FIREFOX_START, FIREFOX_PAGES, *FIREFOX_MORE, 'DNT: 1', KEEP, INSECURE,
                                     'Priority: u=0, i'),
    'Firefox, reload': lines(*FIREFOX_START, FIREFOX_PAGES, *FIREFOX_MORE, 'Sec-GPC: 1', KEEP, INSECURE,
                             'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Site: none', BY_USER,
                             'Priority: u=0, i', 'Cache-Control: max-age=0'),
    'Firefox, style sheet': lines(*FIREFOX_START, 'Accept: text/css,*/*;q=0.1', *FIREFOX_MORE, KEEP,
                                  f'Referer: {PAGE}', 'Sec-Fetch-Dest: style', 'Sec-Fetch-Mode: no-cors',
                                  'Sec-Fetch-Site: same-origin', 'Priority: u=2'),
    'Firefox, image': lines(*FIREFOX_START,
                            'Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
                            *FIREFOX_MORE, KEEP, f'Referer: {PAGE}', 'Sec-Fetch-Dest: image',
                            'Sec-Fetch-Mode: no-cors', 'Sec-Fetch-Site: same-origin', 'Priority: u=5, i'),
    'Safari, page': lines(INSECURE, FIREFOX_PAGES, SAFARI_UA, 'Sec-Fetch-Dest: document', 'Sec-Fetch-Site: none',
                          'Sec-Fetch-Mode: navigate', *SAFARI_END, 'Priority: u=0, i', KEEP),
    'Safari, reload': lines('Sec-Fetch-Dest: document', SAFARI_UA, INSECURE, FIREFOX_PAGES, 'Sec-Fetch-Site: none',
                            'Sec-Fetch-Mode: navigate', *SAFARI_END, 'Priority: u=0, i', 'Cache-Control: max-age=0',
                            KEEP),
    'Safari, image': lines('Accept: image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,'
                           'image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5', SAFARI_UA, f'Referer: {PAGE}',
                           'Sec-Fetch-Dest: image', 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Mode: no-cors',
                           *SAFARI_END, 'Priority: u=3, i', KEEP),
}
# With the keys for a reload that passes over all caches. The server answers.
INSISTING = {
    'Chrome': lines(KEEP, 'Pragma: no-cache', 'Cache-Control: no-cache', *CHROME_HINTS, INSECURE, CHROME_UA,
                    CHROME_PAGES, *fetched('same-origin', 'navigate', 'document', BY_USER), *CHROME_END),
    'Firefox': lines(*FIREFOX_START, FIREFOX_PAGES, *FIREFOX_MORE, 'Sec-GPC: 1', KEEP, INSECURE,
                     'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Site: none', BY_USER,
                     'Priority: u=0, i', 'Pragma: no-cache', 'Cache-Control: no-cache'),
    'Safari': lines('Sec-Fetch-Dest: document', SAFARI_UA, INSECURE, FIREFOX_PAGES, 'Sec-Fetch-Site: none',
                    'Sec-Fetch-Mode: navigate', 'Cache-Control: no-cache', 'Pragma: no-cache', *SAFARI_END,
                    'Priority: u=0, i', KEEP),
}
# Fields that the server must see. After one of these the kernel answers the next request again.
LEFT = [
    'Cookie: a=b', 'Authorization: Basic YTpi', 'Range: bytes=1-2', 'If-Range: "x"', 'If-Match: *',
    'If-Unmodified-Since: Thu, 01 Jan 2037 00:00:00 GMT', 'Origin: http://other', 'Cache-Control: no-cache',
    'Cache-Control: no-store', 'Cache-Control: max-age=00', 'Cache-Control: max-age=60', 'Cache-Control:max-age=0',
    'Cache-Control: max-age=0, no-cache', 'Cache-Control: no-cache, max-age=0', 'Cache-Control: only-if-cached',
    'Pragma: no-cache', 'Purpose: prefetch', 'Sec-Purpose: prefetch', 'X-Moz: prefetch', 'X-Requested-With: x',
    'X-Forwarded-For: 10.0.0.1', 'X-Forwarded-Proto: https', 'Forwarded: for=10.0.0.1', 'Via: 1.1 x',
    'Service-Worker: script', 'Service-Worker-Navigation-Preload: true', 'Available-Dictionary: :eA==:',
    'Sec-CH-Width: 100', 'Sec-CH-DPR: 2', 'Sec-CH-Viewport-Width: 400', 'Sec-CH-Prefers-Color-Scheme: dark',
    'Sec-CH-UA-Arch: "x86"', 'Sec-CH-UA-Full-Version-List: "x";v="1"', 'DPR: 2', 'Viewport-Width: 400', 'Width: 100',
    'RTT: 50', 'Downlink: 10', 'ECT: 4g', 'Device-Memory: 8', 'Prefer: return=minimal', 'Accept-Charset: utf-8',
    'Accept-Datetime: Thu, 01 Jan 1970 00:00:00 GMT', 'Accept-CH: x', 'A-IM: feed', 'Max-Forwards: 0',
    'X-HTTP-Method-Override: DELETE', 'Sec-Fetch-Other: 1', 'Sec-GPCX: 1', 'Priorities: u=1', 'Save-Date: x',
    'Sec-WebSocket-Key: eA==', 'Unknown: 1', 'Sec-Fetch-Dest', 'Save-Data',
]
# Behind one of these the connection may not go on as HTTP/1.1, or a body may follow: it stays with the server.
HANDED_OVER = [
    'Upgrade: websocket', 'Upgrade: h2c\r\nHTTP2-Settings: AAAA', 'Upgrade-Insecure-Request: 1',
    'Upgrade-Insecure-Requests', 'Connection: Upgrade\r\nUpgrade: websocket', 'Connection: close',
    'Connection: keep-alive, Upgrade', 'Expect: 100-continue', 'Content-Length: 0', 'Content-Type: text/plain',
    'Transfer-Encoding: identity', 'TE: trailers', 'Trailer: x', 'Keep-Alive: 300', 'Proxy-Connection: keep-alive',
    'Proxy-Authorization: Basic YTpi', 'Host: test', 'Host:test', ' Priority: u=1',
]


def whole(client, method):
    """The answer, and a 100 Continue before it, without the values of their dates."""
    head, body = answer(client, method)
    if head.startswith(b'HTTP/1.1 100 '):
        head, body = head + b'\r\n', b'\r\n\r\n'.join(answer(client, method, body))
    return undated(head + b'\r\n\r\n' + body)


class Talk:
    """One connection to the site and one to the server alone: both are asked the same."""

    def __init__(self, site):
        self.site = site

    def __enter__(self):
        ports = (self.site.port, self.site.alone)
        self.clients = [socket.create_connection(('127.0.0.1', port), WAIT) for port in ports]
        return self

    def __exit__(self, *unused):
        for client in self.clients:
            client.close()

    def ask(self, name, fields, method='GET'):
        """Compares the two answers, byte for byte. True: the connection goes on."""
        data, got = f'{method} /{name} HTTP/1.1\r\nHost: test\r\n{fields}\r\n'.encode(), []
        for client in self.clients:
            client.sendall(data)
            got.append(whole(client, method))
        same(f'{method} with {fields!r}', *got)
        return b'\r\nConnection: close\r\n' not in got[0]


def browsers(folder):
    """Pages, reloads and what belongs to pages are answered by the kernel for Chrome, Firefox and Safari, with the
    server's own bytes. Fields that may change the answer are left to the server."""
    with Site(folder) as site:
        site.write('index.html', b'<p>index')
        site.write('a.txt', b'hello')
        site.keep('', 'a.txt')
        head = site.get('', site.alone)[0].decode()
        tag, date = (re.search(f'\r\n{name}: ([^\r]*)', head)[1] for name in ('ETag', 'Last-Modified'))
        version = lines(f'If-None-Match: {tag}', f'If-Modified-Since: {date}')

        def unchanged():
            site.get('', fields=version)
            return site.counts()['unchanged']

        until('the kernel says 304', unchanged)

        def answers(work):
            """How many requests the kernel answered while `work` ran."""
            before = site.counts()['answers']
            work()
            return site.counts()['answers'] - before

        def kept(what, count, work):
            """The kernel answers so many requests of `work`. On a busy machine the server may get some of them: for
            its idle timer, or because the loader was late."""
            until(f'the kernel answers {what}', lambda: answers(work) == count)

        requests = [('', 'GET', ''), ('a.txt', 'GET', ''), ('', 'HEAD', ''), ('', 'GET', version),
                    ('', 'HEAD', version)]
        for what, fields in SENT.items():
            for name, method, more in requests:
                with Talk(site) as talk:
                    kept(f'{what}, {method} /{name} with {more!r}', 1,
                         lambda: talk.ask(name, fields + more, method))
        with Talk(site) as talk:        # one client loads pages
            kept('pages', 2 * len(SENT), lambda: [talk.ask(name, fields) for fields in SENT.values()
                                                  for name in ('', 'a.txt')])
        image, before = SENT['Firefox, image'], site.counts()['fields']
        for fields, again in [*((f, True) for f in INSISTING.values()), *((image + lines(f), True) for f in LEFT),
                              *((image + lines(f), False) for f in HANDED_OVER)]:
            with Talk(site) as talk:
                goes_on = []
                same(f'answers of the kernel to {fields!r}',
                     answers(lambda: goes_on.append(talk.ask('a.txt', fields))), 0)
                if again:
                    kept(f'what follows {fields!r}', 1, lambda: talk.ask('a.txt', ''))
                elif goes_on[0]:
                    same(f'answers behind {fields!r}', answers(lambda: talk.ask('a.txt', '')), 0)
        # Questions of nest itself may be among them.
        counted = site.counts()['fields'] - before
        same('enough were counted for their fields', counted >= len(INSISTING) + len(LEFT), True)
        same('broken', site.counts()['broken'], 0)
    longest = max(len(fields + version) for fields in SENT.values())
    return (f'{len(SENT)} sets of fields of at most {longest} bytes; '
            f'{len(INSISTING) + len(LEFT) + len(HANDED_OVER)} left to nginx')


def refused(value):
    return f'if ({value}) {{ return 403; }}'


# What an nginx may ask about a browser's fields.
ASKED = [
    *(f'$http_{name}' for name in (
        'dnt', 'sec_gpc', 'save_data', 'priority', 'upgrade_insecure_requests', 'sec_fetch_dest', 'sec_fetch_mode',
        'sec_fetch_user', 'sec_fetch_storage_access', 'sec_ch_ua', 'sec_ch_ua_mobile', 'sec_ch_ua_platform',
        'accept_language')),
    '$http_user_agent ~ Mozilla', '$http_accept ~ image/webp', '$http_accept ~ image/avif', '$http_accept ~ text/html',
    '$http_accept_encoding ~ br', '$http_accept_encoding ~ zstd', '$http_referer !~ "^(http://test/.*)?$"',
    '$http_sec_fetch_site = cross-site', '$http_cache_control = "max-age=0"',
]


def choosing(site):
    """nginx, which refuses f0.txt, f1.txt, ... to requests with some field."""
    command = servers.nginx(site)
    path = os.path.join(site.folder, 'nginx.conf')
    with open(path, encoding='ascii') as file:
        text = file.read()
    own = ''.join(f'location = /f{i}.txt {{ {refused(value)} }}\n' for i, value in enumerate(ASKED))
    with open(path, 'w', encoding='ascii') as file:
        file.write(text.replace('location /made', own + 'location /made'))
    return command


def choosy(folder):
    """A server that looks at one of the fields which the kernel passes over answers itself."""
    site = Site(folder, server=choosing)
    names = [f'f{i}.txt' for i in range(len(ASKED))]
    for name in (*names, 'a.txt'):
        site.write(name, b'body')
    with site:
        def left():
            for name in names:
                same(name, site.get(name)[1], b'body')
            told = re.findall(r'nest_kernel_left_total{.*} (\d+)', site.ask('metrics'))
            return sum(map(int, told)) >= len(names)

        until('nest leaves all files to nginx', left)
        site.keep('a.txt')
        before = site.counts()['answers']
        for name in names:
            with Talk(site) as talk:
                for fields in SENT.values():
                    talk.ask(name, fields)
        same('answers of the kernel', site.counts()['answers'] - before, 0)
    return f'{len(ASKED)} fields and values'
