"""Inputs made from a seed: request heads, dialogues of SMTP, FTP and memcached, long lines.

The shapes are those that clients of today send, the words are drawn; README.md says how the shares
were chosen. Must not know: matchers.
"""

import random
import string

SIZE = 512 * 1024               # of each input but the long lines: it stays in a core's cache
LOWER, HEX = string.ascii_lowercase, '0123456789abcdef'
ALNUM = string.ascii_letters + string.digits
TOKEN = ALNUM + '-_'
SYLLABLES = 'an be co da el fi ga hi in ka lo mi no or pa ri sa ta un vo'.split()


class Words:
    """Drawn names, numbers and paths."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.hosts = [f'{self.word()}.{self.word()}.example' for _ in range(12)]
        self.addresses = [f'{self.word()}.{self.word()}@{self.word()}.example' for _ in range(200)]

    def chance(self, share):
        """True with this probability."""
        return self.random.random() < share

    def pick(self, *of):
        """One of them, each as likely."""
        return self.random.choice(of)

    def weighted(self, table):
        """A key of {key: weight}."""
        return self.random.choices(list(table), list(table.values()))[0]

    def text(self, alphabet, least, most):
        """So many characters, each length as likely."""
        return ''.join(self.random.choices(alphabet, k=self.random.randint(least, most)))

    def word(self):
        """Something that can be pronounced."""
        return ''.join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4)))

    def spread(self, least, most):
        """A number whose order of magnitude is uniform: small ones are common."""
        return int(least * (most / least) ** self.random.random())

    def path(self):
        """A path of one to five segments, a third of them with a query."""
        path = '/' + '/'.join(self.word() for _ in range(self.random.randint(0, 5)))
        path += self.pick('', '', '.html', '.js', '.css', '.png', '.woff2')
        if self.chance(1 / 3):
            path += '?' + '&'.join(f'{self.word()}={self.text(TOKEN, 1, 24)}'
                                   for _ in range(self.random.randint(1, 4)))
        return path

    def cookie(self):
        """Pairs up to a size from 20 bytes to 2 KB."""
        size, pairs = self.spread(20, 2048), []
        while sum(map(len, pairs)) < size:
            room = size - sum(map(len, pairs))
            pairs.append(f'_{self.word()}={self.text(ALNUM + "-_.%", 4, max(4, min(room, 400)))}')
        return '; '.join(pairs)


# -- browsers

def agent(words, browser):
    """User-Agent, and the version."""
    version = words.random.randint(118, 146)
    system = words.pick('Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7',
                        'X11; Linux x86_64')
    if browser == 'chrome':
        return (f'Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) '
                f'Chrome/{version}.0.0.0 Safari/537.36'), version
    if browser == 'firefox':
        return f'Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0', version
    return (f'Mozilla/5.0 ({words.pick("iPhone; CPU iPhone OS 18_1 like Mac OS X", system)}) '
            f'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.{version % 7} Safari/605.1.15',
            version)


ACCEPT = {
    'document': 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,'
                'image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    'image': 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
    'style': 'text/css,*/*;q=0.1', 'script': '*/*', 'font': '*/*',
    'empty': 'application/json, text/plain, */*'}


def browser_head(words):
    """What a browser sends: of a visit one navigation in eight, the rest what the page needs."""
    browser = words.weighted({'chrome': 65, 'safari': 20, 'firefox': 15})
    what = words.weighted({'document': 12, 'image': 34, 'script': 20, 'style': 8, 'font': 4,
                           'empty': 22})
    host, (user_agent, version) = words.pick(*words.hosts), agent(words, browser)
    method = 'POST' if what == 'empty' and words.chance(.4) else 'GET'
    site = words.pick('same-origin', 'same-origin', 'same-site', 'cross-site')
    lines = [('Host', host), ('Connection', 'keep-alive')]
    hints = [('sec-ch-ua-platform', words.pick('"Windows"', '"macOS"', '"Linux"')),
             ('sec-ch-ua', f'"Chromium";v="{version}", "Google Chrome";v="{version}", '
                           '"Not_A Brand";v="24"'),
             ('sec-ch-ua-mobile', words.pick('?0', '?0', '?1'))]
    if browser == 'chrome':
        lines += hints
    if method == 'POST':
        lines += [('Content-Length', str(words.spread(20, 40000))),
                  ('Content-Type', 'application/json')]
    if what == 'empty' and words.chance(.5):
        lines.append(('X-Requested-With', 'XMLHttpRequest'))
    if what == 'empty' and words.chance(.3):
        lines.append(('Authorization', f'Bearer {words.text(TOKEN, 30, 36)}.'
                                       f'{words.text(TOKEN, 100, 400)}.{words.text(TOKEN, 43, 43)}'))
    if what == 'document':
        lines.append(('Upgrade-Insecure-Requests', '1'))
    lines += [('User-Agent', user_agent), ('Accept', ACCEPT[what]),
              ('Sec-Fetch-Site', site),
              ('Sec-Fetch-Mode', {'document': 'navigate', 'empty': 'cors'}.get(what, 'no-cors')),
              ('Sec-Fetch-Dest', what)]
    if method == 'POST' or site == 'cross-site':
        lines.append(('Origin', f'https://{host}'))
    if what != 'document' or words.chance(.5):
        lines.append(('Referer', f'https://{host}{words.path()}'))
    lines += [('Accept-Encoding', 'gzip, deflate, br, zstd'),
              ('Accept-Language', words.pick('en-US,en;q=0.9', 'de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7',
                                             'fr-FR,fr;q=0.8,en-US;q=0.5,en;q=0.3'))]
    if words.chance(.7):
        lines.append(('Cookie', words.cookie()))
    if words.chance(.15):
        lines.append(('If-None-Match', f'W/"{words.text(HEX, 16, 40)}"'))
    return method, words.path(), lines


# -- machines

def curl(words, host):
    """curl, a library, or a program's client."""
    name = words.pick(f'curl/8.{words.random.randint(0, 17)}.0', 'python-requests/2.32.3',
                      'Go-http-client/1.1', 'okhttp/4.12.0')
    lines = [('Host', host), ('User-Agent', name), ('Accept', '*/*')]
    if words.chance(.3):
        lines.append(('Authorization', f'Bearer {words.text(TOKEN, 40, 300)}'))
    return words.pick('GET', 'GET', 'GET', 'HEAD', 'PUT', 'DELETE'), words.path(), lines


