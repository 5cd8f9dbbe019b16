"""What users of an FTP server do, by the RFCs. Each check gets a World. Must not know: models, hostile clients."""

import ftplib
import io
import os
import re
import socket
import threading
import time
from support.connection import all_of
from support.expect import expect
from support.nest import Failed
from world import BIG, LIMIT, Control, library


def logs_in(world):
    """USER and PASS, in this order; anonymous users; who may only read; REIN; the third wrong password is the last"""
    with Control(world, None) as c:
        c.ask('PASS secret', 503)
        c.ask('PWD', 530)
        c.ask('NONSENSE', 500)
        for verb in ('USER', 'ACCT', 'OPTS'):
            c.ask(verb, 501)
        c.ask('USER nobody', 331)
        c.ask('PASS secret', 530)
        c.ask('PASS alice', 530)
        c.ask('USER alice', 331)
        c.ask('PASS secret', 230)
        c.ask('ACCT x', 202)
        c.ask('REIN', 220)
        c.ask('LIST', 530)
    with Control(world, 'anonymous', 'me@example.net') as c:
        expect('/"' in c.ask('PWD', 257), 'the folder')
        c.ask('DELE hello', 550)
        c.ask('MKD x', 550)
        c.ask('STOR x', 550)
        c.ask('SIZE hello', 213)
    with Control(world, None) as c:
        c.ask('USER alice', 331)
        c.ask('PASS 1', 530)
        c.ask('USER bob', 331)
        c.ask('PASS 2', 530)
        c.ask('PASS 3', 421)
        expect(c.reply()[0] == 0, 'it was not closed')


def members(world):
    """Who is added to the file of users can log in at once, and who is taken out cannot; without the file nobody can"""
    def try_out(name, code):
        with Control(world, None) as c:
            c.ask(f'USER {name}', 331)
            c.ask('PASS secret', code)

    with open(world.users, encoding='latin-1') as file:
        before = file.read()
    line = 'dora:' + before.partition('alice:')[2].partition('\n')[0]
    other = world.users + '.new'
    try_out('dora', 530)
    try:
        with open(world.users, 'a', encoding='latin-1') as file:
            file.write(f'broken\n{line}\n')
        try_out('dora', 230)
        with open(other, 'w', encoding='latin-1') as file:
            file.write(f'{line}\n{line.replace("dora", "cut")}')
        os.replace(other, world.users)
        try_out('dora', 230)
        try_out('alice', 530)
        try_out('cut', 530)
        os.remove(world.users)
        try_out('dora', 530)
    finally:
        with open(other, 'w', encoding='latin-1') as file:
            file.write(before)
        os.replace(other, world.users)
    try_out('alice', 230)
    for text in (', line 6: it is not NAME:HASH', ', line 2: it has no end of line', ': No such file or directory'):
        expect(f"--users '{world.users}'{text}" in world.server.said(), f'{text} is not in the log')


def guesses(world):
    """Neither a login, nor REIN, gives a client more wrong passwords than three in all"""
    with Control(world, None) as c:
        for number in range(2):
            c.ask('USER alice', 331)
            c.ask(f'PASS {number}', 530)
            c.ask('USER ftp', 331)
            c.ask('PASS a@b', 230)
            c.ask('REIN', 220)
        c.ask('USER alice', 331)
        c.ask('PASS 2', 421)
        expect(c.reply()[0] == 0, 'it was not closed')


def again(world):
    """USER leaves the parameters of transfers as they are (RFC 959, 4.1.1), and REIN does not"""
    with Control(world) as c:
        c.ask('EPSV ALL', 200)
        c.ask('OPTS MLST size;', 200)
        for verb, kept in (('USER bob', True), ('REIN', False)):
            c.ask(verb, 331 if kept else 220)
            c.ask('USER alice', 331)
            c.ask('PASS secret', 230)
            expect(f'type {"I" if kept else "A"},' in c.ask('STAT', 211), f'TYPE after {verb}')
            expect(('MLST type;size*;modify;' in c.ask('FEAT', 211)) == kept, f'OPTS MLST after {verb}')
            c.ask('PASV', 503 if kept else 227)


