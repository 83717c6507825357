#!/bin/sh
# Installs what the peers need and is missing, with apt-get (Debian and kin).
# What is there from elsewhere is not installed again. Go is only looked for:
# Debian's package is too old for many releases.
set -eu

have() {
    sh "$(dirname "$0")/have.sh" "$1"
}

missing=
want() {
    for package; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing="$missing $package"
    done
}

command -v make >/dev/null || want make
have glibc || want gcc libc6-dev
have libgc || want libgc-dev
have mimalloc || want libmimalloc-dev
have apr || want libapr1-dev pkg-config
have java || want default-jdk-headless
have ocaml || want ocaml-nox
have d || want ldc libphobos2-ldc-shared-dev

if [ -n "$missing" ]; then
    echo "installing:$missing"
    if [ "$(id -u)" -eq 0 ]; then sudo=; else sudo=sudo; fi
    $sudo apt-get update
    # shellcheck disable=SC2086 # a list of words
    $sudo apt-get install -y --no-install-recommends $missing
else
    echo "all Debian packages are installed"
fi

have java ||
    echo "java and javac on PATH are older than 17, or missing. The Java peers need 17 or newer."

have rust ||
    echo "cargo is missing, or the crates of the Rust peers cannot be fetched. rustup installs cargo."

version=$(GOTOOLCHAIN=local "${GO:-go}" env GOVERSION 2>/dev/null || true)
if have go; then
    echo "Go is there: $version"
    have go-arena || echo "It has no experiment \`arenas\`, which the peer go-arena needs."
elif [ -n "$version" ]; then
    echo "Go is too old: $version. The Go peer needs 1.26 or newer; install it by hand."
else
    echo "Go is missing. The Go peer needs 1.26 or newer; install it by hand"
    echo "(Debian package golang-go, where it is new enough, or the Go project's archive)."
fi