def bot(words, host):
    """A search engine's robot."""
    name = words.word()
    return words.weighted({'GET': 9, 'HEAD': 1}), words.pick('/robots.txt', words.path()), [
        ('Host', host), ('Connection', 'keep-alive'), ('Accept', 'text/html,*/*;q=0.8'),
        ('From', f'{name}(at)bot.example'),
        ('User-Agent', f'Mozilla/5.0 (compatible; {name}/2.1; +http://{name}.example/bot.html)'),
        ('Accept-Encoding', 'gzip, deflate, br')]


def probe(words, host):
    """A load balancer that looks whether the server lives."""
    return 'GET', words.pick('/', '/health', '/healthz', '/status'), [
        ('Host', host), ('User-Agent', words.pick('ELB-HealthChecker/2.0', 'kube-probe/1.31',
                                                  'GoogleHC/1.0'))]


def proxied(words, _host):
    """A browser's request as a load balancer hands it on."""
    method, target, lines = browser_head(words)
    client = '.'.join(str(words.random.randint(1, 254)) for _ in range(4))
    return method, target, lines + [
        ('X-Forwarded-For', client), ('X-Forwarded-Proto', 'https'), ('X-Forwarded-Port', '443'),
        ('X-Real-IP', client), ('X-Request-ID', words.text(HEX, 32, 32)),
        ('traceparent', f'00-{words.text(HEX, 32, 32)}-{words.text(HEX, 16, 16)}-01'),
        ('Via', f'1.1 {words.word()}')]


def machine_head(words):
    """What programs send."""
    kind = words.weighted({curl: 35, bot: 20, probe: 20, proxied: 25})
    return kind(words, words.pick(*words.hosts))


def heads(make):
    """A source of whole heads."""
    def one(words):
        method, target, lines = make(words)
        return (f'{method} {target} HTTP/1.1\r\n'
                + ''.join(f'{name}: {value}\r\n' for name, value in lines) + '\r\n')
    return one


# -- dialogues: what the client says

