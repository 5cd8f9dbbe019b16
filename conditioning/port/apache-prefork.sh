#!/bin/sh
# Builds Debian's Apache with the prefork MPM and the library: apache-prefork.sh OUTPUT BUILD, where BUILD is
# the folder of libcc.a. It is one program with few modules. APACHE_SOURCE and the status 77: see source.sh.
# Needs libapr1-dev, libaprutil1-dev and libpcre2-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
build=$(cd "$2" && pwd)
. "$here/source.sh"
command -v apr-1-config > /dev/null && command -v apu-1-config > /dev/null ||
    { echo "libapr1-dev or libaprutil1-dev is missing" >&2; exit 77; }
source_of apache2 "${APACHE_SOURCE:-}" "$here/apache-prefork.patch"
# Debian's source wants BUILD_DATETIME to be defined.
export CFLAGS='-O2 -w' CPPFLAGS="-I$here/../libcc -DBUILD_DATETIME=__DATE__"
if ! ./configure -q --with-mpm=prefork --enable-modules=none \
    --enable-mods-static='authz_core cgi dir log_config mime unixd' > log 2>&1; then
    cat log >&2
    exit 1
fi
# Not the programs of support/.
for part in os server modules; do
    make -s -j2 -C "$part" > log 2>&1 || { cat log >&2; exit 1; }
done
make -s httpd EXTRA_LIBS="$build/libcc.a -pthread ${LDFLAGS_MORE:-}"
cp httpd "$output"
