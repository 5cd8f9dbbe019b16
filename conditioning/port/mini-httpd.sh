#!/bin/sh
# Builds Debian's mini-httpd with the library: mini-httpd.sh OUTPUT BUILD, where BUILD is the folder of
# libcc.a. The source comes from MINI_HTTPD_SOURCE (a folder with the .dsc and its files) or, through a
# configuration of apt that is private to this run, from Debian. Status 77: there is no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
build=$(cd "$2" && pwd)
command -v dpkg-source > /dev/null || { echo "dpkg-source is missing" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if [ -n "${MINI_HTTPD_SOURCE:-}" ]; then
    cp "$MINI_HTTPD_SOURCE"/mini-httpd_* .
else
    mkdir -p lists/partial cache/archives/partial parts
    cat > parts/source.sources <<EOF
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $(. /etc/os-release && echo "$VERSION_CODENAME")
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
    cat > apt.conf <<EOF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "$(id -un)";
EOF
    export APT_CONFIG="$work/apt.conf"
    if ! { timeout 60 apt-get -qq update && timeout 60 apt-get -qq source --download-only mini-httpd; } \
            > log 2>&1; then
        cat log >&2
        exit 77
    fi
fi
dpkg-source --no-check -x mini-httpd_*.dsc source > /dev/null
cd source
patch -s -p1 < "$here/mini-httpd.patch"
# Without TLS, so that nothing but the C library is needed.
make -s mime_encodings.h mime_types.h
cc -O2 -w -I"$here/../libcc" mini_httpd.c match.c tdate_parse.c "$build/libcc.a" -pthread -lcrypt \
    ${LDFLAGS_MORE:-} -o "$output"
