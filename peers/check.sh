#!/bin/sh
# Builds the peers that can be built here, runs each program of peers.toml with
# a small N, and compares its check lines with those in expected/. Exits with 1
# if any differs, and with 2 if nothing could be compared. The optional argument
# is the output folder.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 2
out=${1:-$here/../target/peers}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2

make --no-print-directory -C "$here" OUT="$out" || exit 2
programs=$(make --no-print-directory -s -C "$here" OUT="$out" list) || exit 2

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
cd "$out" || exit 2

compared=0
differ=0

bad() {
    echo "$1"
    differ=$((differ + 1))
}

# check NAME EXPECTED COMMAND...: the lines without the figures.
check() {
    name=$1 expected=$2
    shift 2
    if ! "$@" >"$scratch/raw" </dev/null; then
        bad "failed: $name"
        return
    fi
    sed '/^figure [a-z0-9_]* [0-9]*\.[0-9]*$/d' "$scratch/raw" >"$scratch/lines"
    if diff "$expected" "$scratch/lines" >"$scratch/diff"; then
        echo "same: $name"
        compared=$((compared + 1))
    else
        bad "differs: $name (< expected, > printed)"
        cat "$scratch/diff"
    fi
}

# One line for each program of the manifest: peer, workload, program, command.
awk '
    BEGIN { threads = "false" }
    function flush() {
        for (i = 1; i <= n; i++) print peer, program[i], threads, "env" env, command[i]
        n = 0
        env = ""
        threads = "false"
    }
    /^#/ || !NF { next }
    /^\[/ { table = $1; if (table == "[[peer]]") flush(); next }
    { gsub(/[][",]/, " ") }
    table == "[[peer]]" && $1 == "name" { peer = $3 }
    table == "[[peer]]" && $1 == "threads" { threads = $3 }
    table == "[peer.env]" { env = env " " $1 "=" $3 }
    table == "[peer.programs]" {
        program[++n] = $1 " " $3
        command[n] = "./" $3
        for (i = 4; i <= NF; i++) command[n] = command[n] " " $i
    }
    END { flush() }' "$here/peers.toml" >"$scratch/runs"

# shellcheck disable=SC2086 # the command is a list of words, and so is n
while read -r peer workload program threads command; do
    echo "$programs" | grep -qx -e "$program" || continue

    versions=$($command --version </dev/null)
    [ "$(echo "$versions" | grep -c .)" -eq 1 ] || bad "failed: $peer $workload --version"

    # expected/trees-10.txt has what trees prints for 10.
    for expected in "$here/expected/$workload"-[0-9]*.txt; do
        n=${expected##*-}
        n=${n%.txt}
        label="$peer $workload $n"
        [ "$workload" != mark ] || n="$n --count"

        check "$label ($versions)" "$expected" $command $n
        case $threads-$workload in
        *-mark | *-weak | *-finalize | *-weakmap | false-*) ;;
        true-*) check "$label --threads 2" "$expected" $command $n --threads 2 ;;
        esac
        case $peer in
        libgc) check "$label --no-interior" "$expected" $command $n --no-interior ;;
        esac
        case $peer-$workload in
        libgc-mark) check "$label --parallel" "$expected" $command $n --parallel ;;
        esac
    done
done <"$scratch/runs"

if [ "$differ" -gt 0 ]; then
    echo "check: $differ of $((compared + differ)) differ"
    exit 1
fi
if [ "$compared" -eq 0 ]; then
    echo "check: no peer could be built, nothing was compared"
    exit 2
fi
echo "check: all $compared the same"
