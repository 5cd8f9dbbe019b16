"""What well-formed requests mean: methods, conditions, ranges, and the fields of their answers.

Must not know: the server.
"""

from .row import CONTENT, OK, STORED, Row, get, put, request

PAST, FUTURE = 'Sat, 01 Jan 2000 00:00:00 GMT', 'Fri, 01 Jan 2100 00:00:00 GMT'
SAME = {200, 304}
ROWS = (
    # -- methods
    Row('GET', '9110 9.3.1', get(), OK, keeps=True, content=CONTENT, field=('content-length', '200')),
    Row('GET of what is not there', '9110 15.5.5', get(target='/none'), {404}, keeps=True),
    Row('HEAD', '9110 9.3.2', request('HEAD /small.txt HTTP/1.1', 'Host: a'), OK, keeps=True,
        field=('content-length', '200')),
    Row('HEAD of what is not there', '9110 9.3.2', request('HEAD /none HTTP/1.1', 'Host: a'), {404}, keeps=True),
    Row('OPTIONS', '9110 9.3.7', request('OPTIONS /small.txt HTTP/1.1', 'Host: a'), {200, 204}, keeps=True,
        field=('allow', '.*GET.*')),
    Row('PUT where it is not served', '9110 15.5.6', put('Content-Length: 5', content='hello', target='/x'), {405, 403},
        field=('allow', '.*GET.*')),
    Row('POST where it is not served', '9110 15.5.6', request('POST /small.txt HTTP/1.1', 'Host: a', 'Content-Length: 0'),
        {405}, field=('allow', '.*GET.*')),
    Row('DELETE where it is not served', '9110 15.5.6', request('DELETE /small.txt HTTP/1.1', 'Host: a'), {405},
        field=('allow', '.*GET.*')),
    Row('TRACE', '9110 9.3.8', request('TRACE / HTTP/1.1', 'Host: a'), {200, 405, 501}),
    Row('TRACE with credentials', '9110 9.3.8', request('TRACE / HTTP/1.1', 'Host: a', 'Authorization: Basic YTpi'),
        {405, 501}),
    Row('the type of an answer', '9110 8.3', get(), OK, field=('content-type', 'text/plain.*')),
    Row('a folder without its slash', '9110 15.4.2', get(target='/docs'), {200, 301, 308}, keeps=True),

    # -- conditions (RFC 9110, 13)
    Row('the tag of an answer', '9110 8.8.3', get(), OK, field=('etag', '(W/)?"[^"]+"')),
    Row('If-None-Match: *', '9110 13.1.2', get('If-None-Match: *'), {304}, keeps=True, field=('etag', '.+')),
    Row('If-None-Match of another tag', '9110 13.1.2', get('If-None-Match: "x"'), OK, content=CONTENT),
    Row('If-None-Match without quotes', '9110 8.8.3', get('If-None-Match: x'), OK | {400}),
    Row('If-None-Match before If-Modified-Since', '9110 13.2.2',
        get('If-None-Match: "x"', f'If-Modified-Since: {FUTURE}'), OK, content=CONTENT),
    Row('If-Match: *', '9110 13.1.1', get('If-Match: *'), OK, content=CONTENT),
    Row('If-Match of another tag', '9110 13.1.1', get('If-Match: "x"'), {412}, keeps=True),
    Row('If-Match of another tag, and PUT', '9110 13.1.1', put('If-Match: "x"', 'Content-Length: 5', content='hello'), {412}),
    Row('If-Modified-Since of long ago', '9110 13.1.3', get(f'If-Modified-Since: {PAST}'), OK, content=CONTENT),
    Row('If-Modified-Since of the future', '9110 13.1.3', get(f'If-Modified-Since: {FUTURE}'), SAME),
    Row('If-Modified-Since that is no date', '9110 13.1.3', get('If-Modified-Since: yesterday'), OK, content=CONTENT),
    Row('If-Modified-Since of two dates', '9110 13.1.3', get(f'If-Modified-Since: {FUTURE}', f'If-Modified-Since: {PAST}'),
        OK, content=CONTENT),
    Row('If-Modified-Since and PUT', '9110 13.1.3', put(f'If-Modified-Since: {FUTURE}', 'Content-Length: 5', content='hello'),
        STORED, stored=b'hello'),
    Row('If-Unmodified-Since of long ago', '9110 13.1.4', get(f'If-Unmodified-Since: {PAST}'), {412}, keeps=True),
    Row('If-Unmodified-Since that is no date', '9110 13.1.4', get('If-Unmodified-Since: yesterday'), OK, content=CONTENT),

    # -- ranges (RFC 9110, 14)
    Row('a range', '9110 14.2', get('Range: bytes=0-4'), {206}, keeps=True, content=CONTENT[:5],
        field=('content-range', 'bytes 0-4/200')),
    Row('a range to the end', '9110 14.1.2', get('Range: bytes=195-'), {206}, content=CONTENT[195:]),
    Row('the last bytes', '9110 14.1.2', get('Range: bytes=-3'), {206}, content=CONTENT[-3:]),
    Row('more last bytes than there are', '9110 14.1.2', get('Range: bytes=-9999'), {200, 206}, content=CONTENT),
    Row('a range beyond the end', '9110 15.5.17', get('Range: bytes=200-'), {416}, keeps=True,
        field=('content-range', r'bytes \*/200')),
    Row('no last bytes', '9110 14.1.2', get('Range: bytes=-0'), {200, 416}),
    Row('a range beyond 64 bits', '9110 14.1.2', get('Range: bytes=0-99999999999999999999999'), {200, 206}, content=CONTENT),
    Row('a range that begins beyond 64 bits', '9110 14.1.2', get('Range: bytes=18446744073709551616-'), {200, 416}),
    Row('a range that ends before it begins', '9110 14.1.1', get('Range: bytes=9-5'), OK | {400, 416}),
    Row('a range that is none', '9110 14.2', get('Range: bytes=abc'), OK | {400, 416}),
    Row('an unknown unit', '9110 14.2', get('Range: lines=0-4'), OK, content=CONTENT),
    Row('two fields of ranges', '9110 14.2', get('Range: bytes=0-1', 'Range: bytes=2-3'), OK | {206, 400, 416}),
    Row('1,000 ranges that overlap', '9110 14.2', get('Range: bytes=' + ','.join(['0-'] * 1000)), OK | {206, 400, 416}),
    Row('a range and HEAD', '9110 14.2', request('HEAD /small.txt HTTP/1.1', 'Host: a', 'Range: bytes=0-4'), OK, keeps=True),
    Row('a range and PUT', '9110 14.2', put('Range: bytes=0-1', 'Content-Length: 5', content='hello'), STORED,
        stored=b'hello'),
    Row('If-Range of another tag', '9110 13.1.5', get('If-Range: "x"', 'Range: bytes=0-4'), OK, content=CONTENT),
)
