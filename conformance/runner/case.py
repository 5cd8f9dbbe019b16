"""A case: one Markdown file, read into a specification and what it must do.

Must not know: models, compilers, sockets.
"""

import difflib
import os
import re
import shlex
from . import literal, trace

STEPS = ('send', 'expect', 'expect~', 'half-close', 'reset', 'stall', 'resume', 'expect-close',
         'expect-cut', 'wait', 'pass', 'after', 'connect', 'refused',
         'stop', 'reload')
LONGEST = 10_000        # ms that one step may let pass on sockets
_FENCE = re.compile(r'^```([a-z-]+)(?:[ \t]+(\S+))?[ \t]*\n(.*?)^```[ \t]*$', re.S | re.M)
_FENCES = ('nest', 'escaped', 'file', 'client', 'trace', 'exit', 'files-after', 'says', 'diagnostics')
_FILES = ('file-root', 'bytes-root', 'file-after', 'bytes-after', 'file-link', 'file-absent')
_META = re.compile(r'<!--\s*(cuts|crowd|skip|missing):\s*(.*?)\s*-->', re.S)
_DIAGNOSTIC = re.compile(r'([EW]\d{4}) (?:(\S+):)??(\d+):(\d+)(?: message~(.+))?$')


class CaseError(Exception):
    """The file is not a case."""


def _at(line, read, *of):
    """What is read of something that begins in this line of the page."""
    try:
        return read(*of)
    except (CaseError, ValueError) as error:
        raise CaseError(f'{error} at line {line} of the page') from None


