"""Chunked content: sizes, extensions, line ends, trailers.

Must not know: the server.
"""

from .row import REFUSED, STORED, Row, chunked

LARGE = REFUSED | {413}
TRAILERS = STORED | {400}


def one(size, end='\r\n'):
    """A chunk of five bytes whose size is written so, and the end of the content."""
    return chunked(f'{size}{end}hello\r\n0\r\n\r\n')


def trailer(*lines):
    """A chunk, and these lines behind the last one."""
    return chunked('5\r\nhello\r\n0\r\n' + ''.join(f'{line}\r\n' for line in lines) + '\r\n')


ROWS = (
    # -- sizes
    Row('one chunk', '9112 7.1', one('5'), STORED, keeps=True, stored=b'hello'),
    Row('three chunks', '9112 7.1', chunked('1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n'), STORED, keeps=True, stored=b'hello'),
    Row('no chunk', '9112 7.1', chunked('0\r\n\r\n'), STORED, keeps=True, stored=b''),
    Row('digits in upper case', '9112 7.1', chunked('A\r\n0123456789\r\n0\r\n\r\n'), STORED, stored=b'0123456789'),
    Row('digits in lower case', '9112 7.1', chunked('a\r\n0123456789\r\n0\r\n\r\n'), STORED, stored=b'0123456789'),
    Row('zeros before the size', '9112 7.1', one('005'), STORED | {400}, stored=b'hello'),
    Row('100 zeros before the size', '9112 7.1', one('5'.zfill(100)), STORED | {400}, stored=b'hello'),
    Row('a last chunk of three zeros', '9112 7.1', chunked('5\r\nhello\r\n000\r\n\r\n'), STORED | {400}, stored=b'hello'),
    Row('0x before the size', '9112 7.1', one('0x5'), REFUSED),
    Row('a plus before the size', '9112 7.1', one('+5'), REFUSED),
    Row('a negative size', '9112 7.1', one('-5'), REFUSED),
    Row('a last chunk of plus zero', '9112 7.1', chunked('5\r\nhello\r\n+0\r\n\r\n'), REFUSED),
    Row('a last chunk of minus zero', '9112 7.1', chunked('5\r\nhello\r\n-0\r\n\r\n'), REFUSED),
    Row('an underscore in the size', '9112 7.1', one('0_5'), REFUSED),
    Row('a point in the size', '9112 7.1', one('5.0'), REFUSED),
    Row('a blank before the size', '9112 7.1', one(' 5'), REFUSED),
    Row('a tab before the size', '9112 7.1', one('\t5'), REFUSED),
    Row('a blank behind the size', '9112 7.1.1', one('5 '), REFUSED),
    Row('a tab behind the size', '9112 7.1.1', one('5\t'), REFUSED),
    Row('a letter that is no digit', '9112 7.1', one('g'), REFUSED),
    Row('an empty size', '9112 7.1', one(''), REFUSED),
    Row('a NUL in the size', '9112 7.1', one('5\0'), REFUSED),
    Row('a size of 2^64 + 5', '9112 7.1', one('10000000000000005'), LARGE),
    Row('a size of 2^64 - 1', '9112 7.1', one('ffffffffffffffff'), LARGE),
    Row('a size of 2^63', '9112 7.1', one('8000000000000000'), LARGE),
    Row('a size of 2^32 + 5', '9112 7.1', one('100000005'), LARGE),
    Row('two sizes that add up to 2^64', '9112 7.1', chunked('5\r\nhello\r\nfffffffffffffffb\r\nx'), LARGE),
    Row('a size of 1,000 digits', '9112 7.1', one('f' * 1000), LARGE),

    # -- extensions
    Row('an extension', '9112 7.1.1', one('5;a'), STORED | {400}, stored=b'hello'),
    Row('an extension with a value', '9112 7.1.1', one('5;a=b'), STORED | {400}, stored=b'hello'),
    Row('an extension with a quoted value', '9112 7.1.1', one('5;a="b;\\"c"'), STORED | {400}, stored=b'hello'),
    Row('two extensions', '9112 7.1.1', one('5;a=b;c'), STORED | {400}, stored=b'hello'),
    Row('blanks around an extension', '9112 7.1.1', one('5 ; a = b'), STORED | {400}, stored=b'hello'),
    Row('an extension of the last chunk', '9112 7.1.1', chunked('5\r\nhello\r\n0;a=b\r\n\r\n'), STORED | {400},
        stored=b'hello'),
    Row('an extension without a name', '9112 7.1.1', one('5;'), REFUSED),
    Row('an extension with an empty value', '9112 7.1.1', one('5;a='), REFUSED),
    Row('an extension with only a value', '9112 7.1.1', one('5;=b'), REFUSED),
    Row('an extension whose name is no token', '9112 7.1.1', one('5;[a]=b'), REFUSED),
    Row('an extension without a semicolon', '9112 7.1.1', one('5 a=b'), REFUSED),
    Row('an open quotation', '9112 7.1.1', one('5;a="b'), REFUSED),
    Row('a NUL in an extension', '9112 7.1.1', one('5;a\0b'), REFUSED),
    Row('a NUL in a quotation', '9110 5.6.4', one('5;a="\0"'), REFUSED),
    Row('a CR in an extension', '9112 2.2', one('5;a\rb'), REFUSED),
    Row('a CR in a quotation', '9112 2.2', one('5;a="\r"'), REFUSED),
    Row('an LF in an extension', '9112 2.2', one('5;a\nb'), REFUSED),
    Row('an LF in a quotation', '9112 2.2', one('5;a="\n"'), REFUSED),
    Row('an extension that ends in LF', '9112 2.2', one('5;a', '\n'), STORED | REFUSED),
    Row('an extension of 64 KB', '9112 7.1.1', one('5;a=' + 'b' * 65_536), STORED | LARGE),
    Row('64 KB of extensions in many chunks', '9112 7.1.1', chunked(('1;' + 'a' * 250 + '\r\nx\r\n') * 260 + '0\r\n\r\n'),
        STORED | LARGE),

    # -- line ends
    Row('LF behind the size', '9112 2.2', one('5', '\n'), STORED | REFUSED),
    Row('CR behind the size', '9112 2.2', one('5', '\r'), REFUSED),
    Row('CR CR LF behind the size', '9112 2.2', one('5', '\r\r\n'), REFUSED),
    Row('LF behind the chunk', '9112 2.2', chunked('5\r\nhello\n0\r\n\r\n'), STORED | REFUSED),
    Row('CR behind the chunk', '9112 2.2', chunked('5\r\nhello\r0\r\n\r\n'), REFUSED),
    Row('nothing behind the chunk', '9112 7.1', chunked('5\r\nhello0\r\n\r\n'), REFUSED),
    Row('two bytes too many behind the chunk', '9112 7.1', chunked('5\r\nhelloXX\r\n0\r\n\r\n'), REFUSED),
    Row('two other bytes behind the chunk', '9112 7.1', chunked('5\r\nhelloXX0\r\n\r\n'), REFUSED),
    Row('a chunk that takes its own line end', '9112 7.1', chunked('7\r\nhello\r\n0\r\n\r\n'), REFUSED),
    Row('LF behind the last chunk', '9112 2.2', chunked('5\r\nhello\r\n0\n\n'), STORED | REFUSED),
    Row('LF behind the trailers', '9112 2.2', chunked('5\r\nhello\r\n0\r\n\n'), STORED | REFUSED),
    Row('an empty line before the first chunk', '9112 7.1', chunked('\r\n5\r\nhello\r\n0\r\n\r\n'), REFUSED),
    Row('no last chunk', '9112 8', chunked('5\r\nhello\r\n'), REFUSED, alone=True),
    Row('half a chunk', '9112 8', chunked('5\r\nhel'), REFUSED, alone=True),
    Row('half a size', '9112 8', chunked('5'), REFUSED, alone=True),
    Row('no empty line behind the last chunk', '9112 8', chunked('5\r\nhello\r\n0\r\n'), REFUSED, alone=True),

    # -- trailers: none of them changes what the request is
    Row('a trailer', '9112 7.1.2', trailer('X-Any: b'), STORED, keeps=True, stored=b'hello'),
    Row('a length among the trailers', '9110 6.5.1', trailer('Content-Length: 50'), TRAILERS, stored=b'hello'),
    Row('a coding among the trailers', '9110 6.5.1', trailer('Transfer-Encoding: chunked'), TRAILERS, stored=b'hello'),
    Row('a Host among the trailers', '9110 6.5.1', trailer('Host: b'), TRAILERS, stored=b'hello'),
    Row('credentials among the trailers', '9110 6.5.1', trailer('Authorization: Basic YTpi'), TRAILERS, stored=b'hello'),
    Row('a type among the trailers', '9110 6.5.1', trailer('Content-Type: a/b'), TRAILERS, stored=b'hello'),
    Row('close among the trailers', '9110 6.5.1', trailer('Connection: close'), TRAILERS, stored=b'hello'),
    Row('a trailer without a colon', '9112 7.1.2', trailer('X-Any'), REFUSED),
    Row('a blank before the colon of a trailer', '9112 5.1', trailer('X-Any : b'), REFUSED),
    Row('a folded trailer', '9112 5.2', trailer('X-Any: b', ' c'), STORED | REFUSED),
    Row('a NUL in a trailer', '9110 5.5', trailer('X-Any: \0'), REFUSED),
    Row('trailers of 100 KB', '9110 5.4', trailer('X-Any: ' + 'v' * 100_000), REFUSED | {431}),
)