def speaks(world):
    """FEAT, OPTS, HELP, SYST, STAT, NOOP, TYPE, MODE, STRU, ALLO, SITE: codes, and the forms that there are"""
    with Control(world) as c:
        features = c.ask('FEAT', 211)
        expect(all(f'\n {word}' in features for word in ('EPRT', 'EPSV', 'MDTM', 'MFMT', 'MLST type*;', 'REST STREAM', 'SIZE', 'UTF8')),
               features)
        c.ask('OPTS UTF8 ON', 200)
        expect('MLST OPTS size;modify;' in c.ask('OPTS MLST Size;Modify;none;', 200), 'facts')
        world.put('alice/facts', b'12345')
        expect(re.search(r'\n size=5;modify=\d{14}; /facts\r', c.ask('MLST facts', 250)), 'MLST')
        c.ask('OPTS OTHER', 501)
        for text, code in (('HELP', 214), ('SYST', 215), ('STAT', 211), ('STAT /', 213), ('noop', 200), ('TYPE A N', 200),
                           ('TYPE E', 504), ('TYPE L 8', 200), ('MODE S', 200), ('MODE B', 504), ('STRU F', 200), ('STRU R', 504),
                           ('ALLO 100', 202), ('ALLO 100 R 2', 202), ('SITE HELP', 214), ('SITE EXEC', 504), ('RETR', 501),
                           ('REST x', 501), ('RNTO x', 503), ('ABOR', 226), ('RETR facts', 425), ('CWD facts', 550), ('SMNT x', 500)):
            c.ask(text, code)
        c.ask('QUIT', 221)
        expect(c.reply()[0] == 0, 'it was not closed')


def transfers(world):
    """Whole files and parts of them, passive and active, IPv4 and IPv6, each way"""
    for six in (False, True):
        for passive in (True, False):
            ftp = library(world, six=six, passive=passive)
            ftp.storbinary('STOR big', io.BytesIO(BIG))
            expect(world.get('alice/big') == BIG and ftp.size('big') == len(BIG), f'STOR {six} {passive}')
            out = io.BytesIO()
            ftp.retrbinary('RETR big', out.write)
            expect(out.getvalue() == BIG, f'RETR {six} {passive}')
            out = io.BytesIO()
            ftp.retrbinary('RETR big', out.write, rest=1_000_001)
            expect(out.getvalue() == BIG[1_000_001:], f'REST {six} {passive}')
            ftp.storbinary('STOR part', io.BytesIO(BIG[:1000]))
            ftp.storbinary('STOR part', io.BytesIO(BIG[900:2000]), rest=900)
            ftp.storbinary('APPE part', io.BytesIO(BIG[2000:2500]))
            expect(world.get('alice/part') == BIG[:2500], f'parts {six} {passive}')
            ftp.quit()


def texts(world):
    """TYPE A: CRLF on the way, LF in files, also where pieces end between CR and LF"""
    ftp = library(world)
    lines = [f'line {i} \r of the file' for i in range(5000)]
    ftp.storlines('STOR text', io.BytesIO('\n'.join(lines).encode() + b'\n'))
    expect(world.get('alice/text') == ('\n'.join(lines) + '\n').encode(), 'STOR')
    ftp.voidcmd('TYPE A')
    data = ftp.transfercmd('RETR text')
    expect(all_of(data) == ('\r\n'.join(lines) + '\r\n').encode(), 'RETR')
    data.close()
    ftp.voidresp()
    try:
        ftp.sendcmd('SIZE text')
        raise Failed('the size of a text')
    except ftplib.error_perm:
        pass
    ftp.quit()


