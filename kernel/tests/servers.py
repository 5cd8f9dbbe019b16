"""The servers that are put behind the kernel: their configuration, and the command of each.

Must not know: what is tested.
"""

import os
import shutil
import subprocess

QUICK = {'CC': 'clang', 'CFLAGS': '-O0 -Wno-error=format-security'}     # variables of generated servers
NGINX = '''daemon off; error_log {folder}/error.log; pid {folder}/nginx.pid; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    access_log {folder}/access.log; sendfile on; keepalive_requests 1000000;
    types {{ text/html html; text/plain txt; }} default_type application/octet-stream;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port}; listen 127.0.0.1:{alone}; {own} root {folder}/www;
        location /made {{ return 200 "made\\n"; }}
        location /chunks {{ ssi on; ssi_types text/plain; }}
        location /slow {{ limit_rate 50k; }}
    }}
    {more}
}}
'''

MODULES = '/usr/lib/apache2/modules'
APACHE = '''ServerRoot {folder}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
Mutex sem
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule mime_module {modules}/mod_mime.so
User nobody
Group nogroup
TypesConfig /dev/null
AddType text/plain .txt
AddType text/html .html
ServerName test
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{alone}
ErrorLog {folder}/error.log
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot {folder}/www
<Directory {folder}/www>
    Require all granted
</Directory>
'''


def nginx(site):
    """nginx, which serves both ports."""
    path = os.path.join(site.folder, 'nginx.conf')
    other = f'server {{ listen 127.0.0.1:{site.port}; server_name other; root {site.other}; }}' if site.other else ''
    own = '' if site.listen == '127.0.0.1' else f'listen {site.listen}:{site.port};'
    with open(path, 'w', encoding='ascii') as file:
        file.write(NGINX.format(folder=site.folder, port=site.port, alone=site.alone, more=other, own=own))
    return ['/usr/sbin/nginx', '-c', path], None


def apache(site):
    """Apache with threads and an event loop, which serves both ports."""
    path = os.path.join(site.folder, 'apache.conf')
    with open(path, 'w', encoding='ascii') as file:
        file.write(APACHE.format(folder=site.folder, port=site.port, alone=site.alone, modules=MODULES))
    return ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', path], None


def web(model, nest, root):
    """A generated web server of this model; two processes, one for each port."""
    def made(site):
        build = os.path.join(site.folder, 'build')
        shutil.copytree(os.path.join(root, 'examples', 'web'), build, dirs_exist_ok=True)
        subprocess.run([nest, 'build', '--model', model, 'web.nest'], cwd=build, check=True, timeout=300,
                       capture_output=True, env={**os.environ, **QUICK})
        common = [os.path.join(build, 'web'), '--set', f'fileRoot={site.www}', '--set', 'user=root', '--set']
        return [*common, f'serverPort={site.port}'], [*common, f'serverPort={site.alone}']
    return made
