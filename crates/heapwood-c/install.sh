#!/bin/sh
# Builds and installs heapwood.h, heapwood.hpp, libheapwood.so, libheapwood.a and heapwood.pc:  sh install.sh PREFIX [DESTDIR]
# Files are copied to DESTDIR/PREFIX, and name PREFIX. "sh install.sh --uninstall PREFIX [DESTDIR]" removes them.
set -eu
cd "$(dirname "$0")"
[ "${1-}" = --uninstall ] && remove=yes && shift || remove=
case ${1-} in /*) ;; *) echo "install.sh: say where to: sh $0 /usr/local [DESTDIR] (a path from the root)" >&2; exit 2 ;; esac
to=${2-}$1 version=$(cargo pkgid) version=${version##*[@#]}
case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac # as build.rs
files="include/heapwood.h include/heapwood.hpp lib/libheapwood.so.$version lib/libheapwood.so.$abi lib/libheapwood.so lib/libheapwood.a lib/pkgconfig/heapwood.pc"
if [ -n "$remove" ]; then cd "$to"; exec rm -f $files; fi
built=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
cargo build --release --quiet --lib
install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 include/heapwood.h include/heapwood.hpp "$to/include"
sh localise.sh "$built/libheapwood.a" "$to/lib/libheapwood.a"
chmod 644 "$to/lib/libheapwood.a"
install -m 755 "$built/libheapwood.so" "$to/lib/libheapwood.so.$version"
ln -sf "libheapwood.so.$version" "$to/lib/libheapwood.so.$abi"
ln -sf "libheapwood.so.$abi" "$to/lib/libheapwood.so"
sed "s|@PREFIX@|$1|; s|@VERSION@|$version|" heapwood.pc.in > "$to/lib/pkgconfig/heapwood.pc"
echo "installed heapwood $version in $to"
