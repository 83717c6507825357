#!/bin/sh
# Tells by its exit status whether the toolchain of a unit is there, found on
# PATH (or by CC and GO): have.sh UNIT. For the Makefile and install.sh. A crate
# is part of what is needed, and is fetched if it is not there yet.
set -u

cc=${CC:-gcc}
here=${0%/*}
[ "$here" != "$0" ] || here=.

# links FLAGS LIBRARIES: whether an empty C program compiles and links with them.
# shellcheck disable=SC2086 # lists of words
links() {
    echo 'int main(void) { return 0; }' |
        $cc $1 -x c - -x none $2 -o /dev/null 2>/dev/null
}

# at_least MAJOR MINOR: whether the version in the first line read is no older.
at_least() {
    awk -v major="$1" -v minor="$2" '
        NR == 1 && match($0, /[0-9]+(\.[0-9]+)*/) {
            split(substr($0, RSTART, RLENGTH), v, ".")
            found = v[1] > major || v[1] == major && v[2] + 0 >= minor
        }
        END { exit !found }'
}

# Compiled in a folder of its own, as ocamlopt leaves files beside the source.
compiles_ocaml() {
    folder=$(mktemp -d) || return 1
    : >"$folder/empty.ml"
    ocamlopt -o "$folder/empty" "$folder/empty.ml" >/dev/null 2>&1
    status=$?
    rm -rf "$folder"
    return $status
}

compiles_d() {
    folder=$(mktemp -d) || return 1
    echo 'void main() {}' >"$folder/empty.d"
    ldc2 -of="$folder/empty" -od="$folder" "$folder/empty.d" >/dev/null 2>&1
    status=$?
    rm -rf "$folder"
    return $status
}

case ${1-} in
go) GOTOOLCHAIN=local "${GO:-go}" env GOVERSION 2>/dev/null | at_least 1 26 ;;
go-arena)
    sh "$0" go &&
        GOEXPERIMENT=arenas GOTOOLCHAIN=local "${GO:-go}" list arena >/dev/null 2>&1
    ;;
libgc) links '-include gc.h' -lgc ;;
mimalloc) links '-include mimalloc.h' -lmimalloc ;;
glibc | bump) links '' '' ;;
apr)
    flags=$(pkg-config --cflags apr-1 2>/dev/null) &&
        links "$flags -include apr_pools.h" "$(pkg-config --libs apr-1)"
    ;;
rust)
    links '' '' &&
        cargo fetch --quiet --locked --manifest-path "$here/rust/Cargo.toml" >/dev/null 2>&1
    ;;
java)
    java --version 2>/dev/null | at_least 17 0 &&
        javac --version 2>/dev/null | at_least 17 0
    ;;
ocaml) compiles_ocaml ;;
d) compiles_d ;;
*)
    echo "have.sh: unknown unit: ${1-}" >&2
    exit 2
    ;;
esac