def versions(world):
    """TYPE A: a file that is replaced during its download comes whole, in its old version; one that is cut does not look whole"""
    old = b'old\n' * 3_000_000
    for cut in (False, True):
        world.put('alice/version', old)
        world.put('alice/newer', b'new\n' * 3_000_000)
        with Control(world) as c:
            c.ask('TYPE A', 200)
            data = c.passive()
            c.send('RETR version')
            c.code(150)
            begin = data.recv(1000)
            if cut:
                os.truncate(world.path('alice/version'), 1000)
                all_of(data)
                c.code(451)
            else:
                os.rename(world.path('alice/newer'), world.path('alice/version'))
                expect(begin + (all_of(data) or b'') == old.replace(b'\n', b'\r\n'), 'it is not the old version')
                c.code(226)
            data.close()


def waits(world):
    """A data connection that never comes: 425 after --data-wait; the client is heard until then, and one that comes late is taken"""
    world.put('alice/late', b'late')
    with Control(world) as c:
        c.ask('EPSV', 229)
        since = time.monotonic()
        c.send('RETR late')
        c.ask('NOOP', 503)
        c.ask('STAT', 213)
        c.code(425)
        expect(time.monotonic() - since < 25, 'it took long')
        c.ask('EPSV', 229)
        c.send('RETR late\r\nABOR')
        c.code(426)
        c.code(226)
        port = int(c.ask('EPSV', 229).split('|')[3])
        c.send('RETR late\r\nNOOP')
        c.code(503)
        with socket.create_connection(('127.0.0.1', port), LIMIT) as data:
            c.code(150)
            expect(all_of(data) == b'late', 'the file')
        c.code(226)
        c.ask('EPSV', 229)
        c.send('RETR late\r\nQUIT')
        c.code(425)
        c.code(221)
        expect(c.reply()[0] == 0, 'it was not closed')


def restarts(world):
    """REST counts for the next transfer, also behind what prepares its data connection; any other command forgets it"""
    world.put('alice/rest', b'0123456789')
    with Control(world) as c:
        def rest(*between):
            c.ask('EPSV', 229)
            c.ask('REST 4', 350)
            for text, code in between:
                c.ask(text, code)
            data = c.passive()
            c.send('RETR rest')
            c.code(150)
            got = all_of(data)
            data.close()
            c.code(226)
            return got
        expect(rest() == b'456789', 'REST and EPSV')
        expect(rest(('PASV', 227), ('EPSV', 229)) == b'456789', 'REST and PASV')
        for between in (('NOOP', 200), ('CWD /', 250), ('TYPE I', 200), ('SIZE rest', 213), ('MDTM rest', 213), ('PWD', 257), ('STAT', 211),
                        ('STAT rest', 213), ('FEAT', 211), ('MLST rest', 250), ('NONSENSE', 500), ('MKD x', 257), ('RMD x', 250),
                        ('DELE none', 550), ('RNFR rest', 350), ('RNTO rest', 503), ('SITE CHMOD 644 rest', 200), ('RETR none', 550),
                        ('OPTS UTF8 ON', 200), ('OPTS MLST type;', 200), ('HELP', 214), ('ABOR', 226), ('RETR', 501), ('PBSZ 0', 503)):
            expect(rest(between) == b'0123456789', f'REST was not forgotten by {between[0]}')


