"""Generated projects: their text, and building them as a user would, by their own Makefile.

Must not know: what the servers do.
"""

import datetime
import functools
import os
import re
import shutil
import socket
import tempfile
from support.nest import ROOT, Failed, run

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(ROOT, 'examples')
STRICT = '-Wall -Wextra -Wpedantic -Werror'
SANITIZE = '-fsanitize=address,undefined -fno-sanitize-recover=all'
# What makes a model: a server has its own, and nobody else's.
PROCESSES = {'workers/process.c', 'workers/worker.c', 'workers/wake.c', 'blocking/blocking.c', 'blocking/watch.c'}
LOOPS = {'workers/loops.c', 'workers/dispatchers.c', 'workers/share.c', 'loop/wheel.c'}
OF_MODELS = {'process': PROCESSES | {'workers/spares.c'},
             'prefork': PROCESSES | {'workers/prefork.c'},
             'thread': {'workers/thread.c', 'workers/threads.c', 'workers/one.c', 'blocking/blocking.c', 'blocking/watch.c'},
             'event': LOOPS | {'poller/epoll.c'},
             'uring': LOOPS | {'poller/uring.c', 'poller/ring.c'},
             'script': {'workers/loops.c', 'poller/script.c', 'poller/script_jobs.c', 'loop/wheel.c'}}
_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def specs():
    """{name: path} of the examples, each in the folder of its name, and of our own."""
    found = {}
    for name in sorted(os.listdir(HERE + '/specs')):
        if name.endswith('.nest') and name != 'more.nest':
            found[name[:-5]] = os.path.join(HERE, 'specs', name)
    for name in sorted(os.listdir(EXAMPLES)):
        path = os.path.join(EXAMPLES, name, name + '.nest')
        if os.path.exists(path):
            found[name] = path
    return found


class Projects:
    """All specifications in all models, generated below a folder."""

    def __init__(self, nest, folder):
        self.nest, self.folder = nest, folder

    def generate(self, name, spec, model, into='a', trace=False):
        """A project's folder."""
        out = os.path.join(self.folder, into, f'{name}.{model}')
        run([self.nest, 'gen', os.path.basename(spec), '--model', model, '-o', out]
            + (['--trace'] if trace else []), os.path.dirname(spec))
        return out

    def build(self, project, label, cc, flags, linker='', target=None):
        """Builds a copy of a project by make, or a target of its Makefile; where that is."""
        name = target or os.path.basename(project).partition('.')[0]
        copy = os.path.join(self.folder, 'built', label, os.path.basename(project))
        if not os.path.exists(os.path.join(copy, name)):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copytree(project, copy, dirs_exist_ok=True)
            said = run(['make', '-s', f'CC={cc}', f'CFLAGS={flags}', f'LDFLAGS={linker}', name],
                       copy)
            if said:
                raise Failed(f'{cc} {flags} said\n{said[:3000]}')
        return os.path.join(copy, name)


def tree(folder):
    """{relative path: text}."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, encoding='utf-8') as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def traces_of_this_machine(folder):
    """Patterns that no generated text may contain."""
    today = datetime.date.today()
    host = socket.gethostname()
    words = [re.escape(folder), re.escape(tempfile.gettempdir()) + '/', re.escape(ROOT),
             r'__DATE__|__TIME__|__FILE__', today.isoformat(), today.strftime('%b %e %Y')]
    return words + ([rf'\b{re.escape(host)}\b'] if len(host) > 5 else [])


def wrong_text(files, folder):
    """What a project's text has that it should not; None if nothing."""
    patterns = tuple(traces_of_this_machine(folder))
    for path, text in files.items():
        if (found := wrong_words(text, patterns)) is not None:
            return f'{path} has {found}'
        if path.endswith(('.c', '.h')) and not path.startswith('runtime/'):
            code = _CODE.sub(' ', text)
            if (found := re.search(r'[^\n]*\$[^\n]*', code)) is not None:
                return f'{path} has a $: {found.group().strip()[:100]}'
    return None


@functools.cache        # most files of a project are those of all
def wrong_words(text, patterns):
    """The first words in a text that one of the patterns, or @@, stands for; None if there are none."""
    for pattern in patterns:
        if (found := re.search(pattern, text)) is not None:
            return repr(found.group())
    return '@@' if '@@' in text else None


def unused_files(project, files, model):
    """What a project has and does not need; None if nothing."""
    for path in sorted(set().union(*OF_MODELS.values())):
        if (path in OF_MODELS[model]) != os.path.exists(os.path.join(project, 'runtime', path)):
            return f'runtime/{path} is there' if path not in OF_MODELS[model] else f'no runtime/{path}'
    made = re.search(r'^FILTERS = (.*)$', files['Makefile'], re.M)
    filters = [word.removesuffix('.o') + '.c' for word in made[1].split()] if made else []
    folders = [f'-Iconditioning/{name}' for name in ('chain', 'frame', 'libcc', 'protocol')] if made else []
    listed = run(['gcc', '-MM', '-I.', *folders, 'server.c', 'actions.c', *filters], project)
    used = {os.path.normpath(word) for word in listed.replace('\\\n', ' ').split()}
    idle = [path for path in files if path.endswith(('.c', '.h')) and path not in used]
    return f'nobody includes {", ".join(sorted(idle))}' if idle else None
