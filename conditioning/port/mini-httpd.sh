#!/bin/sh
# Builds Debian's mini-httpd with the library: mini-httpd.sh OUTPUT BUILD, where BUILD is the folder of
# libcc.a. MINI_HTTPD_SOURCE and the status 77: see source.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
build=$(cd "$2" && pwd)
. "$here/source.sh"
source_of mini-httpd "${MINI_HTTPD_SOURCE:-}" "$here/mini-httpd.patch"
# Without TLS, so that nothing but the C library is needed.
make -s mime_encodings.h mime_types.h
cc -O2 -w -I"$here/../libcc" mini_httpd.c match.c tdate_parse.c "$build/libcc.a" -pthread -lcrypt \
    ${LDFLAGS_MORE:-} -o "$output"
