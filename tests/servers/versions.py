"""Tests what examples/web promises of versions: their entity tags, and conditions beside other changes.

Must not know: how the server is made.
"""

import concurrent.futures
import fcntl
import http.client
import os
import re
import tempfile
import time
from support.nest import SOCKET_MODELS, Failed, program
from support.server import Client
from web import Site, attempt, build, curl, same

DAY = 86400
ADDED = 60                          # versions, or additions to a number


def put(site, data, *fields, name='x', method='PUT'):
    """The status of a request that changes a file."""
    client = http.client.HTTPConnection('127.0.0.1', site.port, timeout=30)
    client.request(method, f'/up/{name}', data, dict(fields))
    status = client.getresponse().status
    client.close()
    return status


def tags(site):
    """versions of the same size, one after the other: each has a tag of its own"""
    seen = []
    client = http.client.HTTPConnection('127.0.0.1', site.port, timeout=30)

    def ask(method, body=None, **fields):
        client.request(method, '/up/tags', body, {name.replace('_', '-'): value for name, value in fields.items()})
        answer = client.getresponse()
        return answer, answer.read()
    for number in range(ADDED):
        data = b'%03d' % number
        same('stored', ask('PUT', data)[0].status, 204 if number % 10 else 201)
        for tag in seen[-1:]:
            answer, content = ask('GET', If_None_Match=tag)
            same(f'version {number}, by the last tag', (answer.status, content), (200, data))
        seen.append(ask('GET')[0].headers['ETag'])
        if number % 10 == 9:
            same('deleted', ask('DELETE')[0].status, 204)
    client.close()
    same('tags', len(set(seen)), ADDED)


def ahead(site):
    """the file's time is ahead of the clock: the next version's is later, but not if it is days ahead"""
    path = site.path('up/ahead')
    for hours, later in ((1, True), (72, False)):
        same('stored', put(site, b'old', name='ahead') in (201, 204), True)
        then = time.time_ns() + hours * 3600 * 10**9
        os.utime(path, ns=(then, then))
        for _ in range(2):
            before = os.stat(path).st_mtime_ns
            tag = curl(site, 'up/ahead')[1]['etag']
            same('replaced', put(site, b'new', ('If-Match', tag), name='ahead'), 204)
            same('another tag', curl(site, 'up/ahead')[1]['etag'] != tag, True)
            same(f'{hours} hours ahead: later', os.stat(path).st_mtime_ns > before, later)
            later = True


def added(site):
    """clients that add to one number, each on the condition of its tag: no addition is lost"""
    same('begun', put(site, b'000', name='sum'), 201)

    def add(_):
        client, done = http.client.HTTPConnection('127.0.0.1', site.port, timeout=30), 0
        while done < ADDED // 3:
            client.request('GET', '/up/sum')
            answer = client.getresponse()
            data = b'%03d' % (int(answer.read()) + 1)
            client.request('PUT', '/up/sum', data, {'If-Match': answer.headers['ETag']})
            answer = client.getresponse()
            answer.read()
            if answer.status not in (204, 412):
                raise Failed(f'an addition: {answer.status}')
            done += answer.status == 204
        client.close()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(3)))
    same('the sum', site.content('up/sum'), b'%03d' % ADDED)


def dated(site):
    """a date in If-Range: it names the file only when it is a minute old"""
    put(site, b'0123456789', name='dated')
    for age, wanted in ((0, (200, b'0123456789')), (3600, (206, b'01'))):
        os.utime(site.path('up/dated'), (time.time() - age,) * 2)
        changed = curl(site, 'up/dated')[1]['last-modified']
        same(f'{age} s old', curl(site, 'up/dated', '-H', f'If-Range: {changed}', '-r', '0-1')[::2], wanted)


def wait_for_lock(folder, count):
    """Waits until so many operations wait for the lock of a folder, which the caller holds."""
    inode, end = os.stat(folder).st_ino, time.monotonic() + 20
    while True:
        with open('/proc/locks', encoding='ascii') as file:
            waiting = re.findall(rf'-> FLOCK .*:{inode} ', file.read())
        if len(waiting) >= count:
            return
        if time.monotonic() > end:
            raise Failed(f'{len(waiting)} operations wait for the lock, not {count}')
        time.sleep(0.01)


def meanwhile(site):
    """a file changes after a condition was found true: it is neither replaced nor deleted"""
    folder, path = site.path('up'), site.path('up/x')
    for method, fields, wanted, left in (
            ('PUT', True, b'412', b'other'), ('DELETE', True, b'412', b'other'), ('PUT', False, b'204', b'mine'),
            ('DELETE', False, b'204', None)):
        put(site, b'first')
        tag = curl(site, 'up/x')[1]['etag']
        with open(site.path('other'), 'wb') as file:
            file.write(b'other')
        holder = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX)
            with Client(site) as client:
                client.send(f'{method} /up/x HTTP/1.1\r\nHost: a\r\n{f"If-Match: {tag}" if fields else "X: y"}\r\n'
                            f'Content-Length: 4\r\n\r\nmine'.encode())
                wait_for_lock(folder, 1)
                same(f'{method} waits', site.content('up/x'), b'first')
                os.rename(site.path('other'), path)
                fcntl.flock(holder, fcntl.LOCK_UN)
                same(f'{method}, {fields}', client.take(12)[9:], wanted)
        finally:
            os.close(holder)
        same(f'{method}, {fields}: left', site.content('up/x') if os.path.exists(path) else None, left)


def run(report, models=SOCKET_MODELS):
    """All checks, for the driver."""
    nest = program()
    for model in models:
        report.heading(f'versions of files: {model}')
        with tempfile.TemporaryDirectory(prefix='nest-versions-') as folder, \
                Site(build(nest, model, folder), '--delete') as site:
            for check in (tags, ahead, added, dated, meanwhile):
                attempt(report, model, check, lambda check=check: check(site))