def names(world):
    """Folders: made, entered, listed in every form, renamed, removed; names with blanks, quotes and signs"""
    ftp = library(world)
    expect(ftp.mkd('a "folder"') == '/a "folder"', 'MKD')
    ftp.cwd('a "folder"')
    expect(ftp.pwd() == '/a "folder"', 'PWD')
    ftp.storbinary('STOR sch\xf6n', io.BytesIO(b'x'))
    ftp.storbinary('STOR -a b.txt', io.BytesIO(b'xy'))
    expect(sorted(ftp.nlst()) == ['-a b.txt', 'sch\xf6n'], 'NLST')
    expect(ftp.nlst('*.txt') == ['-a b.txt'], 'a pattern')
    ftp.cwd('/')
    ftp.mkd('sub')
    ftp.mkd('sub/deep')
    for name in ('sub/1.txt', 'sub/deep/2.txt'):
        world.put(f'alice/{name}', name.encode())
    for folder, asked, told in (('/', 'sub/*.txt', 'sub/1.txt'), ('/', 'sub/deep', 'sub/deep/2.txt'), ('/', '/sub/?.txt', 'sub/1.txt'),
                                ('/sub', '*.txt', '1.txt'), ('/sub', 'deep/', 'deep/2.txt'), ('/sub/deep', '../*.txt', '/sub/1.txt'),
                                ('/sub/deep', '', '2.txt'), ('/sub/deep', '.', '2.txt'), ('/sub', 'deep/2.txt', 'deep/2.txt')):
        ftp.cwd(folder)
        listed, out = ftp.nlst(*([asked] if asked else [])), io.BytesIO()
        expect(listed == [told], f'NLST {asked} in {folder}: {listed}')
        ftp.retrbinary(f'RETR {told}', out.write)
        expect(out.getvalue() == world.get(f"alice/sub/{'deep/2' if '2' in told else '1'}.txt"), f'RETR {told}')
    for name in ('/sub/1.txt', '/sub/deep/2.txt'):
        ftp.delete(name)
    ftp.rmd('/sub/deep')
    ftp.rmd('/sub')
    ftp.cwd('/a "folder"')
    listed = []
    ftp.retrlines('LIST -la', listed.append)
    expect(len(listed) == 2 and all(re.match(r'-rw.{7} 1 ftp ftp +\d+ \w{3} +\d+ +\d\d:\d\d ', line) for line in listed), str(listed))
    facts = dict(ftp.mlsd())
    expect(facts['sch\xf6n']['type'] == 'file' and facts['-a b.txt']['size'] == '2', str(facts))
    ftp.cwd('..')
    ftp.rename('a "folder"/sch\xf6n', 'new name')
    expect(world.get('alice/new name') == b'x', 'the new name')
    try:
        ftp.rmd('a "folder"')
        raise Failed('a folder that is not empty was removed')
    except ftplib.error_perm:
        pass
    ftp.delete('a "folder"/-a b.txt')
    ftp.rmd('a "folder"')
    ftp.sendcmd('MFMT 20200102030405 new name')
    expect(os.stat(world.path('alice/new name')).st_mtime == 1577934245, 'MFMT')
    expect(ftp.sendcmd('MDTM new name') == '213 20200102030405', 'MDTM')
    ftp.sendcmd('SITE CHMOD 640 new name')
    expect(os.stat(world.path('alice/new name')).st_mode & 0o777 == 0o640, 'CHMOD')
    for wrong in ('MFMT 20200199030405 new name', 'CWD none', 'MDTM none', 'RMD /', 'RNFR none', 'DELE .'):
        try:
            ftp.sendcmd(wrong)
            raise Failed(wrong)
        except ftplib.error_perm:
            pass
    ftp.delete('new name')
    ftp.quit()


def renames(world):
    """RNTO stands directly behind RNFR: any other command forgets the name (RFC 959, 4.1.3)"""
    world.put('alice/old name', b'x')
    with Control(world) as c:
        for text, code in (('NOOP', 200), ('PASV', 227), ('EPSV', 229), ('PORT 1', 501), ('EPRT 1', 501), ('REST 0', 350), ('SIZE old name', 213),
                           ('PWD', 257), ('NONSENSE', 500), ('RNFR none', 550), ('RNTO', 501), ('RETR none', 550), ('TYPE I', 200)):
            c.ask('RNFR old name', 350)
            c.ask(text, code)
            c.ask('RNTO new name', 503)
        c.ask('RNTO new name', 503)
        c.ask('RNFR old name', 350)
        c.ask('RNTO new name', 250)
        c.ask('RNTO old name', 503)
        c.ask('DELE new name', 250)