class Case:
    """What a case file says: `diagnostics`, or `exit`, or `talk` with `traces`. `spec`: the
    specification of a server that is made already, whatever the page names."""

    def __init__(self, path, name, spec=None):
        self.path, self.name = path, name
        self.files = {}         # name -> text, written beside the specification
        self.spec = None        # the specification's file name
        self.talk = []          # (client, step, argument), in the order they are carried out
        self.traces = {}        # client -> expected lines
        self.diagnostics = None # findings of the compiler
        self.exit = None        # status with which the server must end before it listens
        self.missing = False    # the specification is not written: it cannot be read
        self.cuts = True
        self.root = {}          # path -> bytes: what lies beneath fileRoot when the server starts
        self.links = {}         # path -> where the symbolic link points
        self.after = {}         # path -> bytes: what has become of it, or has come into being
        self.absent = set()     # paths that are gone afterwards
        self.patterns = []      # (pattern of a path, pattern of bytes): files whose names vary
        self.arguments = []     # for the start-up section, behind `--`
        self.says = []          # patterns that the server's standard error must hold
        self.crowd = True       # many at once, and beside others
        self.skips = {}         # listener -> reason
        self.heard = []         # traces of the conversation, whole, that servers have left
        self.given = spec
        with open(path, 'rb') as file:
            page = file.read()
        try:
            text = page.decode('utf-8')
        except UnicodeDecodeError as error:
            raise CaseError(f'not UTF-8 at line {page.count(10, 0, error.start) + 1} of the page'
                            ) from None
        self._read(text.replace('\r\n', '\n'))

    def _read(self, text):
        if not text.startswith('# '):
            raise CaseError('no title in the first line')
        for kind, value in _META.findall(text):
            self._meta(kind, value)
        clients = []
        self._fences_are_told(text)
        if self.given:
            self.spec = os.path.basename(self.given)
            if re.search(r'^```(nest|escaped|file)(\s|$)', text, re.M):
                raise CaseError(f'it has a specification of its own: it tests that, not {self.spec}')
        for fence in _FENCE.finditer(text):
            kind, word, body = fence.groups()
            first = text.count('\n', 0, fence.start(3)) + 1
            if kind == 'nest':
                if self.spec is not None:
                    raise CaseError('two ```nest fences; write ```file NAME for another file')
                self.spec = word or 'case.nest'
                self.files[self.spec] = body
            elif kind == 'escaped':
                self.spec = word or 'case.nest'
                self.files[self.spec] = _at(first, literal.parse, body)
            elif kind == 'file':
                if not word or '/' in word:
                    raise CaseError('```file needs a plain name')
                self.files[word] = body
            elif kind == 'client':
                clients.append((word or '', body, first))
            elif kind == 'trace':
                if (word or '') in self.traces:
                    raise CaseError(f'two traces of client {word or "(no name)"}')
                self.traces[word or ''] = self._trace(body, first)
            elif kind == 'exit':
                if not re.fullmatch('[0-9]+', body.strip()):
                    raise CaseError(f'```exit holds one number at line {first} of the page')
                self.exit = int(body)
            elif kind in _FILES:
                self._beneath(kind, word, body)
            elif kind == 'files-after':
                self._after(word, body)
            elif kind == 'says':
                self.says += [_at(at, literal.pattern, line, line)
                              for at, line in self._numbered(body, first)]
            elif kind == 'diagnostics':
                self.diagnostics = [_at(at, self._diagnostic, line)
                                    for at, line in self._numbered(body, first)]
        given = re.search(r'^arguments:[ \t]*(.+)$', text, re.M)
        try:
            self.arguments = shlex.split(given.group(1)) if given else []
        except ValueError as error:
            raise CaseError(f'arguments: {error}') from None
        beside = re.findall(r'^spec:[ \t]*(\S+)[ \t]*$', _FENCE.sub('', text), re.M)
        if len(beside) > 1:
            raise CaseError(f'it names {len(beside)} specifications: {", ".join(beside)}')
        if self.spec is None and beside:
            self._beside(beside[0])
        if self.spec is None:
            raise CaseError('no ```nest fence')
        for client, body, first in clients:
            self.talk += [trace.placed((client,) + _at(at, self._step, line), at)
                          for at, line in self._numbered(body, first)]
            if not self._lines(body):
                self.talk.append((client, 'open', None))
        if self.diagnostics is None and self.exit is None:
            names = {client for client, _, _ in self.talk}
            if not names or names != set(self.traces):
                raise CaseError('every client needs its trace, every trace its client')
        elif self.talk or self.traces:
            raise CaseError('a conversation beside diagnostics or exit')
        for client in self.clients():
            try:
                re.compile(self.expected(client))
            except re.error as error:
                raise CaseError(f'the patterns of client {client or "(no name)"} do not go '
                                f'together: {error}') from None
        if any(step == 'connect' for name in self.clients() for step, _ in self.steps(name)[1:]):
            raise CaseError('connect is a client\'s first step')
        if 'sockets' not in self.skips and any(
                argument > LONGEST for _, step, argument in self.talk if step == 'pass'):
            raise CaseError(f'on sockets a step lets at most {LONGEST // 1000}s pass')

    @staticmethod
    def _fences_are_told(text):
        """Nothing that looks like a fence of a case is passed over."""
        kinds = _FENCES + _FILES
        left = _FENCE.sub(lambda found: '\n' * found[0].count('\n')
                          if found[1] in kinds or not difflib.get_close_matches(
                              found[1], kinds, 1, 0.8) else found[0], text)
        for at, line in enumerate(left.split('\n'), 1):
            found = re.match(r'[ \t]*(?:`{3,}|~{3,})[ \t]*([A-Za-z-]+)', line)
            close = found and difflib.get_close_matches(found[1].lower(), kinds, 1, 0.8)
            if close:
                raise CaseError(f'not a fence: {line.strip()}; ```{close[0]} begins its line, one '
                                f'word may follow, and ``` closes it at line {at} of the page')

    def _beneath(self, kind, path, body):
        if not path or path.startswith('/') or '..' in path.split('/'):
            raise CaseError(f'```{kind} needs a path beneath fileRoot')
        where = {'root': self.root, 'after': self.after}.get(kind.split('-')[-1])
        if kind == 'file-link':
            self.links[path] = body.strip()
        elif kind == 'file-absent':
            self.absent.add(path)
        elif path in where:
            raise CaseError(f'two ```{kind} {path}')
        elif kind.startswith('bytes'):
            try:
                where[path] = literal.parse(' '.join(self._lines(body)))
            except ValueError as error:
                raise CaseError(str(error)) from None
        else:
            where[path] = body.encode()

    def _after(self, path, body):
        try:
            data = literal.parse(' '.join(self._lines(body)))
            self.patterns.append((re.compile(path or ''), re.compile(data, re.S)))
        except (ValueError, re.error) as error:
            raise CaseError(f'files-after: {error}') from None

    def _beside(self, name):
        """Takes a specification, and the others of its folder, which it may include."""
        folder, self.spec = os.path.split(os.path.join(os.path.dirname(self.path), name))
        if not os.path.isfile(os.path.join(folder, self.spec)):
            raise CaseError(f'there is no specification {name}')
        for other in os.listdir(folder):
            if other.endswith('.nest'):
                with open(os.path.join(folder, other), encoding='utf-8') as file:
                    self.files.setdefault(other, file.read())

    def _meta(self, kind, value):
        word, _, reason = value.partition(',')
        if not reason.strip():
            raise CaseError(f'{kind}: {value} gives no reason')
        if kind == 'missing':
            self.missing = True
        elif kind in ('cuts', 'crowd'):
            if word != 'none':
                raise CaseError(f'{kind}: knows only none')
            setattr(self, kind, False)
        else:
            if word not in ('tcp', 'unix', 'sockets'):
                raise CaseError('skip: knows only tcp, unix and sockets')
            self.skips[word] = reason.strip()

    @staticmethod
    def _numbered(body, first):
        return [(at, line.strip()) for at, line in enumerate(body.split('\n'), first)
                if line.strip() and not line.lstrip().startswith('#')]

    @classmethod
    def _lines(cls, body):
        return [line for _, line in cls._numbered(body, 1)]

    @staticmethod
    def _step(line):
        word, _, rest = line.partition(' ')
        if word not in STEPS:
            raise CaseError(f'unknown step: {line}')
        if word in ('send', 'expect', 'expect~'):
            data = literal.parse(rest)
            return (word, literal.pattern(data, line) if word == 'expect~' else data)
        if word in ('pass', 'after'):
            time = re.fullmatch(r'(\d+)(ms|s|m|h)', rest)
            if not time:
                raise CaseError(f'{word} takes a time, as in 300ms: {line}')
            return (word, int(time[1]) * {'ms': 1, 's': 1000, 'm': 60_000, 'h': 3600_000}[time[2]])
        if word == 'stop':
            if rest not in ('', '1'):
                raise CaseError(f'stop takes nothing, or 1, the exit status: {line}')
            return (word, int(rest or 0))
        if word == 'reload':
            return (word, rest)
        if rest:
            raise CaseError(f'{word} stands alone: {line}')
        return (word, None)

    def _trace(self, body, first):
        return [trace.placed(_at(at, trace.parse_line, line, True), at)
                for at, line in self._numbered(body, first)]

    @staticmethod
    def _diagnostic(line):
        found = _DIAGNOSTIC.match(line)
        if not found:
            raise CaseError(f'not CODE LINE:COLUMN: {line}')
        code, file, row, column, part = found.groups()
        return (code, file, int(row), int(column), part)

    # -- what the runners ask ------------------------------------------------------------------

    def command(self, binary, *options):
        """The words that start its server."""
        return [binary, *options, *(['--', *self.arguments] if self.arguments else [])]

    def clients(self):
        """The clients, in the order in which they open."""
        return list(dict.fromkeys(client for client, _, _ in self.talk))

    def steps(self, client):
        """One client's steps."""
        return [(step, argument) for name, step, argument in self.talk if name == client]

    def expected(self, client):
        """A regular expression for all bytes a client receives."""
        return b''.join(re.escape(argument) if step == 'expect' else b'(?:' + argument + b')'
                        for step, argument in self.steps(client) if step in ('expect', 'expect~'))

    def unmet(self, client, received):
        """The first step of a client that what it received does not satisfy, and what was left for
        that; None and the rest, if all do."""
        pattern, left = b'', received
        for step in self.talk:
            name, word, argument = step
            if name != client or word not in ('expect', 'expect~'):
                continue
            pattern += re.escape(argument) if word == 'expect' else b'(?:' + argument + b')'
            if (found := re.match(pattern, received, re.S)) is None:
                return step, left
            left = received[found.end():]
        return None, left

    def hear(self, traces):
        """Notes what a server has done in the conversation, whole."""
        self.heard += [lines for lines in traces if lines not in self.heard]

    def at_first(self):
        """The clients that connect before the first step."""
        return [name for name in self.clients() if self.steps(name)[0][0] != 'connect']

    def passes(self):
        """Milliseconds that pass in it."""
        return sum(argument for _, step, argument in self.talk if step == 'pass')

    def stops(self):
        """None, or the status with which the server must end when the case tells it to."""
        found = [argument for _, step, argument in self.talk if step == 'stop']
        return max(found) if found else None

    def reloads(self):
        """Whether it changes the configuration of the running server."""
        return any(step == 'reload' for _, step, _ in self.talk)

    def is_cut(self, client):
        """Whether the server may drop output of a client."""
        return any(step in ('reset', 'expect-cut') for step, _ in self.steps(client))

    def resets(self, client=None):
        """Whether a client (or any) resets."""
        return any(step == 'reset' for name, step, _ in self.talk if client in (None, name))


def paths(base):
    """All pages below a folder that are cases; a README is for people."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(base)
            for name in names if name.endswith('.md') and name != 'README.md']


def load_all(root, patterns, own=None):
    """All cases below `own`, else below `root`/conformance/cases and `root`/examples, whose name
    matches a glob."""
    import fnmatch
    found, errors = [], []
    if own is not None:
        there = [(path, own) for path in paths(own)]
    else:
        base = os.path.join(root, 'conformance', 'cases')
        there = [(path, base) for path in paths(base)]
        there += [(path, root) for path in paths(os.path.join(root, 'examples'))]
    for path, start in sorted(there):
        name = os.path.relpath(path, start)[:-3]
        if patterns and not any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(name, p + '/*')
                                for p in patterns):
            continue
        try:
            found.append(Case(path, name))
        except CaseError as error:
            errors.append((name, str(error)))
    return found, errors
