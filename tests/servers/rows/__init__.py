"""Requests, and what RFC 9110 and RFC 9112 let a server answer, in files by subject.

Must not know: the server.
"""

from . import chunks, fields, framing, lines, meaning

SUBJECTS = {'request lines': lines.ROWS, 'header fields': fields.ROWS, 'the length of content': framing.ROWS,
            'chunks': chunks.ROWS, 'methods, conditions, ranges': meaning.ROWS}