def links(world):
    """A list says where a link leads; it is deleted and renamed itself, also if it leads nowhere or out of the home; what it leads to stays; a folder is not deleted"""
    world.put('alice/behind', b'behind')
    os.makedirs(world.path('alice/linked/folder'))
    world.put('secret', b'secret')
    for target in ('none', '/etc/passwd', '../../secret', '../behind', 'folder'):
        old, new = (world.path(f'alice/linked/{name}') for name in ('old', 'new'))
        with Control(world) as c:
            for after in ('DELE new', 'DELE /linked/new'):
                os.symlink(target, old)
                c.ask('CWD /linked', 250)
                expect(f' old -> {target}\r\n' in c.ask('STAT .', 213), 'where the link leads')
                c.ask('RNFR old', 350)
                c.ask('RNTO new', 250)
                expect(not os.path.lexists(old) and os.readlink(new) == target, f'the new name of the link to {target}')
                c.ask(after, 250)
                expect(not os.path.lexists(new), f'{after} has not deleted the link to {target}')
            c.ask('DELE new', 550)
            expect('folder' in c.ask('DELE folder', 550), 'DELE of a folder')
    expect(world.get('alice/behind') == b'behind' and world.get('secret') == b'secret', 'what a link leads to has changed')
    os.rmdir(world.path('alice/linked/folder'))
    os.rmdir(world.path('alice/linked'))


def escapes(world):
    """The byte 255 is Telnet's IAC: twice in a name it is one, alone it is itself; replies double it, lists on data connections do not"""
    name = os.fsencode(world.path('alice/of')) + b'\xff255'
    with Control(world, 'd\xff\xffra', 'p\xff\xffw') as c:
        expect('You are d\xff\xffra,' in c.ask('STAT', 211), 'the user')
        for iac in ('\xff\xff', '\xff'):
            expect(c.ask(f'MKD of{iac}255', 257).startswith('257 "/of\xff\xff255"') and os.path.isdir(name), f'MKD {iac}')
            c.ask(f'CWD of{iac}255', 250)
            expect(c.ask('PWD', 257).startswith('257 "/of\xff\xff255"'), f'PWD {iac}')
            data = c.passive()
            c.send(f'STOR {iac}')
            c.code(150)
            data.close()
            c.code(226)
            expect(os.listdir(name) == [b'\xff'], f'STOR {iac}: {os.listdir(name)}')
            expect(c.ask(f'MLST {iac}', 250).split('\r\n')[1].endswith(' /of\xff\xff255/\xff\xff'), f'MLST {iac}')
            expect(c.ask('STAT *', 213).split('\r\n')[1].endswith(' \xff\xff'), f'STAT {iac}')
            expect(c.ask(f'MFMT 20200102030405 {iac}', 213).endswith('; \xff\xff\r\n'), f'MFMT {iac}')
            for verb in ('NLST', f'NLST {iac}'):
                data = c.passive()
                c.send(verb)
                c.code(150)
                expect(all_of(data) == b'\xff\r\n', f'{verb} {iac}')
                data.close()
                c.code(226)
            c.ask(f'RNFR {iac}', 350)
            c.ask('RNTO ' + 5 * '\xff', 250)
            expect(os.listdir(name) == [b'\xff\xff\xff'], f'RNTO {iac}: {os.listdir(name)}')
            c.ask('RNFR ' + 6 * '\xff', 350)
            c.ask(f'RNTO {iac}', 250)
            c.ask(f'SIZE {iac}', 213)
            c.ask(f'DELE {iac}', 250)
            c.ask(f'RMD /of{iac}255', 250)
            c.ask('CWD /', 250)


def dates(world):
    """MFMT says what was stored, which may be another time than the given one; what is neither file nor folder is said to be neither"""
    world.put('alice/dated', b'x')
    os.mkfifo(world.path('alice/fifo'))
    with Control(world) as c:
        for given in ('20200102030405', '99991231235959', '19011213204552'):
            told = re.search(r'Modify=(\d+); dated', c.ask(f'MFMT {given} dated', 213))[1]
            stored = c.ask('MDTM dated', 213).split()[1]
            expect(told == stored, f'{given}: {told} was told, {stored} stored')
        c.ask('MFMT 20200199030405 dated', 501)
        for verb in ('SIZE', 'MDTM', 'RETR', 'STOR'):
            for kind in ('I', 'A') if verb == 'RETR' else ('I',):
                c.ask(f'TYPE {kind}', 200)
                expect('no file' in c.ask(f'{verb} fifo', 550), verb)
    os.unlink(world.path('alice/fifo'))


