"""The server of docs/howto/connections.md that asks PostgreSQL by libpq: actions wait for the library's descriptor.

Must not know: how an action waits.
"""

import contextlib
import glob
import os
import re
import select
import shutil
import subprocess
import tempfile
from support.cases import attempt
from support.expect import WAIT, until
from support.nest import ROOT, Failed, environment, program, run as command
from support.server import Client, Server

PAGE = os.path.join(ROOT, 'docs', 'howto', 'connections.md')
HEADERS = '/usr/include/postgresql'
OWNER = 'nobody'        # PostgreSQL does not run as root
START = 120             # seconds


@contextlib.contextmanager
def database(folder):
    """A PostgreSQL server with a table of goods; yields a function that runs SQL, and the environment of its clients."""
    programs = sorted(glob.glob('/usr/lib/postgresql/*/bin'))
    if not programs:
        raise Failed('PostgreSQL is not installed')
    data = os.path.join(folder, 'data')
    os.mkdir(data)
    more = {}
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
        shutil.chown(data, OWNER)
        more = {'user': OWNER, 'group': 'nogroup'}
    clients = {'PGHOST': data, 'PGUSER': 'shop'}

    def begin(name, *words):
        return subprocess.Popen([os.path.join(programs[-1], name), *words], cwd=data, env=environment(**clients), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def end(process):
        said = process.communicate(timeout=START)[0].decode(errors='replace')
        if process.returncode != 0:
            raise Failed(f'{process.args}: {said[-2000:]}')
    end(begin('initdb', '-D', data, '-U', 'shop', '-A', 'trust', '--no-sync', '--no-locale'))
    server = begin('postgres', '-D', data, '-k', data, '-c', 'listen_addresses=', '-c', 'fsync=off')
    try:
        until('PostgreSQL starts', lambda: begin('pg_isready', '-q', '-d', 'postgres').wait() == 0, START)
        end(begin('psql', '-q', '-d', 'postgres', '-c', 'create database shop'))
        end(begin('psql', '-q', '-d', 'shop', '-c', "create table goods (name text, price text); insert into goods values ('tea', '2.50')"))
        yield lambda text: begin('psql', '-d', 'shop', '-c', text), clients
    finally:
        server.terminate()
        server.communicate(timeout=START)


def asked(server, sql):
    """many clients are answered, each by its own connection; one that waits for the database holds up nobody"""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(10)]
        for client in clients:
            client.send(b'price of tea\nprice of gold\n')
        for client in clients:
            client.expect(b'2.50\nno price\n')
        holder = sql('begin; lock goods in access exclusive mode; select pg_sleep(60); commit')
        until('the table is locked', lambda: b'AccessExclusiveLock' in sql(
            "select mode from pg_locks where relation = 'goods'::regclass and granted").communicate()[0])
        clients[0].send(b'price of tea\n')
        clients[1].send(b'price of tea\n')
        clients[2].send(b'ping\n')
        clients[2].expect(b'pong\n')
        if select.select([clients[0].socket], [], [], 0)[0]:
            raise Failed('the database was not waited for')
        clients[1].socket.close()      # while its action waits
        sql("select pg_cancel_backend(pid) from pg_stat_activity where query like 'begin; lock goods%'").communicate(timeout=WAIT)
        clients[0].expect(b'2.50\n')
        holder.communicate(timeout=WAIT)
    until('the connections to the database end', lambda: re.search(rb'^ +0$', sql(
        "select count(*) from pg_stat_activity where datname = 'shop' and pid != pg_backend_pid()").communicate()[0], re.MULTILINE))


def run(report, models):
    """All, for the driver."""
    report.heading(f'database: {", ".join(models)}')
    if not os.path.exists(os.path.join(HEADERS, 'libpq-fe.h')):
        raise Failed(f'{HEADERS}/libpq-fe.h is missing: run scripts/setup check')
    with open(PAGE, encoding='utf-8') as file:
        spec = re.search(r'^```nest database\.nest\n(.*?)^```', file.read(), re.MULTILINE | re.DOTALL)[1]
    with tempfile.TemporaryDirectory(prefix='nest-database-') as folder:
        path = os.path.join(folder, 'database.nest')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(spec)
        with database(folder) as (sql, clients):
            for model in models:
                exe = os.path.join(folder, model)
                command([program(), 'build', '--model', model, path, '-I', HEADERS, '-l', 'pq', '-o', exe])

                def check(exe=exe):
                    with Server([exe], **clients) as server:
                        asked(server, sql)
                attempt(report, model, 'database', asked.__doc__, check)
