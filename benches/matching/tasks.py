"""What is measured: tasks with their inputs, and the matchers with what they can do.

Must not know: how anything is built or run.
"""

import dataclasses
import platform

SMTP = 'EHLO HELO MAIL RCPT DATA RSET NOOP QUIT VRFY EXPN HELP AUTH STARTTLS BDAT'.split()
FTP = ('USER PASS ACCT CWD CDUP PORT PASV EPSV EPRT TYPE STRU MODE RETR STOR APPE ALLO REST RNFR RNTO '
       'ABOR DELE RMD MKD PWD LIST NLST SITE SYST STAT FEAT OPTS SIZE MDTM MLSD MLST QUIT NOOP HELP '
       'AUTH').split()


@dataclasses.dataclass(frozen=True)
class Task:
    """A grammar, `spec` in specs/, and the inputs it is measured on; `verbs` complete it."""

    name: str
    about: str
    spec: str
    corpora: tuple
    parts: bool = True                  # they are found, not only where a message ends
    verbs: tuple = ()


TASKS = {task.name: task for task in (
    Task('heads', 'request lines and header lines with their parts', 'heads',
         ('browsers', 'machines')),
    Task('recognise', 'the same grammar without parts: whole heads', 'recognise',
         ('browsers', 'machines'), parts=False),
    Task('smtp', 'which of 14 commands, and its argument', 'commands', ('smtp',),
         verbs=tuple(SMTP)),
    Task('ftp', 'which of 39 commands, and its argument', 'commands', ('ftp',), verbs=tuple(FTP)),
    Task('memcached', 'command lines with their parts', 'memcached', ('memcached',)),
    Task('lines', 'lines of 8 KB to 1 MB', 'lines', ('lines',)))}

MODES = {'whole': 0, 'packets': 1460, 'bytes': 1}   # bytes of a piece; 0: all


@dataclasses.dataclass(frozen=True)
class Matcher:
    """One that can be measured."""

    name: str
    about: str
    tasks: tuple = tuple(TASKS)
    modes: tuple = tuple(MODES)
    program: str = ''                   # that has to be there
    file: str = ''                      # the same
    package: str = ''                   # that has it
    two: bool = True                    # a program for pieces of its own
    cannot: str = ''


MATCHERS = {matcher.name: matcher for matcher in (
    Matcher('nest', 'the matcher that nest emits, alone', two=False),
    Matcher('engine', "nest's engine around it: sessions, states, actions in C", two=False),
    Matcher('re2c', 're2c -T -b; for pieces -T -f, with a sentinel', program='re2c', package='re2c'),
    Matcher('ragel', 'ragel -G2; whole: noend', program='ragel', package='ragel'),
    Matcher('flex', 'flex -CF', tasks=('recognise', 'smtp', 'ftp', 'lines'), modes=('whole',), two=False,
            program='flex', package='flex',
            cannot='has no groups, and pulls its input: it cannot stop within a message'),
    Matcher('pcre2', "libpcre2's JIT", modes=('whole',), two=False, file='/usr/include/pcre2.h',
            package='libpcre2-dev',
            cannot='cannot resume: a partial match begins anew when more has come'),
    Matcher('hyperscan', 'libhyperscan: block mode; streams for pieces',
            tasks=('recognise', 'smtp', 'ftp', 'lines'), file='/usr/include/hs/hs.h',
            package='libhyperscan-dev',
            cannot='has no groups: no parts, but what lies at a fixed distance from an end'),
    Matcher('llhttp', "Node.js's parser of HTTP", tasks=('heads', 'recognise'),
            file='/usr/share/llhttp/llhttp.c', package='node-llhttp', two=False, cannot='knows HTTP alone'),
    Matcher('memchr', 'memchr of libc, a floor', tasks=('lines',), two=False))}
if platform.machine() == 'x86_64':      # its vectors
    MATCHERS['hand'] = Matcher('hand', 'a parser of this grammar written by hand, with vectors',
                               tasks=('heads', 'ftp'), modes=('whole',), two=False,
                               cannot='cannot resume, and knows this grammar alone')