def unique(world):
    """STOU chooses a name that nobody has, and tells it in the form of RFC 1123, 4.1.2.9; it never takes one that is taken"""
    with Control(world) as c:
        told = set()
        for _ in range(3):
            data = c.passive()
            c.send('STOU')
            told.add(re.fullmatch(r'150 FILE: (\S+)\r\n', c.code(150))[1])
            data.sendall(b'unique')
            data.close()
            c.code(226)
        expect(len(told) == 3 and all(world.get(f'alice/{name}') == b'unique' for name in told), str(told))
        seconds, numbers = zip(*(map(int, name.split('-')[1:]) for name in told))
        taken = [f'alice/file-{max(seconds) + later}-{min(numbers) + n}' for later in range(20) for n in range(110)]
        for name in taken:
            if not world.get(name):
                world.put(name, b'taken')
        with c.passive() as data:
            c.send('STOU')
            if c.reply()[0] == 150:     # the names are of other seconds
                data.sendall(b'new')
                data.close()
                c.code(226)
        expect(b'new' not in map(world.get, taken), 'a file was replaced')
        for name in taken:
            os.unlink(world.path(name))


def appends(world):
    """Of two uploads that keep the same beginning, one succeeds; TYPE forgets REST"""
    world.put('alice/both', b'old')
    with Control(world) as one, Control(world) as two:
        for name, old in ('both', b'old'), ('neither', b''):
            ways = [(c, c.passive()) for c in (one, two)]
            for c, _ in ways:
                c.send(f'APPE {name}')
                c.code(150)
            for (c, data), code in zip(ways, (226, 451)):
                data.sendall(b'%d' % code)
                data.close()
                c.code(code)
            expect(world.get(f'alice/{name}') == old + b'226', name)
        one.ask('REST 2', 350)
        one.ask('TYPE A', 200)
        data = one.passive()
        one.send('STOR both')
        one.code(150)
        data.sendall(b'new')
        data.close()
        one.code(226)
        expect(world.get('alice/both') == b'new', 'TYPE keeps REST')


def through(world):
    """An upload that keeps bytes is refused if its name is a link, and a private file stays private; one that keeps none replaces the link"""
    world.put('alice/private', b'private')
    os.chmod(world.path('alice/private'), 0o600)
    for target in ('private', 'none', '../bob', '/etc/passwd'):
        link = world.path('alice/way')
        os.symlink(target, link)
        with Control(world) as c:
            for rest, verb in ((0, 'APPE'), (3, 'STOR'), (3, 'APPE')):
                c.ask('EPSV', 229)
                c.ask(f'REST {rest}', 350)
                expect('link' in c.ask(f'{verb} way', 553), f'{verb} through a link to {target}')
            expect(os.readlink(link) == target, 'the link was replaced')
            if target == 'private':
                data = c.passive()
                c.send('STOR way')
                c.code(150)
                data.sendall(b'public')
                data.close()
                c.code(226)
                expect(not os.path.islink(link) and world.get('alice/way') == b'public', 'STOR without REST')
        os.unlink(link)
    about = os.stat(world.path('alice/private'))
    expect(world.get('alice/private') == b'private' and about.st_mode & 0o777 == 0o600, 'the private file has changed')


