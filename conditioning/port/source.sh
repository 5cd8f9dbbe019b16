# What the builds beside this file share; they read it with `.`, under `set -eu`.
# Must not know: how a server is configured, and what is changed in it.

# source_of PACKAGE GIVEN PATCH: changes to a new folder with the patched source of a Debian package, which is removed
# at the end. The source comes from GIVEN (a folder with the .dsc and its files) or, if GIVEN is empty, from
# Debian, through a configuration of apt that is private to this run. Status 77: there is no source.
source_of() {
    command -v dpkg-source > /dev/null || { echo "dpkg-source is missing" >&2; exit 77; }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if [ -n "$2" ]; then
        cp "$2/$1"_* "$work"
        cd "$work"
    else
        cd "$work"
        mkdir -p lists/partial cache/archives/partial parts
        cat > parts/source.sources <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $(. /etc/os-release && echo "$VERSION_CODENAME")
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
        cat > apt.conf <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "$(id -un)";
END
        export APT_CONFIG="$work/apt.conf"
        if ! { timeout 60 apt-get -qq update && timeout 60 apt-get -qq source --download-only "$1"; } > log 2>&1; then
            cat log >&2
            exit 77
        fi
    fi
    dpkg-source --no-check -x "$1"_*.dsc source > /dev/null
    cd source
    patch -s -p1 < "$3"
}
