// The Go peer: all workloads as a Go user would write them, on one goroutine, to
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
       go-peer [WORKLOAD] --version       what Go it was built with`

func fail() {
	fmt.Fprintln(os.Stderr, usage)
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		fail()
	}
	command := os.Args[1]
	defaults := map[string]uint64{"trees": 21, "churn": 20_000_000, "mixed": 4_000_000, "mark": 8_000_000, "gcbench": 16}
	limits := map[string]uint64{"trees": 40, "churn": 1 << 48, "mixed": 1 << 48, "mark": 1 << 31, "gcbench": 30}
	n, known := defaults[command]
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
	for _, arg := range os.Args[2:] {
		if arg == "--count" && command == "mark" {
			count = true
			continue
		}
		value, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || value == 0 || value > limits[command] || seenNumber {
			fail()
		}
		n, seenNumber = value, true
	}

	switch command {
	case "trees":
		trees(int(n))
	case "churn":
		churn(n)
	case "mixed":
		mixed(n)
	case "mark":
		if !mark(int(n), count) {
			os.Exit(1)
		}
	case "gcbench":
		gcbench(int(n))
	}
}