def aborts(world):
    """ABOR ends a transfer that stalls, either way; STAT and QUIT are heard during one; files stay as they were"""
    world.put('alice/big', BIG * 4)
    world.put('alice/old', b'old')
    with Control(world) as c:
        data = c.passive()
        c.send('RETR big')
        c.code(150)
        expect(data.recv(1000) != b'', 'nothing came')
        c.ask('STAT', 213)
        c.ask('NOOP', 503)
        c.socket.send(b'\xff\xf4')
        c.socket.send(b'\xff\xf2', 1)    # MSG_OOB: Telnet's signal
        c.ask('ABOR', 426)
        c.code(226)
        data.close()
        data = c.passive()
        c.send('STOR old')
        c.code(150)
        data.sendall(BIG[:100000])
        c.ask('ABOR', 426)
        c.code(226)
        data.close()
        expect(world.get('alice/old') == b'old', 'an aborted upload is seen')
        data = c.passive()
        c.send('STOR old')
        c.code(150)
        c.send('QUIT')
        data.sendall(b'new')
        data.close()
        c.code(226)
        c.code(221)
        expect(world.get('alice/old') == b'new', 'QUIT has cut the transfer')
    ftp = library(world)
    ftp.voidcmd('TYPE I')
    data = ftp.transfercmd('RETR big')
    data.recv(1000)
    expect(ftp.abort()[:3] in ('426', '225', '226'), 'abort() of ftplib')
    data.close()


def together(world):
    """Clients transfer at the same time, and each gets its own files"""
    wrong = []

    def one(number):
        try:
            data = bytes([number]) * (200_000 + number)
            ftp = library(world)
            for name in (f'own{number}', f'own{number}x'):
                ftp.storbinary(f'STOR {name}', io.BytesIO(data))
                out = io.BytesIO()
                ftp.retrbinary(f'RETR {name}', out.write)
                if out.getvalue() != data:
                    wrong.append(name)
            ftp.quit()
        except (OSError, ftplib.Error, EOFError) as error:
            wrong.append(f'{number}: {error}')

    threads = [threading.Thread(target=one, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, str(wrong))


def logged(world):
    """Each transfer has a line of xferlog: who, what, how many bytes were sent, which way, complete or not; of a name, only printable ASCII"""
    ftp = library(world)
    ftp.storbinary('STOR logged file', io.BytesIO(b'12345'))
    ftp.retrbinary('RETR logged file', lambda _: None)
    ftp.quit()
    with open(world.log, encoding='latin-1') as file:
        lines = [line for line in file if 'logged_file' in line]
    form = r'\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} \d+ 127\.0\.0\.1 5 /alice/logged_file b _ %s r alice ftp 0 \* c\n'
    expect(len(lines) == 2 and re.fullmatch(form % 'i', lines[0]) and re.fullmatch(form % 'o', lines[1]), str(lines))
    name = 'steers\x9b\xc2\x9b\xff\xe2\x80\xae\x1b'   # C1 controls, bytes that are not UTF-8, and U+202E
    with Control(world) as c:
        data = c.passive()
        c.send(f'STOR {name}')
        c.code(150)
        data.close()
        c.code(226)
        c.ask(f'DELE {name}', 250)
        c.ask('QUIT', 221)
        expect(c.reply()[0] == 0, 'it was not closed')
    with open(world.log, encoding='latin-1') as file:
        found = re.findall(r'/alice/steers\S+', file.read())
    expect(found == ['/alice/steers' + 8 * '_'], str(found))
    world.put('alice/big', BIG * 4)
    with Control(world) as c:
        c.ask('TYPE A', 200)
        with c.passive():
            c.send('RETR big')
            c.code(150)
            c.ask('ABOR', 426)
            c.code(226)
        c.ask('QUIT', 221)
    with open(world.log, encoding='latin-1') as file:
        log = file.read()
    expect(re.search(r'/alice/old b _ i r alice ftp 0 \* i\n', log), 'the aborted upload')
    sent = re.search(r' (\d+) /alice/big a _ o r alice ftp 0 \* i\n', log)
    expect(sent and int(sent[1]) < len(BIG) * 4, f'the aborted text: {sent and sent[0]}')


ALL = (logs_in, members, guesses, again, speaks, transfers, texts, versions, waits, restarts, names, renames, links, escapes, dates, unique, appends,
       through, aborts, together, logged)
