"""A case: a Markdown file, parsed into a specification and its expected behaviour.

Must not know: models, compilers, sockets.
"""

import os
import re
import shlex
from . import literal, pattern, trace
from .page import CaseError, Page, at

STEPS = ('send', 'expect', 'expect~', 'half-close', 'reset', 'stall', 'resume', 'expect-close',
         'expect-cut', 'wait', 'pass', 'after', 'connect', 'refused',
         'stop', 'reload')
LONGEST = 10_000        # ms that one step may take on sockets
EVER = 100 * 3600_000   # ms that one step may take at all
MOST = 64               # the maximum number of clients
_BEHIND = {             # steps that a client cannot do after these
    'half-close': ('send', 'half-close', 'reset'),
    'reset': STEPS,
    'expect-close': ('send', 'expect', 'expect~', 'half-close', 'reset', 'stall', 'resume'),
    'expect-cut': ('send', 'expect', 'expect~', 'half-close', 'reset', 'stall', 'resume'),
}
_ELSEWHERE = re.compile(r'^%include "(\.\./[^"]+)"', re.M)
_ENCODES = re.compile(rb'^[ \t]*%encode\b', re.M)
_DIAGNOSTIC = re.compile(r'([EW]\d{4}) (?:(\S+):)??(\d+):(\d+)(?: message~(.+))?$')


