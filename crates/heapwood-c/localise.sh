#!/bin/sh
# Makes an archive that links beside another Rust archive:  sh localise.sh FROM TO
# Both have a Rust runtime, some of whose names (rust_eh_personality) may be in a program once. So all of FROM that the functions
# of heapwood.h need becomes one object, in which those functions alone are global. Where the tools for it are missing, TO is
# a copy of FROM, and the script says so. LD, NM, OBJCOPY and AR name the tools.
#
# - Sections stay apart, for the program's --gc-sections. The linker's own is not used here: it makes names that are undefined
#   and weak (functions that only some C libraries have) undefined for good.
# - --force-group-allocation: otherwise the linker takes groups with equal names from one archive alone, and there they are local.
# - .llvmbc is bitcode of the standard library, which some tools cannot read once it is joined.
set -eu
from=$1 to=$2 ld=${LD:-ld} nm=${NM:-nm} objcopy=${OBJCOPY:-objcopy} ar=${AR:-ar}
for tool in "$ld" "$nm" "$objcopy" "$ar"; do
    command -v "$tool" > /dev/null && continue
    echo "localise.sh: there is no $tool, so $to does not link beside another Rust archive; install binutils, and install again" >&2
    exec cp "$from" "$to"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
functions=$("$nm" -g --defined-only "$from" 2> "$work/nm" | awk 'NF == 3 && $3 ~ /^hw_/ { print "-u" $3 }')
[ -n "$functions" ] || { cat "$work/nm" >&2; echo "localise.sh: $nm finds no functions of heapwood.h in $from" >&2; exit 1; }
"$ld" -r --force-group-allocation $functions "$from" -o "$work/all.o"
"$objcopy" --wildcard --keep-global-symbol='hw_*' -R .llvmbc -R .llvmcmd "$work/all.o" "$work/heapwood.o"
rm -f "$to"
"$ar" rcs "$to" "$work/heapwood.o"
