"""Foreign clients: lftp, curl, tnftp, ftplib. Each check gets a World, the words that TLS adds, and a folder. Must not know: models."""

import filecmp
import ftplib
import io
import os
import subprocess
from support.expect import expect
from world import BIG, LIMIT


def ran(*words, text=None):
    """Runs a program, which must succeed. What it wrote."""
    done = subprocess.run(words, input=text, capture_output=True, timeout=120)
    expect(done.returncode == 0, f'{words[0]}: {done.returncode}: {done.stderr[-1500:]!r} {done.stdout[-500:]!r}')
    return done.stdout


def same(one, two):
    """Whether two folders have the same files and contents."""
    found = filecmp.dircmp(one, two)
    return not (found.left_only or found.right_only or found.diff_files or found.funny_files) and all(
        same(os.path.join(one, name), os.path.join(two, name)) for name in found.common_dirs)


def tree(folder):
    """A folder with folders and files of all sizes."""
    for i in range(40):
        below = os.path.join(folder, f'f{i % 5}', f'g{i % 3}')
        os.makedirs(below, exist_ok=True)
        with open(os.path.join(below, f'file {i}'), 'wb') as file:
            file.write(BIG[i:i * i * 37])
    return folder


def lftp(world, folder, six=False):
    """lftp mirrors a tree both ways, with several connections, and continues transfers"""
    source, back = tree(os.path.join(folder, 'source')), os.path.join(folder, 'back')
    host = f'[::1]:{world.port6}' if six else f'127.0.0.1:{world.port}'
    with open(os.path.join(folder, 'part'), 'wb') as file:
        file.write(BIG[:1_000_000])
    world.put('alice/whole', BIG)
    os.mkdir(world.path('alice/dangling'))
    os.symlink('none', world.path('alice/dangling/link'))
    script = (f'set cmd:fail-exit yes; set ftp:ssl-allow no; set net:max-retries 2; set net:timeout 20;'
              f'open -u alice,secret ftp://{host};'
              f'mirror -R -P 4 "{source}" mirrored; mirror -P 4 mirrored "{back}"; mirror --only-newer mirrored "{back}"; mirror dangling "{folder}/dangling";'
              f'lcd "{folder}"; get -c whole -o part; put -c part -o whole2; mv whole2 whole3; chmod 600 whole3; rm whole; rm -r mirrored; rm -r dangling; bye')
    ran('lftp', '-c', script)
    expect(same(source, back), 'the trees differ')
    expect(os.readlink(os.path.join(folder, 'dangling', 'link')) == 'none', 'the link leads elsewhere')
    with open(os.path.join(folder, 'part'), 'rb') as file:
        expect(file.read() == BIG, 'the continued file differs')
    expect(world.get('alice/whole3') == BIG, 'the file that was sent differs')
    expect(not any(os.path.exists(world.path(f'alice/{name}')) for name in ('mirrored', 'dangling')), 'a tree was not removed')


def curl(world, folder, *words):
    """curl sends, receives, asks for parts, lists, makes folders, with PORT and with IPv6"""
    base, ours = f'ftp://alice:secret@127.0.0.1:{world.port}', os.path.join(folder, 'curl')
    with open(ours, 'wb') as file:
        file.write(BIG)
    ran('curl', '-sS', *words, '--ftp-create-dirs', '-T', ours, f'{base}/new/folder/file')
    expect(world.get('alice/new/folder/file') == BIG, 'what was sent')
    expect(ran('curl', '-sS', *words, f'{base}/new/folder/file') == BIG, 'what was received')
    expect(ran('curl', '-sS', *words, '-r', '1000-1999', f'{base}/new/folder/file') == BIG[1000:2000], 'a part')
    if not words:   # curl 7.88 fails with PORT and TLS before it connects
        expect(ran('curl', '-sS', '-P', '-', f'{base}/new/folder/file') == BIG, 'PORT')
    expect(ran('curl', '-sS', *words, '-l', f'{base}/new/folder/').split() == [b'file'], 'the list')
    ran('curl', '-sS', *words, '-Q', 'DELE /new/folder/file', '-Q', 'RMD /new/folder', '-Q', 'RMD /new', f'{base}/')
    expect(ran('curl', '-sS', '-g', *words, f'ftp://[::1]:{world.port6}/hello') == b'hello\n', 'anonymous, IPv6')


def tnftp(world, folder):
    """tnftp fetches and sends by name, and lists in a session"""
    ours = os.path.join(folder, 'tnftp')
    world.put('alice/whole', BIG)
    ran('tnftp', '-V', '-o', ours, f'ftp://alice:secret@127.0.0.1:{world.port}/whole')
    with open(ours, 'rb') as file:
        expect(file.read() == BIG, 'what was received')
    ran('tnftp', '-V', '-u', f'ftp://alice:secret@127.0.0.1:{world.port}/sent', ours)
    expect(world.get('alice/sent') == BIG, 'what was sent')
    script = f'user alice secret\nls\nmkdir t\ncd t\npwd\nput {ours} x\nsize x\nmodtime x\nrename x y\ndelete y\ncd ..\nrmdir t\nbye\n'
    out = ran('tnftp', '-n', '-i', '127.0.0.1', str(world.port), text=script.encode())
    expect(b'whole' in out and b'/t' in out, f'a session: {out!r}')


def escapes(world, folder):
    """Names with the byte 255: lftp writes it twice, as Telnet's IAC, and curl and ftplib once; all get back what they have sent"""
    source, back = os.fsencode(os.path.join(folder, 'iac')), os.fsencode(os.path.join(folder, 'iacback'))
    for name in (b'a\xff', b'\xffb', b'\xff', b'\xff\xff', b'c\xffd/e', b'c\xffd/f\xff\xffg'):
        os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
        with open(os.path.join(source, name), 'wb') as file:
            file.write(name)
    ours, url = os.path.join(source, b'a\xff'), f'ftp://alice:secret@127.0.0.1:{world.port}/curl%FF/a%FF'
    ran('lftp', '-c', b'set cmd:fail-exit yes; set ftp:ssl-allow no; set net:max-retries 2; set net:timeout 20;'
        b'open -u alice,secret ftp://127.0.0.1:%d; mirror -R "%s" iac; mirror iac "%s"; rm -r iac; bye' % (world.port, source, back))
    expect(same(source, back), 'the trees differ')
    ran('curl', '-sS', '--ftp-create-dirs', '-T', ours, url)
    expect(ran('curl', '-sS', url, url) == 2 * b'a\xff', 'curl')
    ran('curl', '-sS', '-Q', b'DELE curl\xff/a\xff', '-Q', b'RMD curl\xff', f'ftp://alice:secret@127.0.0.1:{world.port}/')
    ftp, out = ftplib.FTP(encoding='latin-1', timeout=LIMIT), io.BytesIO()
    ftp.connect('127.0.0.1', world.port)
    ftp.login('alice', 'secret')
    ftp.cwd(ftp.mkd('lib\xff'))
    ftp.cwd(ftp.pwd())
    ftp.storbinary('STOR a\xff', io.BytesIO(b'lib'))
    ftp.retrbinary('RETR a\xff', out.write)
    expect(out.getvalue() == b'lib' and ftp.nlst() == ['a\xff'], 'ftplib')
    ftp.delete('a\xff')
    ftp.rmd('/lib\xff')
    left = [name for name in os.listdir(os.fsencode(world.path('alice'))) if name.startswith((b'iac', b'curl', b'lib'))]
    expect(not left, f'what was removed is there: {left}')


ALL = (lftp, curl, tnftp, escapes)