class Case:
    """The contents of a case file: `diagnostics`, or `exit`, or `talk` with `traces`. `spec`: the
    specification of a server that is already built, whatever the page names. `known`: the models that
    the page may name. `write`: a client needs no trace."""

    def __init__(self, path, name, spec=None, known=(), write=False):
        self.path, self.name, self.known, self.write = path, name, known, write
        self.files = {}         # name -> text, written into the specification's folder
        self.spec = None        # the specification's file name
        self.talk = []          # (client, step, argument), in order of execution
        self.traces = {}        # client -> expected lines
        self.diagnostics = None # findings of the compiler
        self.exit = None        # the expected exit status of the server before it listens
        self.missing = False    # the specification file is not written
        self.cuts = True
        self.root = {}          # path -> bytes: the files below fileRoot when the server starts
        self.links = {}         # path -> target of the symbolic link
        self.after = {}         # path -> bytes: files that have changed or been created
        self.absent = set()     # paths that must not exist afterwards
        self.patterns = []      # (pattern of a path, pattern of bytes): files with varying names
        self.arguments = []     # for the start-up section, after `--`
        self.says = []          # patterns that must match the server's standard error
        self.crowd = True       # run the cells with several clients too
        self.skips = {}         # listener -> reason
        self.models = []        # run only in these; empty: in all
        self.heard = []         # complete traces of the conversation that servers have produced
        self.untraced = []      # clients for which the page has no trace
        self.given = spec
        self._read(Page(path))

    def _read(self, page):
        for line, kind, value in page.directives:
            at(line, self._meta, kind, value)
        if self.given:
            self.spec = os.path.basename(self.given)
        for fence in page.fences:
            at(fence.line, self._fence, fence)
        self._header(page)
        if self.spec is None:
            raise CaseError('no ```nest fence, and no line "spec: PATH.nest"', 1)
        for fence in page.fences:
            if fence.kind == 'client':
                steps = [trace.placed((fence.word or '',) + at(line, self._step, text), line)
                         for line, text in fence.lines()]
                self.talk += steps or [trace.placed((fence.word or '', 'open', None), fence.line)]
        self._is_whole(page)
        for client in self.clients():
            self._goes_on(client)

    def _fence(self, fence):
        kind, word, body = fence.kind, fence.word, fence.body
        if kind in ('nest', 'escaped', 'file') and self.given:
            raise CaseError(f'it has a specification of its own: it tests that, not {self.spec}')
        if kind in ('nest', 'escaped'):
            if self.spec is not None:
                raise CaseError('two specifications; write ```file NAME for another file')
            self.spec = word or 'case.nest'
        if kind == 'nest':
            self.files[self.spec] = body
        elif kind == 'escaped':
            self.files[self.spec] = at(fence.first, literal.parse, body)
        elif kind == 'file':
            if not word or '/' in word:
                raise CaseError('```file needs a plain name')
            if word in self.files:
                raise CaseError(f'two files {word}')
            self.files[word] = body
        elif kind == 'trace':
            if (word or '') in self.traces:
                raise CaseError(f'two traces of client {_who(word)}')
            self.traces[word or ''] = [trace.placed(at(line, trace.parse_line, text, True), line)
                                       for line, text in fence.lines()]
        elif kind == 'exit':
            if self.exit is not None or not re.fullmatch('[0-9]{1,3}', body.strip()):
                raise CaseError('```exit holds one number, and there is one of it')
            self.exit = int(body)
        elif kind == 'files-after':
            self._after(fence)
        elif kind == 'says':
            self.says += [at(line, pattern.read, text, text) for line, text in fence.lines()]
        elif kind == 'diagnostics':
            self.diagnostics = (self.diagnostics or []) + [
                at(line, self._diagnostic, text) for line, text in fence.lines()]
        elif kind != 'client':
            self._beneath(fence)

    def _header(self, page):
        given = {'spec': [], 'arguments': [], 'models': []}
        for line, word, text in page.headers:
            given[word].append((line, text))
        for word, there in given.items():
            if len(there) > 1:
                named = ', '.join(text for _, text in there)
                what = 'specifications' if word == 'spec' else f'lines of {word}'
                raise CaseError(f'it names {len(there)} {what}: {named}', there[1][0])
        for line, text in given['arguments']:
            try:
                self.arguments = shlex.split(text)
            except ValueError as error:
                raise CaseError(f'arguments: {error}', line) from None
        for line, text in given['models']:
            self.models = text.split()
            if not self.known:
                raise CaseError('a case of the suite is run in every model, so it must not name any', line)
            for name in self.models:
                if name not in self.known:
                    raise CaseError(f'models: knows {", ".join(self.known)}, not {name}', line)
        for line, text in given['spec']:
            if len(text.split()) > 1:
                raise CaseError(f'spec: takes one path, without blanks: {text}', line)
            if self.spec is None:
                at(line, self._beside, text)

    def _is_whole(self, page):
        """Checks that every client has a trace and every trace a client."""
        clients = self.clients()
        if self.diagnostics is not None or self.exit is not None:
            for fence in page.fences:
                if fence.kind in ('client', 'trace'):
                    raise CaseError('a conversation beside diagnostics or exit', fence.line)
            return
        for fence in page.fences:
            name = fence.word or ''
            if fence.kind == 'client' and name not in self.traces:
                if not self.write:
                    advice = '; nest test --write adds it' if self.given else ''
                    raise CaseError(f'client {_who(name)} has no trace{advice}', fence.line)
                if name not in self.untraced:
                    self.untraced.append(name)
            if fence.kind == 'trace' and name not in clients:
                raise CaseError(f'this is the trace of client {_who(name)}, and there is none',
                                fence.line)
        if not clients:
            raise CaseError('it says nothing that could be tested: there is no ```client fence', 1)
        if len(clients) > MOST:
            raise CaseError(f'it has {len(clients)} clients, and at most {MOST} connect', 1)

    def _goes_on(self, name):
        """Checks that each step of a client can follow those before it."""
        mine, done = [entry for entry in self.talk if entry[0] == name], []
        for entry in mine:
            _, step, argument = entry
            if step == 'connect' and entry is not mine[0]:
                raise CaseError('connect is a client\'s first step', entry.at)
            barred = next((before for before in done if step in _BEHIND.get(before, ())), None)
            if barred:
                raise CaseError(f'{step} cannot follow {barred}', entry.at)
            if step == 'pass' and argument > LONGEST and 'sockets' not in self.skips:
                raise CaseError(f'on sockets a step lets at most {LONGEST // 1000}s pass; '
                                '<!-- skip: sockets, reason --> leaves them out', entry.at)
            done.append(step)

    def _beneath(self, fence):
        kind, path = fence.kind, fence.word
        if not path or path.startswith('/') or any(
                part in ('', '.', '..') or len(part.encode()) > 255
                for part in path.rstrip('/').split('/')):
            raise CaseError(f'```{kind} needs a path beneath fileRoot, as in docs/page.html')
        where = {'root': self.root, 'after': self.after}.get(kind.split('-')[-1])
        if kind in ('file-root', 'bytes-root', 'file-link'):
            there = [*self.root, *self.links]
            if path in there or any(f'{one.rstrip("/")}/'.startswith(f'{other}/')
                                    for one, other in [(path, t) for t in there if t[-1] != '/']
                                    + [(t, path) for t in there if path[-1] != '/']):
                raise CaseError(f'```{kind} {path}: something else is there already')
        elif where is not None and path in where:
            raise CaseError(f'two ```{kind} {path}')
        if kind == 'file-link':
            self.links[path] = fence.body.strip()
        elif kind == 'file-absent':
            self.absent.add(path)
        elif kind.startswith('bytes'):
            where[path] = at(fence.first, literal.parse, fence.literals())
        else:
            where[path] = fence.body.encode()

    def _after(self, fence):
        if not fence.word:
            raise CaseError('```files-after needs a pattern of paths')
        path = pattern.read(fence.word, fence.word)
        data = at(fence.first, literal.parse, fence.literals())
        at(fence.first, pattern.read, data, fence.literals())
        self.patterns.append((re.compile(path), re.compile(data, re.S)))

    def _beside(self, name):
        """Takes a specification, and the other files of its folder, which it may include. A file that it
        includes from elsewhere (../) is named by its whole path."""
        folder, self.spec = os.path.split(os.path.join(os.path.dirname(self.path), name))
        if not os.path.isfile(os.path.join(folder, self.spec)):
            raise CaseError(f'there is no specification {name}')
        for other in os.listdir(folder):
            if other.endswith('.nest'):
                with open(os.path.join(folder, other), encoding='utf-8') as file:
                    self.files.setdefault(other, _ELSEWHERE.sub(
                        lambda found: f'%include "{os.path.abspath(os.path.join(folder, found[1]))}"', file.read()))

    def _meta(self, kind, value):
        word, _, reason = value.partition(',')
        word = word.strip()
        known = {'missing': ('yes',), 'skip': ('tcp', 'unix', 'sockets', 'blocking')}.get(kind, ('none',))
        if word not in known:
            raise CaseError(f'{kind}: knows only {" and ".join(known)}, not "{word}"')
        if not reason.strip():
            raise CaseError(f'{kind}: {value} gives no reason; <!-- {kind}: {word}, reason --> does')
        if kind == 'missing':
            self.missing = True
        elif kind == 'skip':
            self.skips[word] = reason.strip()
        else:
            setattr(self, kind, False)

    @staticmethod
    def _step(line):
        word, *rest = line.split(None, 1)
        rest = rest[0] if rest else ''
        if word not in STEPS:
            raise CaseError(f'unknown step: {line}; there are {", ".join(STEPS)}')
        if word in ('send', 'expect', 'expect~'):
            data = literal.parse(rest)
            return (word, pattern.read(data, line) if word == 'expect~' else data)
        if word in ('pass', 'after'):
            time = re.fullmatch(r'([0-9]{1,9})(ms|s|m|h)', rest)
            ms = time and int(time[1]) * {'ms': 1, 's': 1000, 'm': 60_000, 'h': 3600_000}[time[2]]
            if not time or ms > EVER:
                raise CaseError(f'{word} takes a time, as in 300ms, at most {EVER // 3600_000}h: {line}')
            return (word, ms)
        if word == 'stop':
            if rest not in ('', '1'):
                raise CaseError(f'stop takes nothing, or 1, the exit status: {line}')
            return (word, int(rest or 0))
        if word == 'reload':
            if len(rest.split(None, 1)) < 2:
                raise CaseError(f'reload takes a line of the configuration, NAME VALUE: {line}')
            return (word, rest)
        if rest:
            raise CaseError(f'{word} stands alone: {line}')
        return (word, None)

    @staticmethod
    def _diagnostic(line):
        found = _DIAGNOSTIC.match(line)
        if not found:
            raise CaseError(f'not CODE LINE:COLUMN: {line}')
        code, file, row, column, part = found.groups()
        return (code, file, int(row), int(column), part)

    # -- for the runners -------------------------------------------------------------------------

    def command(self, binary, *options):
        """The command line of its server."""
        return [binary, *options, *(['--', *self.arguments] if self.arguments else [])]

    def _text(self):
        """The specification."""
        text = self.files.get(self.spec, '')
        return text if isinstance(text, str) else text.decode(errors='replace')

    def takes_lines(self):
        """Whether the specification may begin with lines more, and its server may have filters."""
        counted = any(re.search(r'\bline [0-9]', str(line)) for lines in self.traces.values() for line in lines)
        return self.diagnostics is None and not counted and 'inetd' not in self._text()

    def held(self):
        """Whether a filter waits for the first message, so that the server does not read pieces of it."""
        return '%filter request' in self._text()

    def clients(self):
        """The clients in the order in which they connect."""
        return list(dict.fromkeys(client for client, _, _ in self.talk))

    def steps(self, client):
        """The steps of one client."""
        return [(step, argument) for name, step, argument in self.talk if name == client]

    def expected(self, client):
        """A regular expression for all bytes that a client receives."""
        return pattern.behind(_part(entry) for entry in self._expects(client))

    def _expects(self, client):
        return [entry for entry in self.talk if entry[0] == client and entry[1] in ('expect', 'expect~')]

    def unmet(self, client, received):
        """The first step of a client that the received bytes do not satisfy, and the rest of the
        bytes; None and the rest if they satisfy all steps."""
        parts, left = [], received
        for entry in self._expects(client):
            parts.append(_part(entry))
            if (found := re.match(pattern.behind(parts), received, re.S)) is None:
                return entry, left
            left = received[found.end():]
        return None, left

    def hear(self, traces):
        """Records a complete trace of the conversation."""
        self.heard += [lines for lines in traces if lines not in self.heard]

    def at_first(self):
        """The clients that connect before the first step."""
        return [name for name in self.clients() if self.steps(name)[0][0] != 'connect']

    def passes(self):
        """The milliseconds that pass in it."""
        return sum(argument for _, step, argument in self.talk if step == 'pass')

    def stops(self):
        """None, or the expected exit status when the case stops the server."""
        found = [argument for _, step, argument in self.talk if step == 'stop']
        return max(found) if found else None

    def reloads(self):
        """Whether it changes the configuration of the running server."""
        return any(step == 'reload' for _, step, _ in self.talk)

    def is_cut(self, client):
        """Whether the server may drop output of a client."""
        return any(step in ('reset', 'expect-cut') for step, _ in self.steps(client))

    def encodes(self):
        """Whether what clients get is not what actions reply, because it passes stages."""
        texts = self.files.values()
        if self.given:
            with open(self.given, 'rb') as file:
                texts = [file.read()]
        return any(_ENCODES.search(text.encode() if isinstance(text, str) else text) for text in texts)

    def resets(self, client=None):
        """Whether a client (or any client) resets."""
        return any(step == 'reset' for name, step, _ in self.talk if client in (None, name))


def _part(entry):
    """What a step expects, as a part of a pattern."""
    return (entry[2],) if entry[1] == 'expect' else entry[2]


def _who(name):
    return name or '(no name)'


def paths(base):
    """All pages below a folder that are cases; README files are not."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(base)
            for name in names if name.endswith('.md') and name != 'README.md']


def load_all(root, patterns, own=None):
    """All cases below `own`, otherwise below `root`/conformance/cases and `root`/examples, whose
    names match a glob; and the errors of invalid ones, as (location, reason)."""
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
            errors.append((f'{name}.md:{error.at or 1}', error.args[0]))
        except OSError as error:
            errors.append((f'{name}.md', error.strerror))
    return found, errors
