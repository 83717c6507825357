// The Go peer: all workloads as a Go user would write them, on goroutines, to
// compare Heapwood with Go's concurrent collector. The collector is left at its
// defaults; GOGC, GOMEMLIMIT and GOMAXPROCS are taken from the environment, as
// in any Go program.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

const usage = `usage: go-peer trees [N]                  binary trees, default 21
       go-peer churn [OPS]                replace objects in a table, default 20000000
       go-peer mixed [OPS]                replace documents in a cache, default 4000000
       go-peer mark [OBJECTS] [--count]   time full collections, default 8000000
       go-peer gcbench [N]                Ellis, Kovac and Boehm's trees, default 16
       go-peer rand-small [ITERATIONS]    replace blocks of 8 to 2047 bytes, default 10000
       go-peer rand-large [ITERATIONS]    replace blocks of 1 to 128 KiB, default 10000
       go-peer tree1 [N]                  trees of numbers, default 18
       go-peer conalloc [BLOCKS]          hash blocks and allocate new ones, default 10000000
       go-peer graph [NODES]              rewire a graph at random, default 1000000
       go-peer map [ENTRIES]              insert into a hash map and delete, default 1000000
       go-peer treap [KEYS]               insert into an index that is copied, default 500000
       go-peer malloc [THOUSANDS]         allocate and drop, default 30000
       go-peer frag [ALLOCATIONS]         replace objects whose sizes drift, default 1500000 a phase
       go-peer queue [ALLOCATIONS]        pass objects through a queue, default 40000000
       go-peer list [NODES]               build a list and walk it, default 20000000
       go-peer pipe [MESSAGES]            pass messages to another goroutine, default 20000000
       go-peer deep [CALLS]               call into the depth, default 1000000
       go-peer weak [REFERENCES]          make, clear and read weak pointers, default 10000000
       go-peer finalize [OBJECTS]         close the handles of dead objects, default 5000000
       go-peer weakmap [KEYS]             weak maps and interned names, default 2000000
       go-peer latency [MIB]              replace entries of a cache, and note the gaps, default 256
       all but mark, weak, finalize and weakmap: --threads T   each of T goroutines does all of it, default 1 (conalloc 4); pipe: T pairs
       go-peer [WORKLOAD] --version       what Go it was built with`

// alone are the workloads that run on one goroutine.
var alone = map[string]bool{"mark": true, "weak": true, "finalize": true, "weakmap": true}

func fail() {
	fmt.Fprintln(os.Stderr, usage)
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		fail()
	}
	command := os.Args[1]
	workloads := map[string]struct{ normal, limit, threads uint64 }{
		"trees":      {21, 40, 1},
		"churn":      {20_000_000, 1 << 48, 1},
		"mixed":      {4_000_000, 1 << 48, 1},
		"mark":       {8_000_000, 1 << 31, 1},
		"gcbench":    {16, 30, 1},
		"rand-small": {10_000, 1 << 32, 1},
		"rand-large": {10_000, 1 << 32, 1},
		"tree1":      {18, 40, 1},
		"conalloc":   {10_000_000, 1 << 48, 4},
		"graph":      {1_000_000, 1 << 31, 1},
		"map":        {1_000_000, 1 << 31, 1},
		"treap":      {500_000, 1 << 31, 1},
		"malloc":     {30_000, 1 << 40, 1},
		"frag":       {1_500_000, 1 << 45, 1},
		"queue":      {40_000_000, 1 << 36, 1},
		"list":       {20_000_000, 1 << 36, 1},
		"pipe":       {20_000_000, 1 << 48, 1},
		"deep":       {1_000_000, 1 << 23, 1},
		"weak":       {10_000_000, 1 << 31, 1},
		"finalize":   {5_000_000, 1 << 31, 1},
		"weakmap":    {2_000_000, 1 << 31, 1},
		"latency":    {256, 1 << 23, 1},
	}
	workload, known := workloads[command]
	n, threads := workload.normal, workload.threads
	version := command == "--version" && len(os.Args) == 2 ||
		known && len(os.Args) == 3 && os.Args[2] == "--version"
	if version {
		fmt.Println(runtime.Version())
		return
	}
	if !known {
		fail()
	}
	count, seenNumber := false, false
	args := os.Args[2:]
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--count" && command == "mark":
			count = true
		case arg == "--threads" && !alone[command] && len(args) > 0:
			threads = number(args[0], 1024)
			args = args[1:]
		case !seenNumber:
			n, seenNumber = number(arg, workload.limit), true
		default:
			fail()
		}
	}

	if command == "mark" {
		if !mark(int(n), count) {
			os.Exit(1)
		}
		return
	}
	same := run(threads, func(r *report) {
		switch command {
		case "trees":
			trees(int(n), r)
		case "churn":
			churn(n, r)
		case "mixed":
			mixed(n, r)
		case "gcbench":
			gcbench(int(n), r)
		case "rand-small":
			randSmall(n, r)
		case "rand-large":
			randLarge(n, r)
		case "tree1":
			tree1(int(n), r)
		case "conalloc":
			conalloc(n, r)
		case "graph":
			graph(n, r)
		case "map":
			runMap(n, r)
		case "treap":
			treap(n, r)
		case "malloc":
			malloc(n, r)
		case "frag":
			frag(n, r)
		case "queue":
			queue(n, r)
		case "list":
			list(n, r)
		case "pipe":
			pipe(n, r)
		case "deep":
			deep(n, r)
		case "weak":
			runWeak(n, r)
		case "finalize":
			finalize(n, r)
		case "weakmap":
			runWeakMap(n, r)
		case "latency":
			latency(n, r)
		}
	})
	if !same {
		os.Exit(1)
	}
}

// number is a number from 1 to the limit; anything else is refused.
func number(text string, limit uint64) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value == 0 || value > limit {
		fail()
	}
	return value
}
