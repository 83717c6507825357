#!/bin/sh
# Builds the peers that can be built here, runs each with a small N, and compares
# its check lines with those in expected/. Exits with 1 if any differs, and with
# 2 if nothing could be compared. The optional argument is the output folder.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 2
out=${1:-$here/../target/peers}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2

make --no-print-directory -C "$here" OUT="$out" || exit 2
programs=$(make --no-print-directory -s -C "$here" OUT="$out" list) || exit 2

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

compared=0
differ=0

# check NAME EXPECTED COMMAND...: the lines without the measured values.
check() {
    name=$1 expected=$here/expected/$2.txt
    shift 2
    if ! "$@" >"$scratch/raw"; then
        echo "failed: $name"
        differ=$((differ + 1))
        return
    fi
    sed -e '/^longest gap us /d' -e '/^mops /d' -e 's/ best_ns_per_object .*//' \
        "$scratch/raw" >"$scratch/lines"
    if diff "$expected" "$scratch/lines" >"$scratch/diff"; then
        echo "same: $name"
        compared=$((compared + 1))
    else
        echo "differs: $name (< expected, > printed)"
        cat "$scratch/diff"
        differ=$((differ + 1))
    fi
}

for program in $programs; do
    run=$out/$program
    case $program in
    go-peer)
        check "go trees" trees-10 "$run" trees 10
        check "go churn" churn-100000 "$run" churn 100000
        check "go mark" mark-10000 "$run" mark 10000 --count
        ;;
    libgc-trees)
        check "libgc trees" trees-10 "$run" 10
        check "libgc trees --no-interior" trees-10 "$run" 10 --no-interior
        ;;
    libgc-churn)
        check "libgc churn" churn-100000 "$run" 100000
        check "libgc churn --no-interior" churn-100000 "$run" 100000 --no-interior
        ;;
    libgc-mark)
        check "libgc mark" mark-10000 "$run" 10000 --count
        check "libgc mark --no-interior" mark-10000 "$run" 10000 --count --no-interior
        check "libgc mark --parallel" mark-10000 "$run" 10000 --count --parallel
        ;;
    *-trees) check "${program%-trees} trees" trees-10 "$run" 10 ;;
    *-churn) check "${program%-churn} churn" churn-100000 "$run" 100000 ;;
    esac
done

if [ "$differ" -gt 0 ]; then
    echo "check: $differ of $((compared + differ)) differ"
    exit 1
fi
if [ "$compared" -eq 0 ]; then
    echo "check: no peer could be built, nothing was compared"
    exit 2
fi
echo "check: all $compared the same"
