"""Splits a Markdown page into the items of a case, each with its line.

It reports an error for everything that looks like an item of a case but is not. Must not know: the
meaning of fences, directives and header lines.
"""

import bisect
import difflib
import re

MOST = 16 << 20         # the maximum size in bytes
KINDS = ('nest', 'escaped', 'file', 'client', 'trace', 'exit', 'says', 'diagnostics', 'file-root',
         'bytes-root', 'file-after', 'bytes-after', 'file-link', 'file-absent', 'files-after')
DIRECTIVES = ('cuts', 'crowd', 'skip', 'missing')
HEADERS = ('spec', 'arguments', 'models')
_OPENS = re.compile(r'```([a-z-]+)(?:[ \t]+(\S+))?[ \t]*')
_CLOSES = re.compile(r'```[ \t]*')
_COMMENT = re.compile(r'(?<!`)<!--')
_FENCE = re.compile(r'[ \t]*(?:`{3,}|~{3,})[ \t]*([A-Za-z-]+)')
_DIRECTIVE = re.compile(r'([A-Za-z_-]+)(\s*[:=]|\s+\w+\s*,)\s*(.*)', re.S)
_HEADER = re.compile(r'[ \t]*([A-Za-z]+)([ \t]*:)[ \t]*(\S.*)')


class CaseError(Exception):
    """The page is not a case; `at`: the line of the error."""

    def __init__(self, text, at=None):
        super().__init__(text)
        self.at = at

    def __str__(self):
        return self.args[0] + (f' at line {self.at} of the page' if self.at else '')


def at(line, read, *of):
    """Parses something that begins in this line; its errors are reported there unless they name
    another line."""
    try:
        return read(*of)
    except CaseError as error:
        error.at = error.at or line
        raise
    except ValueError as error:
        raise CaseError(str(error), line) from None


class Fence:
    """```KIND WORD with its content; `first`: the line after that."""

    def __init__(self, kind, word, body, line):
        self.kind, self.word, self.body = kind, word, body
        self.line, self.first = line, line + 1

    def lines(self):
        """Its lines as (line, text), without blank lines and comments."""
        return [(line, text.strip()) for line, text in enumerate(self.body.split('\n'), self.first)
                if text.strip() and not text.lstrip().startswith('#')]

    def literals(self):
        """All its literals as one text."""
        return ' '.join(text for _, text in self.lines())


class Page:
    """The contents of a page: `fences`; `directives` and `headers` as (line, word, text)."""

    def __init__(self, path):
        text = _text(path)
        if not text.startswith('# '):
            raise CaseError('no title in the first line, as in "# greet: a name is remembered"', 1)
        self.fences, self.directives, self.headers = [], [], []
        lines = text.split('\n')
        ends = [n for n, line in enumerate(lines) if _CLOSES.fullmatch(line)]
        here = 0
        while here < len(lines):
            opens, end = _OPENS.fullmatch(lines[here]), bisect.bisect(ends, here)
            if opens is None or end == len(ends):
                here = self._prose(lines, here)
                continue
            kind, word = opens.groups()
            if kind in KINDS:
                body = ''.join(line + '\n' for line in lines[here + 1:ends[end]])
                self.fences.append(Fence(kind, word, body, here + 1))
            else:
                _is_no_fence(lines[here], kind, here + 1)
            here = ends[end] + 1

    def _prose(self, lines, here):
        """A line outside of fences, with the comment that begins in it. Returns where to continue."""
        line, number = lines[here], here + 1
        comment = _COMMENT.search(line)
        shown = line[:comment.start()] if comment else line
        if found := _FENCE.match(shown):
            _is_no_fence(shown, found[1], number)
        found = _HEADER.match(shown)
        if found and found[1] in HEADERS and found[2] == ':' and shown.startswith(found[1]):
            self.headers.append((number, found[1], found[3].strip()))
        elif found and (near := _near(found[1], HEADERS, 0.85)):
            raise CaseError(f'not read: {_short(shown)}; a line that is to count begins with "{near}: "',
                            number)
        if comment is None:
            return here + 1
        inside = [line[comment.end():]]
        while '-->' not in inside[-1] and here + 1 < len(lines):
            here += 1
            inside.append(lines[here])
        text, closed, lines[here] = '\n'.join(inside).partition('-->')
        if not closed or _COMMENT.search(text):
            raise CaseError('a comment begins here that no --> closes', number)
        self._directive(text, number)
        if lines[here].strip():             # there is more text after the comment
            lines[here] = ' ' + lines[here]
            return here
        return here + 1

    def _directive(self, comment, line):
        found = _DIRECTIVE.match(comment.strip())
        if found is None:
            return
        word, sign, value = found.groups()
        if word in DIRECTIVES and sign == ':':
            self.directives.append((line, word, value.strip()))
        elif (word.islower() and sign in (':', '=')) or _near(word, DIRECTIVES):
            raise CaseError(f'not a directive: <!-- {_short(comment)} -->; there are '
                            f'{_listed(DIRECTIVES)}, as in <!-- cuts: none, reason -->', line)


def _text(path):
    with open(path, 'rb') as file:
        page = file.read(MOST + 1)
    if len(page) > MOST:
        raise CaseError(f'it is no page: it has more than {MOST >> 20} MB')
    if 0 in page:
        raise CaseError(r'a byte 0; in a literal it is written \0',
                        page.count(b'\n', 0, page.index(0)) + 1)
    try:
        text = page.decode('utf-8')
    except UnicodeDecodeError as error:
        raise CaseError('not UTF-8', page.count(b'\n', 0, error.start) + 1) from None
    return (text[1:] if text.startswith('\ufeff') else text).replace('\r\n', '\n')


def _near(word, known, least=0.8):
    return next(iter(difflib.get_close_matches(word.lower(), known, 1, least)), None)


def _is_no_fence(line, word, number):
    if near := _near(word, KINDS):
        raise CaseError(f'not a fence: {_short(line)}; ```{near} begins its line, one word may follow, '
                        'and ``` closes it', number)


def _listed(words):
    return f'{", ".join(words[:-1])} and {words[-1]}'


def _short(text):
    text = ' '.join(text.split())
    return text if len(text) <= 60 else text[:60] + '...'
