"""Drives Chromium without a screen, by the DevTools protocol over two pipes.

Source: https://chromedevtools.github.io/devtools-protocol/. Must not know: what is loaded, and what is checked.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from support.nest import Failed

PROGRAM = 'chromium'
TIMEOUT = 120      # seconds for an answer; long, because the machine may be busy
STOP = 20           # seconds to end


def found():
    """Whether there is a browser."""
    return shutil.which(PROGRAM) is not None


def _apart(url):
    """Whether an address is not one of the page: the browser asks for an icon when it likes to, and for data: nobody."""
    return url.startswith('data:') or url.endswith('/favicon.ico')


class Visit:
    """What the loading of a page has shown: answers by their addresses, and what went wrong."""

    def __init__(self):
        self.loaded, self.wrong, self.answers = False, [], {}
        self.open = {}           # addresses by the numbers of requests

    def over(self):
        """Whether the page and all that it asks for have come."""
        return self.loaded and not self.open

    def sent(self):
        """The addresses that the server has answered, rather than the browser's cache."""
        return sorted(url for url, answer in self.answers.items() if not answer['cached'])

    def note(self, method, event):
        """Takes one event of the protocol."""
        number = event.get('requestId')
        if method == 'Page.loadEventFired':
            self.loaded = True
        elif method == 'Network.requestWillBeSent' and not _apart(event['request']['url']):
            self.open[number] = event['request']['url']
        elif method == 'Network.requestServedFromCache':
            self.answers.setdefault(number, {})['memory'] = True
        elif method == 'Network.responseReceived':
            self._answered(number, event['response'])
        elif method == 'Network.loadingFinished':
            self.open.pop(number, None)
        elif method == 'Network.loadingFailed' and self.open.pop(number, None):
            self.wrong.append(f'{event["errorText"]}: {event.get("type")}')
        elif method == 'Log.entryAdded' and event['entry']['level'] == 'error' and not _apart(event['entry'].get('url', '')):
            self.wrong.append(f'{event["entry"]["text"]} {event["entry"].get("url", "")}')
        elif method == 'Runtime.exceptionThrown':
            self.wrong.append(str(event['exceptionDetails'].get('exception', event['exceptionDetails']))[:300])

    def _answered(self, number, response):
        if _apart(response['url']):
            return
        memory = self.answers.pop(number, {}).get('memory', False)
        self.answers[response['url']] = {
            'number': number,
            'status': response['status'],
            'cached': memory or response.get('fromDiskCache', False),
            'protocol': response.get('protocol'),
            'tls': response.get('securityDetails', {}).get('protocol'),
            'fields': {name.lower(): value for name, value in response['headers'].items()},
        }


class Browser:
    """A running browser with one page, a profile of its own, and trust in one key; a context manager that ends it."""

    def __init__(self, key):
        """`key`: the SHA-256 of the public key (SPKI) of the certificate to trust, in base64."""
        self.folder = tempfile.TemporaryDirectory(prefix='nest-browser-')
        self.errors = open(os.path.join(self.folder.name, 'stderr'), 'w+b')
        theirs, self.out = os.pipe()
        self.into, other = os.pipe()
        self.ready, self.number, self.visit_now = b'', 0, Visit()
        words = [PROGRAM, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
                 '--disable-background-networking', '--disable-component-update', '--disable-sync',
                 f'--user-data-dir={self.folder.name}/profile', f'--ignore-certificate-errors-spki-list={key}',
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
                 '--remote-debugging-pipe', 'about:blank']

        def pipes():
            """The protocol's pipes are descriptors 3 and 4, wherever they were."""
            high = [os.dup2(fd, to) for fd, to in ((theirs, 60), (other, 61))]
            for fd, to in zip(high, (3, 4)):
                os.dup2(fd, to)
                os.close(fd)

        try:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors,
                                            preexec_fn=pipes, pass_fds=(3, 4), start_new_session=True,
                                            env={**os.environ, 'HOME': self.folder.name})
        finally:
            os.close(theirs)
            os.close(other)
        try:
            target = self.call('Target.createTarget', url='about:blank')['targetId']
            self.page = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
            for domain in ('Page', 'Network', 'Log', 'Runtime'):
                self.call(f'{domain}.enable')
        except Failed:
            self.close()
            raise

    page = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends all its processes, and removes its profile."""
        try:
            self._send('Browser.close', {}, None)
            self.process.wait(STOP)
        except (OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.errors.close()
        for _ in range(50):         # processes that have just been killed may still write there
            shutil.rmtree(self.folder.name, ignore_errors=True)
            if not os.path.exists(self.folder.name):
                break
            time.sleep(0.1)
        self.folder.cleanup()

    def _send(self, method, arguments, page):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': arguments}
        if page is not None:
            message['sessionId'] = page
        os.write(self.out, json.dumps(message).encode() + b'\0')
        return self.number

    def _next(self, end, what):
        """The next message."""
        while b'\0' not in self.ready:
            if not select.select([self.into], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed(f'the browser did not finish within {TIMEOUT} s: {what}; {list(self.visit_now.open.values())} open')
            chunk = os.read(self.into, 1 << 16)
            if not chunk:
                self.errors.seek(0)
                raise Failed(f'the browser has ended: {self.errors.read()[-2000:].decode(errors="replace")}')
            self.ready += chunk
        text, _, self.ready = self.ready.partition(b'\0')
        return json.loads(text)

    def call(self, method, **arguments):
        """Calls a method of the protocol; its result."""
        number, end = self._send(method, arguments, self.page), time.monotonic() + TIMEOUT
        while True:
            message = self._next(end, method)
            if message.get('id') == number:
                if 'error' in message:
                    raise Failed(f'{method}: {message["error"]["message"]}')
                return message['result']
            if 'method' in message:
                self.visit_now.note(message['method'], message['params'])

    def _wait(self, over, what):
        end = time.monotonic() + TIMEOUT
        while not over():
            message = self._next(end, what)
            if 'method' in message:
                self.visit_now.note(message['method'], message['params'])

    def visit(self, url):
        """Loads a page as a link does, with all that it asks for; what was seen."""
        self.visit_now = Visit()
        self.call('Page.navigate', url='about:blank')
        self._wait(lambda: self.visit_now.loaded, 'about:blank')
        self.visit_now = Visit()
        error = self.call('Page.navigate', url=url).get('errorText')
        if error:
            raise Failed(f'{url}: {error}')
        self._wait(self.visit_now.over, url)
        return self.visit_now

    def act(self, script):
        """Runs a script in the page that leads to another page, such as the click at a button; what was seen of that."""
        self.visit_now = Visit()
        self.evaluate(script)
        self._wait(self.visit_now.over, script)
        return self.visit_now

    def evaluate(self, script):
        """The value of an expression in the page."""
        found_value = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in found_value:
            raise Failed(f'{script}: {found_value["exceptionDetails"]}')
        return found_value['result'].get('value')

    def body(self, answer):
        """The bytes of an answer, decoded."""
        got = self.call('Network.getResponseBody', requestId=answer['number'])
        return base64.b64decode(got['body']) if got['base64Encoded'] else got['body'].encode()