def smtp(words):
    """A session of one or two mails; their texts are no commands and are left out."""
    sender = words.pick(*words.addresses)
    out = [f'{words.weighted({"EHLO": 95, "HELO": 5})} {words.word()}.{sender.partition("@")[2]}']
    if words.chance(.4):
        out += ['STARTTLS', out[0]]
    if words.chance(.25):
        out.append(f'AUTH PLAIN {words.text(ALNUM, 24, 60)}=')
    for _ in range(words.random.randint(1, 2)):
        size = f' SIZE={words.spread(1000, 5000000)}' if words.chance(.7) else ''
        body = ' BODY=8BITMIME' if words.chance(.3) else ''
        out.append(f'MAIL FROM:<{sender}>{size}{body}')
        out += [f'RCPT TO:<{words.pick(*words.addresses)}>'
                for _ in range(words.weighted({1: 80, 2: 10, 5: 8, 20: 2}))]
        out.append(words.weighted({'DATA': 90, 'RSET': 6, 'NOOP': 4}))
    out.append('QUIT')
    if words.chance(.1):
        out = [line.replace('MAIL FROM', 'mail from').replace('RCPT TO', 'rcpt to')
               for line in out]
    return ''.join(line + '\r\n' for line in out)


def ftp(words):
    """A session of a program that lists, fetches and stores."""
    def port():
        return ','.join(str(words.random.randint(1, 254)) for _ in range(6))
    out = [f'USER {words.word()}', f'PASS {words.text(ALNUM, 6, 16)}', 'SYST', 'FEAT',
           'OPTS UTF8 ON', 'PWD', 'TYPE I']
    for _ in range(words.random.randint(1, 8)):
        name = f'{words.word()}.{words.pick("txt", "tar.gz", "jpg", "log")}'
        how = words.weighted({'PASV': 40, 'EPSV': 45, 'PORT': 15})
        way = [f'PORT {port()}' if how == 'PORT' else how]
        out += words.pick([f'CWD {words.path()}'], way + ['LIST'], way + ['MLSD'],
                          [f'SIZE {name}', f'MDTM {name}'] + way + [f'RETR {name}'],
                          way + [f'STOR {name}'], [f'RNFR {name}', f'RNTO old-{name}'],
                          [f'DELE {name}'], [f'MKD {words.word()}'], ['NOOP'])
    return ''.join(line + '\r\n' for line in out + ['QUIT'])


def memcached(words):
    """Command lines: mostly gets; the data blocks behind `set` are no text and are left out."""
    def key():
        return f'{words.word()}:{words.word()}:{words.spread(1, 10 ** 8)}'
    kind = words.weighted({'get': 70, 'gets': 6, 'set': 16, 'add': 1, 'delete': 4, 'incr': 3})
    if kind in ('get', 'gets'):
        count = words.weighted({1: 75, 2: 10, 5: 10, 24: 5})
        return f'{kind} {" ".join(key() for _ in range(count))}\r\n'
    quiet = ' noreply' if words.chance(.1) else ''
    if kind in ('set', 'add'):
        return (f'{kind} {key()} {words.pick(0, 0, 0, 1, 32)} {words.pick(0, 60, 3600, 86400)} '
                f'{words.spread(10, 100000)}{quiet}\r\n')
    return f'{kind} {key()}{" " + str(words.random.randint(1, 9)) if kind == "incr" else ""}{quiet}\r\n'


def lines(seed):
    """Lines of 8 KB, 16 KB, … 1 MB, each up to a tenth longer, in random order."""
    words, out = Words(seed), []
    text = words.text(ALNUM + ' ,.;:+-*/=()"', 65536, 65536)
    for power in words.random.sample(range(13, 21), 8):
        length = int(2 ** power * (1 + words.random.random() / 10))
        at = words.random.randrange(len(text))
        out.append((text[at:] + text * (length // len(text) + 1))[:length] + '\r\n')
    return ''.join(out).encode('ascii')


def filled(make):
    """An input of SIZE bytes or a little more, whole messages of a source."""
    def whole(seed):
        words, out, size = Words(seed), [], 0
        while size < SIZE:
            out.append(make(words))
            size += len(out[-1])
        return ''.join(out).encode('ascii')
    return whole


CORPORA = {
    'browsers': filled(heads(browser_head)), 'machines': filled(heads(machine_head)),
    'smtp': filled(smtp), 'ftp': filled(ftp), 'memcached': filled(memcached), 'lines': lines}
