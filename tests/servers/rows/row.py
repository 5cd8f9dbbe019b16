"""What a row is, and short forms of the requests in it.

Must not know: any case.
"""

from typing import NamedTuple, Optional

CLOSED = 0                          # in place of a status: the connection ends without an answer
OK, STORED = {200}, {201, 204}
REFUSED = {400, CLOSED}             # a recipient that refuses a malformed message need not say why
CONTENT = b'0123456789' * 20        # of /small.txt
HIDDEN = 'GET /word.mjs HTTP/1.1\r\nHost: a\r\n\r\n'    # a request inside of content


class Row(NamedTuple):
    """A request, and what the clause lets the server answer."""
    name: str
    clause: str                     # "9112 5.1": of which RFC, and its section
    sent: str                       # bytes, as Latin-1
    allowed: set                    # statuses, or CLOSED
    ends: bool = False              # the connection has to end after the answer, whatever its status
    keeps: bool = False             # the connection has to go on
    alone: bool = False             # nothing follows, since the request is not complete
    then: frozenset = frozenset(OK)  # the status of the answer to the request behind it
    stored: Optional[bytes] = None  # what /up/x holds after an answer of STORED
    content: Optional[bytes] = None     # that of an answer of 200 or 206
    field: tuple = ()               # (name, pattern): the answer has this field


def request(line, *fields, content=''):
    """A whole request."""
    return '\r\n'.join((line, *fields)) + '\r\n\r\n' + content


def get(*fields, target='/small.txt', version='HTTP/1.1', host='Host: a'):
    """A GET of a file of 200 bytes."""
    return request(f'GET {target} {version}', *((host,) if host else ()), *fields)


def put(*fields, content='', target='/up/x', version='HTTP/1.1'):
    """A PUT into the folder for uploads."""
    return request(f'PUT {target} {version}', 'Host: a', *fields, content=content)


def length(value, content='hello'):
    """A PUT with this Content-Length."""
    return put(f'Content-Length:{value}', content=content)


def coded(value, *fields, content='5\r\nhello\r\n0\r\n\r\n', version='HTTP/1.1'):
    """A PUT with this Transfer-Encoding."""
    return put(f'Transfer-Encoding:{value}', *fields, content=content, version=version)


def chunked(content):
    """A PUT in chunks."""
    return coded(' chunked', content=content)
