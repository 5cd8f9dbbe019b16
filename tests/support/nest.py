"""The compiler under test: finds it and runs it.

Must not know: what is checked.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'conformance'))
from runner import rings                                            # noqa: E402

SOCKET_MODELS = ('process', 'prefork', 'thread', 'event', *(['uring'] if rings.available() else []))
if not rings.available():
    print('uring: not tested, because this kernel gives no io_uring', file=sys.stderr)
MODELS = SOCKET_MODELS + ('script',)
ONE_CLIENT = ('process', 'prefork')     # a process serves one client at a time
TIME = 900          # seconds: for what hangs
# Servers are built quickly, not well: clang takes half as long as gcc. tests/project and tests/cost use gcc, and optimise; so
# do benches. clang would refuse formats of which nest only warns.
QUICK = {'CC': 'clang', 'CFLAGS': '-O0 -g0 -Wno-error=format-security'}
SANITIZERS = {'asan': 'address,undefined', 'tsan': 'thread'}


class Failed(Exception):
    """A program that a check depends on failed."""


class Missing(Exception):
    """What a check needs is not here, and the check is skipped."""


def one_client(exe):
    """Whether a process of this server, whose path names the model, serves one client at a time."""
    return any(model in exe for model in ONE_CLIENT)


def checked(name):
    """The variables with which servers are built with a sanitizer: without optimisation, which takes a third of
    what gcc takes that optimises a little, and with lines for its reports."""
    return {'CC': QUICK['CC'], 'CFLAGS': QUICK['CFLAGS'].replace('-g0', '-g1') +
            f' -fsanitize={SANITIZERS[name]} -fno-sanitize-recover=all'}


def program():
    """The path of nest: $NEST, or built from this project."""
    given = os.environ.get('NEST')
    if given:
        return os.path.abspath(given)
    done = subprocess.run(['cargo', 'build', '--quiet', '--package', 'nest-cli'], cwd=ROOT,
                          timeout=4 * TIME)
    if done.returncode != 0:
        sys.exit('nest does not build')
    target = os.environ.get('CARGO_TARGET_DIR') or os.path.join(ROOT, 'target')
    return os.path.join(target, 'debug', 'nest')


def environment(**more):
    """The environment without variables that would configure a server or a C compiler by accident.
    Optimising takes four times as long as compiling, so servers are built without unless `more` has
    CFLAGS. Servers that root starts here are told to stay root, so that they do not warn of it."""
    dropped = ('CC', 'CFLAGS', 'CPPFLAGS', 'LDFLAGS', 'LDLIBS')
    kept = {k: v for k, v in os.environ.items() if not k.startswith('NEST') and k not in dropped}
    kept.update({'NEST_USER': 'root'} if os.geteuid() == 0 else {})
    kept.update({'LC_ALL': 'C.UTF-8', **({} if 'CFLAGS' in more else QUICK), **more})
    return kept


def run(words, folder=None, **more):
    """Runs a program to its end and returns its output. Raises Failed, with the output, if it
    fails."""
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIME, env=environment(**more))
    except subprocess.TimeoutExpired as error:
        raise Failed(f'{words[0]} did not end within {TIME} s') from error
    except OSError as error:
        raise Failed(f'cannot run {words[0]}: {error.strerror}') from error
    text = done.stdout.decode(errors='replace')
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}: status {done.returncode}\n{text[:4000]}')
    return text
