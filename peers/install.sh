#!/bin/sh
# Installs what the peers need and is missing, with apt-get (Debian and kin).
# Go is only looked for: Debian's package is too old for many releases.
set -eu

missing=
for package in gcc libc6-dev make libgc-dev libmimalloc-dev; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    echo "installing:$missing"
    if [ "$(id -u)" -eq 0 ]; then sudo=; else sudo=sudo; fi
    $sudo apt-get update
    # shellcheck disable=SC2086 # a list of words
    $sudo apt-get install -y --no-install-recommends $missing
else
    echo "all Debian packages are installed"
fi

version=$(GOTOOLCHAIN=local "${GO:-go}" env GOVERSION 2>/dev/null || true)
if echo "$version" |
    awk '{ sub(/^go/, ""); split($1, v, "."); exit !(v[1] > 1 || v[1] == 1 && v[2] + 0 >= 26) }'; then
    echo "Go is there: $version"
elif [ -n "$version" ]; then
    echo "Go is too old: $version. The Go peer needs 1.26 or newer; install it by hand."
else
    echo "Go is missing. The Go peer needs 1.26 or newer; install it by hand"
    echo "(Debian package golang-go, where it is new enough, or the Go project's archive)."
fi
